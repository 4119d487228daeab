"""Next-token prediction: every labelled token is predicted from those before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.lanes.dropout import hash_key
from octavo.lanes.pack import Sample
from octavo.objectives.objective import Batch, Row

if TYPE_CHECKING:
    from octavo.models.resolve import BaseSource
    from octavo.settings import Base, Train


@dataclass(frozen=True)
class Causal:
    """Loss of a step: mean over all targets of its window."""

    name: str = "causal"
    bound: bool = False
    writes: bool = True
    said: str = "causal"

    def window(self, batches: Sequence[Batch], seed: int, step: int, lane: int) -> list[list[Sample]]:
        """See `Objective`; a window without a target has no mean: nan, and the lane does not step on it."""
        targets = sum(row.targets for batch in batches for _, row in batch)
        weight = 1.0 / targets if targets else math.nan
        return [
            [
                Sample(lane, row.ids, row.labels, weight, hash_key("dropout", seed, step, index))
                for index, row in batch
            ]
            for batch in batches
        ]

    def outline(self, row: Row, lane: int, key: int = 0) -> Sample:
        """See `Objective`."""
        return Sample(lane, row.ids, row.labels, key=key)

    def heldout(self, row: Row, lane: int) -> list[Sample]:
        """See `Objective`."""
        return [self.glance(row, lane)]

    def glance(self, row: Row, lane: int) -> Sample:
        """See `Objective`."""
        return Sample(lane, row.ids, row.labels)


CAUSAL = Causal()


def make(base: Base, source: BaseSource, train: Train) -> Causal:  # noqa: ARG001 - nothing to choose
    """The objective of any base and run."""
    return CAUSAL
