"""Canon layers (Allen-Zhu 2025): every row takes in the few rows before it, each channel by itself.

    y_t = x_t + sum over j = 0..K-1 of w_j * x_{t-j}        no bias, no activation, K = 4 in all published models

A convolution knows no attention mask. What keeps sequences apart is `Taps`: it says which earlier rows belong to the
same sequence, and puts zeros (never a product with zero, which would keep a NaN) in the place of all others.

Letters: B sequences, T rows, C channels, K taps.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Taps(Protocol):
    """Gives a convolution the rows before each row."""

    def lags(self, key: str, x_BTC: Tensor) -> list[Tensor]:
        """x_{t-1}, ..., x_{t-K+1}, each [B, T, C] with zeros where there is no such row.

        Arguments:
            key: names the convolution in its model, for what is kept between calls.
        """
        ...


class Canon(nn.Module):
    """One convolution.

    Arguments:
        channels: C. kernel: K. key: its name in the model, such as "3.a".

    Attributes:
        conv: holds the weight, [C, 1, K], the last tap is the row's own; it is not called.
    """

    def __init__(
        self,
        channels: int,
        kernel: int,
        key: str,
        residual: bool = True,
        bias: bool = False,
        activation: bool = False,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel, groups=channels, bias=bias)
        self.key, self.residual, self.activation = key, residual, activation

    @property
    def kernel(self) -> int:
        """K."""
        return self.conv.kernel_size[0]

    @property
    def channels(self) -> int:
        """C."""
        return self.conv.in_channels

    def forward(self, x_BTC: Tensor, taps: Taps) -> Tensor:
        """[B, T, C] in the input's dtype."""
        return self.mix(x_BTC, taps.lags(self.key, x_BTC))

    def mix(self, x_BTC: Tensor, lags: list[Tensor]) -> Tensor:
        """The output for rows whose earlier rows are known; sums in float32."""
        weight_CK = self.conv.weight[:, 0].float()
        y_BTC = weighted(weight_CK, x_BTC, lags)
        if self.conv.bias is not None:
            y_BTC = y_BTC + self.conv.bias.float()
        if self.activation:
            y_BTC = F.silu(y_BTC)
        return (y_BTC + x_BTC if self.residual else y_BTC).to(x_BTC.dtype)


def weighted(weight_CK: Tensor, x_BTC: Tensor, lags: list[Tensor]) -> Tensor:
    """sum over j of w_j * x_{t-j} in the weight's dtype; w_j is column K - 1 - j."""
    total_BTC = x_BTC * weight_CK[:, -1]
    for j, lag_BTC in enumerate(lags, start=1):
        total_BTC = total_BTC + lag_BTC * weight_CK[:, -1 - j]
    return total_BTC


class CanonMemory(Protocol):
    """What a cache keeps for the convolutions: the last K - 1 inputs of each, [B, K - 1, C]."""

    canon_inputs: dict[str, Tensor]


class PositionTaps:
    """Taps by position: a row at position p of its sequence has p rows before it.

    So positions that start again at 0 keep packed examples apart, and padding on the left out.

    Arguments:
        positions_BT: of each row in its sequence. kernel: K.
        memory: of a cache with rows before these. keep: replace what it holds by what the next rows will ask for.
    """

    def __init__(
        self, positions_BT: Tensor, kernel: int, memory: CanonMemory | None = None, keep: bool = False
    ) -> None:
        self.reach = kernel - 1
        self.memory, self.keep = memory, keep
        self.exists = [(positions_BT >= j)[..., None] for j in range(1, kernel)]

    def lags(self, key: str, x_BTC: Tensor) -> list[Tensor]:
        """See `Taps`."""
        earlier = None if self.memory is None else self.memory.canon_inputs.get(key)
        if earlier is None:
            earlier = x_BTC.new_zeros(x_BTC.shape[0], self.reach, x_BTC.shape[2])
        rows = torch.cat([earlier, x_BTC], dim=1)
        if self.keep and self.memory is not None:
            self.memory.canon_inputs[key] = rows[:, rows.shape[1] - self.reach :]
        zero = x_BTC.new_zeros(())
        length = x_BTC.shape[1]
        starts = range(self.reach - 1, -1, -1)
        return [
            torch.where(exists, rows[:, start : start + length], zero)
            for start, exists in zip(starts, self.exists, strict=True)
        ]


class IndexTaps:
    """Taps by row number, for rows whose predecessors lie elsewhere (a noisy block after its clean context).

    Arguments:
        before_BTJ: int64, the row that lies j = 1..K-1 before each row, -1 where there is none.
    """

    def __init__(self, before_BTJ: Tensor) -> None:
        self.exists = [(rows >= 0)[..., None] for rows in before_BTJ.unbind(-1)]
        self.rows = [rows.clamp_min(0)[..., None] for rows in before_BTJ.unbind(-1)]

    def lags(self, key: str, x_BTC: Tensor) -> list[Tensor]:
        """See `Taps`."""
        del key
        zero = x_BTC.new_zeros(())
        return [
            torch.where(exists, x_BTC.gather(1, rows.expand(*rows.shape[:-1], x_BTC.shape[2])), zero)
            for rows, exists in zip(self.rows, self.exists, strict=True)
        ]
