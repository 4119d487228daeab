"""Suite `heldout`: loss of every run on its own and the control's held-out set, of the base on all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from octavo.corpus.example import Example, load_examples
from octavo.evaluation.contestants import Contestants
from octavo.objectives.causal import CAUSAL
from octavo.objectives.objective import Objective, score_rows
from octavo.training.data import Encoder, Tokens, tokenise

NAME = "heldout"
VERSION = 1


@dataclass(frozen=True)
class HeldoutItem:
    """One held-out example of a variant's set.

    Attributes:
        variant: whose set. tokens: ids and targets at the set's `max_length`.
        characters: of the labelled turns without inserted symbols, so that variants of one text share the number.
    """

    variant: str
    example: Example
    tokens: Tokens
    characters: int

    @property
    def name(self) -> str:
        """Unique within the suite."""
        return f"{self.variant}/{self.example.id}"


def load_items(
    variant: str, path: Path, encoder: Encoder, max_length: int, limit: int | None = None
) -> list[HeldoutItem]:
    """The items of one variant's held-out file; of a limit, the same examples in every variant's file."""
    pairs = list(zip(load_examples(path), tokenise(path, encoder, max_length), strict=True))
    ranked = sorted(pairs, key=lambda pair: sha(pair[0].id))[:limit]
    chosen = {example.id for example, _ in ranked}
    return [
        HeldoutItem(variant, example, tokens, control_characters(example))
        for example, tokens in pairs
        if example.id in chosen
    ]


def control_characters(example: Example) -> int:
    """Characters of the turns that are learned, inserted symbols not counted."""
    learned = {i for i, m in enumerate(example.messages) if m["role"] in {"assistant", "text"}}
    total = sum(len(example.messages[i].get("content") or "") for i in learned)
    return total - sum(len(site["text"]) for site in example.sites if site["message"] in learned)


def score_items(
    contestants: Contestants,
    assignments: Sequence[tuple[str, HeldoutItem]],
    token_budget: int,
    progress: Callable[[int], None] | None = None,
    objective: Objective = CAUSAL,
) -> Iterator[dict[str, Any]]:
    """Evaluation lines of (contestant, item) pairs; `score` is the mean loss a target in nats.

    Pairs of one item stand together, so that all contestants meet it in the same pass.

    Arguments:
        objective: of the base; where its losses are bounds, the lines say so.
    """
    pairs = [(objective, contestants.lanes[who], item.tokens) for who, item in assignments]
    losses = score_rows(contestants.base, pairs, token_budget, progress)
    bound = {"bound": True} if objective.bound else {}
    for (who, item), loss in zip(assignments, losses, strict=True):
        targets = item.tokens.targets
        yield {
            "suite": NAME,
            "version": VERSION,
            "item": item.name,
            "item_sha": sha(item.example.to_json()),
            "prompt_sha": sha(item.example.messages[:-1]),
            "run": who,
            "score": loss / targets,
            "detail": {
                "set": item.variant,
                "family": item.example.family,
                "seen": item.example.seen,
                "loss_sum": loss,
                "targets": targets,
                "characters": item.characters,
                **bound,
            },
        }


def sha(value: Any) -> str:
    """SHA-256 of a value's canonical JSON."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
