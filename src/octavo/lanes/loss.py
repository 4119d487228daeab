"""Cross-entropy of labelled positions, a chunk of rows at a time.

The logits of a long batch are the largest tensor of a training step (4096 tokens x 49,152 words x 2 bytes = 384 MiB).
Here only labelled rows get logits, only a chunk of them at once, and they are gone when the gradient to the hidden
state is known.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from octavo.lanes.kernels import EAGER, Kernels

CHUNK_ROWS = 256


def head_loss(
    head: Callable[[Tensor], Tensor],
    hidden_NH: Tensor,
    target_N: Tensor,
    weight_N: Tensor | None,
    chunk: int = CHUNK_ROWS,
    kernels: Kernels = EAGER,
) -> tuple[Tensor, Tensor | None]:
    """Negative log-likelihood of each target and the gradient of its weighted sum.

    Arguments:
        head: hidden states to logits; called on at most `chunk` rows.
        hidden_NH: hidden states of the labelled positions (any float dtype).
        target_N: target ids.
        weight_N: factor of each row's loss, or None when no gradient is wanted.

    Returns:
        losses float32 [N] (unweighted), and the gradient of sum(weight * loss) to hidden, [N, H], or None.
        Rows never mix: a non-finite row leaves the others as they are.
    """
    losses = []
    grads = []
    for start in range(0, len(target_N), chunk):
        part = slice(start, min(start + chunk, len(target_N)))
        hidden = hidden_NH[part].detach()
        with torch.set_grad_enabled(weight_N is not None):
            if weight_N is not None:
                hidden.requires_grad_(True)
            logits = head(hidden)
        targets = target_N[part]
        found, totals = kernels.target_losses(logits.detach(), targets)
        losses.append(found)
        if weight_N is None:
            continue
        share = kernels.target_gradients(logits.detach(), totals, targets, weight_N[part])
        (grad,) = torch.autograd.grad(logits, hidden, share)
        grads.append(grad)
    if not losses:
        empty = hidden_NH.new_zeros(0, dtype=torch.float32)
        return empty, torch.zeros_like(hidden_NH) if weight_N is not None else None
    return torch.cat(losses), torch.cat(grads) if weight_N is not None else None
