"""Which questions a study's comparisons ask of which runs; those declared, and those that come with them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from octavo.declared import compared, control_variant, dose, stratum
from octavo.evaluation.comparisons.contrasts import Question
from octavo.evaluation.comparisons.groups import Group, gather
from octavo.evaluation.comparisons.readings import Lines, Readings, read_metric, suite_of
from octavo.evaluation.statistics.trend import slope_coefficients
from octavo.settings import Comparison
from octavo.study import Study

INTERACTION = (1.0, -1.0, -1.0, 1.0)  # (variant - control) here less (variant - control) on the first base


@dataclass
class Bench:
    """A study's runs and readings, from which groups are taken.

    Attributes:
        rows: of results.json's `runs`. lines: suite -> evaluation lines.
    """

    study: Study
    rows: Sequence[Mapping[str, Any]]
    lines: Mapping[str, Lines]
    _metrics: dict[str, Readings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.variant_of = {row["id"]: row["variant"] for row in self.rows}
        self.by_id = {row["id"]: row for row in self.rows}
        self.arms: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for run in self.study.expand():
            self.arms.setdefault((run.variant, stratum(self.study, run)), []).append(self.by_id[run.id])

    def readings(self, metric: str) -> Readings:
        """Readings of every run, read once."""
        if metric not in self._metrics:
            control = control_variant(self.study)
            lines = self.lines.get(suite_of(metric), ())
            self._metrics[metric] = read_metric(metric, lines, self.variant_of, control)
        return self._metrics[metric]

    def group(self, variant: str, where: str, one: Comparison) -> Group | None:
        """The runs of a variant in a stratum; None where it has none."""
        runs = self.arms.get((variant, where))
        if not runs:
            return None
        return gather(variant, variant, runs, self.readings(one.metric), one.pool_rescued)

    def strata(self, variant: str) -> list[str]:
        """The strata that a variant has runs in, in the order of the study."""
        return [where for name, where in self.arms if name == variant]


def questions(bench: Bench, one: Comparison) -> Iterator[Question]:
    """The questions of one comparison: one a variant and stratum, for a trend one a stratum."""
    chosen = compared(bench.study, one)
    if one.kind == "trend":
        yield from _trends(bench, one, chosen)
    elif one.kind == "interaction":
        for variant in chosen:
            yield from _interactions(bench, one, variant)
    else:
        for variant in chosen:
            for where in bench.strata(one.control):
                groups = [bench.group(variant, where, one), bench.group(one.control, where, one)]
                if all(groups):
                    yield _question(one, groups, [1.0, -1.0], where)


def _trends(bench: Bench, one: Comparison, chosen: Sequence[str]) -> Iterator[Question]:
    doses = {variant.name: dose(variant) for variant in bench.study.variants}
    for where in bench.strata(one.control):
        found = [(name, bench.group(name, where, one)) for name in [one.control, *chosen]]
        groups = [group for _, group in found if group is not None]
        levels = [float(doses[name] or 0) for name, group in found if group is not None]
        if len(set(levels)) >= 3:
            yield _question(one, groups, slope_coefficients(levels), where, levels)


def _interactions(bench: Bench, one: Comparison, variant: str) -> Iterator[Question]:
    """Each base against the first one, at equal settings."""
    shared = [where for where in bench.strata(one.control) if (variant, where) in bench.arms]
    firsts: dict[str, str] = {}
    for where in shared:
        parts = json.loads(where)
        settings = json.dumps({key: value for key, value in parts.items() if key != "base"})
        first = firsts.setdefault(settings, where)
        if first != where:
            places = ((variant, where), (one.control, where), (variant, first), (one.control, first))
            groups = [bench.group(name, place, one) for name, place in places]
            yield _question(one, groups, list(INTERACTION), where)


def _question(
    one: Comparison,
    groups: Sequence[Group | None],
    coefficients: list[float],
    where: str,
    doses: list[float] | None = None,
) -> Question:
    present = [group for group in groups if group is not None]
    label = json.dumps([one.kind, one.metric, [group.name for group in present], where])
    return Question(one.kind, one.metric, present, coefficients, label, one.alpha, one.margin, doses)
