"""A step of masked diffusion the plain way: every example read alone, its loss written out from the formula.

Which tokens are hidden follows from the same draws as in the lanes; all else is written anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from octavo.lanes.pattern import additive
from octavo.objectives.masked_diffusion import MaskedDiffusion, hidden_shares, uniforms
from octavo.training.data import Tokens
from octavo.training.tasks import Task


def masked_losses(model: Any, task: Task, step: int) -> Iterator[Tensor]:
    """The parts that a step's loss is the sum of, one an example: sum of CE / p over the answer's length."""
    objective = task.feed.objective
    assert isinstance(objective, MaskedDiffusion)
    chosen = [i for batch in task.feed.batches(step) for i in batch]
    for index, share in zip(chosen, hidden_shares(task.run.seed, step, len(chosen)), strict=True):
        row = task.feed.rows[index]
        draws = uniforms(len(row.ids), "mask", task.run.seed, step, index)
        answer = [place for place in range(1, len(row.ids)) if row.labels[place]]
        hidden = [place for place in answer if draws[place] < share]
        losses = _cross_entropy(model, objective, row, hidden, answer[-1] + 1)
        yield losses / share / len(answer) / len(chosen)


def _cross_entropy(
    model: Any, objective: MaskedDiffusion, row: Tokens, hidden: Sequence[int], end: int
) -> Tensor:
    """Summed over the hidden tokens; in blocks, each block is read behind the clean text before it."""
    clean = list(row.ids[:end])
    noisy = [objective.mask_id if place in hidden else token for place, token in enumerate(clean)]
    if objective.attention != "block":
        return _summed(model, objective, noisy, clean, hidden)
    starts = sorted({place // objective.block * objective.block for place in hidden})
    parts = []
    for start in starts:
        own = [place for place in hidden if place // objective.block * objective.block == start]
        ids = clean[:start] + noisy[start : start + objective.block]
        parts.append(_summed(model, objective, ids, clean, own))
    # where nothing is hidden the step has a gradient all the same: zero
    return torch.stack(parts or [_summed(model, objective, noisy, clean, [])]).sum()


def _summed(
    model: Any, objective: MaskedDiffusion, ids: Sequence[int], clean: Sequence[int], places: Sequence[int]
) -> Tensor:
    logits = model(input_ids=torch.tensor([ids]), **_mask(model, objective, len(ids))).logits[0].float()
    rows = [place - objective.shift for place in places]
    wanted = torch.tensor([clean[place] for place in places], dtype=torch.long)
    return F.cross_entropy(logits[rows], wanted, reduction="sum")


def _mask(model: Any, objective: MaskedDiffusion, length: int) -> dict[str, Tensor]:
    """The attention as an argument, for models whose config does not know of it."""
    if hasattr(type(model.config), "attention_mode"):
        return {}
    block = objective.block if objective.attention == "block" else length
    place = torch.arange(length) if objective.attention == "causal" else torch.arange(length) // block
    return {"attention_mask": additive(place[None, :] <= place[:, None], model.dtype)[None, None]}
