"""Holm: several declared claims together err once in 1/alpha studies at most (Scand. J. Statistics 6:65, 1979)."""

from __future__ import annotations

import numpy as np

from octavo.evaluation.statistics.arms import Array


def holm(p: Array) -> Array:
    """Adjusted p of a family on the last axis; to be compared with the family's alpha."""
    count = p.shape[-1]
    order = np.argsort(p, axis=-1)
    scaled = np.take_along_axis(p, order, -1) * (count - np.arange(count))
    adjusted = np.empty_like(scaled)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(scaled, -1), 1), -1)
    return adjusted
