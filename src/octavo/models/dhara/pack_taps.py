"""The rows before each row of a pack of the lanes: of its own sequence, and of nobody else's."""

from __future__ import annotations

import torch
from torch import Tensor

from octavo.lanes.cache import PackCache
from octavo.lanes.pack import Pack
from octavo.models.dhara.canon import IndexTaps, PositionTaps, Taps


def taps_of_pack(pack: Pack, kernel: int) -> Taps:
    """Taps for a pack read as one row [1, T].

    Arguments:
        kernel: K.
    """
    device = pack.ids_T.device
    if pack.cache is not None:
        return CachedTaps(pack.cache, pack.lengths, kernel)
    if pack.plain:
        # places in the pack's sequences, not positions: a sequence need not begin at position 0
        places = torch.cat([torch.arange(length) for length in pack.lengths])
        return PositionTaps(places.to(device)[None], kernel)
    rows, start = [], 0
    for length, noisy in zip(pack.lengths, pack.noisy, strict=True):
        if noisy:
            before_RJ = _in_two_parts(
                pack.positions_T[start : start + length].cpu(), noisy, pack.pattern.block, kernel
            )
        else:
            before_RJ = _in_one_part(length, kernel)
        rows.append(torch.where(before_RJ >= 0, before_RJ + start, -1))
        start += length
    return IndexTaps(torch.cat(rows).to(device)[None])


def _in_one_part(length: int, kernel: int) -> Tensor:
    """For each row of a sequence the rows 1..K-1 before it, -1 where there is none: [length, K - 1]."""
    rows_LJ = torch.arange(length)[:, None] - torch.arange(1, kernel)
    return rows_LJ.clamp_min(-1)


def _in_two_parts(position_R: Tensor, noisy: int, block: int, kernel: int) -> Tensor:
    """The same for a noisy part with a clean one behind it, either of which may hold a part of the text only.

    Before a noisy row stand the noisy rows of its own block, and clean rows before these; before a clean row clean
    rows. A row that the sequence does not hold is read as nothing, like one before the text.
    """
    row_R = torch.arange(len(position_R))
    noisy_at, clean_at = (torch.full((int(position_R.max()) + 1,), -1) for _ in range(2))
    noisy_at[position_R[:noisy]] = row_R[:noisy]
    clean_at[position_R[noisy:]] = row_R[noisy:]
    before_RJ = position_R[:, None] - torch.arange(1, kernel)
    own_RJ = (row_R[:, None] < noisy) & (before_RJ // block == position_R[:, None] // block)
    held_RJ = before_RJ.clamp_min(0)
    rows_RJ = torch.where(own_RJ, noisy_at[held_RJ], clean_at[held_RJ])
    return torch.where(before_RJ >= 0, rows_RJ, -1)


class CachedTaps:
    """Taps for sequences that are being continued: the cache holds the last K - 1 inputs of each convolution.

    Arguments:
        cache: its `slots` name the sequences of the pack. lengths: new rows of each.
    """

    def __init__(self, cache: PackCache, lengths: list[int], kernel: int) -> None:
        self.cache, self.lengths, self.reach = cache, lengths, kernel - 1

    def lags(self, key: str, x_BTC: Tensor) -> list[Tensor]:
        """See `octavo.models.dhara.canon.Taps`."""
        found: list[list[Tensor]] = []
        for slot, part in zip(self.cache.slots, x_BTC.split(self.lengths, dim=1), strict=True):
            earlier = self.cache.inputs(key, slot)
            if earlier is None:
                earlier = part.new_zeros(part.shape[0], self.reach, part.shape[2])
            rows = torch.cat([earlier, part], dim=1)
            self.cache.keep_inputs(key, slot, rows[:, rows.shape[1] - self.reach :])
            length = part.shape[1]
            found.append([rows[:, start : start + length] for start in range(self.reach - 1, -1, -1)])
        return [torch.cat(lag, dim=1) for lag in zip(*found, strict=True)]
