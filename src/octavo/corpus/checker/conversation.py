"""Checking conversations: the first task that knows the prompt says what the reply must hold."""

from __future__ import annotations

from typing import Any

from octavo.corpus.checker import conversation_tasks, conversation_texts
from octavo.corpus.checker.capitals import CAPITAL_OF
from octavo.corpus.checker.text import strange_names, wrong_equation
from octavo.corpus.checker.turns import Talk, Task
from octavo.corpus.checker.verdict import Verdict, fail

TASKS: tuple[Task, ...] = (*conversation_tasks.TASKS, *conversation_texts.TASKS)

# names that a reply may bring in: of explanations, of rulings on grammar, of countries
COMMON = {"Earth", "January", "June", "Friday", "Here", "After"}
ATLAS = " ".join(name for pair in CAPITAL_OF.items() for name in pair)


def check_conversation(talk: Talk, answer: Any, steps: list[str] | None) -> Verdict | None:
    """A verdict on a conversation; None if no task knows the prompt."""
    for candidate in TASKS:
        if candidate.cue.search(talk.first):
            wanted = candidate.judge(talk)
            if wanted is None:
                continue
            if wanted.problem is not None:
                return fail(f"{candidate.name}: {wanted.problem}")
            if wanted.answer != answer:
                return fail(f"{candidate.name}: the answer is {wanted.answer!r}, the example says {answer!r}")
            names = strange_names(" ".join(talk.replies), *talk.users, str(answer), ATLAS) - COMMON
            if names:
                return fail(f"{candidate.name}: the reply has names from nowhere: {sorted(names)}")
            wrong = next((w for s in steps or () if (w := wrong_equation(s)) is not None), None)
            return (
                fail(f"{candidate.name}: this does not hold: {wrong}")
                if wrong
                else Verdict(True, candidate.name)
            )
    return None
