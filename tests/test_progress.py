"""Terminal progress: bars on a terminal, plain lines elsewhere, colours off on request, honest numbers."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from octavo.progress import LiveProgress, PlainProgress, Progress, Silent, open_progress
from octavo.standing import Board, duration, number


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def drive(progress: Progress) -> None:
    with progress as shown:
        shown.stage("training")
        shown.runs(["control-s0", "spore-s0"])
        for step in range(1, 5):
            shown.update(
                "control-s0", step=step, total=4, loss=2.0 / step, heldout=1.5 if step == 2 else None
            )
            shown.update("spore-s0", step=step, total=4, loss=math.nan, tokens_per_second=611.0)
        shown.update("control-s0", step=4, total=4, loss=0.5, state="completed")
        shown.update("spore-s0", step=4, total=4, loss=None, state="quarantined")
        shown.message("written: [results].json")


def test_terminal_gets_a_line_a_run() -> None:
    stream = Terminal()
    drive(open_progress(stream))
    text = stream.getvalue()
    assert "\x1b[" in text
    assert "━" in text
    for part in (
        "control-s0",
        "4/4",
        "0.500",
        "1.500",
        "completed",
        "quarantined",
        "611 tokens/s",
        "[results]",
    ):
        assert part in text, part


def test_no_color_takes_colours_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    drive(open_progress(stream))
    assert "control-s0" in stream.getvalue()
    assert not any(f"\x1b[{code}" in stream.getvalue() for code in ("31m", "32m", "38;", "1;31", "1;32"))


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_no_bars_without_a_capable_terminal(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    drive(open_progress(stream))
    assert stream.getvalue() == "training\nwritten: [results].json\n"


def test_a_plain_line_every_ten_seconds() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = PlainProgress(Console(file=stream, width=40), clock)
    progress.runs(["a", "b"])
    for step in range(1, 31):
        clock.now = step
        progress.update("a", step=step, total=50, loss=1.0, tokens_per_second=100)
        progress.update("b", step=step, total=50, loss=math.inf)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert "loss 1.000 to 1.000 · 1 not finite" in lines[1]
    assert "left" in lines[1]


def test_time_left_counts_only_this_process() -> None:
    clock = Clock()
    board = Board(clock)
    board.runs(["a", "b"])
    for step in range(91, 101):  # resumed at step 90 of 200: ten steps in nine seconds
        clock.now = step
        board.update("a", step=step, total=200, loss=1.0)
    assert board.steps() == (100, 400)  # b is queued and counted like a
    assert board.remaining() == pytest.approx(9 * 300 / 10)
    board.lanes["a"].state = "quarantined"
    assert board.steps() == (100, 300)
    board.lanes["b"].state = "failed"
    assert board.remaining() == 0.0


def test_a_change_of_state_keeps_the_last_loss() -> None:
    clock = Clock()
    board = Board(clock)
    board.runs(["a"])
    board.update("a", step=90, total=100, loss=None, state="training")  # resumed: nothing was made here yet
    for step, loss in ((91, 1.0), (92, "nan")):
        clock.now += 2
        board.update("a", step=step, total=100, loss=loss)  # type: ignore[arg-type]
    assert board.remaining() == pytest.approx(4 * 8 / 2)
    board.update("a", step=92, total=100, loss=None, state="quarantined")
    assert number(board.lanes["a"].loss) == "nan"
    board.update("a", step=93, total=100, loss=None)
    assert board.lanes["a"].loss is None


def test_there_is_no_time_left_before_there_is_a_pace() -> None:
    board = Board(Clock())
    assert board.remaining() is None
    board.update("a", step=1, total=10, loss=None)
    assert board.remaining() is None


def test_low_window_keeps_the_lanes_at_work() -> None:
    stream = Terminal()
    progress = LiveProgress(Console(file=stream, width=100, height=9))
    progress.runs([f"run-{i}" for i in range(40)])
    progress.update("run-39", step=1, total=9, loss=1.0)
    with progress.console.capture() as capture:
        progress.console.print(progress.render())
    assert "run-39" in capture.get()
    assert "and 36 more" in capture.get()
    assert len(capture.get().splitlines()) <= 8


def test_quiet_and_silent() -> None:
    assert isinstance(open_progress(quiet=True), Silent)
    drive(Silent())


def test_written_forms() -> None:
    assert [number(value) for value in (None, 0.0, math.nan, -math.inf)] == ["–", "0.000", "nan", "-inf"]
    assert [duration(s) for s in (None, 0, 59.4, 185, 7800)] == [
        "–",
        "0 s",
        "59 s",
        "3 min 05 s",
        "2 h 10 min",
    ]
