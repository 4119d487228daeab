"""The adapters of many lanes as few stacked tensors, so that a formula over all of them is a handful of products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from octavo.lanes.adapters import AdapterBank, Place


@dataclass(frozen=True)
class Stack:
    """Adapters of M layers of one shape in k lanes of one layout.

    Attributes:
        lanes: the k lanes. places: the M layers.
        a_MkRI, b_MkOR: their matrices.
    """

    lanes: tuple[int, ...]
    places: tuple[Place, ...]
    a_MkRI: Tensor
    b_MkOR: Tensor


def lanes_by_layout(bank: AdapterBank, lanes: Sequence[int]) -> list[list[int]]:
    """Lanes that hold adapters of one rank on the same layers, together; lanes without an adapter are left out."""
    groups: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for lane in lanes:
        spec = bank.specs[lane]
        if spec is not None and bank.places[lane]:
            groups.setdefault((spec.rank, spec.targets), []).append(lane)
    return list(groups.values())


def stacks(bank: AdapterBank, lanes: Sequence[int]) -> Iterator[Stack]:
    """The stacks of lanes of one layout, one a shape of layer."""
    rows_kP = _rows(bank.flat_KP, lanes)
    shapes: dict[tuple[int, int], list[Place]] = {}
    for place in bank.places[lanes[0]]:
        shapes.setdefault((place.inputs, place.outputs), []).append(place)
    for places in shapes.values():
        a = [rows_kP[:, p.start : p.middle].unflatten(1, (p.rank, p.inputs)) for p in places]
        b = [rows_kP[:, p.middle : p.stop].unflatten(1, (p.outputs, p.rank)) for p in places]
        yield Stack(tuple(lanes), tuple(places), torch.stack(a), torch.stack(b))


def _rows(flat_KP: Tensor, lanes: Sequence[int]) -> Tensor:
    """The lanes' rows; a view where they lie behind one another."""
    if list(lanes) == list(range(lanes[0], lanes[-1] + 1)):
        return flat_KP[lanes[0] : lanes[-1] + 1]
    return flat_KP[list(lanes)]
