"""The runs of an arm: which count, and what became of those that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from octavo.evaluation.comparisons.readings import Readings, is_finite

UNWELL = ("diverging", "collapsed", "dead")


@dataclass(frozen=True)
class Group:
    """One arm of a comparison: a variant on one base with one set of swept settings.

    Attributes:
        name: for people. counted: ids of the runs whose readings count. facts: the numbers shown beside it.
    """

    name: str
    counted: Sequence[str]
    facts: Mapping[str, Any]


def gather(
    name: str, variant: str, runs: Sequence[Mapping[str, Any]], readings: Readings, pool_rescued: bool
) -> Group:
    """The group of an arm's planned runs (rows of results.json): rescued runs count only where that is asked for."""
    completed = [run for run in runs if run["state"] == "completed"]
    measured = [run for run in completed if readings.get(run["id"])]
    finite = [run for run in measured if is_finite(readings[run["id"]])]
    counted = [run for run in finite if pool_rescued or not run["rescued"]]
    facts = {
        "name": name,
        "variant": variant,
        "base": runs[0]["base"],
        "planned": len(runs),
        "completed": len(completed),
        "counted": len(counted),
        **{
            state: sum(run["state"] == state for run in runs)
            for state in ("stopped", "quarantined", "failed")
        },
        "unwell": sum(run["verdict"] in UNWELL for run in runs),
        "rescued": sum(bool(run["rescued"]) for run in runs),
        "not_finite": len(measured) - len(finite),
        "runs": [run["id"] for run in counted],
    }
    return Group(name, facts["runs"], facts)


def survival(groups: Sequence[Group]) -> dict[str, Any] | None:
    """Fisher's exact test of how many runs completed in two arms, None without losses: to lose runs is an outcome."""
    rows = [[group.facts["completed"], group.facts["planned"] - group.facts["completed"]] for group in groups]
    if len(rows) != 2 or not any(lost for _, lost in rows):
        return None
    return {"completed": [row[0] for row in rows], "p": float(stats.fisher_exact(rows).pvalue)}


def warnings(groups: Sequence[Group]) -> list[str]:
    """What must be said beside a figure from which runs are missing."""
    found = []
    for group in groups:
        facts = group.facts
        lost = facts["planned"] - facts["completed"]
        parts = [f"{facts[key]} {key}" for key in ("stopped", "quarantined", "failed") if facts[key]]
        if lost:
            detail = f" ({', '.join(parts)})" if parts else ""
            found.append(
                f"{lost} of {facts['planned']} runs of {group.name} did not complete{detail}: "
                "the figures are of those that did."
            )
        left_out = facts["completed"] - facts["counted"]
        if left_out:
            found.append(
                f"{left_out} completed runs of {group.name} are left out: {facts['rescued']} were rescued, which is "
                f"another treatment, {facts['not_finite']} have scores that are not finite."
            )
        if facts["unwell"]:
            found.append(
                f"{facts['unwell']} of {facts['planned']} runs of {group.name} are diverging, collapsed or dead."
            )
    return found
