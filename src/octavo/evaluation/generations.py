"""What every run and the base say to the same prompts, side by side; nothing is scored here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from octavo.corpus.example import Example
from octavo.evaluation.contestants import Contestants
from octavo.evaluation.heldout import sha
from octavo.lanes.generate import generate

NAME = "generations"
VERSION = 1
MAX_NEW_TOKENS = 96


class Prompter(Protocol):
    """The part of `octavo.corpus.encode.Encoder` that is used here."""

    stop_ids: set[int]

    def prompt(self, messages: list[dict], tools: list[dict] | None = None) -> list[int]:
        """Ids of a conversation up to where the assistant speaks."""
        ...

    def decode(self, ids: list[int]) -> str:
        """Text of ids."""
        ...


def pick_prompts(examples: Sequence[Example], wanted: int) -> list[Example]:
    """The first examples of each kind in turn, so that all kinds are seen; only chats, text rows have no prompt."""
    kinds: dict[str, list[Example]] = {}
    for example in examples:
        if example.messages[-1]["role"] == "assistant":
            kinds.setdefault(example.kind, []).append(example)
    picked: list[Example] = []
    while len(picked) < wanted and any(kinds.values()):
        picked += [rest.pop(0) for rest in kinds.values() if rest]
    return picked[:wanted]


def answer_prompts(
    contestants: Contestants,
    examples: Sequence[Example],
    encoder: Prompter,
    progress: Callable[[int], None] | None = None,
) -> list[dict[str, Any]]:
    """Evaluation lines of greedy answers; `score` is None, the texts are in `detail`."""
    asked = [(example, example.messages[:-1]) for example in examples]
    ids = [encoder.prompt(messages, example.tools) for example, messages in asked]
    jobs = [(who, i) for i in range(len(asked)) for who in contestants.lanes]
    prompts = [(contestants.lanes[who], ids[i]) for who, i in jobs]
    answers = generate(contestants.base, prompts, encoder.stop_ids, MAX_NEW_TOKENS, progress)
    rows = []
    for (who, i), answer in zip(jobs, answers, strict=True):
        example, messages = asked[i]
        rows.append(
            {
                "suite": NAME,
                "version": VERSION,
                "item": example.id,
                "item_sha": sha(example.to_json()),
                "prompt_sha": sha(messages),
                "run": who,
                "score": None,
                "detail": {
                    "prompt": messages[-1].get("content"),
                    "answer": None if answer is None else encoder.decode(answer),
                },
            }
        )
    return rows
