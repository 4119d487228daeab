"""What every run and the base say to the same prompts, side by side; nothing is scored here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from octavo.corpus.example import Example
from octavo.errors import MachineError
from octavo.evaluation.contestants import Contestants
from octavo.evaluation.heldout import sha
from octavo.lanes.base import BaseModel
from octavo.lanes.generate import generate
from octavo.lanes.shortage import give_back, is_out_of_memory

NAME = "generations"
VERSION = 1
MAX_NEW_TOKENS = 96
# in `detail` of a line without an answer: what the base has learned, nobody can write with yet
NOT_YET = "not available yet"


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


def _made(
    base: BaseModel,
    prompts: Sequence[tuple[int, Sequence[int]]],
    stop_ids: Collection[int],
    max_new_tokens: int,
    progress: Callable[[int], None] | None,
) -> list[list[int] | None] | None:
    """Answers of prompts made side by side, None where memory ran out."""
    try:
        return generate(base, prompts, stop_ids, max_new_tokens, progress)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return None


def continue_all(
    base: BaseModel,
    prompts: Sequence[tuple[int, Sequence[int]]],
    stop_ids: Collection[int],
    max_new_tokens: int,
    at_once: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[list[int] | None]:
    """New ids of every (lane, prompt), in order; None where logits are not finite.

    Arguments:
        at_once: most answers that are made side by side; None: all. Out of memory it is halved.

    Raises:
        MachineError: one answer alone does not fit into memory.
    """
    answers: list[list[int] | None] = []
    size = at_once or max(1, len(prompts))
    while len(answers) < len(prompts):
        part = prompts[len(answers) : len(answers) + size]
        made = _made(base, part, stop_ids, max_new_tokens, progress)
        if made is not None:
            answers += made
            continue
        give_back(base.device)
        if len(part) == 1:
            raise MachineError(
                f"out of memory: one prompt of {len(part[0][1])} tokens cannot be answered beside the base; free "
                "memory (other programs), and the same command continues"
            )
        size = len(part) // 2
    return answers


def answer_prompts(
    contestants: Contestants,
    examples: Sequence[Example],
    encoder: Prompter,
    progress: Callable[[int], None] | None = None,
    at_once: int | None = None,
) -> list[dict[str, Any]]:
    """Evaluation lines of greedy answers; `score` is None, the texts are in `detail`.

    Arguments:
        at_once: most answers that are made side by side; None: all. Out of memory it is halved.

    Raises:
        MachineError: one answer alone does not fit into memory.
    """
    asked = [(example, example.messages[:-1]) for example in examples]
    ids = [encoder.prompt(messages, example.tools) for example, messages in asked]
    jobs = [(who, i) for i in range(len(asked)) for who in contestants.lanes]
    prompts = [(contestants.lanes[who], ids[i]) for who, i in jobs]
    answers = continue_all(
        contestants.base, prompts, encoder.stop_ids, MAX_NEW_TOKENS, at_once, progress=progress
    )
    rows = []
    for (who, i), answer in zip(jobs, answers, strict=True):
        rows.append(_line(asked[i][0], who, {"answer": None if answer is None else encoder.decode(answer)}))
    return rows


def no_answers(contestants: Contestants, examples: Sequence[Example]) -> list[dict[str, Any]]:
    """The lines of contestants whose base cannot write yet: null, and why."""
    missing = {"answer": None, "reason": NOT_YET}
    return [_line(example, who, missing) for example in examples for who in contestants.lanes]


def _line(example: Example, who: str, answer: dict[str, Any]) -> dict[str, Any]:
    messages = example.messages[:-1]
    return {
        "suite": NAME,
        "version": VERSION,
        "item": example.id,
        "item_sha": sha(example.to_json()),
        "prompt_sha": sha(messages),
        "run": who,
        "score": None,
        "detail": {"prompt": messages[-1].get("content"), **answer},
    }
