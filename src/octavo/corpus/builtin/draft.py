"""What a family hands over: one conversation with its answer, before it has an id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from octavo.corpus.builtin.dice import Dice, sentences, upper_first


@dataclass(frozen=True)
class Draft:
    """One drawn example: chat messages, checkable answer, worked steps and tool schemas (null where none)."""

    messages: list[dict[str, Any]]
    answer: Any
    steps: list[str] | None = None
    tools: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Family:
    """A named source of drafts; `seen` is False for families that only ever stand in the held-out part."""

    name: str
    draw: Callable[[Dice], Draft]
    seen: bool = True


def turns(*texts: str) -> list[dict[str, Any]]:
    """Messages of alternating user and assistant turns, the user first."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


_ASK_BEFORE = (
    "{||||||Quick question. |Can you work this out? |I could use some help here. |Here is one for you. "
    "|Could you check this for me? |I keep getting this wrong. |Help me with {this one|a small problem}, "
    "please. }"
)
_ASK_AFTER = (
    "{||||||| Please show your working.| Show me how you get there.| A short explanation would help.|"
    " I'd like to see the steps.| Walk me through it.}"
)
_OPENING = (
    "{||||||Let's take it step by step. |Here is the working. |Let me work through it. |One step at a time. |"
    "Sure. |Happy to help. |Let's see. |We can do this in {small|short} steps. }"
)
_FIRST = "{|||first, |to begin, |to start, }"
_MIDDLE = "{|||||then |next, }"
_CLOSING = "{so |so |therefore, |that means |this means that |hence |}"


def worked(dice: Dice, question: str, steps: list[str], final: str, answer: object) -> Draft:
    """A question with worked steps and a closing sentence that gives the answer.

    Arguments: steps and final are clauses without a full stop, in lower case unless they start with a name;
    final holds the answer (kept as text) word for word.
    """
    asked = sentences(dice.raw(_ASK_BEFORE) + upper_first(question) + dice.raw(_ASK_AFTER))
    spoken = []
    for place, step in enumerate(steps):
        lead = dice.raw(_FIRST if place == 0 and len(steps) > 1 else _MIDDLE if place else "")
        spoken.append(f"{lead}{step}.")
    closing = "" if final.startswith(("that ", "this ")) else dice.raw(_CLOSING)
    spoken.append(f"{closing}{final}.")
    layout = dice.pick(("line", "line", "line", "line", "rows", "numbers"))
    if layout == "numbers" and len(steps) > 1:
        rows = [f"{n}. {upper_first(step)}." for n, step in enumerate(steps, 1)]
        text = "\n".join(rows) + "\n" + upper_first(spoken[-1])
    else:
        text = dice.raw(_OPENING) + (" " if layout == "line" else "\n").join(spoken)
    return Draft(turns(asked, sentences(text)), str(answer), [f"{upper_first(step)}." for step in steps])


def money(cents: int, sign: str) -> str:
    """An amount as it is written in a shop: "$12", "$4.50", "$1,200"."""
    whole, rest = divmod(cents, 100)
    return f"{sign}{whole:,}" if rest == 0 else f"{sign}{whole:,}.{rest:02d}"


def number(value: int) -> str:
    """A whole number with commas at the thousands."""
    return f"{value:,}"


def listed(items: list[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + f" {word} {items[-1]}"
