"""Which rows of its own sequence a row attends to: those before it, all, or those of its block and of earlier blocks.

Blocks are counted from position 0 (a global grid). A sequence may come in two parts, a noisy one and a clean copy
behind it (block diffusion: Arriola et al. 2025): noisy rows see their own block's noisy rows and the clean rows of
the blocks before, which is what they will see when text is made block by block; clean rows see clean rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

KINDS = ("causal", "full", "block")


@dataclass(frozen=True)
class Pattern:
    """The attention of a base.

    Attributes:
        kind: "causal", "full" or "block". block: positions of a block.
    """

    kind: str = "causal"
    block: int = 32

    @property
    def causal(self) -> bool:
        """Does a row see nothing behind itself?"""
        return self.kind == "causal"

    def visible(self, positions_L: Tensor, noisy: int = 0) -> Tensor | None:
        """Who sees whom: bool [L, L], a row each query; None where everybody sees everybody.

        Arguments:
            positions_L: of the rows in their text.
            noisy: how many rows are the noisy part; 0: the sequence is in one part.
        """
        if noisy:
            block_L = positions_L // self.block
            first_L = torch.arange(len(positions_L), device=positions_L.device) < noisy
            same = block_L[:, None] == block_L[None, :]
            before = block_L[None, :] < block_L[:, None]
            seen_clean = (before | (same & ~first_L[:, None])) & ~first_L[None, :]
            return seen_clean | (same & first_L[:, None] & first_L[None, :])
        if self.kind == "full":
            return None
        place_L = positions_L // self.block if self.kind == "block" else positions_L
        return place_L[None, :] <= place_L[:, None]


CAUSAL = Pattern()


def pattern_of(config: Any) -> Pattern:
    """The pattern that a model's config asks for by `attention_mode` and `block_size`; causal without them."""
    kind = getattr(config, "attention_mode", None) or "causal"
    if kind not in KINDS:
        raise ValueError(f"attention_mode {kind!r} is none of {', '.join(KINDS)}")
    return Pattern(kind, int(getattr(config, "block_size", None) or 32))


def additive(visible_LM: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask as kernels add it to scores: 0 where visible, minus infinity elsewhere."""
    return torch.zeros(visible_LM.shape, dtype=dtype, device=visible_LM.device).masked_fill_(
        ~visible_LM, float("-inf")
    )
