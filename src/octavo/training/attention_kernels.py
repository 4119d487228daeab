"""A small training step through one attention kernel: does it run, and is what it gives right?

Some kernels of some drivers return NaN, others crash. In this process only the former can be seen: `settle` tries the
kernels that a training would use and turns to others; `octavo doctor` tries each in a child process.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from octavo.lanes import varlen

# "sdpa" is what torch chooses by itself; "eager" is written out
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
KERNELS = ("sdpa", *BACKENDS, "eager", "varlen")
OK, NAN, WRONG, ABSENT, FAILED = "ok", "nan", "wrong", "absent", "failed"

# largest difference to float64, in units of the largest value: twice what rounding of q, k, v and the output makes
TOLERANCE = {torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 6e-2}
_HEADS, _WIDTH, _LENGTHS = 4, 64, (40, 24)
# what torch says where it has no such kernel for this device, dtype or build
_NOT_HERE = (
    "No available kernel",
    "No viable backend",
    "not implemented for",
    "not supported",
    "was not compiled",
    "no kernel image",
)


def attempt(kernel: str, device: torch.device, dtype: torch.dtype) -> str:
    """One training step of a layer whose attention is this kernel.

    Arguments:
        kernel: of KERNELS.

    Returns:
        OK; NAN: the loss, a gradient or a stepped weight is not finite; WRONG: the output is not that of float64;
        ABSENT: torch has no such kernel here; "failed: ..." what else it said.

    Raises:
        RuntimeError: the device is lost or out of memory, which says nothing of the kernel.
    """
    if kernel == "varlen" and not varlen.usable(
        torch.empty(1, _HEADS, 1, _WIDTH, dtype=dtype, device=device)
    ):
        return ABSENT
    try:
        finite, gap = _step(kernel, device, dtype)
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or type(error).__name__ == "AcceleratorError":
            raise
        text = str(error).strip().split("\n")[0]
        return ABSENT if any(saying in text for saying in _NOT_HERE) else f"{FAILED}: {text[:200]}"
    if not finite:
        return NAN
    return OK if gap <= TOLERANCE[dtype] else WRONG


def _step(kernel: str, device: torch.device, dtype: torch.dtype) -> tuple[bool, float]:
    """Is everything finite, and how far is the output from float64?"""
    draw = torch.Generator().manual_seed(0)
    rows, width = sum(_LENGTHS), _HEADS * _WIDTH
    x = torch.randn(rows, width, generator=draw).to(device, dtype)
    weights = [torch.randn(n, width, generator=draw).mul(width**-0.5) for n in (3 * width, width)]
    w_in, w_out = (w.to(device, dtype).requires_grad_() for w in weights)
    q, k, v = (t.view(rows, _HEADS, _WIDTH).transpose(0, 1)[None] for t in (x @ w_in.t()).chunk(3, dim=1))
    mixed = _attend(kernel, q, k, v)
    loss = F.cross_entropy(
        (mixed.reshape(rows, width) @ w_out.t()).float(), torch.arange(rows, device=device)
    )
    loss.backward()
    grads = [w.grad for w in (w_in, w_out) if w.grad is not None]
    with torch.no_grad():
        for weight, grad in zip((w_in, w_out), grads, strict=True):
            weight.sub_(grad, alpha=0.1)
    finite = all(bool(torch.isfinite(t).all()) for t in (loss, *grads, w_in, w_out))
    with torch.no_grad():
        wanted = _by_definition(*(t.detach().cpu().double() for t in (q, k, v)))
        gap = (mixed.detach().cpu().double() - wanted).abs().max() / wanted.abs().max()
    return finite, float(gap)


def _attend(kernel: str, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention of sequences of _LENGTHS, [1, H, T, D] to [1, T, H, D]."""
    if kernel == "varlen":
        return varlen.attend_pack(q, k, v, varlen.segments_of(_LENGTHS, q.device))
    if kernel == "eager":
        return _by_definition(q, k, v)
    with _backend(kernel):
        rows = [
            F.scaled_dot_product_attention(a, b, c, is_causal=True)
            for a, b, c in zip(*(t.split(_LENGTHS, dim=2) for t in (q, k, v)), strict=True)
        ]
    return torch.cat(rows, dim=2).transpose(1, 2)


@contextlib.contextmanager
def _backend(kernel: str) -> Iterator[None]:
    if kernel == "sdpa":
        yield
        return
    with sdpa_kernel(BACKENDS[kernel]):
        yield


def _by_definition(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    rows = []
    for a, b, c in zip(*(t.split(_LENGTHS, dim=2) for t in (q, k, v)), strict=True):
        scores = a @ b.transpose(2, 3) * _WIDTH**-0.5
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        rows.append(scores.masked_fill(later, float("-inf")).softmax(-1) @ c)
    return torch.cat(rows, dim=2).transpose(1, 2)


_SWITCHES: dict[str, Callable[[bool], Any]] = {
    "flash": torch.backends.cuda.enable_flash_sdp,
    "efficient": torch.backends.cuda.enable_mem_efficient_sdp,
    "cudnn": torch.backends.cuda.enable_cudnn_sdp,
    "math": torch.backends.cuda.enable_math_sdp,
}


def avoid(dtype: torch.dtype, known: Mapping[str, str]) -> tuple[bool, list[str]]:
    """Turn off what an examination in child processes has found bad: a kernel that crashes cannot be tried here.

    Arguments:
        known: {"KERNEL:DTYPE": result}.

    Returns:
        whether torch has a kernel left to choose, and what to say to the user.
    """
    bad = {
        kernel: known[f"{kernel}:{_name(dtype)}"]
        for kernel in ("varlen", *BACKENDS)
        if known.get(f"{kernel}:{_name(dtype)}", OK) not in (OK, ABSENT)
    }
    left = [kernel for kernel in BACKENDS if known.get(f"{kernel}:{_name(dtype)}", OK) == OK]
    if not left:
        return False, [f"attention in {_name(dtype)} has no kernel on this device that is right"]
    for kernel in bad:
        if kernel == "varlen":
            varlen.refuse()
        else:
            _SWITCHES[kernel](False)
    return True, [_turned_off(kernel, dtype, outcome) for kernel, outcome in bad.items()]


def settle(device: torch.device, dtype: torch.dtype) -> tuple[bool, tuple[str, ...]]:
    """Turn off the attention kernels that give NaN or wrong values in this dtype; asked once a process.

    Returns:
        whether one that is right is left, and what to say to the user.
    """
    return _settle(device.type, dtype, attempt)


@functools.cache
def _settle(
    kind: str, dtype: torch.dtype, trial: Callable[[str, torch.device, torch.dtype], str]
) -> tuple[bool, tuple[str, ...]]:
    device = torch.device(kind)
    notes: list[str] = []
    if (outcome := trial("varlen", device, dtype)) not in (OK, ABSENT):
        varlen.refuse()
        notes.append(_turned_off("varlen", dtype, outcome))
    if (outcome := trial("sdpa", device, dtype)) == OK:
        return True, tuple(notes)
    for name in ("flash", "efficient", "cudnn"):
        _SWITCHES[name](False)
        notes.append(_turned_off(name, dtype, outcome))
        if (outcome := trial("sdpa", device, dtype)) == OK:
            return True, tuple(notes)
    for switch in _SWITCHES.values():  # another dtype may have use for them
        switch(True)
    return False, (
        f"attention in {_name(dtype)} gives {_in_words(outcome)} with every kernel of this device",
    )


def _turned_off(kernel: str, dtype: torch.dtype, outcome: str) -> str:
    return f"attention in {_name(dtype)} gave {_in_words(outcome)}: the {kernel} kernel is not used"


def _in_words(outcome: str) -> str:
    return {NAN: "NaN", WRONG: "wrong values", ABSENT: "no result"}.get(outcome, f"an error ({outcome})")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
