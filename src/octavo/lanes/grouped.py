"""The adapters' products over ragged lane blocks, each as one grouped product where the device has one.

    down:  h_k  = x_k A_k^T           forward, and with (dy, B) the first product of the backward pass
    up:    y_k  = h_k B_k^T           forward
    outer: dA_k = dh_k^T x_k          the gradients of the matrices

`torch.nn.functional.grouped_mm` (torch 2.10 and later; `torch._grouped_mm` before) multiplies the row blocks of a
matrix by a matrix each in one kernel, for bfloat16 on NVIDIA GPUs of compute capability 9 and 10. On other GPUs torch
reads the bounds back to the host and loops, which is worse than a loop here, by which all else goes. Blocks never
share a product, so that a NaN stays in its lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from octavo.lanes.transfer import send

_ALIGNMENT = 8  # bfloat16 numbers in 16 bytes: every row of an operand has to begin on such a boundary
_HOPPER, _BLACKWELL = 9, 10  # major compute capability; see use_fast_path in torch's GroupedBlas.cpp


_refused = False


def refuse() -> None:
    """Use no kernel for grouped products in this process: it has been seen to give wrong values here."""
    global _refused  # noqa: PLW0603 - a fact of the device that the process runs on
    _refused = True


@dataclass(frozen=True)
class Groups:
    """The row blocks of a pack, in row order, without gaps and none of them empty.

    Attributes:
        sizes: rows of each block. ends_G: int32 [G] on the device, where each block ends.
    """

    sizes: tuple[int, ...]
    ends_G: Tensor


def groups_of(sizes: Sequence[int], device: torch.device | str) -> Groups:
    """Groups of these sizes.

    Raises:
        ValueError: a block is empty: kernels leave the result of an empty product unwritten.
    """
    if not sizes or min(sizes) < 1:
        raise ValueError(f"every block needs a row: {list(sizes)}")
    ends_G = torch.tensor(sizes, dtype=torch.int32).cumsum(0, dtype=torch.int32)
    return Groups(tuple(sizes), send(ends_G, device))


def _kernel() -> Callable[..., Tensor] | None:
    return getattr(torch.nn.functional, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)


def usable(x_TI: Tensor, *widths: int) -> bool:
    """Whether the products of `x_TI` with matrices of these widths can be grouped in a kernel."""
    if (
        _refused
        or x_TI.device.type != "cuda"
        or x_TI.dtype != torch.bfloat16
        or torch.version.hip
        or _kernel() is None
    ):
        return False
    if any(width % _ALIGNMENT for width in (x_TI.shape[-1], *widths)):
        return False
    return torch.cuda.get_device_capability(x_TI.device)[0] in (_HOPPER, _BLACKWELL)


def aligned_rank(rank: int) -> int:
    """The rank that stacked matrices need for the kernel; rows beyond the adapter's own are zero and change nothing."""
    return -(-rank // _ALIGNMENT) * _ALIGNMENT


def stacked(matrices: Sequence[Tensor]) -> Tensor:
    """Matrices of one shape as [G, ...]: a view where they lie at even distances in one tensor, else a copy."""
    first = matrices[0]
    places = [matrix.storage_offset() for matrix in matrices]
    step = places[1] - places[0] if len(places) > 1 else 0
    even = places == [places[0] + i * step for i in range(len(places))] and step > 0
    same = all(
        m.untyped_storage().data_ptr() == first.untyped_storage().data_ptr() and m.stride() == first.stride()
        for m in matrices
    )
    if not even or not same or step % _ALIGNMENT or places[0] % _ALIGNMENT:
        return torch.stack(list(matrices))
    return first.as_strided((len(matrices), *first.shape), (step, *first.stride()))


def times(x_TI: Tensor, w_GIO: Tensor, groups: Groups) -> Tensor:
    """[T, O]: the rows of each block times its matrix.

    Arguments:
        w_GIO: [G, I, O]; a transposed view of [G, O, I] is as good.
    """
    if usable(x_TI, w_GIO.shape[2]):
        kernel = _kernel()
        assert kernel is not None
        return kernel(_row_major(x_TI), w_GIO, offs=groups.ends_G)
    out_TO = x_TI.new_empty(x_TI.shape[0], w_GIO.shape[2])
    for x, out, w in zip(x_TI.split(groups.sizes), out_TO.split(groups.sizes), w_GIO, strict=True):
        torch.mm(x, w, out=out)
    return out_TO


def outer(left_TR: Tensor, right_TI: Tensor, groups: Groups) -> Tensor:
    """[G, R, I]: left_k^T right_k of each block, in the operands' dtype."""
    if usable(right_TI, left_TR.shape[1]):
        kernel = _kernel()
        assert kernel is not None
        return kernel(_row_major(left_TR).t(), _row_major(right_TI), offs=groups.ends_G)
    pairs = zip(left_TR.split(groups.sizes), right_TI.split(groups.sizes), strict=True)
    return torch.stack([left.t() @ right for left, right in pairs])


def _row_major(x: Tensor) -> Tensor:
    return x if x.stride(-1) == 1 and x.stride(0) % _ALIGNMENT == 0 else x.contiguous()


def _scaled(h_TR: Tensor, scale_T1: Tensor) -> Tensor:
    """In the dtype of h: 2.22 rounded to bfloat16 first would be off by the same 0.4 % in every row."""
    return (h_TR * scale_T1).to(h_TR.dtype)


def forward(
    x_TI: Tensor, a_GRI: Tensor, b_GOR: Tensor, scale_T1: Tensor, groups: Groups
) -> tuple[Tensor, Tensor]:
    """What the adapters add to the layer's output, and the scaled product with A that the backward pass needs.

    Arguments:
        x_TI: input after dropout. a_GRI, b_GOR: the matrices of each block; zeros where a lane has none here.
        scale_T1: float32, factor of B A of each row's lane, over the share of inputs that dropout keeps; [T, 1].

    Returns:
        s_k B_k A_k x_k, [T, O], and h = s_k A_k x_k, [T, R].
    """
    h_TR = _scaled(times(x_TI, a_GRI.transpose(1, 2), groups), scale_T1)
    return times(h_TR, b_GOR.transpose(1, 2), groups), h_TR


def backward(
    dy_TO: Tensor,
    x_TI: Tensor,
    h_TR: Tensor,
    a_GRI: Tensor,
    b_GOR: Tensor,
    scale_T1: Tensor,
    groups: Groups,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of `forward`'s first result.

    Arguments:
        dy_TO: gradient to the layer's output. The others as `forward` took and gave them.

    Returns:
        dx [T, I] (to the input after dropout), dA [G, R, I], dB [G, O, R].
    """
    dh_TR = _scaled(times(dy_TO, b_GOR, groups), scale_T1)
    return times(dh_TR, a_GRI, groups), outer(dh_TR, x_TI, groups), outer(dy_TO, h_TR, groups)
