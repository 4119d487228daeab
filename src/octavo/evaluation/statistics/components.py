"""How much runs and single answers vary, from runs of arms that answered the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from octavo.evaluation.statistics.arms import Array


@dataclass(frozen=True)
class Components:
    """Standard deviations; `run_sd` is None where no arm has two runs."""

    run_sd: float | None
    item_sd: float
    items: int
    runs: int


def components(arms: Sequence[tuple[Array, Array]]) -> Components:
    """Pooled over arms, by the mean squares of runs x items (the expected mean squares of a two-way layout).

    Arguments:
        arms: (S, items) totals and (items,) weights of each arm; a score is total / weight. An answer counts by its
            weight, as it does in the score of its run.
    """
    between = within = 0.0
    df = 0
    shares = arms[0][1] / arms[0][1].sum()
    for totals, weights in arms:
        size = totals.shape[0]
        share = weights / weights.sum()
        scores = totals.sum(-1) / weights.sum()
        parts = (
            totals - scores[:, None] * weights
        ) / weights.sum()  # what each answer adds to its run's score
        between += float(((scores - scores.mean()) ** 2).sum())
        within += float(((parts - parts.mean(0)) ** 2 / share).sum())
        df += size - 1
    runs = sum(totals.shape[0] for totals, _ in arms)
    if not df:
        return Components(None, _spread_of_differences(arms), len(shares), runs)
    item_variance = within / df
    run_variance = between / df - item_variance * float((shares**2).sum())
    return Components(
        float(np.sqrt(max(run_variance, 0.0))), float(np.sqrt(item_variance)), len(shares), runs
    )


def _spread_of_differences(arms: Sequence[tuple[Array, Array]]) -> float:
    """Of single runs: the spread of one answer from how the first two arms differ on each item."""
    if len(arms) < 2:
        return float("nan")
    (first, weights), (second, _) = arms[0], arms[1]
    differences = (first[0] - second[0]) / weights
    return float(differences.std(ddof=1) / np.sqrt(2))
