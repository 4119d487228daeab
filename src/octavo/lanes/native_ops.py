"""Differentiable steps of the native decoder: each keeps the least that its backward pass needs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from octavo.lanes.kernels import Kernels


class Norm(torch.autograd.Function):
    """RMSNorm of [T, H]; keeps its input, of which the stream has a copy anyway."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float, kernels: Kernels) -> Tensor:
        """The normed rows."""
        ctx.save_for_backward(x, weight)
        ctx.eps, ctx.kernels = eps, kernels
        return kernels.norm(x, weight, eps)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradient to the input; the frozen weight gets none."""
        x, weight = ctx.saved_tensors
        return ctx.kernels.norm_backward(grads[0].contiguous(), x, weight, ctx.eps), None, None, None


class AddNorm(torch.autograd.Function):
    """(x + branch, RMSNorm(x + branch)); keeps the sum alone."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, branch: Tensor, weight: Tensor, eps: float, kernels: Kernels
    ) -> tuple[Tensor, Tensor]:
        """The stream and its norm, [T, H] each."""
        total, normed = kernels.add_norm(x, branch, weight, eps)
        ctx.save_for_backward(total, weight)
        ctx.eps, ctx.kernels = eps, kernels
        ctx.set_materialize_grads(False)
        return total, normed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Stream and branch get the same gradient."""
        total, weight = ctx.saved_tensors
        dtotal, dy = grads
        if dy is None:
            dx = dtotal
        elif dtotal is None:
            dx = ctx.kernels.norm_backward(dy.contiguous(), total, weight, ctx.eps)
        else:
            dx = ctx.kernels.add_norm_backward(dtotal, dy.contiguous(), total, weight, ctx.eps)
        return dx if ctx.needs_input_grad[0] else None, dx, None, None, None


class SwiGlu(torch.autograd.Function):
    """silu(gate) * up; keeps both and no more."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, kernels: Kernels) -> Tensor:
        """[T, F]."""
        ctx.save_for_backward(gate, up)
        ctx.kernels = kernels
        return kernels.swiglu(gate, up)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients to gate and up."""
        dgate, dup = ctx.kernels.swiglu_backward(grads[0].contiguous(), *ctx.saved_tensors)
        return dgate, dup, None
