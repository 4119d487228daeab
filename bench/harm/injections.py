"""Faults, put into a run from outside: through its settings, its data, hooks of torch, and the bank's own numbers.

Nothing of the detector is touched, and no function of Octavo is replaced.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from octavo.lanes.adapters import AdapterBank
from octavo.lanes.base import BaseModel
from octavo.lanes.pack import current_pack
from octavo.training.data import Feed, Tokens

_LAYER = 5  # whose activations are hit
_ROW = 3  # of the lane's rows in the pack: the fourth


@dataclass(frozen=True)
class Fault:
    """A fault.

    Attributes:
        name: as in the table of what is expected.
        rate: the learning rate that it needs; None: that of any run.
        at_step: it happens in one step (drawn for each run), not all the way through.
        data: changes the rows that a run reads; given the feed, the step (from 1) and a draw.
        hook: puts the fault into the forward pass of one step, for a lane.
        after: changes the lane's numbers after the step that it happens in (or after every step).
    """

    name: str
    rate: float | None = None
    at_step: bool = True
    data: Callable[[Feed, int, random.Random], Feed] | None = None
    hook: Callable[[BaseModel, int], Any] | None = None
    after: Callable[[AdapterBank, int], None] | None = None


def _at(feed: Feed, step: int) -> set[int]:
    """Numbers of the rows that a step (from 1) reads."""
    return {i for batch in feed.batches(step - 1) for i in batch}


def masked_batch(feed: Feed, step: int, draw: random.Random) -> Feed:  # noqa: ARG001 - one signature for all
    """No token of the step's batch is a target."""
    chosen = _at(feed, step)
    rows = [_unlabelled(row) if i in chosen else row for i, row in enumerate(feed.rows)]
    return replace(feed, rows=rows)


def _unlabelled(row: Tokens) -> Tokens:
    return replace(row, labels=(False,) * len(row.ids), targets=0)


def random_labels(feed: Feed, step: int, draw: random.Random) -> Feed:
    """The targets of the step's batch are random tokens."""
    chosen = _at(feed, step)
    rows = [_scrambled(row, draw) if i in chosen else row for i, row in enumerate(feed.rows)]
    return replace(feed, rows=rows)


def _scrambled(row: Tokens, draw: random.Random) -> Tokens:
    highest = 49_000  # below the embedded vocabulary of 49,152 and above its control tokens
    ids = tuple(
        draw.randrange(17, highest) if label else i for i, label in zip(row.ids, row.labels, strict=True)
    )
    return replace(row, ids=ids)


def one_example(feed: Feed, step: int, draw: random.Random) -> Feed:  # noqa: ARG001 - one signature for all
    """The first example a thousand times."""
    return replace(feed, rows=[feed.rows[0]] * 1000)


def _own_rows(lane: int) -> slice | None:
    """The lane's rows in the pack that is being read."""
    pack = current_pack()
    block = next((b for b in pack.blocks if b.lane == lane), None) if pack is not None else None
    return None if block is None else slice(block.start, block.stop)


@contextmanager
def inf_activation(base: BaseModel, lane: int) -> Iterator[None]:
    """One Inf in what an MLP of the lane's rows puts out."""

    def hook(_module: Any, _inputs: Any, output: Tensor) -> Tensor:
        rows = _own_rows(lane)
        if rows is None:
            return output
        changed = output.clone()
        changed.view(-1, changed.shape[-1])[rows.start + _ROW, 7] = math.inf
        return changed

    handle = base.model.get_submodule(f"model.layers.{_LAYER}.mlp.down_proj").register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def masked_row(base: BaseModel, lane: int) -> Iterator[None]:
    """One row of an attention has every key masked: its softmax is 0/0, and so is what it hands on."""

    def hook(_module: Any, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        rows = _own_rows(lane)
        if rows is None:
            return inputs
        changed = inputs[0].clone()
        scores = torch.full((rows.stop - rows.start,), -math.inf)
        weights = torch.softmax(scores, dim=0).to(changed)
        flat = changed.view(-1, changed.shape[-1])
        flat[rows.start + _ROW] = weights @ flat[rows]
        return (changed, *inputs[1:])

    layer = base.model.get_submodule(f"model.layers.{_LAYER}.self_attn.o_proj")
    handle = layer.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def nan_parameter(bank: AdapterBank, lane: int) -> None:
    """One number of the lane's adapter becomes NaN, as after a flipped bit."""
    bank.flat_KP[lane, bank.places[lane][0].start + 5] = math.nan
    bank.refresh()


def to_bfloat16(bank: AdapterBank, lane: int) -> None:
    """The lane's adapter is kept in bfloat16."""
    part = bank.own_part(bank.flat_KP, lane)
    part.copy_(part.bfloat16())
    bank.refresh()


FAULTS: Sequence[Fault] = (
    Fault("rate-1e-2", rate=1e-2, at_step=False),
    Fault("rate-3e-2", rate=3e-2, at_step=False),
    Fault("rate-1e-1", rate=1e-1, at_step=False),
    Fault("masked-batch", data=masked_batch),
    Fault("inf-activation", hook=inf_activation),
    Fault("masked-attention-row", hook=masked_row),
    Fault("nan-parameter", after=nan_parameter),
    Fault("bfloat16-adapter", at_step=False, after=to_bfloat16),
    Fault("random-labels", data=random_labels),
    Fault("one-example", at_step=False, data=one_example),
)
