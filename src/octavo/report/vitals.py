"""What the vitals of the runs came to: alarms with their causes, curves beside the base model's own values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from octavo.report.charts import curve_chart
from octavo.report.numbers import DASH, as_finite, count, fixed
from octavo.report.runs import Run
from octavo.report.series import Series, make_series

# figure, title, note; in the order of the page
CURVES = (
    ("rho", "Relative update", "largest ||ΔW|| / ||W|| of a module"),
    ("probe_nll", "Probe", "nats a token on fixed texts"),
    ("probe_share", "Distinct words", "share of distinct words in what the probe is continued by"),
    ("update_stable_rank", "Stable rank of the updates", "||BA||² / σ₁², mean over modules"),
    ("update_effective_rank", "Effective rank of the updates", "exp of the entropy of σ, mean over modules"),
    ("attention_entropy", "Entropy of attention", "of a row over its largest, mean over every fourth layer"),
    ("attention_second", "Second singular value of attention", "over the first; eigenvalue where it looks ahead"),
    ("hidden_rank", "Effective rank of hidden states", "mean over every fourth layer"),
)  # fmt: skip
Chart = tuple[str, str, Markup]


def vitals_charts(results: Mapping[str, Any], styles: Mapping[str, int]) -> list[Chart]:
    """(title, note, SVG) of each figure that some run has; the base model's own value is the dotted line."""
    runs: list[Run] = list(results.get("runs") or [])
    found = []
    for key, title, remark in CURVES:
        series = _series(runs, styles, key)
        if not series:
            continue
        levels = _base_levels(results, key)
        note = f"{remark}; dotted: the base{'' if len(levels) == 1 else 's'}" if levels else remark
        label = f"{title} of every run over optimizer steps"
        svg = curve_chart(f"vitals-{key}", series, label, points=True, levels=levels)
        found.append((title, note, Markup(svg)))
    return found


def _series(runs: list[Run], styles: Mapping[str, int], key: str) -> list[Series]:
    found = []
    for run in runs:
        curve = (run.get("vitals") or {}).get(key) or {}
        name = str(run.get("id"))
        one = make_series(name, styles[name], curve.get("step") or [], curve.get("value") or [])
        if len(one.finite) or one.marks:
            found.append(one)
    return found


def _base_levels(results: Mapping[str, Any], key: str) -> list[float]:
    """The base models' own values of a figure."""
    bases = (results.get("vitals") or {}).values()
    values = [as_finite(((base or {}).get("base") or {}).get(key)) for base in bases]
    return [value for value in values if value is not None]


def alarm_rows(runs: list[Run]) -> list[dict[str, str]]:
    """A row for every event that a verdict or a cause stands behind, worst evidence in words."""
    rows = []
    for run in runs:
        events = run.get("events")
        for event in events if isinstance(events, list) else []:
            if isinstance(event, Mapping) and event.get("cause"):
                examples = [str(one) for one in event.get("examples") or []]
                rows.append(
                    {
                        "run": str(run.get("id")),
                        "step": count(event.get("step")),
                        "verdict": str(event.get("verdict") or event.get("kind")),
                        "cause": str(event["cause"]),
                        "evidence": str(event.get("evidence") or DASH),
                        "first": str(event.get("first_bad") or event.get("module") or DASH),
                        "examples": ", ".join(examples) or DASH,
                        "action": str(event.get("action") or DASH),
                    }
                )
    return rows


def threshold_rows(results: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """(base, threshold, value, where it comes from)."""
    rows = []
    for base, found in (results.get("vitals") or {}).items():
        values = dict((found or {}).get("thresholds") or {})
        origin = values.pop("origin", None) or {}
        for name, value in values.items():
            said = origin.get(name) if isinstance(origin, Mapping) else origin
            rows.append((str(base), name, fixed(value, 4), str(said or DASH)))
    return rows
