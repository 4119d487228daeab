"""A comparison as a weighted sum of groups, its readings as arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from octavo.evaluation.comparisons.groups import Group
from octavo.evaluation.comparisons.readings import Readings, Table, tabulate
from octavo.evaluation.statistics.arms import Arm


@dataclass(frozen=True)
class Question:
    """What is asked of which groups.

    Attributes:
        kind: difference, equivalence, trend or interaction. metric: as the study names it.
        coefficients: of each group's mean in the estimate. doses: of each group, for a trend.
        label: names the question in seeds of draws; equal questions give equal figures.
    """

    kind: str
    metric: str
    groups: Sequence[Group]
    coefficients: Sequence[float]
    label: str
    alpha: float = 0.05
    margin: float | None = None
    doses: Sequence[float] | None = None

    @property
    def fewest_runs(self) -> int:
        """Runs that count in the smallest group."""
        return min(len(group.counted) for group in self.groups)

    def rng(self, purpose: str) -> np.random.Generator:
        """Random numbers that depend on the question alone."""
        digest = hashlib.sha256(f"{self.label}|{purpose}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))


@dataclass(frozen=True)
class Contrast:
    """A question with its readings."""

    question: Question
    table: Table
    arms: list[Arm]

    @property
    def items_right(self) -> list[np.ndarray] | None:
        """(items,) answers of two single checkpoints that are all right or wrong; None for any other scores."""
        question, table = self.question, self.table
        if question.kind != "difference" or any(len(group.counted) != 1 for group in question.groups):
            return None
        answers = [table.totals[group.counted[0]] for group in question.groups]
        single = all((table.weights[group.counted[0]] == 1).all() for group in question.groups)
        return answers if single and all(np.isin(one, (0, 1)).all() for one in answers) else None


def with_readings(question: Question, readings: Readings) -> Contrast:
    """The question's arms as sums by cluster; every group has a run that counts."""
    table = tabulate(readings, [run for group in question.groups for run in group.counted])
    arms = []
    for group, coefficient in zip(question.groups, question.coefficients, strict=True):
        totals = np.stack([table.totals[run] for run in group.counted])
        weights = table.weights[group.counted[0]]
        arms.append(Arm(table.by_cluster(totals), table.by_cluster(weights), coefficient))
    return Contrast(question, table, arms)


def group_facts(contrast: Contrast) -> list[dict[str, Any]]:
    """The facts of each group with the mean and the spread of its runs."""
    return [
        _with_mean(group.facts, arm.run_means)
        for group, arm in zip(contrast.question.groups, contrast.arms, strict=True)
    ]


def _with_mean(facts: Mapping[str, Any], means: np.ndarray) -> dict[str, Any]:
    spread = float(means.std(ddof=1)) if len(means) > 1 else None
    return {**facts, "mean": float(means.mean()), "sd_of_runs": spread}
