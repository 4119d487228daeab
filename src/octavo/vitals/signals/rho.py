"""The relative update: how large the adapter has become against the weight beside it. The earliest signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from octavo.vitals.frozen import frozen_norm
from octavo.vitals.signal import LaneMoment, Watched
from octavo.vitals.stacks import Stack, lanes_by_layout, stacks


class Rho:
    """`rho` and `rho_module`, the layer it is largest in; at every step of the first 20, then every 5.

    Formula: max over layers of s ||B A||_F / ||W||_F, with ||B A||_F^2 = tr((B^T B)(A A^T)): products of r x r, never
    the full weight. Unit: a share of the frozen weight's norm. A layer whose weight is zero has no such share and is
    left out. A NaN is handed on by the maximum, and named.
    """

    name = "relative update"

    def __init__(self, watched: Watched) -> None:
        self.base, self.bank, self.cadence = watched.base, watched.bank, watched.cadence
        self._norms: dict[str, Tensor] = {}

    def due(self, step: int) -> bool:
        """At every early step, then every few."""
        return step > 0 and (step <= self.cadence.early or step % self.cadence.every == 0)

    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:
        """For every group of lanes of one layout: the largest ratio of each and the number of its layer."""
        found = {}
        for group in lanes_by_layout(self.bank, [one.lane for one in lanes]):
            ratios_Mk = torch.cat([self._ratios(stack) for stack in stacks(self.bank, group)])
            largest_k, layer_k = ratios_Mk.max(dim=0)
            found[_key(group)] = torch.stack([largest_k, layer_k.double()])
        return found

    def _ratios(self, stack: Stack) -> Tensor:
        gram_a = stack.a_MkRI @ stack.a_MkRI.mT
        gram_b = stack.b_MkOR.mT @ stack.b_MkOR
        # clamped: rounding may leave a product that is nearly zero below it; a NaN passes the clamp
        squares_Mk = (gram_a.double() * gram_b.double()).sum((-2, -1)).clamp_min(0)
        scales = [spec.scale for lane in stack.lanes if (spec := self.bank.specs[lane]) is not None]
        scale_k = torch.tensor(scales, dtype=torch.float64).to(squares_Mk.device)
        norm_M = torch.stack([self._norm(place.name) for place in stack.places])[:, None]
        ratios_Mk = squares_Mk.sqrt() * scale_k / norm_M
        return torch.where(norm_M == 0, torch.zeros_like(ratios_Mk), ratios_Mk)

    def _norm(self, name: str) -> Tensor:
        """||W||_F of a layer, worked out once: it is frozen."""
        if name not in self._norms:
            layer = self.bank.model.get_submodule(name)
            self._norms[name] = frozen_norm(layer, self.bank.device, self.bank.dtype)
        return self._norms[name]

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:
        """The largest ratio of each lane; null for a lane without an adapter."""
        found: dict[int, dict[str, Any]] = {}
        for group in lanes_by_layout(self.bank, [one.lane for one in lanes]):
            names = self._names(group[0])
            for lane, value, number in zip(group, *host[_key(group)].tolist(), strict=True):
                found[lane] = {"rho": value, "rho_module": names[int(number)]}
        return [found.get(one.lane, {"rho": None, "rho_module": None}) for one in lanes]

    def _names(self, lane: int) -> list[str]:
        """Layers in the order of `stacks`: by shape, as each first comes."""
        shapes: dict[tuple[int, int], list[str]] = {}
        for place in self.bank.places[lane]:
            shapes.setdefault((place.inputs, place.outputs), []).append(place.name)
        return [name for names in shapes.values() for name in names]


def _key(group: Sequence[int]) -> str:
    return ",".join(map(str, group))


def make(watched: Watched) -> Rho:
    """The signal."""
    return Rho(watched)
