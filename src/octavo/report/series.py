"""A curve made ready to draw: gaps stay gaps, smoothing never reaches over one, long curves are thinned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from octavo.report.numbers import as_float

MAX_POINTS = (
    600  # drawn per raw curve; more cannot be told apart at the width of a page and only swell the file
)


@dataclass(frozen=True)
class Series:
    """A curve: `steps` and `values` are float arrays of one length [N]; what was not measured is NaN.

    `marks` are stretches at which the value was measured and not finite: (first step, last step, name).
    """

    label: str
    style: int
    steps: np.ndarray
    values: np.ndarray
    marks: list[tuple[float, float, str]]

    @property
    def finite(self) -> np.ndarray:
        """The finite values, in order."""
        return self.values[np.isfinite(self.values)]


def make_series(label: str, style: int, steps: Sequence[Any], values: Sequence[Any]) -> Series:
    """Build a series from lists of numbers, null, "nan" and "inf" as in results.json; the shorter rules."""
    pairs = [
        (as_float(step), as_float(value)) for step, value in zip(steps or [], values or [], strict=False)
    ]
    pairs = [(step, value) for step, value in pairs if step is not None and math.isfinite(step)]
    finite = [math.nan if value is None or not math.isfinite(value) else value for _, value in pairs]
    return Series(
        label, style, np.array([step for step, _ in pairs], float), np.array(finite, float), _marks(pairs)
    )


def _marks(pairs: Sequence[tuple[float | None, float | None]]) -> list[tuple[float, float, str]]:
    marks: list[tuple[float, float, str]] = []
    name_before = None
    for step, value in pairs:
        name = None
        if value is not None and not math.isfinite(value):
            name = "nan" if math.isnan(value) else "inf"
        if name and name == name_before:
            marks[-1] = (marks[-1][0], float(step or 0), name)
        elif name:
            marks.append((float(step or 0), float(step or 0), name))
        name_before = name
    return marks


def segments(values: np.ndarray) -> list[slice]:
    """The stretches of `values` [N] without a gap."""
    finite = np.isfinite(values).astype(np.int8)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], finite, [0]])))
    return [slice(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def smoothed(values: np.ndarray) -> np.ndarray:
    """Centred moving mean over about a twentieth of the curve [N], inside each stretch without a gap.

    At the ends of a stretch the mean is over what the window still holds: a line that ends in one raw value
    would show noise as a turn.
    """
    half = max(1, len(values) // 40)
    result = np.full_like(values, np.nan)
    for part in segments(values):
        piece = values[part]
        total = np.concatenate([[0.0], np.cumsum(piece)])
        place = np.arange(len(piece))
        start, stop = np.maximum(place - half, 0), np.minimum(place + half + 1, len(piece))
        result[part] = (total[stop] - total[start]) / (stop - start)
    return result


def thinned(steps: np.ndarray, values: np.ndarray, limit: int = MAX_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """About `limit` points of a curve [N]: the lowest and highest of every bin, so that spikes stay."""
    if len(values) <= limit:
        return steps, values
    keep: list[int] = []
    for chunk in np.array_split(np.arange(len(values)), limit // 2):
        here = values[chunk]
        if np.isnan(here).all():
            keep.append(int(chunk[0]))
            continue
        keep += {int(chunk[np.nanargmin(here)]), int(chunk[np.nanargmax(here)])}
        keep += chunk[np.isnan(here)][:1].tolist()  # a gap inside a bin stays a gap
    index = np.array(sorted(set(keep)))
    return steps[index], values[index]


def lone_points(values: np.ndarray) -> np.ndarray:
    """Indices of values [N] with a gap on both sides: a line cannot show them."""
    return np.array([part.start for part in segments(values) if part.stop - part.start == 1], int)
