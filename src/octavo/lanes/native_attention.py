"""RoPE and attention of a pack in one differentiable step.

On a CPU each sequence goes through torch's flash kernel (Dao et al. 2022), called below autograd so that what is kept
is ours to choose. In bfloat16 the forward kernel is used as it is (float32 inside) and the backward pass runs in
float32: the bfloat16 backward kernel is two to five times slower. Sequences never share a product.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from octavo.lanes import varlen
from octavo.lanes.kernels import Kernels
from octavo.lanes.pack import Pack
from octavo.lanes.pattern import additive

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def attend_packed(
    q_TE: Tensor,
    k_TG: Tensor,
    v_TG: Tensor,
    cos_TD: Tensor,
    sin_TD: Tensor,
    pack: Pack,
    head_width: int,
    scaling: float,
    window: int | None,
    kernels: Kernels,
) -> Tensor:
    """Attention of every sequence of a pack to itself, by the pack's pattern.

    Arguments:
        q_TE: [T, H * D] before RoPE; k_TG, v_TG: [T, H_kv * D].
        cos_TD, sin_TD: the rotation of each row.
        window: sliding window, the query counted; None without one.

    Returns:
        [T, H * D].
    """
    q_TND, k_TND, v_TND = (t.view(len(t), -1, head_width) for t in (q_TE, k_TG, v_TG))
    if q_TE.device.type == "cpu" and (window is None or window >= max(pack.lengths)):
        return CpuAttention.apply(q_TND, k_TND, v_TND, cos_TD, sin_TD, pack, scaling, kernels)
    q, k = (Rotate.apply(t, cos_TD, sin_TD, kernels)[None] for t in (q_TND, k_TND))
    v = v_TND.transpose(0, 1)[None]
    if not pack.pattern.causal:
        masks = None if pack.pattern.kind == "full" and pack.plain else _masks(pack)
        return varlen.attend_pack_masked(q, k, v, pack.segments, masks, scaling).reshape(len(q_TE), -1)
    return varlen.attend_pack(q, k, v, pack.segments, scaling, window).reshape(len(q_TE), -1)


def _masks(pack: Pack) -> list[Tensor | None]:
    return [pack.visible(number) for number in range(len(pack.lengths))]


class Rotate(torch.autograd.Function):
    """RoPE and the move of the heads to the front, [T, N, D] to [N, T, D]; keeps only the tables."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, kernels: Kernels) -> Tensor:
        """The rotated heads."""
        ctx.save_for_backward(cos, sin)
        ctx.kernels = kernels
        return kernels.rotate(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient turned back."""
        return ctx.kernels.rotate_backward(grads[0].contiguous(), *ctx.saved_tensors), None, None, None


class CpuAttention(torch.autograd.Function):
    """RoPE and attention on a CPU; keeps the rotated q and k, v, the output and the log-normalisers."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        cos: Tensor,
        sin: Tensor,
        pack: Pack,
        scaling: float,
        kernels: Kernels,
    ) -> Tensor:
        """[T, H * D]."""
        causal = pack.pattern.causal
        q_NTD, k_NTD = kernels.rotate(q, cos, sin), kernels.rotate(k, cos, sin)
        v_NTD = v.transpose(0, 1)
        out = torch.empty_like(q)
        normalisers = []
        start = 0
        for number, length in enumerate(pack.lengths):
            rows = slice(start, start + length)
            one, normaliser = _flash(
                *(t[None, :, rows] for t in (q_NTD, k_NTD, v_NTD)),
                0.0,
                causal,
                attn_mask=_added(pack, number, q_NTD.dtype),
                scale=scaling,
            )
            out[rows].copy_(one[0].transpose(0, 1))
            normalisers.append(normaliser)
            start += length
        ctx.save_for_backward(q_NTD, k_NTD, v, out, cos, sin, *normalisers)
        ctx.pack, ctx.scaling, ctx.kernels = pack, scaling, kernels
        return out.view(len(out), -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients to q, k and v before RoPE."""
        q, k, v, out, cos, sin, *normalisers = ctx.saved_tensors
        dout = grads[0].view(out.shape)
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        start = 0
        for number, (length, normaliser) in enumerate(zip(ctx.pack.lengths, normalisers, strict=True)):
            rows = slice(start, start + length)
            gradients = _flash_backward(
                _head_first(dout[rows]),
                q[None, :, rows].float(),
                k[None, :, rows].float(),
                _head_first(v[rows]),
                _head_first(out[rows]),
                normaliser,
                0.0,
                ctx.pack.pattern.causal,
                attn_mask=_added(ctx.pack, number, torch.float32),
                scale=ctx.scaling,
            )
            dq[:, rows].copy_(gradients[0][0])
            dk[:, rows].copy_(gradients[1][0])
            dv[rows].copy_(gradients[2][0].transpose(0, 1))
            start += length
        back = ctx.kernels.rotate_backward
        return back(dq, cos, sin), back(dk, cos, sin), dv, None, None, None, None, None


def _added(pack: Pack, number: int, dtype: torch.dtype) -> Tensor | None:
    """The mask of a sequence as the kernel takes it; None where it is causal or there is none."""
    visible_LL = None if pack.pattern.causal else pack.visible(number)
    return None if visible_LL is None else additive(visible_LL, dtype)


def _head_first(rows_LND: Tensor) -> Tensor:
    """[L, N, D] as [1, N, L, D] in float32, which the kernel reads in any order of strides."""
    return rows_LND.float().transpose(0, 1)[None]
