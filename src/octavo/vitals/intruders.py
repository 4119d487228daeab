"""Intruder dimensions: directions that a fine-tuned weight has among its largest and its base has nowhere.

Source: Shuttleworth et al. 2024, "LoRA vs Full Fine-tuning: An Illusion of Equivalence": a left singular vector among
the first k of W + dW whose cosine with every left singular vector of W stays below a bound. Their k is 10; of the
bounds that they try 0.5 is taken here.
"""

from __future__ import annotations

import torch
from torch import Tensor

LARGEST = 10
BOUND = 0.5


@torch.no_grad()
def left_vectors(weight_OI: Tensor) -> Tensor:
    """Left singular vectors of a matrix, [O, min(O, I)], the largest first, in float32."""
    return torch.linalg.svd(weight_OI.float(), full_matrices=False).U


@torch.no_grad()
def intruder_dimensions(
    base_OM: Tensor, tuned_OI: Tensor, largest: int = LARGEST, bound: float = BOUND
) -> int:
    """How many of the largest directions of a fine-tuned weight are no direction of the base's.

    Arguments:
        base_OM: `left_vectors` of the base's weight. tuned_OI: W + dW, finite.
        largest: how many directions are looked at, at most all.
        bound: below this cosine with all of the base's a direction is an intruder.
    """
    tuned_OK = left_vectors(tuned_OI)[:, :largest]
    nearest_K = (base_OM.T @ tuned_OK).abs().amax(dim=0)
    return int((nearest_K < bound).sum())


@torch.no_grad()
def relative_update(base: Tensor, delta: Tensor) -> float | None:
    """||dW||_F / ||W||_F in float64; None for a weight of zeros."""
    norm = float(torch.linalg.vector_norm(base, dtype=torch.float64))
    return float(torch.linalg.vector_norm(delta, dtype=torch.float64)) / norm if norm else None
