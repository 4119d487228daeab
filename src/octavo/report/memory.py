"""Predicted, measured and allowed memory beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from octavo.report.numbers import as_finite, size

# sums among the parts; the evaluation is not held at the same time as the others
_SUMS = ("training", "evaluation", "peak", "total")


@dataclass(frozen=True)
class Bar:
    """A labelled amount and its share of the largest, in percent; no bar is drawn at 0 or where unknown."""

    label: str
    text: str
    percent: float


def memory_bars(memory: Mapping[str, Any]) -> list[Bar]:
    """Bars of the predicted and the measured peak and of the limit."""
    names = {"predicted": "predicted_bytes", "measured peak": "peak_bytes", "limit": "limit_bytes"}
    values = {label: _total(memory.get(key)) for label, key in names.items()}
    largest = max((value for value in values.values() if value), default=None)
    return [
        Bar(label, size(value), 100 * value / largest if value and largest else 0.0)
        for label, value in values.items()
    ]


def memory_parts(memory: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The prediction by part, if results.json has it; totals are left out."""
    parts = memory.get("by_part")
    if not isinstance(parts, Mapping):
        return []
    return [(name, size(part)) for name, part in parts.items() if name not in _SUMS]


def memory_words(memory: Mapping[str, Any]) -> str:
    """How far the prediction was off, the share of the limit that was used, and what had to be done to stay in it."""
    predicted, peak, limit = (
        _total(memory.get(key)) for key in ("predicted_bytes", "peak_bytes", "limit_bytes")
    )
    parts = []
    if predicted and peak:
        off = 100 * (peak - predicted) / predicted
        parts.append(f"The peak was {abs(off):.1f} % {'above' if off > 0 else 'below'} the prediction.")
    if peak and limit:
        parts.append(f"It took {100 * peak / limit:.0f} % of the limit.")
    words = " ".join(parts) or "The peak was not measured."
    if halvings := memory.get("halvings"):
        words += (
            f" Memory ran out {halvings} times; windows were repeated in halves, which changes no result."
        )
    if (length := memory.get("shortened_to")) is not None:
        words += (
            f" Examples were cut at {length} tokens because one longer example did not fit (lanes.allow_shorter): "
            "these runs are not those of the study's own train.max_length."
        )
    return words


def _total(value: Any) -> float | None:
    """Bytes, where a prediction may also be split into parts."""
    if not isinstance(value, Mapping):
        return as_finite(value)
    parts = [as_finite(part) for part in value.values()]
    return (
        sum(part for part in parts if part is not None) if any(part is not None for part in parts) else None
    )
