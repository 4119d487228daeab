"""The user and assistant turns of a conversation and what a checker of one sort of task says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from octavo.corpus.checker.text import holds

DAY = r"(Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
TIME = r"(\d\d:\d\d)"


@dataclass(frozen=True)
class Talk:
    """What the user said and what the assistant said, turn by turn."""

    users: tuple[str, ...]
    replies: tuple[str, ...]

    @property
    def first(self) -> str:
        """The first thing asked."""
        return self.users[0]

    @property
    def last(self) -> str:
        """The last reply."""
        return self.replies[-1]


@dataclass(frozen=True)
class Wanted:
    """The answer that the prompt requires, and what is wrong with the reply (None: nothing)."""

    answer: Any
    problem: str | None


@dataclass(frozen=True)
class Task:
    """A recogniser of one sort of conversation; `judge` gives None for another sort."""

    name: str
    cue: re.Pattern[str]
    judge: Callable[[Talk], Wanted | None]


def task(name: str, cue: str, judge: Callable[[Talk], Wanted | None]) -> Task:
    """A task whose cue is a case-blind pattern that the first user turn must hold somewhere."""
    return Task(name, re.compile(cue, re.IGNORECASE | re.DOTALL), judge)


def absent(text: str, phrases: Sequence[str]) -> str | None:
    """A complaint about the first phrase that the text does not hold."""
    lost = next((p for p in phrases if not holds(text, p)), None)
    return None if lost is None else f"the reply lacks {lost!r}"
