"""Two one-sided tests: is the difference inside the margin? (Schuirmann, J. Pharmacokinetics 15:657, 1987)"""

from __future__ import annotations

import numpy as np
from scipy import stats

from octavo.evaluation.statistics.arms import Array
from octavo.evaluation.statistics.welch import Contrast


def tost(found: Contrast, margin: float) -> Array:
    """p that the true estimate is outside (-margin, margin): small says "the same within the margin".

    Arguments:
        margin: in the units of the score, fixed before the data. nan where no arm varies.
    """
    above = stats.t.sf(found.t(-margin), found.df)
    below = stats.t.cdf(found.t(margin), found.df)
    return np.maximum(above, below)
