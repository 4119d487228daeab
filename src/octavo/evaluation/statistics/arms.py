"""Scores of an arm as sums by cluster, and weighted sums of arms: a difference, a slope, an interaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ZERO: Array = np.zeros(())  # what sums of arms start from


@dataclass(frozen=True)
class Arm:
    """The runs of one variant on the same items.

    Attributes:
        sums: (..., S, C) scores added up within a cluster.
        weights: (..., C) what a cluster's sum is divided by: its items, or its label tokens; the same for all runs.
        coefficient: the arm's factor in the estimate: 1 and -1 for a difference.
    """

    sums: Array
    weights: Array
    coefficient: float

    @property
    def run_means(self) -> Array:
        """(..., S) score of each run over all items."""
        return self.sums.sum(-1) / self.weights.sum(-1)[..., None]

    @property
    def cluster_sums(self) -> Array:
        """(..., C) sums of the mean run."""
        return self.sums.mean(-2)


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval, arrays of one shape."""

    estimate: Array
    low: Array
    high: Array

    @property
    def excludes_zero(self) -> NDArray[np.bool_]:
        """Whether the interval says that there is a difference."""
        return (self.low > 0) | (self.high < 0)


def estimate(arms: Sequence[Arm]) -> Array:
    """(...) sum over arms of coefficient x mean score."""
    return sum((arm.coefficient * arm.run_means.mean(-1) for arm in arms), start=ZERO)


def cluster_parts(arms: Sequence[Arm]) -> Array:
    """(..., C) what each cluster adds to the estimate; their sum is the estimate."""
    parts = (arm.coefficient * arm.cluster_sums / arm.weights.sum(-1)[..., None] for arm in arms)
    return sum(parts, start=ZERO)


def influence(arms: Sequence[Arm]) -> Array:
    """(..., C) first-order effect of each cluster on the estimate, which is a quotient of sums."""
    parts = cluster_parts(arms)
    for arm in arms:
        mean = arm.run_means.mean(-1)[..., None]
        parts = parts - arm.coefficient * mean * arm.weights / arm.weights.sum(-1)[..., None]
    return parts
