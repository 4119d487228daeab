"""What a person sees while a study runs: a line a lane on a terminal, now and then a plain line elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from octavo.standing import Board, Lane, duration, number

REFRESH_PER_SECOND = 4
PLAIN_EVERY_SECONDS = 10.0
STATE_STYLES = {
    "training": "",
    "queued": "dim",
    "completed": "green",
    "stopped": "yellow",
    "quarantined": "red",
    "failed": "red",
}


class Progress(Protocol):
    """Where a stage tells how far it is. Every call is cheap, and none of them fails a study."""

    def stage(self, text: str) -> None:
        """A new stage of the study begins."""

    def runs(self, run_ids: Iterable[str]) -> None:
        """The runs that `update` will speak of, in the order of their lines."""

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
        """A run stands at `step` of `total`. Losses are nats a token; a `loss` of None is one not measured.

        `heldout`, `state` and `tokens_per_second` (of the whole pack) keep their last value when None.
        """

    def message(self, text: str) -> None:
        """Something that should stay readable after the display is gone."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Silent:
    """Says nothing: for use from Python."""

    def stage(self, text: str) -> None:
        """Nothing."""

    def runs(self, run_ids: Iterable[str]) -> None:
        """Nothing."""

    def update(self, run_id: str, **standing: Any) -> None:
        """Nothing."""

    def message(self, text: str) -> None:
        """Nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class LiveProgress(Board):
    """The display of a terminal: a line a run (bar, steps, losses, state) and the time that is left.

    Updates only note values; rich draws them at most four times a second, in a thread of its own.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self.console = console
        self.live = Live(get_renderable=self.render, console=console, refresh_per_second=REFRESH_PER_SECOND)

    def stage(self, text: str) -> None:
        """A new stage begins; its name goes above the lines and stays there."""
        super().stage(text)
        self.console.print(Text(text, style="bold"))

    def message(self, text: str) -> None:
        """Print above the lines."""
        self.console.print(Text(text))

    def render(self) -> RenderableType:
        """The lines as rich draws them; runs at work first where the window is too low for all."""
        lanes = list(self.lanes.items())
        if not lanes:
            return Text("")
        room = max(self.console.height - 4, 3)
        if len(lanes) > room:
            lanes = sorted(lanes, key=lambda item: item[1].state != "training")[: room - 1]
        table = Table.grid(padding=(0, 1))
        for name in ("run", "", "step", "loss", "held-out", "state"):
            table.add_column(
                justify="right" if name in ("step", "loss", "held-out") else "left", no_wrap=True
            )
        table.add_row(*(Text(text, style="dim") for text in ("run", "", "step", "loss", "held-out", "state")))
        for run_id, lane in lanes:
            table.add_row(*_line(run_id, lane, max(8, min(30, self.console.width - 66))))
        hidden = len(self.lanes) - len(lanes)
        return Group(table, Text((f"and {hidden} more · " if hidden else "") + _foot(self), style="dim"))

    def __enter__(self) -> LiveProgress:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()


class PlainProgress(Board):
    """Where there is no terminal: a line a stage and message, and one about all runs every ten seconds."""

    def __init__(
        self,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
        every: float = PLAIN_EVERY_SECONDS,
    ) -> None:
        super().__init__(clock)
        self.console = console
        self.every = every
        self.printed: float | None = None

    def stage(self, text: str) -> None:
        """A line for the stage."""
        super().stage(text)
        self.message(text)

    def runs(self, run_ids: Iterable[str]) -> None:
        """Note the runs; the ten seconds begin anew."""
        super().runs(run_ids)
        self.printed = None

    def update(self, run_id: str, **standing: Any) -> None:
        """Note a run's standing, and print one line when ten seconds have gone since the last."""
        super().update(run_id, **standing)
        now = self.clock()
        self.printed = now if self.printed is None else self.printed
        if now - self.printed >= self.every:
            self.printed = now
            self.message(_summary(self))

    def message(self, text: str) -> None:
        """A line."""
        self.console.print(Text(text), soft_wrap=True)

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def open_progress(stream: TextIO | None = None, quiet: bool = False) -> Progress:
    """The display that suits `stream` (default: stderr, so that stdout stays for results).

    A terminal that can move its cursor gets live lines, others plain ones; NO_COLOR takes colours away.
    """
    if quiet:
        return Silent()
    console = Console(file=stream or sys.stderr, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveProgress(console)
    return PlainProgress(console)


def _line(run_id: str, lane: Lane, width: int) -> list[RenderableType]:
    bad = lane.loss is not None and not math.isfinite(lane.loss)
    return [
        Text(run_id),
        ProgressBar(max(lane.total, 1), lane.step, width, complete_style="cyan", finished_style="green"),
        Text(f"{lane.step}/{lane.total or '–'}"),
        Text(number(lane.loss), style="red" if bad else ""),
        Text(number(lane.heldout)),
        Text(lane.state, style=STATE_STYLES.get(lane.state, "")),
    ]


def _foot(board: Board) -> str:
    done, total = board.steps()
    parts = [f"{done:,} of {total:,} steps"]
    if board.tokens_per_second is not None and math.isfinite(board.tokens_per_second):
        parts.append(f"{board.tokens_per_second:,.0f} tokens/s")
    left = board.remaining()
    parts += [] if left is None or done == total else [f"about {duration(left)} left"]
    return " · ".join(parts)


def _summary(board: Board) -> str:
    """All runs on one line: how many are in which state, the span of the losses, the time that is left."""
    states: dict[str, int] = {}
    for lane in board.lanes.values():
        states[lane.state] = states.get(lane.state, 0) + 1
    losses = [lane.loss for lane in board.lanes.values() if lane.loss is not None]
    finite = [loss for loss in losses if math.isfinite(loss)]
    text = ", ".join(f"{count} {state}" for state, count in states.items())
    if finite:
        text += f" · loss {number(min(finite))} to {number(max(finite))}"
    if len(finite) < len(losses):
        text += f" · {len(losses) - len(finite)} not finite"
    return f"{_foot(board)} · {text}"
