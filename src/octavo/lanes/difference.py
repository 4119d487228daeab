"""How far two adapters of one shape are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from octavo.lanes.peft_io import Matrices


def relative_difference(found: Matrices, wanted: Matrices) -> float:
    """||dW - dW_ref||_F / ||dW_ref||_F, dW of all layers together; the scale cancels."""
    gap = size = 0.0
    for name, (a, b) in wanted.items():
        reference = b.double() @ a.double()
        gap += float((found[name][1].double() @ found[name][0].double() - reference).square().sum())
        size += float(reference.square().sum())
    return (gap / size) ** 0.5


def same_bits(found: Matrices, wanted: Matrices) -> bool:
    """Are all matrices equal, byte for byte?"""
    return found.keys() == wanted.keys() and all(
        torch.equal(found[n][i], wanted[n][i]) for n in wanted for i in (0, 1)
    )
