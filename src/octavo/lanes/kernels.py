"""The elementwise chains of the native decoder and of the loss: pure functions, compiled where that pays.

Eagerly every `mul` and `pow` of such a chain reads and writes a whole tensor (a norm over 4,096 rows of 576 in
bfloat16: 58 ms); compiled each is one pass (2 ms). What is computed is the same: float32 inside, rounded once at the
end. No function mixes rows.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

# set to 0 to compile nothing
SWITCH = "OCTAVO_COMPILE"
# below this width a layer is so small that a compiler would take longer than the training
NARROWEST = 256


def norm(x_TH: Tensor, weight_H: Tensor, eps: float) -> Tensor:
    """RMSNorm (Zhang and Sennrich 2019): weight * x / sqrt(mean(x^2) + eps)."""
    x = x_TH.float()
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return (weight_H.float() * y).to(x_TH.dtype)


def add_norm(x_TH: Tensor, branch_TH: Tensor, weight_H: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The residual stream with a branch added, and its norm."""
    total = (x_TH.float() + branch_TH.float()).to(x_TH.dtype)
    return total, norm(total, weight_H, eps)


def norm_backward(dy_TH: Tensor, x_TH: Tensor, weight_H: Tensor, eps: float) -> Tensor:
    """Gradient of `norm` to its input: r (w dy - x r^2 mean(w dy x)), r = 1 / sqrt(mean(x^2) + eps)."""
    return _norm_gradient(dy_TH, x_TH, weight_H, eps).to(x_TH.dtype)


def add_norm_backward(
    dtotal_TH: Tensor, dy_TH: Tensor, total_TH: Tensor, weight_H: Tensor, eps: float
) -> Tensor:
    """Gradient of `add_norm` to the stream and to the branch, which get the same."""
    return (dtotal_TH.float() + _norm_gradient(dy_TH, total_TH, weight_H, eps)).to(total_TH.dtype)


def _norm_gradient(dy_TH: Tensor, x_TH: Tensor, weight_H: Tensor, eps: float) -> Tensor:
    x, dy = x_TH.float(), dy_TH.float() * weight_H.float()
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return r * (dy - x * (r * r * (dy * x).mean(-1, keepdim=True)))


def rotate(x_TND: Tensor, cos_TD: Tensor, sin_TD: Tensor) -> Tensor:
    """Rotary position embedding (Su et al. 2021) as Llama has it, heads moved to the front: [T, N, D] to [N, T, D]."""
    x = x_TND.float()
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    y = x * cos_TD.float()[:, None, :] + turned * sin_TD.float()[:, None, :]
    return y.to(x_TND.dtype).transpose(0, 1).contiguous()


def rotate_backward(dy_NTD: Tensor, cos_TD: Tensor, sin_TD: Tensor) -> Tensor:
    """Gradient of `rotate`, [N, T, D] to [T, N, D]: the transpose of a rotation turns back."""
    dy = dy_NTD.float()
    half = dy.shape[-1] // 2
    dys = dy * sin_TD.float()[None]
    back = torch.cat([dys[..., half:], -dys[..., :half]], dim=-1)
    return (dy * cos_TD.float()[None] + back).to(dy_NTD.dtype).transpose(0, 1).contiguous()


def swiglu(gate_TF: Tensor, up_TF: Tensor) -> Tensor:
    """silu(gate) * up (Shazeer 2020)."""
    gate = gate_TF.float()
    return (gate * torch.sigmoid(gate) * up_TF.float()).to(gate_TF.dtype)


def swiglu_backward(dy_TF: Tensor, gate_TF: Tensor, up_TF: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of `swiglu` to gate and up."""
    gate, dy = gate_TF.float(), dy_TF.float()
    share = torch.sigmoid(gate)
    dgate = dy * up_TF.float() * share * (1.0 + gate * (1.0 - share))
    return dgate.to(gate_TF.dtype), (dy * gate * share).to(up_TF.dtype)


def target_losses(logits_NV: Tensor, target_N: Tensor) -> tuple[Tensor, Tensor]:
    """Negative log-likelihood of each target and the log of each row's normaliser, float32 [N]."""
    logits = logits_NV.float()
    top = logits.amax(-1)
    total = top + (logits - top[:, None]).exp().sum(-1).log()
    return total - logits_NV.gather(1, target_N[:, None]).squeeze(1).float(), total


def target_gradients(logits_NV: Tensor, total_N: Tensor, target_N: Tensor, weight_N: Tensor) -> Tensor:
    """Gradient of sum(weight * loss) to the logits: weight (softmax - one at the target), in the logits' dtype."""
    share = (logits_NV.float() - total_N[:, None]).exp()
    places = torch.arange(logits_NV.shape[1], device=logits_NV.device)
    hit = places[None, :] == target_N[:, None]
    return ((share - hit.float()) * weight_N[:, None]).to(logits_NV.dtype)


class Kernel:
    """A function of this file, compiled at its first call; if that fails, as it is."""

    def __init__(self, function: Callable[..., Any], compile_it: bool) -> None:
        self.function = function
        self._call: Callable[..., Any] | None = None if compile_it else function

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns; no graph is recorded, its callers have backward passes of their own."""
        arguments = tuple(a.detach() if isinstance(a, Tensor) else a for a in arguments)
        if self._call is not None:
            return self._call(*arguments)
        compiled = torch.compile(self.function, dynamic=True, fullgraph=True)
        try:
            with _quiet():
                found = compiled(*arguments)
        except Exception as error:  # no compiler, no Python.h, an unknown processor: whatever stops inductor
            if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
                raise
            self._call = self.function
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            FAILURES.setdefault(self.function.__name__, reason[:200])
            return self.function(*arguments)
        self._call = compiled
        return found


# kernels that could not be compiled, and why
FAILURES: dict[str, str] = {}


class Kernels:
    """The functions of this file, all eager or all compiled.

    Attributes:
        compiled: which.
    """

    def __init__(self, compiled: bool) -> None:
        self.compiled = compiled
        self.norm = Kernel(norm, compiled)
        self.add_norm = Kernel(add_norm, compiled)
        self.norm_backward = Kernel(norm_backward, compiled)
        self.add_norm_backward = Kernel(add_norm_backward, compiled)
        self.rotate = Kernel(rotate, compiled)
        self.rotate_backward = Kernel(rotate_backward, compiled)
        self.swiglu = Kernel(swiglu, compiled)
        self.swiglu_backward = Kernel(swiglu_backward, compiled)
        self.target_losses = Kernel(target_losses, compiled)
        self.target_gradients = Kernel(target_gradients, compiled)


EAGER = Kernels(False)
COMPILED = Kernels(True)


def kernels_for(width: int) -> Kernels:
    """Compiled kernels for models that are wide enough, unless OCTAVO_COMPILE=0."""
    wanted = os.environ.get(SWITCH, "1") != "0"
    return COMPILED if wanted and width >= NARROWEST else EAGER


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Inductor warns of what it tries on the way; what counts is whether the kernel came out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
