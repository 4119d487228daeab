"""A frozen linear layer with one low-rank adapter a lane beside it.

The base product runs once over all rows of a pack; each lane's rows then receive their own adapter's share:
    y_k = base(x_k) + scale_k * B_k A_k drop(x_k)            (LoRA: Hu et al. 2021; rsLoRA scale: Kalajdzievski 2023)
The backward pass is written by hand, since autograd would keep the dropped input of every layer and fill a tensor of
the pack's size for every slice. No product ever spans two lanes, so that a NaN stays where it arose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from octavo.errors import InputError
from octavo.lanes.dropout import keep_mask, only_kept, threshold_of
from octavo.lanes.lane_group import group_of
from octavo.lanes.pack import Pack, current_pack


@dataclass
class Slot:
    """One lane's adapter on one layer.

    Attributes:
        a_RI, b_OR: the matrices in the dtype of the activations.
        scale: the factor of B A. rate: dropout.
        grad_a_RI, grad_b_OR: where the backward pass adds the gradients (float32), None in evaluation.
    """

    a_RI: Tensor
    b_OR: Tensor
    scale: float
    rate: float
    grad_a_RI: Tensor | None = None
    grad_b_OR: Tensor | None = None


@dataclass
class Site:
    """The adapters of one linear layer.

    Attributes:
        name: the layer's full name in the model. key: the layer's part of the dropout hash.
        slots: the adapter of each lane, None where it has none here.
        anchor: a scalar that requires gradients while there are any to be made.
    """

    name: str
    key: int
    slots: list[Slot | None]
    anchor: Tensor


class LaneLinear(nn.Module):
    """Stands in the place of a frozen linear layer; outside of a pack it is that layer."""

    def __init__(self, base: nn.Module, site: Site) -> None:
        super().__init__()
        self.base = base
        self.site = site

    def __getattr__(self, name: str) -> Any:
        """Model code that asks a layer for its weight or width (quantisers, tied heads) gets the base's own."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("base"), name)

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., T, I] with one pack in all leading dimensions together; returns [..., T, O].

        Raises:
            InputError: the layer was given other rows than the pack's, so whose they are is not known.
        """
        out = self.base(x)
        pack = current_pack()
        if pack is None or all(self.site.slots[block.lane] is None for block in pack.blocks):
            return out
        rows = x.shape[:-1].numel()
        if rows != pack.tokens:
            # experts that are layers of their own get a choice of the rows: slices by lane would mix runs up
            raise InputError(
                f"train.lora.targets: {self.site.name} is given {rows} rows where the pack has {pack.tokens}, as "
                "layers behind a router are; adapters cannot be put there. Name other layers."
            )
        return LaneDelta.apply(out, x, self.site.anchor, self.site, pack)


class LaneDelta(torch.autograd.Function):
    """Add each lane's adapter output to the base output, in place.

    Inputs: base output [..., T, O], input [..., T, I], the site's anchor, the site and the pack. Gradients of the
    matrices are added to the slots' own tensors: through autograd each would first be a zero tensor of all lanes.
    """

    @staticmethod
    def forward(ctx: Any, out: Tensor, x: Tensor, anchor: Tensor, site: Site, pack: Pack) -> Tensor:  # noqa: ARG004
        """Base output with the adapters' added, in the same memory."""
        out_TO, x_TI = out.view(-1, out.shape[-1]), x.reshape(-1, x.shape[-1])
        # a byte an entry: half the price of hashing again in the backward pass, for 3 % more memory a token
        keep_TI = _mask(site, pack, x_TI.shape[1])
        kept_TI = x_TI if keep_TI is None else only_kept(x_TI, keep_TI)
        ctx.group = group_of(site.slots, pack, x_TI, out_TO.shape[1], dropout=keep_TI is not None)
        ctx.parts = [] if ctx.group is not None else _parts(site, pack, dropout=keep_TI is not None)
        if ctx.group is not None:
            ctx.hidden = ctx.group.add_to(out_TO, kept_TI)
        else:
            ctx.hidden = _add_in_turn(out_TO, kept_TI, ctx.parts)
        ctx.mark_dirty(out)
        ctx.save_for_backward(x_TI, keep_TI)
        ctx.x_shape = x.shape
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients to base output and input; those of the matrices are added in the slots."""
        (dy,) = grads
        dy_TO = dy.reshape(-1, dy.shape[-1])
        x_TI, keep_TI = ctx.saved_tensors
        kept_TI = x_TI if keep_TI is None else only_kept(x_TI, keep_TI)
        if ctx.group is not None:
            dx_TI = ctx.group.backward(dy_TO, kept_TI, ctx.hidden)
        else:
            dx_TI = _gradients_in_turn(dy_TO, kept_TI, ctx.hidden, ctx.parts, ctx.needs_input_grad[1])
        if dx_TI is not None and keep_TI is not None:
            dx_TI = only_kept(dx_TI, keep_TI)
        return dy, None if dx_TI is None else dx_TI.view(ctx.x_shape), None, None, None


def _mask(site: Site, pack: Pack, features: int) -> Tensor | None:
    """Which inputs each row keeps, bool [T, I]; None where no lane of the pack drops any."""
    rates = [slot.rate if (slot := site.slots[block.lane]) is not None else 0.0 for block in pack.blocks]
    if pack.row_key_T is None or not any(rates):
        return None
    threshold_T = pack.spread(tuple(threshold_of(rate) for rate in rates), torch.int16)
    return keep_mask(pack.row_key_T, site.key, features, threshold_T)


@dataclass(frozen=True)
class _Part:
    """One lane's adapter and rows, and whether some of its input was dropped."""

    rows: slice
    slot: Slot
    dropout: bool

    @property
    def scale(self) -> float:
        """The factor of B A, with dropout's share of what stays made up for."""
        return self.slot.scale / (1.0 - self.slot.rate) if self.dropout else self.slot.scale


def _parts(site: Site, pack: Pack, dropout: bool) -> list[_Part]:
    """The lanes of a pack that have an adapter on a layer."""
    found = []
    for block in pack.blocks:
        slot = site.slots[block.lane]
        if slot is not None:
            found.append(_Part(slice(block.start, block.stop), slot, dropout))
    return found


def _add_in_turn(out_TO: Tensor, kept_TI: Tensor, parts: list[_Part]) -> list[Tensor]:
    """Add each lane's share in place; returns A x of each, which the backward pass needs."""
    hidden = []
    for part in parts:
        hidden.append(kept_TI[part.rows] @ part.slot.a_RI.t())
        out_TO[part.rows].addmm_(hidden[-1], part.slot.b_OR.t(), alpha=part.scale)
    return hidden


def _gradients_in_turn(
    dy_TO: Tensor, kept_TI: Tensor, hidden: list[Tensor], parts: list[_Part], wants_dx: bool
) -> Tensor | None:
    """Add each lane's gradients to its slot's own; returns the gradient to `kept_TI` where it is wanted."""
    dx_TI = None
    if wants_dx:
        # rows of lanes without an adapter here get nothing from it
        whole = sum(part.rows.stop - part.rows.start for part in parts) == len(kept_TI)
        dx_TI = torch.empty_like(kept_TI) if whole else torch.zeros_like(kept_TI)
    for part, hidden_TR in zip(parts, hidden, strict=True):
        slot, dy_k = part.slot, dy_TO[part.rows]
        dh = dy_k @ slot.b_OR
        dh *= part.scale
        if slot.grad_a_RI is not None and slot.grad_b_OR is not None:
            slot.grad_a_RI.add_(dh.t() @ kept_TI[part.rows])
            slot.grad_b_OR.add_(dy_k.t() @ hidden_TR, alpha=part.scale)
        if dx_TI is not None:
            torch.mm(dh, slot.a_RI, out=dx_TI[part.rows])
    return dx_TI
