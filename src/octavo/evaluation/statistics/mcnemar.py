"""McNemar's test: two checkpoints answer the same items right or wrong; which one is right where the other is not?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from octavo.evaluation.statistics.arms import Array


def mcnemar(first: NDArray[Any], second: NDArray[Any], mid: bool = True) -> Array:
    """Two-sided p by the binomial of the discordant items, which are taken as independent of each other.

    The mid-p is the default: the exact conditional p stays far below the nominal level with few discordant items
    (Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91, 2013).

    Arguments:
        first, second: (..., items) right or wrong, of the same items.

    Returns:
        (...) p, 1 where no item is discordant.
    """
    only_first = (first.astype(bool) & ~second.astype(bool)).sum(-1)
    only_second = (second.astype(bool) & ~first.astype(bool)).sum(-1)
    fewer, discordant = np.minimum(only_first, only_second), only_first + only_second
    p = 2 * stats.binom.cdf(fewer, discordant, 0.5)
    if mid:
        p = p - stats.binom.pmf(fewer, discordant, 0.5)
    return np.where(only_first == only_second, 1.0, np.minimum(p, 1.0))
