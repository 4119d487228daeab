"""A pack: the sequences of all lanes behind one another, with no padding."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from octavo.lanes.dropout import row_keys
from octavo.lanes.transfer import send

if TYPE_CHECKING:
    from octavo.lanes.cache import PackCache
    from octavo.lanes.grouped import Groups
    from octavo.lanes.varlen import Segments


@dataclass(frozen=True)
class Sample:
    """One sequence of one lane.

    Attributes:
        lane: the slot whose adapter reads this sequence.
        ids: token ids.
        labels: for each position, whether that token is a target; the first cannot be (nothing precedes it).
        weight: factor of every target's loss (a training window: one over its label tokens).
        key: 64-bit key of the dropout stream of this sequence at this step.
        start: position of the first id (generation goes on where a cache ends).
    """

    lane: int
    ids: Sequence[int]
    labels: Sequence[bool]
    weight: float = 1.0
    key: int = 0
    start: int = 0

    @property
    def targets(self) -> list[int]:
        """Positions that are targets and can be predicted."""
        return [i for i, is_label in enumerate(self.labels) if is_label and i > 0]


@dataclass(frozen=True)
class Block:
    """The rows `start:stop` of a pack that belong to one lane."""

    lane: int
    start: int
    stop: int


@dataclass
class Pack:
    """Sequences of all lanes, sorted by lane, so that each lane's rows are one block.

    Attributes:
        ids_T, positions_T: int64; positions start again at 0 (or at the cache's length) in every sequence.
        lengths: tokens of each sequence, in pack order.
        blocks: the rows of each lane that is present.
        order: the place in the caller's list of each sequence of the pack.
        label_index_N: rows whose hidden state predicts a target; target_N the target ids; weight_N their
            factors (float32); label_sequence_N the sequence (pack order) that each belongs to.
        row_key_T: dropout keys of the rows (int64), None where no lane has dropout.
        cache: keys and values of earlier tokens while generating, else None.
        windows: sliding windows that attention layers asked for while reading this pack.
    """

    ids_T: Tensor
    positions_T: Tensor
    lengths: list[int]
    blocks: list[Block]
    order: list[int]
    label_index_N: Tensor
    target_N: Tensor
    weight_N: Tensor
    label_sequence_N: Tensor
    row_key_T: Tensor | None = None
    cache: PackCache | None = None
    lanes: list[int] = field(default_factory=list)
    windows: set[int] = field(default_factory=set)
    _spread: dict[tuple[Any, ...], Tensor] = field(default_factory=dict, init=False, repr=False)

    @property
    def tokens(self) -> int:
        """Rows of the pack."""
        return int(self.ids_T.numel())

    @cached_property
    def segments(self) -> Segments:
        """Where the sequences lie, as GPU kernels want it; made once a pack."""
        from octavo.lanes.varlen import segments_of  # which imports this file

        return segments_of(self.lengths, self.ids_T.device)

    @cached_property
    def groups(self) -> Groups:
        """The blocks, as grouped products want them; made once a pack."""
        from octavo.lanes.grouped import groups_of

        return groups_of([block.stop - block.start for block in self.blocks], self.ids_T.device)

    def spread(self, values: tuple[float, ...], dtype: torch.dtype) -> Tensor:
        """One number a block to all its rows, [T] on the device; made once for the same numbers."""
        key = (values, dtype)
        if key not in self._spread:
            sizes = torch.tensor([block.stop - block.start for block in self.blocks])
            rows_T = torch.tensor(values, dtype=dtype).repeat_interleave(sizes)
            self._spread[key] = send(rows_T, self.ids_T.device)
        return self._spread[key]


def pack_of_one(pack: Pack, number: int) -> Pack:
    """The rows of one sequence as a pack of their own; labels stay with the whole pack."""
    start = sum(pack.lengths[:number])
    rows = slice(start, start + pack.lengths[number])
    return replace(
        pack,
        ids_T=pack.ids_T[rows],
        positions_T=pack.positions_T[rows],
        lengths=[pack.lengths[number]],
        blocks=[Block(pack.lanes[number], 0, pack.lengths[number])],
        row_key_T=None if pack.row_key_T is None else pack.row_key_T[rows],
        lanes=[pack.lanes[number]],
    )


def blocks_of(lanes: Sequence[int], lengths: Sequence[int]) -> list[Block]:
    """Merge neighbouring sequences of one lane into blocks of rows."""
    blocks: list[Block] = []
    start = 0
    for lane, length in zip(lanes, lengths, strict=True):
        if blocks and blocks[-1].lane == lane:
            blocks[-1] = Block(lane, blocks[-1].start, start + length)
        else:
            blocks.append(Block(lane, start, start + length))
        start += length
    return blocks


def build_pack(samples: Sequence[Sample], device: torch.device | str, with_dropout: bool = False) -> Pack:
    """Concatenate samples, each lane's together, order within a lane kept.

    Raises:
        ValueError: a sample is empty, or ids and labels differ in length.
    """
    order = sorted(range(len(samples)), key=lambda i: samples[i].lane)
    chosen = [samples[i] for i in order]
    for sample in chosen:
        if not len(sample.ids) or len(sample.ids) != len(sample.labels):
            raise ValueError(f"a sample needs as many labels as ids and at least one: {len(sample.ids)} ids")
    lengths = [len(s.ids) for s in chosen]
    rows: list[int] = []
    targets: list[int] = []
    weights: list[float] = []
    owners: list[int] = []
    start = 0
    for number, sample in enumerate(chosen):
        places = sample.targets
        rows += [start + p - 1 for p in places]
        targets += [sample.ids[p] for p in places]
        weights += [sample.weight] * len(places)
        owners += [number] * len(places)
        start += lengths[number]
    positions_T = torch.cat([torch.arange(s.start, s.start + len(s.ids)) for s in chosen])
    keys = row_keys([s.key for s in chosen], lengths) if with_dropout else None
    return Pack(
        ids_T=send(torch.tensor([i for s in chosen for i in s.ids]), device),
        positions_T=send(positions_T, device),
        lengths=lengths,
        blocks=blocks_of([s.lane for s in chosen], lengths),
        order=order,
        label_index_N=send(torch.tensor(rows, dtype=torch.int64), device),
        target_N=send(torch.tensor(targets, dtype=torch.int64), device),
        weight_N=send(torch.tensor(weights, dtype=torch.float32), device),
        label_sequence_N=send(torch.tensor(owners, dtype=torch.int64), device),
        row_key_T=None if keys is None else send(keys, device),
        lanes=[s.lane for s in chosen],
    )


_current: ContextVar[Pack | None] = ContextVar("octavo_pack", default=None)


def current_pack() -> Pack | None:
    """The pack of the forward pass under way in this thread, None outside of one."""
    return _current.get()


@contextlib.contextmanager
def use_pack(pack: Pack) -> Iterator[Pack]:
    """Make `pack` what the model's attention and linear layers see inside the block."""
    token = _current.set(pack)
    try:
        yield pack
    finally:
        _current.reset(token)
