"""Run-label permutation: would runs dealt to the two recipes at random differ as much?"""

from __future__ import annotations

import itertools
from math import comb

import numpy as np

from octavo.evaluation.statistics.arms import Array

EXACT_UP_TO = 20_000  # ways to deal the runs; 8 against 8 are 12,870
DRAWS = 9999
_SAME = 1e-9  # relative: statistics that differ by rounding alone are equal


def run_permutation(first: Array, second: Array, rng: np.random.Generator, draws: int = DRAWS) -> Array:
    """Two-sided p that the run is the unit of; exact up to 20,000 ways of dealing the runs, else from draws.

    The statistic is Welch's t, so that a recipe that only spreads its runs more is not taken for one that moves them
    (Janssen, Statistics & Probability Letters 36:9, 1997); the difference of means where an arm has a single run.

    Arguments:
        first, second: (..., S) and (..., T) a score for each run.

    Returns:
        (...) p; never below `smallest_p`.
    """
    size, other = first.shape[-1], second.shape[-1]
    exact = comb(size + other, size) <= EXACT_UP_TO
    labels = _all_labels(size, other) if exact else _random_labels(size, other, draws, rng)
    pooled = np.concatenate([first, second], axis=-1)
    pooled = pooled - pooled.mean(-1, keepdims=True)  # squares of numbers far from zero lose digits
    seen = _statistic(pooled, np.arange(size + other)[None] < size)
    hits = (_statistic(pooled, labels) >= seen * (1 - _SAME)).sum(-1)
    return hits / len(labels) if exact else (1 + hits) / (1 + draws)


def smallest_p(first: int, second: int) -> float:
    """The least p that so many runs can give: the observed deal and, for equal numbers, its mirror."""
    if comb(first + second, first) > EXACT_UP_TO:
        return 1 / (DRAWS + 1)
    return (2 if first == second else 1) / comb(first + second, first)


def attainable(alpha: float, step: float) -> float:
    """The largest level up to `alpha` of an exact test whose p are multiples of `step`; 0 where it never rejects."""
    return float(np.floor(alpha / step * (1 + 1e-12)) * step)


def _statistic(pooled: Array, labels: np.ndarray) -> Array:
    """(..., P) |t| of each deal; labels (P, R) are true for the first arm."""
    mine = labels.astype(np.float64)
    size, other = int(labels[0].sum()), int((~labels[0]).sum())
    total, squares = pooled @ mine.T, pooled**2 @ mine.T
    everything = (pooled**2).sum(-1, keepdims=True)
    mean, rest = total / size, -total / other  # the pooled runs add up to zero
    gap = np.abs(mean - rest)
    if min(size, other) < 2:
        return gap
    inner = np.maximum(squares - size * mean**2, 0) / (size * (size - 1))
    outer = np.maximum(everything - squares - other * rest**2, 0) / (other * (other - 1))
    variance = inner + outer
    variance = np.where(variance < 1e-13 * everything, 0, variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = gap / np.sqrt(variance)
    return np.where(np.isnan(t), 0, t)


def _all_labels(size: int, other: int) -> np.ndarray:
    labels = np.zeros((comb(size + other, size), size + other), dtype=bool)
    for row, chosen in enumerate(itertools.combinations(range(size + other), size)):
        labels[row, list(chosen)] = True
    return labels


def _random_labels(size: int, other: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    order = np.argsort(rng.random((draws, size + other)), axis=-1)
    return order < size
