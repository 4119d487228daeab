"""Evaluation suites as tables: a row a run, its means beside what answers that know nothing get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from octavo.report.matrix import BASE_PREFIX
from octavo.report.numbers import DASH, count, fixed


@dataclass(frozen=True)
class SuiteTable:
    """One suite.

    Attributes:
        name, says, rule: for people. columns: (metric, group or "" for all items).
        chance: a cell a column. rows: (run, [cell]); a cell is the mean, or why there is none.
        items: how many.
    """

    name: str
    says: str
    rule: str
    items: str
    columns: list[tuple[str, str]]
    chance: list[str]
    rows: list[tuple[str, list[str]]]


def suite_tables(suites: Mapping[str, Any] | None) -> list[SuiteTable]:
    """A table for each suite of results.json's `evaluation.suites`; bases stand first."""
    return [_table(name, found) for name, found in (suites or {}).items() if found.get("rows")]


def _table(name: str, found: Mapping[str, Any]) -> SuiteTable:
    rows = found["rows"]
    columns = list(dict.fromkeys((str(row["metric"]), str(row["group"] or "")) for row in rows))
    cells = {(row["run"], str(row["metric"]), str(row["group"] or "")): row for row in rows}
    runs = sorted(dict.fromkeys(row["run"] for row in rows), key=lambda run: not run.startswith(BASE_PREFIX))
    return SuiteTable(
        name=name,
        says=str(found.get("says") or ""),
        rule=f"version {found.get('version')}; {found.get('rule')}",
        items=count(max(row["n"] for row in rows)),
        columns=columns,
        chance=[_chance([cells.get((run, *column)) for run in runs]) for column in columns],
        rows=[(run, [_cell(cells.get((run, *column))) for column in columns]) for run in runs],
    )


def _chance(rows: list[Mapping[str, Any] | None]) -> str:
    known = [row["chance"] for row in rows if row is not None and row["chance"] is not None]
    return fixed(max(known)) if known else DASH


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return DASH
    return f"{count(row['refused'])} refused" if row["refused"] else fixed(row["mean"])
