"""Evaluation lines as the readings of a metric: for each run and item a score, its weight and its cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.evaluation.statistics.arms import Array

FEWEST_CLUSTERS = 10  # with fewer families the items are the sample, and the claim is about these families
Lines = Sequence[Mapping[str, Any]]


class Reading(NamedTuple):
    """One answer of one run: score = total / weight; `family` groups items that are alike."""

    total: float
    weight: float
    family: str


Readings = Mapping[str, Mapping[str, Reading]]  # run -> item -> reading


def suite_of(metric: str) -> str:
    """The suite whose lines hold a metric."""
    return "heldout" if metric.startswith("heldout_") else metric.split(".", maxsplit=1)[0]


def lower_is_better(metric: str) -> bool | None:
    """True for losses; None where the direction is not known."""
    return True if metric.startswith("heldout_") else None


def read_metric(
    metric: str, lines: Lines, variant_of: Mapping[str, str], control: str | None
) -> dict[str, dict[str, Reading]]:
    """The readings of the runs in `variant_of` (run -> variant).

    Arguments:
        control: whose held-out set `heldout_loss_control` is about.
    """
    found: dict[str, dict[str, Reading]] = {}
    for line in lines:
        variant = variant_of.get(line["run"])
        if variant is None:
            continue
        item = (
            _heldout(metric, line, variant, control)
            if suite_of(metric) == "heldout"
            else _scored(metric, line)
        )
        if item is not None:
            found.setdefault(line["run"], {})[item[0]] = item[1]
    return found


def _heldout(
    metric: str, line: Mapping[str, Any], variant: str, control: str | None
) -> tuple[str, Reading] | None:
    """A held-out line, if it is of the metric's set; own sets are paired by the example that they were made from."""
    detail = line["detail"]
    wanted = control if metric == "heldout_loss_control" else variant
    if detail["set"] != wanted:
        return None
    loss, weight = float(detail["loss_sum"]), float(detail["targets"])
    if metric == "heldout_bits_per_character":
        loss, weight = loss / math.log(2), float(detail["characters"])
    return line["item"].removeprefix(f"{wanted}/"), Reading(loss, weight, str(detail["family"]))


def _scored(metric: str, line: Mapping[str, Any]) -> tuple[str, Reading] | None:
    """A line of another suite: its score, or the further score that `SUITE.KEY` names; null is no answer."""
    detail = line.get("detail") or {}
    key = metric.split(".", 1)[1] if "." in metric else None
    value = line["score"] if key is None else {**detail, **(detail.get("scores") or {})}.get(key)
    if value is None:
        return None
    family = detail.get("cluster") or detail.get("family") or line["item"]
    return line["item"], Reading(float(value), 1.0, str(family))


def is_finite(readings: Mapping[str, Reading]) -> bool:
    """Whether all of a run's readings are numbers; those of a run that has NaN are not averaged."""
    return all(math.isfinite(reading.total) for reading in readings.values())


@dataclass(frozen=True)
class Table:
    """Readings of some runs on the items that all of them answered.

    Attributes:
        totals, weights: run -> (items,). cluster: (items,) index of each item's cluster.
        unit: `family` or `item`, what a cluster is. left_out: items that some run did not answer.
    """

    totals: Mapping[str, Array]
    weights: Mapping[str, Array]
    cluster: NDArray[np.int64]
    unit: str
    left_out: int

    @property
    def items(self) -> int:
        """How many items all runs answered."""
        return len(self.cluster)

    @property
    def clusters(self) -> int:
        """How many clusters they fall into."""
        return int(self.cluster.max()) + 1 if self.items else 0

    def by_cluster(self, values: Array) -> Array:
        """(..., items) added up to (..., C)."""
        membership = np.zeros((self.items, self.clusters))
        membership[np.arange(self.items), self.cluster] = 1
        return values @ membership


def tabulate(readings: Readings, runs: Iterable[str]) -> Table:
    """The table of `runs`, which all have readings."""
    names = list(runs)
    answered = [set(readings[name]) for name in names]
    common = sorted(set.intersection(*answered)) if answered else []
    asked = set().union(*answered)
    families = [readings[names[0]][item].family for item in common]
    several = sorted(set(families))
    clustered = FEWEST_CLUSTERS <= len(several) < len(common)
    cluster = [several.index(family) for family in families] if clustered else range(len(common))
    return Table(
        {name: np.array([readings[name][item].total for item in common]) for name in names},
        {name: np.array([readings[name][item].weight for item in common]) for name in names},
        np.array(cluster, dtype=np.int64),
        "family" if clustered else "item",
        len(asked) - len(common),
    )
