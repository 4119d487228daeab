"""A run's examples as tokens, and which of them each optimizer step reads."""

from __future__ import annotations

import math
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import torch

from octavo.artifacts import Folder
from octavo.corpus.example import load_examples
from octavo.corpus.symbol_tokens import symbol_units
from octavo.errors import InputError
from octavo.expand import Run
from octavo.lanes.dropout import hash_key
from octavo.lanes.pack import Sample
from octavo.objectives.causal import CAUSAL
from octavo.objectives.objective import Objective


class Encoded(Protocol):
    """What an encoder returns: ids, and for each whether it is a target."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...

    @property
    def labels(self) -> list[bool]:
        """Whether each is a target."""
        ...


class Encoder(Protocol):
    """The part of `octavo.corpus.encode.Encoder` that is used here."""

    def encode(self, example_messages: list[dict[str, Any]], tools: Any = None, where: str = "") -> Encoded:
        """Ids and labels of a conversation."""
        ...

    def encode_text(self, text: str) -> Encoded:
        """Ids of a plain text."""
        ...


@dataclass(frozen=True)
class Tokens:
    """One tokenised example.

    Attributes:
        id: of the example; where: file and line, for messages.
        ids, labels: of equal length.
        targets: how many labels can be predicted.
        units: for each token the number of the inserted symbol that it is part of, or -1; None: not looked for.
    """

    id: str
    where: str
    ids: tuple[int, ...]
    labels: tuple[bool, ...]
    targets: int
    units: tuple[int, ...] | None = None

    @property
    def content(self) -> int:
        """A number that examples of equal ids share (CRC-32 of them)."""
        return zlib.crc32(array("q", self.ids).tobytes())


def tokenise(path: Path, encoder: Encoder, max_length: int, symbols: bool = False) -> list[Tokens]:
    """Read a data file into tokens, cut at `max_length` (the data stage has dropped what must not be cut).

    Arguments:
        symbols: find out which tokens belong to one inserted symbol.

    Raises:
        InputError: a row has no target left.
    """
    rows = []
    for example in load_examples(path):
        where = example.origin
        encoded = encoder.encode(example.messages, example.tools, where=where)
        ids, labels = tuple(encoded.ids[:max_length]), tuple(encoded.labels[:max_length])
        targets = sum(labels[1:])
        if not targets:
            raise InputError(
                f"{where}: no target token is left within train.max_length {max_length}; raise it or drop the row"
            )
        units = tuple(symbol_units(encoder, example)[:max_length]) if symbols else None
        rows.append(Tokens(example.id, where, ids, labels, targets, units))
    if not rows:
        raise InputError(f"{path} holds no examples")
    return rows


@dataclass(frozen=True)
class Feed:
    """Which examples a run reads when: a pure function of (seed, epoch, number of examples).

    The order is the same for every run of one seed over data sets of one size, so variants see the same examples
    in the same order.

    Arguments:
        rows: the training examples.
        seed: of the run.
        batch_size, accumulation: a step reads up to their product; the last step of an epoch what is left.
        epochs, steps: the length; one of them is None.
        objective: makes samples of examples.
    """

    rows: Sequence[Tokens]
    seed: int
    batch_size: int
    accumulation: int
    epochs: int | None
    steps: int | None
    objective: Objective = CAUSAL

    @property
    def steps_per_epoch(self) -> int:
        """Optimizer steps of one pass; the partial last window is one of them."""
        return math.ceil(len(self.rows) / (self.batch_size * self.accumulation))

    @property
    def total_steps(self) -> int:
        """Optimizer steps of the run."""
        return self.steps if self.steps is not None else self.steps_per_epoch * int(self.epochs or 0)

    def order(self, epoch: int) -> list[int]:
        """The permutation of one epoch."""
        draw = torch.Generator().manual_seed(hash_key("order", self.seed, epoch))
        return torch.randperm(len(self.rows), generator=draw).tolist()

    def batches(self, step: int) -> list[list[int]]:
        """Indices of the examples of a step, a list a micro-batch."""
        epoch, place = divmod(step, self.steps_per_epoch)
        size = self.batch_size * self.accumulation
        chosen = self.order(epoch)[place * size : (place + 1) * size]
        return [chosen[i : i + self.batch_size] for i in range(0, len(chosen), self.batch_size)]

    def window(self, step: int, lane: int) -> list[list[Sample]]:
        """The samples of a step for a lane; what is drawn for them follows from run seed, step and example."""
        batches = [[(i, self.rows[i]) for i in batch] for batch in self.batches(step)]
        return self.objective.window(batches, self.seed, step, lane)

    def outline(self, index: int, lane: int) -> Sample:
        """An example as the sample that takes the most; its dropout is that of step 0."""
        return self.objective.outline(self.rows[index], lane, hash_key("dropout", self.seed, 0, index))

    def tokens_of(self, step: int) -> tuple[int, int]:
        """(tokens read, labelled ones) of a step's window; under masked diffusion not all labelled ones are targets."""
        chosen = [i for batch in self.batches(step) for i in batch]
        return sum(self._lengths[i] for i in chosen), sum(self.rows[i].targets for i in chosen)

    @cached_property
    def _lengths(self) -> list[int]:
        """Tokens that are read of each row: one in blocks is read twice, a tail without labels not at all."""
        return [len(self.objective.outline(row, 0).ids) for row in self.rows]

    def total_tokens(self) -> tuple[int, int]:
        """(tokens, targets) of the whole run."""
        sizes = [self.tokens_of(step) for step in range(self.total_steps)]
        return sum(s[0] for s in sizes), sum(s[1] for s in sizes)


def load_rows(
    runs: Sequence[Run], folder: Folder, encoder: Encoder
) -> dict[str, tuple[list[Tokens], list[Tokens]]]:
    """Train and held-out tokens of every run; runs that read the same file at the same length share them."""
    made: dict[tuple[Path, int, bool], list[Tokens]] = {}

    def rows(path: Path, max_length: int, symbols: bool) -> list[Tokens]:
        if not path.exists():
            raise InputError(f"{path} is missing: run `octavo data` for this study first")
        key = (path, max_length, symbols)
        if key not in made:
            made[key] = tokenise(path, encoder, max_length, symbols)
        return made[key]

    found = {}
    for run in runs:
        place = folder.data(run.variant)
        length, symbols = run.train.max_length, run.train.mask_symbols
        train = rows(place / "train.jsonl", length, symbols)
        found[run.id] = (train, rows(place / "heldout.jsonl", length, False))
    return found
