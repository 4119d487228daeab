"""Two-way bootstrap, runs x clusters: how far could the estimate be off for other seeds and other items?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from octavo.evaluation.statistics.arms import ZERO, Arm, Array, Interval, estimate, influence
from octavo.evaluation.statistics.paired_bootstrap import cluster_variance


def two_way_bootstrap(
    arms: Sequence[Arm], rng: np.random.Generator, alpha: float = 0.05, draws: int = 2000
) -> Interval:
    """Interval of the estimate over new runs and new clusters together.

    Runs and clusters are drawn independently of each other (Owen, "The pigeonhole bootstrap", Annals of Applied
    Statistics 1:386, 2007). Such draws count the variance of run x cluster three times and that of S runs only
    (S-1)/S times; their deviations are rescaled to the variance of a crossed design, and to the tails of a t, whose
    degrees of freedom are few where runs are.

    Arguments:
        arms: the same C clusters in each; 2 runs and 2 clusters at least.
    """
    centre = np.asarray(estimate(arms))
    values = _draws(arms, rng, draws)
    variance, df = crossed_variance(arms)
    level = alpha / 2
    widening = stats.t.ppf(1 - level, df) / stats.norm.ppf(1 - level)
    spread = values.std(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(spread > 0, widening * np.sqrt(variance) / spread, 0.0)
    low, high = np.quantile(values - values.mean(-1, keepdims=True), [level, 1 - level], axis=-1)
    return Interval(centre, centre + scale * low, centre + scale * high)


def crossed_variance(arms: Sequence[Arm]) -> tuple[Array, Array]:
    """(...) variance of the estimate where runs and clusters are both drawn, and its degrees of freedom.

    V(runs) + V(clusters) - V(run x cluster), since both of the first hold the third (Cameron, Gelbach and Miller,
    Journal of Business & Economic Statistics 29:238, 2011); never below V(runs), of which it is sure.
    """
    by_arm = [arm.coefficient**2 * arm.run_means.var(-1, ddof=1) / arm.sums.shape[-2] for arm in arms]
    runs = np.asarray(sum(by_arm, start=ZERO))
    inner = sum((_cell_variance(arm) for arm in arms), start=ZERO)
    clusters = np.maximum(cluster_variance(influence(arms)) - inner, 0)
    inverse = sum((v**2 / (arm.sums.shape[-2] - 1) for v, arm in zip(by_arm, arms, strict=True)), start=ZERO)
    inverse = inverse + clusters**2 / (arms[0].weights.shape[-1] - 1)
    variance = runs + clusters
    with np.errstate(divide="ignore", invalid="ignore"):
        return variance, np.where(variance > 0, variance**2 / inverse, 1.0)


def _draws(arms: Sequence[Arm], rng: np.random.Generator, draws: int) -> Array:
    """(..., B) estimates of drawn runs and clusters."""
    clusters = arms[0].weights.shape[-1]
    items = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws).astype(np.float64)
    values = ZERO
    for arm in arms:
        size = arm.sums.shape[-2]
        runs = rng.multinomial(size, np.full(size, 1 / size), size=draws) / size
        scores = (arm.sums @ items.T * runs.T).sum(-2)
        values = values + arm.coefficient * scores / (arm.weights @ items.T)
    return values


def _cell_variance(arm: Arm) -> Array:
    """(...) variance of the arm's mean by what is neither its runs' nor its clusters'."""
    size, clusters = arm.sums.shape[-2:]
    means = arm.run_means[..., None]
    cells = (arm.sums - means * arm.weights[..., None, :]) / arm.weights.sum(-1)[..., None, None]
    rest = cells - cells.mean(-2, keepdims=True)
    return arm.coefficient**2 * clusters / ((clusters - 1) * size * (size - 1)) * (rest**2).sum((-2, -1))
