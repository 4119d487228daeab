"""Held-out losses of runs and bases on the variants' held-out sets: look-up, control set, heat table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from octavo.report.numbers import as_finite, canonical, fixed

BASE_PREFIX = "base:"


@dataclass(frozen=True)
class Cell:
    """One cell of the heat table: `shade` in [-1, 1], below 0 is better than the base on the same set."""

    text: str
    shade: float
    own: bool
    note: str


class Losses:
    """The `matrix` of results.json: loss of a row (run id or `base:NAME`) on a held-out set, nats a token."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        matrix = results.get("matrix") or {}
        self.rows: list[str] = list(matrix.get("rows") or [])
        self.columns: list[str] = list(matrix.get("columns") or [])
        self._values = {
            (row, column): canonical(value)
            for row, line in zip(self.rows, matrix.get("heldout_loss") or [], strict=False)
            for column, value in zip(self.columns, line or [], strict=False)
        }
        named = matrix.get("control")
        self.control = named if named in self.columns else _control_set(results, self.columns)

    def value(self, row: str, column: str | None) -> float | str | None:
        """The loss, "nan" or "inf", or None where it was not measured."""
        return self._values.get((row, column)) if column is not None else None

    def to_base(self, run: Mapping[str, Any], column: str | None) -> float | None:
        """Loss of a run less that of its own base on the same set; None unless both are finite."""
        mine = as_finite(self.value(str(run.get("id")), column))
        base = as_finite(self.value(f"{BASE_PREFIX}{run.get('base')}", column))
        return None if mine is None or base is None else mine - base


def _control_set(results: Mapping[str, Any], columns: list[str]) -> str | None:
    """The set on which runs are compared: the declared control's, else that of the variant named control."""
    study = results.get("study")
    evaluate = study.get("evaluate") if isinstance(study, Mapping) else None
    declared = (evaluate.get("comparisons") if isinstance(evaluate, Mapping) else None) or []
    names = [entry.get("control") for entry in declared if isinstance(entry, Mapping)]
    return next((name for name in [*names, "control"] if name in columns), None)


def heat_rows(losses: Losses, runs: list[Mapping[str, Any]]) -> list[tuple[str, list[Cell]]]:
    """Rows of the heat table, bases last. Sets differ in text, so shades show the difference to the base."""
    known = {str(run.get("id")): run for run in runs}
    deltas = {
        (row, column): losses.to_base(known[row], column) if row in known else None
        for row in losses.rows
        for column in losses.columns
    }
    widest = max((abs(delta) for delta in deltas.values() if delta is not None), default=0.0) or 1.0
    table = []
    for row in sorted(losses.rows, key=lambda row: row.startswith(BASE_PREFIX)):
        shades = {
            column: None if (delta := deltas[row, column]) is None else delta / widest
            for column in losses.columns
        }
        table.append(
            (row, [_cell(losses, known.get(row), row, column, shades[column]) for column in losses.columns])
        )
    return table


def _cell(losses: Losses, run: Mapping[str, Any] | None, row: str, column: str, shade: float | None) -> Cell:
    delta = losses.to_base(run, column) if run is not None else None
    loss = losses.value(row, column)
    own = run is not None and loss is not None and str(run.get("variant")) == column
    note = f"{row} on {column}" + ("" if delta is None else f": {fixed(delta, sign=True)} to base")
    return Cell(fixed(loss), shade or 0.0, own, note)
