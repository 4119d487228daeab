"""Masked diffusion (Sahoo et al. 2024; fine-tuning as in LLaDA: Nie et al. 2025): hidden answer tokens are guessed.

Of each example a share p of the answer's tokens is hidden behind the mask token, p = (1 - e) t + e with e = 1e-3 and
t spread evenly over the examples of a step. Its loss is the sum over hidden tokens of cross-entropy / p, divided by
the tokens of the answer; a step's loss is the mean over its examples. Questions are never hidden; the tokens that end
a turn are part of the answer. What comes after the last answer is not read: it would tell where the answer ends.

With attention in blocks the text is read twice, a noisy copy of the blocks that hold answers and a clean one of what
stands before them (see `octavo.lanes.pattern`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from octavo.lanes.dropout import hash_key
from octavo.lanes.pack import Sample, Targets
from octavo.objectives.objective import Batch, Row

if TYPE_CHECKING:
    from octavo.models.resolve import BaseSource
    from octavo.settings import Base, Train

FLOOR = 1e-3  # e above: no token is weighted by more than 1000
# readings of a held-out row, each with another share of its answer hidden
HELDOUT_DRAWS = 4


@dataclass(frozen=True)
class MaskedDiffusion:
    """How one base guesses hidden tokens.

    Attributes:
        mask_id: the token that stands for a hidden one.
        shift: how many rows before a token the logits that speak of it stand: 1 (`prediction: next`) or 0 (`same`).
        attention, block: the base's attention, and the positions of a block.
        symbols: hide all tokens of a symbol together while training. Held-out rows are hidden a token at a time, so
            that runs with and without are measured alike.
    """

    mask_id: int
    shift: int = 1
    attention: str = "full"
    block: int = 32
    symbols: bool = False
    name: str = "masked_diffusion"
    bound: bool = True
    writes: bool = False

    @property
    def said(self) -> str:
        """With what the base must be told to guess as it did here."""
        where = "next" if self.shift else "same"
        blocks = f" of {self.block}" if self.attention == "block" else ""
        return f"masked_diffusion, prediction {where}, attention {self.attention}{blocks}, mask token id {self.mask_id}"

    def window(self, batches: Sequence[Batch], seed: int, step: int, lane: int) -> list[list[Sample]]:
        """See `Objective`."""
        count = sum(len(batch) for batch in batches)
        shares = iter(hidden_shares(seed, step, count))
        return [
            [self._noised(index, row, next(shares), seed, step, lane, count) for index, row in batch]
            for batch in batches
        ]

    def _noised(
        self, index: int, row: Row, share: float, seed: int, step: int, lane: int, count: int
    ) -> Sample:
        draws = uniforms(len(row.ids), "mask", seed, step, index)
        if self.symbols:
            draws = _together(draws, row.units or ())
        answer = answer_of(row)
        hidden = {place: 1.0 / share for place in answer if draws[place] < share}
        weight = 1.0 / (len(answer) * count) if answer else 0.0
        return self.sample(row, hidden, lane, weight, hash_key("dropout", seed, step, index))

    def outline(self, row: Row, lane: int, key: int = 0) -> Sample:
        """See `Objective`."""
        return self.sample(row, dict.fromkeys(answer_of(row), 1.0), lane, key=key)

    def heldout(self, row: Row, lane: int) -> list[Sample]:
        """See `Objective`: an upper bound, by draws that follow from the row's id alone."""
        return self.readings(row, lane, HELDOUT_DRAWS, row.id)

    def glance(self, row: Row, lane: int) -> Sample:
        """See `Objective`."""
        (found,) = self.readings(row, lane, 1, row.id, "glance")
        return found

    def readings(self, row: Row, lane: int, draws: int, *key: int | str) -> list[Sample]:
        """Readings of a row whose losses add up to an estimate of its bound, without bias.

        In each, k of the answer's L tokens are hidden and weighted L / k (Ou et al. 2025; LLaDA, equation 6); the k
        of the draws are spread evenly over 1..L.

        Arguments:
            key: what the draws follow from.
        """
        answer = answer_of(row)
        first = float(uniforms(1, "hidden", *key)[0])
        found = []
        for draw in range(draws):
            k = 1 + int(len(answer) * ((draw + first) / draws))
            order = _generator("which", *key, draw)
            places = [answer[i] for i in torch.randperm(len(answer), generator=order)[:k].tolist()]
            found.append(self.sample(row, dict.fromkeys(sorted(places), len(answer) / k / draws), lane))
        return found

    def sample(
        self, row: Row, hidden: Mapping[int, float], lane: int, weight: float = 1.0, key: int = 0
    ) -> Sample:
        """A row with tokens hidden.

        Arguments:
            hidden: {place: weight of its loss}.
            weight: of all losses beside these. key: of the dropout.
        """
        answer = answer_of(row)
        length = answer[-1] + 1 if answer else len(row.ids)
        noisy = [self.mask_id if place in hidden else row.ids[place] for place in range(length)]
        labels = list(row.labels[:length])
        if self.attention != "block" or not answer:
            rows = [place - self.shift for place in hidden]
            return self._made(lane, noisy, labels, row, hidden, rows, weight, key)
        first, last = (place // self.block * self.block for place in (answer[0], answer[-1]))
        places = [*range(first, length), *range(last)]
        rows = [self._row(place, first, length) for place in hidden]
        ids = [*noisy[first:], *row.ids[:last]]
        labels = [*labels[first:], *[False] * last]
        return self._made(lane, ids, labels, row, hidden, rows, weight, key, places, length - first)

    def _row(self, place: int, first: int, length: int) -> int:
        """The row that speaks of a place: a noisy one, but for the first token of a block by the shift before it,
        of which the clean text is known by then."""
        before = place - self.shift
        if before // self.block == place // self.block:
            return before - first
        return length - first + before

    def _made(
        self,
        lane: int,
        ids: Sequence[int],
        labels: Sequence[bool],
        row: Row,
        hidden: Mapping[int, float],
        rows: Sequence[int],
        weight: float,
        key: int,
        places: Sequence[int] | None = None,
        noisy: int = 0,
    ) -> Sample:
        targets = Targets(rows, [row.ids[place] for place in hidden], list(hidden.values()))
        return Sample(lane, ids, labels, weight, key, given=targets, places=places, noisy=noisy)


def answer_of(row: Row) -> list[int]:
    """Places of the tokens that may be hidden; the first token of a text has nothing that could predict it."""
    return [place for place, is_label in enumerate(row.labels) if is_label and place > 0]


def hidden_shares(seed: int, step: int, count: int) -> list[float]:
    """p of each example of a step: evenly spread with one common offset, so that a step sees light and heavy masks."""
    offset = float(uniforms(1, "t", seed, step)[0])
    return [(1 - FLOOR) * ((offset + i / count) % 1.0) + FLOOR for i in range(count)]


def uniforms(count: int, *key: int | str) -> list[float]:
    """Numbers in [0, 1) that follow from the key alone."""
    return torch.rand(count, generator=_generator(*key), dtype=torch.float64).tolist()


def _generator(*key: int | str) -> torch.Generator:
    return torch.Generator().manual_seed(hash_key("masked_diffusion", *key))


def _together(draws: list[float], units: Collection[int]) -> list[float]:
    """The draws, those of a symbol's tokens all that of its first."""
    first: dict[int, float] = {}
    return [
        draw if unit < 0 else first.setdefault(unit, draw)
        for draw, unit in zip(draws, units or [-1] * len(draws), strict=True)
    ]


def make(base: Base, source: BaseSource, train: Train) -> MaskedDiffusion:
    """The objective of a run on a base whose mask token has been settled."""
    assert source.mask is not None
    return MaskedDiffusion(
        mask_id=source.mask.id,
        shift=1 if base.prediction == "next" else 0,
        attention=base.attention,
        block=base.block_size or 32,
        symbols=train.mask_symbols,
    )
