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
from octavo.lanes.pattern import CAUSAL, Pattern
from octavo.lanes.transfer import send

if TYPE_CHECKING:
    from octavo.lanes.cache import PackCache
    from octavo.lanes.grouped import Groups
    from octavo.lanes.varlen import Segments


@dataclass(frozen=True)
class Targets:
    """What a sequence is to predict.

    Attributes:
        rows: whose hidden state predicts. ids: what. weights: factor of each loss beside the sample's own; None: 1.
    """

    rows: Sequence[int]
    ids: Sequence[int]
    weights: Sequence[float] | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self.rows)


@dataclass(frozen=True)
class Sample:
    """One sequence of one lane.

    Attributes:
        lane: the slot whose adapter reads this sequence.
        ids: token ids, as they are read.
        labels: for each position, whether that token may be a target; the first cannot be (nothing precedes it).
        weight: factor of every target's loss (a training window: one over its label tokens).
        key: 64-bit key of the dropout stream of this sequence at this step.
        start: position of the first id (generation goes on where a cache ends).
        given: the targets, where they are not the labelled tokens, each predicted by the row before it.
        places: position of each id in its text, where they do not count up from `start`.
        noisy: how many ids are the noisy part of a sequence in two parts (see `Pattern`); 0: one part.
    """

    lane: int
    ids: Sequence[int]
    labels: Sequence[bool]
    weight: float = 1.0
    key: int = 0
    start: int = 0
    given: Targets | None = None
    places: Sequence[int] | None = None
    noisy: int = 0

    @property
    def targets(self) -> Targets:
        """What is predicted, and where."""
        if self.given is not None:
            return self.given
        found = [i for i, is_label in enumerate(self.labels) if is_label and i > 0]
        return Targets([i - 1 for i in found], [self.ids[i] for i in found])

    @property
    def learns(self) -> bool:
        """Could anything of it be a target?"""
        return any(self.labels if self.given is not None else self.labels[1:])

    @property
    def positions(self) -> Sequence[int]:
        """Of each id in its text."""
        return range(self.start, self.start + len(self.ids)) if self.places is None else self.places


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
        pattern: who attends to whom within a sequence; set by the base that reads the pack.
        noisy: rows of each sequence's noisy part, 0 where it has one part.
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
    pattern: Pattern = CAUSAL
    noisy: list[int] = field(default_factory=list)
    _visible: dict[int, Tensor | None] = field(default_factory=dict, init=False, repr=False)
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

    def visible(self, number: int) -> Tensor | None:
        """Who sees whom in sequence `number`, as `Pattern.visible` says it; made once a pack."""
        if number not in self._visible:
            start = sum(self.lengths[:number])
            rows_L = self.positions_T[start : start + self.lengths[number]]
            self._visible[number] = self.pattern.visible(rows_L, self.noisy[number])
        return self._visible[number]

    @property
    def plain(self) -> bool:
        """Are all sequences in one part?"""
        return not any(self.noisy)

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
        noisy=[pack.noisy[number]],
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
        found = sample.targets
        rows += [start + row for row in found.rows]
        targets += found.ids
        weights += _weights(sample, found)
        owners += [number] * len(found)
        start += lengths[number]
    positions_T = torch.tensor([place for s in chosen for place in s.positions])
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
        noisy=[s.noisy for s in chosen],
    )


def _weights(sample: Sample, targets: Targets) -> list[float]:
    if targets.weights is None:
        return [sample.weight] * len(targets)
    return [sample.weight * weight for weight in targets.weights]


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
