"""Sign-flip permutation: could these differences as well have had the other sign?

R. A. Fisher, The Design of Experiments (1935), section 21: under the null hypothesis each cluster's difference is as
likely positive as negative.
"""

from __future__ import annotations

import numpy as np

from octavo.evaluation.statistics.arms import Array

EXACT_UP_TO = 14  # clusters: 2^13 sign patterns, for a pattern and its mirror give the same |sum|
_SAME = 1e-10  # of the sum of all magnitudes: sums that differ by rounding alone are equal


def sign_flip(parts: Array, rng: np.random.Generator, draws: int = 9999) -> Array:
    """Two-sided p of the sum of `parts`, exact up to 14 clusters, else from random draws.

    Arguments:
        parts: (..., C) difference of each cluster. Each flip is shared by all leading axes.

    Returns:
        (...) p; never below 1 / (draws + 1).
    """
    clusters = parts.shape[-1]
    signs = _all_signs(clusters) if clusters <= EXACT_UP_TO else _random_signs(clusters, draws, rng)
    slack = _SAME * np.abs(parts).sum(-1, keepdims=True)
    # one product for all flips: a resampling loop would copy the data once a draw
    hits = (np.abs(parts @ signs.T) >= np.abs(parts.sum(-1, keepdims=True)) - slack).sum(-1)
    if clusters <= EXACT_UP_TO:
        return hits / len(signs)
    return (1 + hits) / (1 + draws)


def _all_signs(clusters: int) -> Array:
    """(2^(C-1), C) every pattern whose first sign is +."""
    patterns = np.arange(2 ** (clusters - 1))[:, None] >> np.arange(clusters)
    return np.asarray(1.0 - 2.0 * (patterns & 1)[:, ::-1], dtype=np.float64)


def _random_signs(clusters: int, draws: int, rng: np.random.Generator) -> Array:
    return np.asarray(1.0 - 2.0 * rng.integers(0, 2, (draws, clusters)), dtype=np.float64)
