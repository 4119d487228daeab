"""Is everything finite: loss, gradient norm and the stepped parameters. The hard trip."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from octavo.vitals.signal import LaneMoment, Watched


class Finite:
    """`finite` (true or false), at every step.

    Formula: isfinite(loss) and isfinite(|g|) and isfinite(min p) and isfinite(max p) over the lane's parameters p: min
    and max hand a NaN on, and neither can overflow as a sum can. Unit: none.
    """

    name = "finite"

    def __init__(self, watched: Watched) -> None:
        self.bank = watched.bank

    def due(self, step: int) -> bool:
        """At every step."""
        return step > 0

    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:
        """Smallest and largest parameter of each lane."""
        return {"extremes": torch.stack([self._extremes(one.lane) for one in lanes])}

    def _extremes(self, lane: int) -> Tensor:
        part = self.bank.own_part(self.bank.flat_KP, lane)
        return torch.stack(part.aminmax()) if part.numel() else part.new_zeros(2)

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:
        """One truth a lane."""
        found = []
        for one, extremes in zip(lanes, host["extremes"].tolist(), strict=True):
            values = [*extremes, *one.history.losses[-1:], *one.history.grad_norms[-1:]]
            found.append({"finite": all(map(math.isfinite, values))})
        return found


def make(watched: Watched) -> Finite:
    """The signal."""
    return Finite(watched)
