"""Are the adapter's numbers kept in half precision? Then most of what an optimizer step adds to them is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from octavo.vitals.signal import LaneMoment, Watched

_BFLOAT16 = 0xFFFF  # bits of a float32 that a bfloat16 does not have


class Precision:
    """`half_share`, every few steps: the share of an adapter's numbers that are bfloat16 or float16 exactly.

    Formula: over the numbers other than zero, the larger of the share whose lowest 16 bits are zero and the share that
    float16 and back leaves as they are. Numbers that are trained in float32 come to about 2^-13 by chance; kept in
    half precision they come to 1, and a step smaller than half of their last place does nothing. Unit: none. Null for
    an adapter of zeros.
    """

    name = "precision"

    def __init__(self, watched: Watched) -> None:
        self.bank, self.every = watched.bank, watched.cadence.every

    def due(self, step: int) -> bool:
        """Every few steps."""
        return step > 0 and step % self.every == 0

    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:
        """The two shares of each lane, [k, 2]; nan where nothing but zeros is."""
        return {"shares": torch.stack([self._shares(one.lane) for one in lanes])}

    def _shares(self, lane: int) -> Tensor:
        part = self.bank.own_part(self.bank.flat_KP, lane)
        used = part != 0
        bfloat16 = (part.view(torch.int32) & _BFLOAT16) == 0
        float16 = part.half().float() == part
        return torch.stack([(kind & used).sum() for kind in (bfloat16, float16)]).double() / used.sum()

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:
        """The larger share of each lane."""
        found = host["shares"].amax(dim=1)
        return [
            {"half_share": None if value.isnan() else float(value)}
            for _, value in zip(lanes, found, strict=True)
        ]


def make(watched: Watched) -> Precision:
    """The signal."""
    return Precision(watched)
