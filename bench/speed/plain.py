"""A plain PEFT training loop, written out: needs torch and peft only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CLIP = 1.0


def adapt(model: Any, targets: Sequence[str], rank: int) -> Any:
    """`model` with float32 LoRA adapters of this rank, alpha twice the rank, no dropout."""
    import peft

    config = peft.LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=list(targets))
    with warnings.catch_warnings():
        # peft asks transformers for gradient checkpointing by a name that will go
        warnings.simplefilter("ignore", FutureWarning)
        return peft.get_peft_model(model, config).train()


def optimizer_step(
    model: Any,
    optimizer: torch.optim.Optimizer,
    weights: Sequence[Tensor],
    batches: Sequence[Sequence[Sequence[int]]],
) -> None:
    """Gradients of all batches of equal rows, clipped, and a step; the loss is the mean over all targets."""
    device = weights[0].device
    targets = sum(len(row) - 1 for batch in batches for row in batch)
    optimizer.zero_grad()
    for batch in batches:
        ids = torch.tensor([list(row) for row in batch], device=device)
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[:, :-1].float()
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="sum") / targets
        loss.backward()
    torch.nn.utils.clip_grad_norm_(weights, CLIP)
    optimizer.step()
