"""The grouped products of a device against the same products a block at a time."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from octavo.lanes import grouped

# largest relative gap (Frobenius) that is rounding: bfloat16 rounds to 0.4 %, twice in a row, and sums in other orders
TOLERANCE = 2e-2
# rows that fill no tile of a kernel and single ones; widths that are no powers of two
_SIZES, _INPUTS, _RANK, _OUTPUTS = (130, 1, 77, 300, 5), 576, 8, 192


def gap_to_loop(device: torch.device) -> float | None:
    """The largest relative gap of output and gradients; nan where one is not finite, None without a kernel."""
    draw = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw).to(device, torch.bfloat16)

    rows, blocks = sum(_SIZES), len(_SIZES)
    x, dy = normal(rows, _INPUTS), normal(rows, _OUTPUTS)
    if not grouped.usable(x, _RANK, _OUTPUTS):
        return None
    a, b = normal(blocks, _RANK, _INPUTS), normal(blocks, _OUTPUTS, _RANK)
    groups, ones = grouped.groups_of(_SIZES, device), torch.ones(rows, 1, device=device)
    y, h = grouped.forward(x, a, b, ones, groups)
    found = [y, *grouped.backward(dy, x, h, a, b, ones, groups)]
    gaps = [_gap(one, right) for one, right in zip(found, _wanted(x, dy, a, b), strict=True)]
    return math.nan if any(map(math.isnan, gaps)) else max(gaps)


def _wanted(x: Tensor, dy: Tensor, a: Tensor, b: Tensor) -> list[Tensor]:
    """Output and gradients by float32 products, a block at a time."""
    parts: list[tuple[Tensor, ...]] = []
    for rows, dys, down, up in zip(x.split(_SIZES), dy.split(_SIZES), a.float(), b.float(), strict=True):
        h, dh = rows.float() @ down.t(), dys.float() @ up
        parts.append((h @ up.t(), dh @ down, dh.t() @ rows.float(), dys.float().t() @ h))
    y, dx, da, db = zip(*parts, strict=True)
    return [torch.cat(y), torch.cat(dx), torch.stack(da), torch.stack(db)]


def _gap(found: Tensor, wanted: Tensor) -> float:
    return float((found.float() - wanted).norm() / wanted.norm())


def settle(device: torch.device) -> str | None:
    """Turn grouped products off where they are wrong; **returns** what to say then."""
    try:
        gap = gap_to_loop(device)
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or type(error).__name__ == "AcceleratorError":
            raise
        gap, reason = math.nan, str(error).strip().split("\n")[0][:200]
    else:
        reason = "wrong values" if gap is not None and not math.isnan(gap) else "NaN"
    if gap is None or gap <= TOLERANCE:
        return None
    grouped.refuse()
    return f"grouped products in bfloat16 gave {reason}: adapters are multiplied a lane at a time"
