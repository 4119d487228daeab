"""Keys and values of the sequences that are being continued."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class PackCache:
    """What each attention layer has seen of each sequence: [1, H_kv, M, D] a layer and sequence."""

    def __init__(self) -> None:
        self._seen: dict[nn.Module, dict[int, tuple[Tensor, Tensor]]] = {}
        self.slots: list[int] = []
        self._inputs: dict[int, dict[str, Tensor]] = {}

    def inputs(self, name: str, slot: int) -> Tensor | None:
        """The last inputs of a convolution that a sequence had, None before its first."""
        return self._inputs.get(slot, {}).get(name)

    def keep_inputs(self, name: str, slot: int, rows: Tensor) -> None:
        """Keep them for the next token."""
        self._inputs.setdefault(slot, {})[name] = rows

    def extend(self, layer: nn.Module, number: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the new keys and values of pack sequence `number` and return all of them."""
        slot = self.slots[number]
        seen = self._seen.setdefault(layer, {})
        if slot in seen:
            key = torch.cat([seen[slot][0], key], dim=2)
            value = torch.cat([seen[slot][1], value], dim=2)
        seen[slot] = (key, value)
        return key, value

    def forget(self, slot: int) -> None:
        """Free what a finished sequence held."""
        for seen in self._seen.values():
            seen.pop(slot, None)
        self._inputs.pop(slot, None)
