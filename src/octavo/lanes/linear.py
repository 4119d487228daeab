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

from octavo.lanes.dropout import keep_mask
from octavo.lanes.pack import Pack, current_pack


@dataclass
class Site:
    """The adapters of one linear layer.

    Attributes:
        name: the layer's full name in the model.
        key: the layer's part of the dropout hash.
        a_KRI, b_KOR: float32 parameters, views of the lanes' flat storage.
        scales: the factor of each lane, None where the lane has no adapter here.
        rates: dropout of each lane.
        compute_a_KRI, compute_b_KOR: the parameters in the dtype of the activations.
        grad_a_KRI, grad_b_KOR: where the backward pass adds the gradients, views of the lanes' flat storage. None:
            they are handed to autograd (which warns of views that are not dense, and makes a zero tensor each time).
    """

    name: str
    key: int
    a_KRI: nn.Parameter
    b_KOR: nn.Parameter
    scales: list[float | None]
    rates: list[float]
    compute_a_KRI: Tensor
    compute_b_KOR: Tensor
    grad_a_KRI: Tensor | None = None
    grad_b_KOR: Tensor | None = None


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
        """x: [..., T, I] with one pack in all leading dimensions together; returns [..., T, O]."""
        out = self.base(x)
        pack = current_pack()
        if pack is None or all(self.site.scales[block.lane] is None for block in pack.blocks):
            return out
        return LaneDelta.apply(out, x, self.site.a_KRI, self.site.b_KOR, self.site, pack)


class LaneDelta(torch.autograd.Function):
    """Add each lane's adapter output to the base output, in place.

    Inputs: base output [..., T, O], input [..., T, I], the parameters [K, R, I] and [K, O, R] (the products use the
    site's copies in the activations' dtype), the site and the pack.
    """

    @staticmethod
    def forward(
        ctx: Any,
        out: Tensor,
        x: Tensor,
        a_KRI: Tensor,
        b_KOR: Tensor,  # noqa: ARG004
        site: Site,
        pack: Pack,
    ) -> Tensor:
        """Base output with the adapters' added, in the same memory."""
        out_TO, x_TI = out.view(-1, out.shape[-1]), x.reshape(-1, x.shape[-1])
        h_TR = x_TI.new_empty(x_TI.shape[0], a_KRI.shape[1])
        # a byte an entry: half the price of hashing again in the backward pass, for 3 % more memory a token
        masks: dict[int, Tensor] = {}
        for block in pack.blocks:
            scale = site.scales[block.lane]
            if scale is None:
                continue
            rows = slice(block.start, block.stop)
            kept = x_TI[rows]
            rate = site.rates[block.lane]
            if rate and pack.row_key_T is not None:
                masks[block.start] = keep_mask(pack.row_key_T[rows], site.key, kept.shape[1], rate)
                kept = kept * masks[block.start]
                scale = scale / (1.0 - rate)
            torch.mm(kept, site.compute_a_KRI[block.lane].t(), out=h_TR[rows])
            out_TO[rows].addmm_(h_TR[rows], site.compute_b_KOR[block.lane].t(), alpha=scale)
        ctx.mark_dirty(out)
        ctx.save_for_backward(x_TI, h_TR, site.compute_a_KRI, site.compute_b_KOR)
        ctx.masks = masks
        ctx.site, ctx.pack, ctx.parameter_dtype, ctx.x_shape = site, pack, a_KRI.dtype, x.shape
        ctx.scales, ctx.rates = list(site.scales), list(site.rates)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients to base output and input; those of the matrices go to the site's sinks."""
        (dy,) = grads
        dy_TO = dy.reshape(-1, dy.shape[-1])
        x_TI, h_TR, a_KRI, b_KOR = ctx.saved_tensors
        pack, site = ctx.pack, ctx.site
        sink_a, sink_b = site.grad_a_KRI, site.grad_b_KOR
        da_KRI = torch.zeros_like(a_KRI, dtype=ctx.parameter_dtype) if sink_a is None else sink_a
        db_KOR = torch.zeros_like(b_KOR, dtype=ctx.parameter_dtype) if sink_b is None else sink_b
        needs_dx = ctx.needs_input_grad[1]
        dx_TI = torch.zeros_like(x_TI) if needs_dx else None
        for block in pack.blocks:
            lane = block.lane
            scale, rate = ctx.scales[lane], ctx.rates[lane]
            if scale is None:
                continue
            rows = slice(block.start, block.stop)
            x, dy_k = x_TI[rows], dy_TO[rows]
            keep = ctx.masks.get(block.start)
            if keep is not None:
                x = x * keep
                scale = scale / (1.0 - rate)
            dh = dy_k @ b_KOR[lane]
            dh *= scale
            da_KRI[lane].add_(dh.t() @ x)
            db_KOR[lane].add_(dy_k.t() @ h_TR[rows], alpha=scale)
            if dx_TI is not None:
                dx = torch.mm(dh, a_KRI[lane], out=dx_TI[rows])
                if keep is not None:
                    dx.mul_(keep)
        dx_full = None if dx_TI is None else dx_TI.view(ctx.x_shape)
        to_autograd = (da_KRI if sink_a is None else None, db_KOR if sink_b is None else None)
        return dy, dx_full, *to_autograd, None, None
