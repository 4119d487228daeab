"""Which rows see which: by mode, by sequence, by padding. Also the layout of a noisy copy beside its clean context.

Letters: B sequences, T rows that ask, S rows that are seen (the last T are those that ask).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def visible_rows(
    positions_BS: Tensor, asking: int, mode: str, block_size: int, padding_BS: Tensor | None = None
) -> Tensor:
    """bool [B, 1, T, S]: does row t see row s?

    Arguments:
        positions_BS: of all rows. Rows whose positions do not count on from one to the next belong to different
            sequences and never see each other.
        asking: T. mode, block_size: as in `DharaConfig`.
        padding_BS: 0 for rows that nobody sees; each sees itself, so that no row is without any.
    """
    index_S = torch.arange(positions_BS.shape[1], device=positions_BS.device)
    asks = slice(positions_BS.shape[1] - asking, None)
    starts_BS = torch.ones_like(positions_BS)
    starts_BS[:, 1:] = (positions_BS[:, 1:] != positions_BS[:, :-1] + 1).long()
    sequence_BS = starts_BS.cumsum(1)
    seen_BTS = sequence_BS[:, asks, None] == sequence_BS[:, None]
    if mode == "causal":
        seen_BTS = seen_BTS & (index_S[asks, None] >= index_S)
    elif mode == "block":
        block_BS = positions_BS // block_size
        seen_BTS = seen_BTS & (block_BS[:, asks, None] >= block_BS[:, None])
    if padding_BS is not None:
        seen_BTS = seen_BTS & padding_BS.bool()[:, None]
    return (seen_BTS | (index_S[asks, None] == index_S))[:, None]


def positions_of(padding_BS: Tensor | None, rows: torch.Size, earlier: int, device: torch.device) -> Tensor:
    """Positions [B, T] of rows after `earlier` others: counted without padding, 0 for padding on the left."""
    batch, length = rows[:2]
    if padding_BS is None or padding_BS.dim() != 2:
        return torch.arange(earlier, earlier + length, device=device).expand(batch, length)
    counted_BS = (padding_BS.long().cumsum(1) - 1).clamp_min(0)
    return counted_BS[:, counted_BS.shape[1] - length :]


@dataclass(frozen=True)
class NoisyAndClean:
    """One sequence twice: a noisy copy whose blocks each see only themselves and the clean blocks before them.

    So one pass gives every noisy block the logits it has alone after its clean context (Arriola et al. 2025), the
    convolutions included: the rows before a noisy block's first ones are clean rows.

    Attributes:
        positions_1R: int64, of the 2 L rows: noisy copy, then clean copy.
        visible_11RR: bool attention mask. before_1RJ: int64, for `canon.IndexTaps`.
    """

    positions_1R: Tensor
    visible_11RR: Tensor
    before_1RJ: Tensor

    @classmethod
    def of(
        cls, length: int, block_size: int, kernel: int, device: torch.device | str = "cpu"
    ) -> NoisyAndClean:
        """The layout for a sequence of `length` rows in blocks counted from its first row."""
        position_L = torch.arange(length, device=device)
        block_L = position_L // block_size
        earlier_LL = block_L[:, None] > block_L
        same_LL = block_L[:, None] == block_L
        noisy = torch.cat([same_LL, earlier_LL], dim=1)
        clean = torch.cat([torch.zeros_like(same_LL), earlier_LL | same_LL], dim=1)
        lags_J = torch.arange(1, kernel, device=device)
        before_LJ = position_L[:, None] - lags_J
        clean_LJ = torch.where(before_LJ >= 0, before_LJ + length, -1)
        inside_LJ = (before_LJ >= 0) & (before_LJ // block_size == block_L[:, None])
        noisy_LJ = torch.where(inside_LJ, before_LJ, clean_LJ)
        return cls(
            position_L.repeat(2)[None],
            torch.cat([noisy, clean])[None, None],
            torch.cat([noisy_LJ, clean_LJ])[None],
        )
