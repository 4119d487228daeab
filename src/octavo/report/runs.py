"""The runs of a study as rows of a table, with one colour each (or one a variant) and their curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from octavo.report.charts import COLOURS, CSS_DASHES, dash
from octavo.report.matrix import Losses
from octavo.report.numbers import DASH, as_float, canonical, count, fixed, general, seconds
from octavo.report.series import Series, make_series

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Key:
    """One entry of the legend: colour number, CSS dash pattern and name."""

    label: str
    colour: int
    dashes: str


def run_styles(runs: list[Run]) -> tuple[dict[str, int], list[Key]]:
    """Style number of each run id, and the legend; past eight runs those of a variant share its style."""
    variants = list(dict.fromkeys(str(run.get("variant")) for run in runs))
    by_variant = len(runs) > COLOURS and 1 < len(variants) < len(runs)
    labels = [str(run.get("variant") if by_variant else run.get("id")) for run in runs]
    styles = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    legend = [Key(label, style % COLOURS, CSS_DASHES[dash(style)]) for label, style in styles.items()]
    return {str(run.get("id")): styles[label] for run, label in zip(runs, labels, strict=True)}, legend


@dataclass(frozen=True)
class Row:
    """A run as the table shows it; every field but the id is written out already."""

    id: str
    colour: int
    dashes: str
    state: str
    verdict: str
    rescued: bool
    steps: str
    tokens: str
    parameters: str
    first: str
    last: str
    own: str
    own_to_base: str
    control: str
    control_to_base: str
    bits: str
    seconds: str
    events: str
    note: str


def run_rows(runs: list[Run], losses: Losses, styles: Mapping[str, int]) -> list[Row]:
    """The table of runs, in the order of results.json."""
    return [_row(run, losses, styles[str(run.get("id"))]) for run in runs]


def _row(run: Run, losses: Losses, style: int) -> Row:
    train = run.get("train_loss") or {}
    own = run.get("variant")
    name = str(run.get("id"))
    bad = as_float(run.get("nonfinite_parameters"))
    return Row(
        id=name,
        colour=style % COLOURS,
        dashes=CSS_DASHES[dash(style)],
        state=general(run.get("state")),
        verdict=general(run.get("verdict")),
        rescued=run.get("rescued") is True,
        steps=count(run.get("steps")),
        tokens=count(run.get("label_tokens")),
        parameters=count(run.get("trainable_parameters")),
        first=fixed(train.get("first")),
        last=fixed(train.get("last")),
        own=fixed(own_loss(run, losses)),
        own_to_base=fixed(losses.to_base(run, str(own)), sign=True),
        control=fixed(losses.value(name, losses.control)),
        control_to_base=fixed(losses.to_base(run, losses.control), sign=True),
        bits=fixed(run.get("heldout_bits_per_character")),
        seconds=seconds(run.get("seconds")),
        events=event_count(run),
        note=f"{count(run.get('nonfinite_parameters'))} weights not finite" if bad else _reason(run),
    )


def _reason(run: Run) -> str:
    """Why a run did not complete, in the words of the ledger."""
    message = run.get("message")
    return str(message) if message and run.get("state") != "completed" else ""


def own_loss(run: Run, losses: Losses) -> float | str | None:
    """Held-out loss of a run on its own variant's set: its own field, else the matrix."""
    mine = canonical(run.get("heldout_loss"))
    return losses.value(str(run.get("id")), str(run.get("variant"))) if mine is None else mine


def event_count(run: Run) -> str:
    """The number of events, whether results.json holds the number or the events themselves."""
    events = run.get("events")
    return count(len(events)) if isinstance(events, list) else count(events)


def event_rows(runs: list[Run]) -> list[tuple[str, str, str, str, str]]:
    """(run, step, kind, evidence, action) of every event that results.json spells out."""
    return [
        (str(run.get("id")), count(event.get("step")), *(_words(event.get(key)) for key in EVENT_TEXT))  # type: ignore[misc]
        for run in runs
        if isinstance(run.get("events"), list)
        for event in run["events"]
        if isinstance(event, Mapping)
    ]


EVENT_TEXT = ("kind", "evidence", "action")


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(part)}" for key, part in value.items()) or DASH
    if isinstance(value, list):
        return ", ".join(_words(part) for part in value) or DASH
    return general(value)


def run_series(runs: list[Run], styles: Mapping[str, int], key: str) -> list[Series]:
    """One curve of every run that has it: `loss`, `lr`, `grad_norm`, or `heldout`."""
    found = []
    for run in runs:
        curves = run.get("curves") or {}
        part = (curves.get("heldout") or {}) if key == "heldout" else curves
        name = str(run.get("id"))
        one = make_series(
            name, styles[name], part.get("step") or [], part.get("loss" if key == "heldout" else key) or []
        )
        if len(one.finite) or one.marks:
            found.append(one)
    return found
