"""The training loss against where it began. Lags behind the damage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from octavo.vitals.signal import LaneMoment, Watched

WINDOW = 10  # steps; a single batch above ln V happens in healthy runs


def window_mean(losses: Sequence[float]) -> float | None:
    """Mean of the finite ones; null where fewer than half are, since what is left would stand for what is missing."""
    finite = [loss for loss in losses if math.isfinite(loss)]
    return sum(finite) / len(finite) if finite and 2 * len(finite) >= len(losses) else None


class TrainLoss:
    """`loss_mean`, `loss_start` (nats a token) and `loss_of_ln_v` (a share), at every step.

    Formula: mean of the last 10 losses; mean of the first 10, null until they are there; the first over ln V, the
    loss of a model that knows nothing of its vocabulary of V; null under masked diffusion, which a base that has not
    learned it yet begins above.
    """

    name = "training loss"

    def __init__(self, vocabulary: int, bound: bool = False) -> None:
        self.ceiling = None if bound else math.log(vocabulary)

    def due(self, step: int) -> bool:
        """At every step."""
        return step > 0

    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:  # noqa: ARG002 - the host has them
        """Nothing of the device's: the losses came over with the window."""
        return {}

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:  # noqa: ARG002
        """The means of each lane."""
        return [self._of(one.history.losses) for one in lanes]

    def _of(self, losses: Sequence[float]) -> dict[str, float | None]:
        mean = window_mean(losses[-WINDOW:])
        start = window_mean(losses[:WINDOW]) if len(losses) >= WINDOW else None
        share = None if mean is None or self.ceiling is None else mean / self.ceiling
        return {"loss_mean": mean, "loss_start": start, "loss_of_ln_v": share}


def make(watched: Watched) -> TrainLoss:
    """The signal."""
    return TrainLoss(int(watched.base.config.get_text_config().vocab_size), watched.objective.bound)
