"""The rows before each row of a pack of the lanes: of its own sequence, and of nobody else's."""

from __future__ import annotations

import torch
from torch import Tensor

from octavo.lanes.cache import PackCache
from octavo.lanes.pack import Pack
from octavo.models.dhara.canon import IndexTaps, PositionTaps, Taps
from octavo.models.dhara.masks import NoisyAndClean


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
        before_RJ = _before(length, noisy, pack.pattern.block, kernel)
        rows.append(torch.where(before_RJ >= 0, before_RJ + start, -1))
        start += length
    return IndexTaps(torch.cat(rows).to(device)[None])


def _before(length: int, noisy: int, block: int, kernel: int) -> Tensor:
    """For each row of a sequence the rows 1..K-1 before it, -1 where there is none: [length, K - 1]."""
    if noisy:
        return NoisyAndClean.of(noisy, block, kernel).before_1RJ[0]
    rows_LJ = torch.arange(length)[:, None] - torch.arange(1, kernel)
    return rows_LJ.clamp_min(-1)


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
