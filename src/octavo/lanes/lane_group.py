"""The adapters of a pack's lanes on one layer, taken together: a few grouped products in place of several a lane.

For GPUs alone, where a product of one lane is over before the next has been started. A CPU keeps the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from octavo.lanes import grouped
from octavo.lanes.grouped import Groups, aligned_rank, stacked
from octavo.lanes.pack import Pack

if TYPE_CHECKING:
    from octavo.lanes.linear import Slot


@dataclass(frozen=True)
class LaneGroup:
    """The adapters of one layer that read a pack.

    Attributes:
        slots: of each block, in row order; all of one rank.
        scale_T1: float32, the factor of B A of each row, dropout's share made up for.
        extra: zero rows that the kernel's alignment calls for beside the rank's.
    """

    slots: list[Slot]
    groups: Groups
    scale_T1: Tensor
    extra: int

    def matrices(self) -> tuple[Tensor, Tensor]:
        """A [G, R, I] and B [G, O, R], R with the extra rows; made anew in each pass, since mostly they are views."""
        a_GRI = stacked([slot.a_RI for slot in self.slots])
        b_GOR = stacked([slot.b_OR for slot in self.slots])
        if not self.extra:
            return a_GRI, b_GOR
        return F.pad(a_GRI, (0, 0, 0, self.extra)), F.pad(b_GOR, (0, self.extra))

    def add_to(self, out_TO: Tensor, kept_TI: Tensor) -> Tensor:
        """Add the adapters' output in place. **Returns** what `backward` needs beside the input: s A x, [T, R]."""
        delta_TO, hidden_TR = grouped.forward(kept_TI, *self.matrices(), self.scale_T1, self.groups)
        out_TO.add_(delta_TO)
        return hidden_TR

    def backward(self, dy_TO: Tensor, kept_TI: Tensor, hidden_TR: Tensor) -> Tensor:
        """Add the gradients of the matrices to the slots' own; **returns** the gradient to `kept_TI`."""
        dx_TI, da_GRI, db_GOR = grouped.backward(
            dy_TO, kept_TI, hidden_TR, *self.matrices(), self.scale_T1, self.groups
        )
        rank = self.slots[0].a_RI.shape[0]
        sinks: list[Tensor] = []
        found: list[Tensor] = []
        for slot, da_RI, db_OR in zip(self.slots, da_GRI.float(), db_GOR.float(), strict=True):
            if slot.grad_a_RI is not None and slot.grad_b_OR is not None:
                sinks += [slot.grad_a_RI, slot.grad_b_OR]
                found += [da_RI[:rank], db_OR[:, :rank]]
        if sinks:
            torch._foreach_add_(sinks, found)  # one kernel for all of them
        return dx_TI


def group_of(
    slots: Sequence[Slot | None], pack: Pack, x_TI: Tensor, outputs: int, dropout: bool
) -> LaneGroup | None:
    """The adapters of a pack as a group, None where the device or the adapters call for a lane at a time.

    Arguments:
        slots: of each lane. x_TI: the layer's input. outputs: its width.
        dropout: whether some of the input was dropped.
    """
    if not grouped.usable(x_TI, outputs):
        return None
    lanes = [block.lane for block in pack.blocks]
    present = [slot for lane in lanes if (slot := slots[lane]) is not None]
    if len(present) < 2 or len(present) < len(set(lanes)) or len(set(lanes)) < len(lanes):
        return None
    rank, *others = {slot.a_RI.shape[0] for slot in present}
    if others:
        return None
    scales = tuple(slot.scale / (1.0 - slot.rate if dropout else 1.0) for slot in present)
    scale_T1 = pack.spread(scales, torch.float32)[:, None]
    return LaneGroup(present, pack.groups, scale_T1, aligned_rank(rank) - rank)
