"""Paired bootstrap over clusters of items: how far could the estimate be off for other items of this kind?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from octavo.evaluation.statistics.arms import ZERO, Arm, Array, Interval, estimate


def paired_bootstrap(
    arms: Sequence[Arm], rng: np.random.Generator, alpha: float = 0.05, draws: int = 2000
) -> Interval:
    """Interval of the estimate over new clusters, the checkpoints being fixed.

    All arms meet the same drawn clusters, which is what pairs them. Plain percentiles are too narrow for few clusters;
    their levels are widened as Hesterberg proposes ("expanded percentile", The American Statistician 69:371, 2015).

    Arguments:
        arms: the same C clusters in each.
    """
    clusters = arms[0].weights.shape[-1]
    drawn = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws).astype(np.float64)
    values = sum(
        (arm.coefficient * (arm.cluster_sums @ drawn.T) / (arm.weights @ drawn.T) for arm in arms),
        start=ZERO,
    )
    level = expanded_level(alpha, clusters)
    low, high = np.quantile(values, [level, 1 - level], axis=-1)
    return Interval(np.asarray(estimate(arms)), low, high)


def expanded_level(alpha: float, units: int) -> float:
    """The tail probability at which a bootstrap of n units covers as a t interval would: Phi(-sqrt(n/(n-1)) t)."""
    if units < 2:
        return 0.0
    t = stats.t.ppf(1 - alpha / 2, units - 1)
    return float(stats.norm.cdf(-np.sqrt(units / (units - 1)) * t))


def cluster_variance(parts: Array) -> Array:
    """(...) variance of the estimate over new clusters, from (..., C) parts that add up to it (less their mean)."""
    clusters = parts.shape[-1]
    centred = parts - parts.mean(-1, keepdims=True)
    return clusters / (clusters - 1) * (centred**2).sum(-1)
