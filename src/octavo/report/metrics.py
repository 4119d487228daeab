"""Metrics files into curves, ours or others': what was not finite, missing or zero stays just that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from octavo.errors import InputError
from octavo.report.numbers import as_finite, canonical

# Our key first, then the names that other trainers log the same quantity under.
KEYS = {
    "step": ("step", "global_step", "_step", "train/global_step"),
    "tokens": ("tokens", "num_input_tokens_seen"),
    "loss": ("loss", "train_loss", "train/loss"),
    "lr": ("lr", "learning_rate", "train/learning_rate"),
    "grad_norm": ("grad_norm", "train/grad_norm"),
    "seconds": ("seconds",),
}
HELDOUT_KEYS = ("heldout_loss", "eval_loss", "eval/loss")


def read_metrics(path: Path | str) -> dict[str, Any]:
    """Read a metrics JSONL file into curves.

    Returns lists of one length under "step", "tokens", "loss", "lr", "grad_norm" and "seconds", and
    `"heldout": {"step", "loss"}` with the steps at which a held-out loss was logged. A value is a float,
    None (null or absent), or "nan", "inf", "-inf"; `1e400` is "inf". A step that is logged again (after a
    resume) replaces the first. Raises InputError for a file that cannot be read, or for a broken line
    before the last: the last may be cut short.
    """
    rows = _by_step(_rows(Path(path)))
    curves: dict[str, Any] = {key: [] for key in KEYS}
    curves["heldout"] = {"step": [], "loss": []}
    for step, row in rows.items():
        curves["step"].append(step)
        for key, names in KEYS.items():
            if key != "step":
                curves[key].append(canonical(_first(row, names)))
        heldout = canonical(_first(row, HELDOUT_KEYS))
        if heldout is not None:
            curves["heldout"]["step"].append(step)
            curves["heldout"]["loss"].append(heldout)
    return curves


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); give a metrics.jsonl of a run"
        ) from error
    # Bytes, because a line may be cut inside a character; and lines end at \n only.
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    rows = []
    for number, line in lines:
        row = _parse(line)
        if row is not None:
            rows.append(row)
        elif number != lines[-1][0]:
            raise InputError(f"{path}:{number}: not a JSON object; repair or remove this line")
    return rows


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(
            line.decode("utf-8-sig")
        )  # json reads NaN, Infinity, and 1e400 as the floats they are
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _by_step(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Rows by step; rows of one step are merged, as some trainers log training and evaluation apart."""
    found: dict[int, dict[str, Any]] = {}
    last = 0
    for row in rows:
        step = as_finite(_first(row, KEYS["step"]))
        last = last + 1 if step is None else int(step)
        found[last] = {**found.get(last, {}), **row}
    return dict(sorted(found.items()))


def _first(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The value of the first name that the row has, null included."""
    return next((row[name] for name in names if name in row), None)
