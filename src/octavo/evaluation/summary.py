"""Suites in results.json: means, chance and numbers of items for each run, from the lines alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from octavo.artifacts import Folder, read_jsonl
from octavo.evaluation.choices import best_constant

Line = Mapping[str, Any]


def summarise(folder: Folder, base_of: Mapping[str, str]) -> dict[str, Any]:
    """{suite: {version, rule, says, unit, metric, chance, rows}} of a study's suites, {} where there are none.

    Arguments:
        base_of: the base of each run.

    Rows are {run, metric, group, n, refused, mean, chance}; a mean is None where a score was refused, since dropping it
    would choose which items count. `chance` is the best constant answer.
    """
    if not folder.suites.exists():
        return {}
    facts = json.loads(folder.suites.read_text(encoding="utf-8"))
    return {
        name: fact | {"rows": rows_of(read_jsonl(folder.evaluation(name)), fact, base_of)}
        for name, fact in facts.items()
        if folder.evaluation(name).exists()
    }


def rows_of(
    lines: Sequence[Line], fact: Mapping[str, Any], base_of: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Rows of one suite: each run's metrics over all items, then by group where there are several."""
    rows = []
    by_run: dict[str, list[Line]] = {}
    for line in lines:
        by_run.setdefault(line["run"], []).append(line)
    groups = sorted({str(line["detail"].get("group", "")) for line in lines})
    for run, own in by_run.items():
        for metric in _metrics(own, fact["metric"]):
            chance = _chance(fact, base_of.get(run, run.removeprefix("base:")), metric)
            rows.append(_row(run, metric, None, own, fact, chance))
            if len(groups) > 1:
                for group in groups:
                    part = [line for line in own if line["detail"].get("group", "") == group]
                    rows.append(_row(run, metric, group, part, fact, None))
    return rows


def _metrics(lines: Iterable[Line], first: str) -> list[str]:
    found = [first]
    for line in lines:
        found += [name for name in line["detail"].get("scores", {}) if name not in found]
    return found


def _row(
    run: str,
    metric: str,
    group: str | None,
    lines: Sequence[Line],
    fact: Mapping[str, Any],
    chance: float | None,
) -> dict[str, Any]:
    own = metric == fact["metric"]
    # a measure that does not apply to an item is not there; one that was refused is null
    scores = [
        line["score"] if own else line["detail"]["scores"][metric]
        for line in lines
        if own or line["score"] is None or metric in line["detail"].get("scores", {})
        if own or "scores" in line["detail"]
    ]
    refused = sum(line["score"] is None for line in lines)
    mean = None if refused or not scores else sum(scores) / len(scores)
    return {
        "run": run,
        "metric": metric,
        "group": group,
        "n": len(scores),
        "refused": refused,
        "mean": mean,
        "chance": chance,
    }


def _chance(fact: Mapping[str, Any], base: str, metric: str) -> float | None:
    lines = (fact["chance"].get(base) or {}).get(metric)
    return best_constant(lines) if lines else None
