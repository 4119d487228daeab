"""Is an example right? Judged from its messages and tools alone, by code that shares nothing with the generator."""

from __future__ import annotations

from typing import Any

from octavo.corpus.checker.conversation import check_conversation
from octavo.corpus.checker.tools import check_tools
from octavo.corpus.checker.turns import Talk
from octavo.corpus.checker.verdict import Verdict, fail
from octavo.corpus.checker.worked import check_worked
from octavo.corpus.example import Example


def check(example: Example) -> Verdict:
    """Recompute the answer of an example from its wording and hold the reply, the steps and `answer` against it.

    Only messages and tools are read to find the answer; id, family and kind are never looked at. A question that
    no solver understands fails: what cannot be checked does not count as right.
    """
    if example.tools:
        return check_tools(example.messages, example.tools, example.answer)
    if any(m["role"] == "tool" or m.get("tool_calls") for m in example.messages):
        return fail("tools are called, but none are offered")
    talk = _talk(example.messages)
    if talk is None:
        return fail("the messages are no turns of a user and an assistant")
    verdict = None
    if len(talk.users) == 1 and example.steps:
        verdict = check_worked(talk.first, talk.last, example.answer, example.steps)
    if verdict is None or not verdict.ok:
        other = check_conversation(talk, example.answer, example.steps)
        verdict = other if verdict is None or (other is not None and other.ok) else verdict
    return verdict or fail("no solver understands the question")


def _talk(messages: list[dict[str, Any]]) -> Talk | None:
    turns = [m for m in messages if m["role"] != "system"]
    users, replies = turns[::2], turns[1::2]
    if not turns or len(users) != len(replies):
        return None
    if any(m["role"] != "user" for m in users) or any(m["role"] != "assistant" for m in replies):
        return None
    return Talk(tuple(m["content"] for m in users), tuple(m["content"] for m in replies))
