"""The turns that conversations with tools are put together from."""

from __future__ import annotations

import json
from typing import Any

from octavo.corpus.builtin.dice import Dice, sentences
from octavo.corpus.builtin.skills import Skill, Values
from octavo.corpus.builtin.skills_daily import DAILY
from octavo.corpus.builtin.skills_library import LIBRARY
from octavo.corpus.builtin.skills_numbers import NUMBERS
from octavo.corpus.builtin.skills_outside import OUTSIDE
from octavo.corpus.builtin.words_people import RELATIONS, person

SKILLS: tuple[Skill, ...] = DAILY + OUTSIDE + NUMBERS
BY_NAME = {skill.name: skill for skill in SKILLS + LIBRARY}
_HELLO = "{||||||hi! |hello, |good morning! |quick request: |one thing: |could you help? }"
_AFTER = (
    "{||||||| {thanks{ a lot| in advance|}|thank you{ very much|}}!| no hurry.| it is for [who].| i "
    "promised it to [p].}"
)


def finished_request(dice: Dice, text: str) -> str:
    """A request with an optional greeting and closing words; ends with a mark."""
    if not text.endswith((".", "?")):
        text = closed(text)
    who = dice.pick(RELATIONS)[0]
    return sentences(dice.raw(_HELLO) + text + dice.raw(_AFTER, who=f"my {who}", p=person(dice).name))


def closed(text: str) -> str:
    """The text with a question mark or a full stop, after its first word."""
    text = text.strip().rstrip(".?")
    start = text.split(": ", 1)[-1] if text.startswith("for ") else text
    return text + ("?" if start.lower().startswith(QUESTIONS) else ".")


QUESTIONS = (
    "can ",
    "could ",
    "would ",
    "is ",
    "are ",
    "do ",
    "does ",
    "how ",
    "what ",
    "where ",
    "when ",
    "has ",
    "until ",
    "have ",
)


def schemas_with(
    dice: Dice, needed: list[Skill], count: int, without: frozenset[str] = frozenset()
) -> list[dict[str, Any]]:
    """Schemas of the needed tools among others, in random order."""
    taken = {skill.name for skill in needed}
    others = [skill for skill in SKILLS if skill.name not in taken and skill.name not in without]
    chosen = needed + dice.some(others, max(0, count - len(needed)))
    return [skill.schema() for skill in dice.shuffled(chosen)]


def call_of(number: int, skill: Skill, args: Values) -> dict[str, Any]:
    """One call in the form of a message's `tool_calls`."""
    return {"id": f"call_{number}", "type": "function", "function": {"name": skill.name, "arguments": args}}


def result_turn(number: int, result: Values) -> dict[str, Any]:
    """The turn in which a tool answers a call."""
    return {
        "role": "tool",
        "tool_call_id": f"call_{number}",
        "content": json.dumps(result, ensure_ascii=False),
    }


def calls_turn(*calls: dict[str, Any]) -> dict[str, Any]:
    """The turn in which the assistant calls tools."""
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def user_turn(text: str) -> dict[str, Any]:
    """A turn of the user."""
    return {"role": "user", "content": text}


def reply_turn(text: str) -> dict[str, Any]:
    """A turn of the assistant in words."""
    return {"role": "assistant", "content": text}


def expected_calls(calls: list[dict[str, Any]], ask: str | None = None) -> dict[str, Any]:
    """The checkable answer: the calls to be made, and the argument to be asked for (null: none)."""
    return {
        "calls": [{"name": c["function"]["name"], "arguments": c["function"]["arguments"]} for c in calls],
        "ask": ask,
    }


def draw_arguments(dice: Dice, skill: Skill) -> tuple[Values, dict[str, str]]:
    """Arguments of a call, and each as it is spoken."""
    drawn = skill.draw(dice)
    return {k: v[0] for k, v in drawn.items()}, {k: v[1] for k, v in drawn.items()}
