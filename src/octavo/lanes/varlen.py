"""Attention of a whole pack in one kernel call, on NVIDIA GPUs.

`torch.nn.attention.varlen.varlen_attn` (torch 2.10 and later) is FlashAttention over concatenated sequences (Dao 2023):
the boundaries are an argument, so that no mask is made and no query is ever multiplied with another sequence's key.
Its arguments have changed from one torch to the next; what this torch has is read from its signature.
Everything else (float32, other devices, older GPUs) goes a sequence at a time through `attention.attend`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from octavo.lanes.attention import attend, attend_masked
from octavo.lanes.transfer import send

_HALF = (torch.float16, torch.bfloat16)
_AMPERE = (8, 0)  # the oldest compute capability that FlashAttention 2 has kernels for
_WIDEST_HEAD = 256  # FlashAttention's largest head; widths are multiples of 8 (16 bytes)


_refused = False


def refuse() -> None:
    """Use no kernel for whole packs in this process: it has been seen to give NaN here."""
    global _refused  # noqa: PLW0603 - a fact of the device that the process runs on
    _refused = True


@dataclass(frozen=True)
class Segments:
    """Where the sequences of a pack lie, in the form that the kernels want; made once a pack.

    Attributes:
        lengths: tokens of each sequence. longest: the largest of them, a number of the host: no kernel waits for it.
        bounds_N: int32 [N + 1] on the device: 0, and the end of each sequence.
    """

    lengths: tuple[int, ...]
    longest: int
    bounds_N: Tensor


def segments_of(lengths: Sequence[int], device: torch.device | str) -> Segments:
    """The segments of a pack with these sequence lengths (at least one)."""
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + length)
    bounds_N = torch.tensor(ends, dtype=torch.int32)
    return Segments(tuple(lengths), max(lengths), send(bounds_N, device))


@cache
def _kernel() -> tuple[Callable[..., Any], frozenset[str]] | None:
    """`varlen_attn` and the names of its parameters; None where this torch has none."""
    try:
        function = importlib.import_module("torch.nn.attention.varlen").varlen_attn
    except (
        ImportError,
        AttributeError,
        RuntimeError,
    ):  # built without FlashAttention: the import registers its ops
        return None
    return function, frozenset(inspect.signature(function).parameters)


def usable(query: Tensor, window: int | None = None) -> bool:
    """Whether `attend_pack` can take one kernel call for such a query, [1, H, T, D].

    ROCm is left out: its kernels for ragged batches are the ones that have been seen to crash or return NaN.
    """
    kernel = None if _refused else _kernel()
    if kernel is None or query.dtype not in _HALF or query.device.type != "cuda" or torch.version.hip:
        return False
    width = query.shape[-1]
    if width > _WIDEST_HEAD or width % 8:
        return False
    if window is not None and "window_size" not in kernel[1]:
        return False
    return torch.cuda.get_device_capability(query.device) >= _AMPERE


def attend_pack(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    segments: Segments,
    scaling: float | None = None,
    window: int | None = None,
) -> Tensor:
    """Causal attention of every sequence of a pack to itself alone.

    Arguments:
        query: [1, H, T, D]; key and value: [1, H_kv, T, D].
        scaling: of the scores; None is D^-0.5.
        window: how many keys a query sees, itself included; None: all before it.

    Returns:
        [1, T, H, D] in the query's dtype. A NaN in one sequence stays there.
    """
    if usable(query, window):
        return _in_one_call(query, key, value, segments, scaling, window)
    parts = (t.split(list(segments.lengths), dim=2) for t in (query, key, value))
    rows = [attend(q, k, v, scaling, window).transpose(1, 2) for q, k, v in zip(*parts, strict=True)]
    return torch.cat(rows, dim=1)


def attend_pack_masked(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    segments: Segments,
    masks: Sequence[Tensor | None] | None,
    scaling: float | None = None,
) -> Tensor:
    """Attention of every sequence to all of itself, or to what its mask shows.

    Arguments:
        query, key, value: as `attend_pack` takes them.
        masks: bool [L, L] of each sequence, None where all is visible; None: all is visible in all of them.

    Returns:
        [1, T, H, D] in the query's dtype.
    """
    if masks is None and usable(query):
        return _in_one_call(query, key, value, segments, scaling, None, causal=False)
    parts = (t.split(list(segments.lengths), dim=2) for t in (query, key, value))
    seen = masks or [None] * len(segments.lengths)
    rows = [
        attend_masked(q, k, v, m, scaling).transpose(1, 2) for q, k, v, m in zip(*parts, seen, strict=True)
    ]
    return torch.cat(rows, dim=1)


def _in_one_call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    segments: Segments,
    scaling: float | None,
    window: int | None,
    causal: bool = True,
) -> Tensor:
    kernel = _kernel()
    assert kernel is not None
    function, parameters = kernel
    q_THD, k_THD, v_THD = (t[0].transpose(0, 1) for t in (query, key, value))
    options: dict[str, Any] = {}
    if q_THD.shape[1] != k_THD.shape[1]:
        if "enable_gqa" in parameters:
            options["enable_gqa"] = True
        else:
            groups = q_THD.shape[1] // k_THD.shape[1]
            k_THD, v_THD = (t.repeat_interleave(groups, dim=1) for t in (k_THD, v_THD))
    if scaling is not None:
        if "scale" in parameters:
            options["scale"] = scaling
        else:
            q_THD = q_THD * (scaling * q_THD.shape[2] ** 0.5)
    if "window_size" in parameters:
        # the kernel counts the keys left of the query, the config of a model the query as well
        options["window_size"] = (-1 if window is None else window - 1, 0 if causal else -1)
    else:
        options["is_causal"] = causal
    bounds, longest = segments.bounds_N, segments.longest
    return function(q_THD, k_THD, v_THD, bounds, bounds, longest, longest, **options)[None]
