"""A plain PEFT training loop, written out: needs torch and peft only."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

CLIP = 1.0
_IGNORED = -100  # torch's own value of a label that does not count

Batches = Sequence[Sequence[Sequence[int]]]


class Loop:
    """One run: LoRA of alpha twice the rank, no dropout, AdamW.

    Arguments:
        model: the frozen base; `close` takes the adapters off it again.
        targets: full names of layers.
        start: {layer: (A, B)} to begin with; None: PEFT's own draw.
    """

    def __init__(
        self,
        model: Any,
        targets: Sequence[str],
        rank: int,
        start: Mapping[str, tuple[Tensor, Tensor]] | None = None,
    ) -> None:
        import peft

        config = peft.LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=list(targets))
        with warnings.catch_warnings():
            # peft asks transformers for gradient checkpointing by a name that will go
            warnings.simplefilter("ignore", FutureWarning)
            self.model = cast(Any, peft.get_peft_model(model, config).train())
        self.targets = targets
        self.layers = dict(self.model.base_model.model.named_modules())
        for name, (a, b) in (start or {}).items():
            self.layers[name].lora_A.default.weight.data.copy_(a)
            self.layers[name].lora_B.default.weight.data.copy_(b)
        self.weights = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.weights, weight_decay=0.01)

    def step(self, batches: Batches, rate: float = 1e-4) -> None:
        """One optimizer step on the mean over the targets of all batches: all tokens but the first of a row."""
        targets = sum(len(row) - 1 for batch in batches for row in batch)
        self.optimizer.zero_grad()
        for batch in batches:
            ids, mask, labels = padded(batch, self.weights[0].device)
            logits = self.model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            loss = F.cross_entropy(
                logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum", ignore_index=_IGNORED
            )
            loss.div(targets).backward()
        torch.nn.utils.clip_grad_norm_(self.weights, CLIP)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()

    def matrices(self) -> dict[str, tuple[Tensor, Tensor]]:
        """{layer: (A, B)} as they are now."""
        return {
            name: (
                self.layers[name].lora_A.default.weight.detach().clone(),
                self.layers[name].lora_B.default.weight.detach().clone(),
            )
            for name in self.targets
        }

    def close(self) -> None:
        """Take the adapters off the model."""
        self.model.unload()


def padded(batch: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Right-padded ids, attention mask and labels, [B, longest]."""
    longest = max(len(row) for row in batch)

    def filled(rows: list[list[int]], filler: int) -> Tensor:
        return torch.tensor([row + [filler] * (longest - len(row)) for row in rows], device=device)

    rows = [list(row) for row in batch]
    return filled(rows, 0), filled([[1] * len(row) for row in rows], 0), filled(rows, _IGNORED)
