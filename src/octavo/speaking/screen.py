"""Answers as they come: one as running text, several side by side on a terminal, else one after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.columns import Columns
from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

_NARROWEST = 30  # characters in which a sentence can still be read


class RunningText:
    """One speaker's words, written the moment they are known."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def __enter__(self) -> Callable[[str, str], None]:
        return lambda _name, text: (self._write(text), sys.stdout.flush())[0]  # type: ignore[return-value]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("\n")


class SideBySide:
    """Several speakers' words in panels that grow together."""

    def __init__(self, names: Sequence[str], console: Console) -> None:
        self._texts = dict.fromkeys(names, "")
        self._live = Live(console=console, refresh_per_second=12, vertical_overflow="visible")
        self._width = max(
            _NARROWEST, console.width // max(1, min(len(names), console.width // _NARROWEST)) - 1
        )

    def __enter__(self) -> Callable[[str, str], None]:
        self._live.__enter__()
        return self._hear

    def _hear(self, name: str, text: str) -> None:
        self._texts[name] += text
        # the answers are data: nothing in them is markup
        panels = [
            Panel(Text(said), title=Text(who), width=self._width, title_align="left")
            for who, said in self._texts.items()
        ]
        self._live.update(Columns(panels))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)


class OneAfterTheOther:
    """Several speakers where there is no terminal: each one's whole answer under its name."""

    def __init__(self, names: Sequence[str], write: Callable[[str], object]) -> None:
        self._texts = dict.fromkeys(names, "")
        self._write = write

    def __enter__(self) -> Callable[[str, str], None]:
        return self._hear

    def _hear(self, name: str, text: str) -> None:
        self._texts[name] += text

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            for name, text in self._texts.items():
                self._write(f"== {name}\n{text}\n\n")


Screen = RunningText | SideBySide | OneAfterTheOther


def screen_for(names: Sequence[str], console: Console) -> Screen:
    """What fits the number of speakers and where the output goes."""
    if len(names) == 1:
        return RunningText(console.file.write)
    if console.is_terminal:
        return SideBySide(names, console)
    return OneAfterTheOther(names, console.file.write)
