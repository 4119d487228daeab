"""Which curves the report draws: four charts over all runs, and a panel of the training loss for each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from octavo.report.charts import curve_chart
from octavo.report.matrix import BASE_PREFIX, Losses
from octavo.report.numbers import as_finite
from octavo.report.runs import Run, run_series
from octavo.report.series import Series, segments

MOST_PANELS = 24  # above that many runs single panels would be a page of stamps
CHARTS: tuple[
    tuple[str, str, str, dict[str, Any]], ...
] = (  # key of the curves, title, note, how it is drawn
    ("loss", "Training loss", "nats a label token; moving mean over the faint raw values", {"smooth": True}),
    ("heldout", "Held-out loss, own set", "nats a label token", {"points": True}),
    (
        "grad_norm",
        "Gradient norm",
        "before clipping; moving mean over the faint raw values",
        {"smooth": True},
    ),
    ("lr", "Learning rate", "", {}),
)
Chart = tuple[str, str, Markup]


def charts(runs: list[Run], losses: Losses, styles: Mapping[str, int]) -> list[Chart]:
    """(title, note, SVG) of the curves over all runs; a quantity that no run has is left out."""
    found = []
    for key, title, remark, options in CHARTS:
        series, note = run_series(runs, styles, key), remark
        if not series:
            continue
        starts = _starts(runs, losses, styles) if key == "heldout" else {}
        if starts:
            note += "; hollow: the base on that set"
        if len(series) > 1 and _coincide(series):  # else the one visible line would be taken for one run's
            series, note = [replace(series[0], style=-1)], "the same for every run"
        label = f"{title} of every run over optimizer steps"
        found.append(
            (title, note, Markup(curve_chart(f"chart-{key}", series, label, starts=starts, **options)))
        )
    return found


def _starts(runs: list[Run], losses: Losses, styles: Mapping[str, int]) -> dict[int, float]:
    """The base's loss on each run's own set, by style: where the run's curve starts from."""
    found = {}
    for run in runs:
        loss = as_finite(losses.value(f"{BASE_PREFIX}{run.get('base')}", str(run.get("variant"))))
        if loss is not None:
            found[styles[str(run.get("id"))]] = loss
    return found


def _coincide(series: list[Series]) -> bool:
    first = series[0]
    return all(
        np.array_equal(one.steps, first.steps)
        and np.array_equal(one.values, first.values, equal_nan=True)
        and one.marks == first.marks
        for one in series
    )


def panels(runs: list[Run], styles: Mapping[str, int]) -> list[Chart]:
    """(run, remark, SVG): the training loss of each run alone, the others grey behind it, on one scale."""
    series = run_series(runs, styles, "loss")
    if not 1 < len(series) <= MOST_PANELS:
        return []
    found = []
    for number, one in enumerate(series):
        label = f"Training loss of {one.label}"
        others = [other for other in series if other is not one]
        svg = curve_chart(
            f"panel-{number}", [one], label, smooth=True, faint=others, frame=series, small=True
        )
        found.append((one.label, _remark(one), Markup(svg)))
    return found


def _remark(one: Series) -> str:
    if one.marks:
        step, _, kind = one.marks[0]
        return f"{kind} at step {step:,.0f}"
    return "with gaps" if len(segments(one.values)) > 1 else ""
