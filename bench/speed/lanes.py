"""Runs side by side, by `octavo.lanes` alone."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.dropout import hash_key
from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.pack import Sample
from octavo.lanes.window import LaneEngine, WindowResult
from speed.plain import Batches


class Lanes:
    """`count` runs over one base: LoRA of alpha twice the rank, AdamW.

    Arguments:
        base: stays as it is after `close`. targets: full names of layers.
        tokens: most tokens of a micro-step.
    """

    def __init__(
        self,
        base: BaseModel,
        targets: Sequence[str],
        rank: int,
        count: int,
        tokens: int,
        dropout: float = 0.0,
    ) -> None:
        spec = AdapterSpec(rank, 2 * rank, dropout, tuple(targets))
        self.bank = AdapterBank(base.model, [spec], count)
        self.engine = LaneEngine(base, self.bank, LaneOptimizer(self.bank))
        for lane in range(count):
            self.bank.occupy(lane, spec)
            self.bank.initialise(lane, lane)
        self.count, self.tokens = count, tokens
        self.steps = 0

    def chunks(self, windows: Sequence[Batches]) -> list[list[list[Sample]]]:
        """The samples of a window, a list of batches a lane; all tokens but the first of a row are targets."""
        made = []
        for lane, batches in enumerate(windows):
            weight = 1.0 / sum(len(row) - 1 for batch in batches for row in batch)
            made.append(
                [
                    [
                        Sample(lane, row, [True] * len(row), weight, hash_key(lane, self.steps, b, i))
                        for i, row in enumerate(batch)
                    ]
                    for b, batch in enumerate(batches)
                ]
            )
        return made

    def step(self, windows: Sequence[Batches], rate: float = 1e-4) -> WindowResult:
        """One optimizer step of every lane; out of memory the micro-step is halved, and stays so."""
        result = self.engine.run_within(
            self.chunks(windows), self.tokens, [rate] * self.count, [True] * self.count
        )
        self.tokens = min(self.tokens, result.token_budget)
        self.steps += 1
        return result

    def matrices(self, lane: int) -> dict[str, tuple[Tensor, Tensor]]:
        """{layer: (A, B)} of a lane."""
        return self.bank.read(lane)

    def close(self) -> None:
        """Take the adapters off the model."""
        self.bank.remove()
