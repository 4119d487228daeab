"""Rows and tiny bases for the tests of objectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from octavo.lanes.pattern import additive
from tests.lanes.tiny import VOCABULARY, tiny_llama

MASK = VOCABULARY - 1
BLOCK = 4


@dataclass
class Toy:
    """A row: a question of some tokens, an answer, and perhaps a tail that is not learned."""

    id: str
    ids: list[int]
    labels: list[bool]
    units: list[int] | None = None

    @property
    def targets(self) -> int:
        return sum(self.labels[1:])


def toy(name: str, question: int, answer: int, tail: int = 0, units: list[int] | None = None) -> Toy:
    ids = torch.randint(
        0, MASK, (question + answer + tail,), generator=torch.Generator().manual_seed(len(name) + answer)
    )
    return Toy(name, ids.tolist(), [False] * question + [True] * answer + [False] * tail, units)


def looking(kind: str, **changes: Any) -> Any:
    """A tiny model that attends so."""
    model = tiny_llama(**changes)
    model.config.attention_mode, model.config.block_size = kind, BLOCK
    return model


@torch.no_grad()
def log_p(model: Any, ids: list[int], kind: str) -> torch.Tensor:
    """Log-probabilities [L, V] of a text read alone, by the model's own attention and a mask made here."""
    attention = model.config._attn_implementation
    model.set_attn_implementation("sdpa")
    rows = range(len(ids))
    sees = {
        "causal": lambda i, j: j <= i,
        "full": lambda _i, _j: True,
        "block": lambda i, j: j // BLOCK <= i // BLOCK,
    }[kind]
    seen = torch.tensor([[sees(i, j) for j in rows] for i in rows])
    logits = model(
        input_ids=torch.tensor([ids]), attention_mask=additive(seen, torch.float32)[None, None]
    ).logits[0]
    model.set_attn_implementation(attention)
    return torch.log_softmax(logits.double(), -1)
