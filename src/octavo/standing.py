"""Where every run of a study stands while it trains, and how long the rest will take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

ACTIVE = ("training", "queued")


@dataclass
class Lane:
    """The last known standing of a run; `began` is the step it stood at when this process began with it."""

    step: int = 0
    total: int = 0
    loss: float | None = None
    heldout: float | None = None
    state: str = "queued"
    began: int | None = None


class Board:
    """The standing of all runs, and the time that is left; what both displays draw from."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.lanes: dict[str, Lane] = {}
        self.title = ""
        self.tokens_per_second: float | None = None
        self.clock = clock
        self.started: float | None = None

    def stage(self, text: str) -> None:
        """A new stage: its title; the time that is left is counted anew."""
        self.title, self.started, self.tokens_per_second = text, None, None
        for lane in self.lanes.values():
            lane.began = None

    def runs(self, run_ids: Iterable[str]) -> None:
        """Lines for these runs, all queued."""
        self.lanes = {run_id: Lane() for run_id in run_ids}
        self.started = None

    def update(
        self,
        run_id: str,
        *,
        step: int,
        total: int,
        loss: float | None,
        heldout: float | None = None,
        state: str | None = None,
        tokens_per_second: float | None = None,
    ) -> None:
        """Note where a run stands; a None after `loss` keeps what is known."""
        self.started = self.clock() if self.started is None else self.started
        lane = self.lanes.setdefault(run_id, Lane())
        if loss is not None or step != lane.step:  # a change of state alone does not take the last loss away
            lane.loss = None if loss is None else float(loss)  # files spell non-finite ones "nan" and "inf"
        if (
            lane.began is None
        ):  # a loss tells that this step was made here; without one the lane only stands at it
            lane.began = step if loss is None else max(step - 1, 0)
        lane.step, lane.total = step, total
        lane.heldout = lane.heldout if heldout is None else float(heldout)
        lane.state = state or ("training" if lane.state == "queued" else lane.state)
        if tokens_per_second is not None:
            self.tokens_per_second = tokens_per_second

    def steps(self) -> tuple[int, int]:
        """Steps done and to do over all runs.

        A run that ended early has no more to do; one still queued counts with the mean of the known totals.
        """
        lanes = list(self.lanes.values())  # a copy, as the display draws in a thread of its own
        known = [lane.total for lane in lanes if lane.total]
        mean = round(sum(known) / len(known)) if known else 0
        done = sum(lane.step for lane in lanes)
        total = sum((lane.total or mean) if lane.state in ACTIVE else max(lane.step, 0) for lane in lanes)
        return done, max(total, done)

    def remaining(self) -> float | None:
        """Seconds left at the mean pace since the first step seen; None before there is a pace."""
        if self.started is None:
            return None
        elapsed = self.clock() - self.started
        made = sum(lane.step - (lane.began or 0) for lane in list(self.lanes.values()))
        done, total = self.steps()
        if total == done:
            return 0.0
        return elapsed * (total - done) / made if made > len(self.lanes) and elapsed > 1 else None


def number(value: float | None) -> str:
    """A loss for the screen: a dash when there is none, `nan` and `inf` by name."""
    return "–" if value is None else f"{value:.3f}" if math.isfinite(value) else str(value)


def duration(seconds: float | None) -> str:
    """Seconds as `45 s`, `3 min 05 s` or `2 h 10 min`."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
