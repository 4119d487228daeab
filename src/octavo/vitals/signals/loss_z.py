"""How far a step's training loss is from the run's own recent ones: a batch that is not like the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from octavo.vitals.signal import LaneMoment, Watched
from octavo.vitals.signals.grad_z import robust_z


class LossZ:
    """`loss_z`, at every step: `robust_z` of the losses, in deviations of their logarithm."""

    name = "loss leap"

    def due(self, step: int) -> bool:
        """At every step."""
        return step > 0

    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:  # noqa: ARG002 - the host has them
        """Nothing of the device's: the losses came over with the window."""
        return {}

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:  # noqa: ARG002
        """z of each lane."""
        return [{"loss_z": robust_z(one.history.losses)} for one in lanes]


def make(watched: Watched) -> LossZ:  # noqa: ARG001 - it needs the history alone
    """The signal."""
    return LossZ()
