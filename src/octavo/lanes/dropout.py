"""Dropout masks as a pure function of (run seed, step, example, module, position, feature).

A mask that comes from a shared random stream changes when a micro-step is split or a neighbour leaves. Here every
bit is a hash of its place, made of integer operations only, so that it is the same on every device and in every cut.
The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
One 64-bit hash serves four features, 16 bits each: the rate is exact to 2**-17.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from octavo.lanes.kernels import Kernel, kernels_for

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_PER_HASH = 4


def _signed(value: int) -> int:
    """Read 64 unsigned bits as a two's-complement integer, as torch.int64 holds them."""
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


def hash_key(*parts: int | str) -> int:
    """A 64-bit key (signed) from numbers and names; the same on every machine."""
    state = 0
    for part in parts:
        words = [part] if isinstance(part, int) else list(part.encode())
        for word in words:
            state = _mix_int(((state ^ (word & _MASK)) + _GOLDEN) & _MASK)
        state = _mix_int((state + len(words)) & _MASK)
    return _signed(state)


def _mix_int(value: int) -> int:
    value ^= value >> 30
    value = (value * _MULTIPLIERS[0]) & _MASK
    value ^= value >> 27
    value = (value * _MULTIPLIERS[1]) & _MASK
    return value ^ (value >> 31)


def _fold(x: Tensor, bits: int) -> Tensor:
    """x ^ (x >> bits), in place; torch shifts signed numbers arithmetically, so what it shifts in is masked off."""
    return x.bitwise_xor_((x >> bits).bitwise_and_((1 << (64 - bits)) - 1))


def _mix(x: Tensor) -> Tensor:
    x = _fold(x.clone(), 30).mul_(_signed(_MULTIPLIERS[0]))
    return _fold(_fold(x, 27).mul_(_signed(_MULTIPLIERS[1])), 31)


def row_keys(sequence_keys: Sequence[int], lengths: Sequence[int]) -> Tensor:
    """Key of every row of a pack from its sequence's key and its position: int64 [T]."""
    keys_T = torch.tensor(list(sequence_keys), dtype=torch.int64).repeat_interleave(
        torch.tensor(list(lengths))
    )
    positions_T = torch.cat([torch.arange(1, n + 1) for n in lengths])
    return _mix(keys_T + positions_T * _signed(_GOLDEN))


class ColumnKeys:
    """Keys of the feature groups of a layer, made once a width and device."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, torch.device], Tensor] = {}

    def __call__(self, features: int, device: torch.device) -> Tensor:
        """int64 [ceil(features / 4)]."""
        place = (features, device)
        if place not in self._made:
            groups = torch.arange(1, -(-features // _PER_HASH) + 1, device=device)
            self._made[place] = _mix(groups * _signed(_MULTIPLIERS[1]))
        return self._made[place]


_column_keys = ColumnKeys()


def threshold_of(rate: float) -> int:
    """The 16 bits of an entry, read as a signed number, keep it from here on: exact to 2**-17."""
    return round(rate * (1 << 16)) - (1 << 15)


def _place_bits(rows_T: Tensor, columns_G: Tensor) -> Tensor:
    """One hash for every row and group of four features: int64 [T, G]."""
    bits = rows_T[:, None] + columns_G[None, :]
    return _fold(_fold(bits, 32).mul_(_signed(_MULTIPLIERS[0])), 29)


def _compare(bits_TI: Tensor, threshold_T: Tensor) -> Tensor:
    return bits_TI >= threshold_T[:, None]


def _only(x_TI: Tensor, keep_TI: Tensor) -> Tensor:
    # bytes widened to numbers: with a bool, or in bfloat16 alone, the loop is not vectorised and takes six times longer
    wide = torch.promote_types(x_TI.dtype, torch.float32)
    return (x_TI.to(wide) * keep_TI.to(wide)).to(x_TI.dtype)


class _Passes:
    """The three passes over all entries, eager or compiled: whole numbers come out the same either way."""

    def __init__(self, compiled: bool) -> None:
        self.place_bits = Kernel(_place_bits, compiled)
        self.compare = Kernel(_compare, compiled)
        self.only = Kernel(_only, compiled)


_EAGER, _COMPILED = _Passes(False), _Passes(True)


def _passes(features: int) -> _Passes:
    return _COMPILED if kernels_for(features).compiled else _EAGER


def keep_mask(row_key_T: Tensor, module_key: int, features: int, rate: float | Tensor) -> Tensor:
    """Which inputs of a layer stay.

    Arguments:
        row_key_T: int64 [T] from `row_keys`.
        module_key: the layer's own key.
        features: I.
        rate: probability of dropping an entry, in [0, 1); or int16 [T], `threshold_of` the rate of each row.

    Returns:
        bool [T, I], True with probability 1 - rate.
    """
    if not isinstance(rate, Tensor):
        rate = torch.full_like(row_key_T, threshold_of(rate), dtype=torch.int16)
    passes = _passes(features)
    bits = passes.place_bits(_mix(row_key_T ^ module_key), _column_keys(features, row_key_T.device))
    return passes.compare(bits.view(torch.int16)[:, :features], rate)


def only_kept(x_TI: Tensor, keep_TI: Tensor) -> Tensor:
    """x where `keep_TI` is true and 0 elsewhere."""
    return _passes(x_TI.shape[-1]).only(x_TI, keep_TI.view(torch.uint8))
