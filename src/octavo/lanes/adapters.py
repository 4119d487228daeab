"""The bank: the adapters of all lanes, in one flat float32 row a lane.

One row a lane makes everything that is done a lane at a time (optimizer, clipping, snapshot, hand-over to the next
run) an operation on one contiguous vector; the layers see views of it, [R, I] and [O, R]. A lane's row is laid out
by its own rank and layers: a neighbour of a larger rank costs it nothing and leaves every bit as it is alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from octavo.lanes.dropout import hash_key
from octavo.lanes.linear import LaneLinear, Site, Slot
from octavo.lanes.targets import features_of

_CACHE_LINE = 16  # float32 numbers in 64 bytes


@dataclass(frozen=True)
class AdapterSpec:
    """What one run's adapter looks like.

    Attributes:
        rank, alpha, dropout: as in LoRA.
        targets: full names of the layers.
        rank_scaling: "standard" (alpha / r) or "sqrt" (alpha / sqrt(r), rsLoRA).
    """

    rank: int
    alpha: float
    dropout: float
    targets: tuple[str, ...]
    rank_scaling: str = "standard"

    @property
    def scale(self) -> float:
        """The factor of B A."""
        return self.alpha / (math.sqrt(self.rank) if self.rank_scaling == "sqrt" else self.rank)


@dataclass(frozen=True)
class Place:
    """Where one layer's matrices lie in a lane's flat row."""

    name: str
    inputs: int
    outputs: int
    start: int
    rank: int

    @property
    def middle(self) -> int:
        """End of A, begin of B."""
        return self.start + self.rank * self.inputs

    @property
    def stop(self) -> int:
        """End of B."""
        return self.middle + self.rank * self.outputs

    def views(self, row_P: Tensor) -> tuple[Tensor, Tensor]:
        """A [R, I] and B [O, R] inside a lane's row."""
        a = row_P[self.start : self.middle].view(self.rank, self.inputs)
        b = row_P[self.middle : self.stop].view(self.outputs, self.rank)
        return a, b


def lay_out(layers: Sequence[tuple[str, int, int]], rank: int) -> list[Place]:
    """Places of the layers (name, inputs, outputs) for matrices of `rank` rows."""
    places: list[Place] = []
    start = 0
    for name, inputs, outputs in layers:
        places.append(Place(name, inputs, outputs, start, rank))
        start = places[-1].stop
    return places


def count_parameters(layers: Sequence[tuple[str, int, int]], rank: int) -> int:
    """Trainable numbers of an adapter of `rank` on `layers`: sum of r * (inputs + outputs)."""
    return sum(rank * (inputs + outputs) for _, inputs, outputs in layers)


class AdapterBank:
    """Adapters of K lanes on one model, installed in the place of its linear layers.

    Arguments:
        model: the frozen model; its layers are replaced by `LaneLinear` until `remove`.
        specs: adapters that will ever be in a lane; they say which layers are replaced and how long a row is.
        lanes: K.
        trainable: keep gradients (a bank for evaluation needs none).

    Attributes:
        flat_KP, grad_KP: float32 parameters and gradients; a lane uses the first numbers of its row.
        places: layout of each lane.
    """

    def __init__(
        self, model: nn.Module, specs: Iterable[AdapterSpec], lanes: int, trainable: bool = True
    ) -> None:
        self.model, self.lanes = model, lanes
        known = list(specs)
        wanted = {name for spec in known for name in spec.targets}
        modules = {name: module for name, module in model.named_modules() if name in wanted}
        if missing := wanted - set(modules):
            raise ValueError(f"layers that the model does not have: {sorted(missing)}")
        self._features = {name: features_of(module) for name, module in modules.items()}
        weight = next(model.parameters())
        self.device, self.dtype = weight.device, weight.dtype
        size = max((self.size_of(spec) for spec in known), default=0)
        # every row begins on a cache line: kernels choose their order of summation by alignment too
        size = -(-size // _CACHE_LINE) * _CACHE_LINE
        self.flat_KP = torch.zeros(lanes, size, dtype=torch.float32, device=self.device)
        self.grad_KP = torch.zeros_like(self.flat_KP) if trainable else None
        self.compute_KP = self.flat_KP if self.dtype == torch.float32 else self.flat_KP.to(self.dtype)
        self.specs: list[AdapterSpec | None] = [None] * lanes
        self.places: list[list[Place]] = [[] for _ in range(lanes)]
        # a leaf that asks for gradients, so that autograd goes through the adapters of the first layer
        anchor = torch.zeros((), device=self.device, requires_grad=trainable)
        self.sites = {name: Site(name, hash_key("dropout", name), [None] * lanes, anchor) for name in modules}
        for name, module in modules.items():
            self._put(name, LaneLinear(module, self.sites[name]))

    def size_of(self, spec: AdapterSpec) -> int:
        """Numbers of an adapter."""
        return count_parameters(self._layers_of(spec), spec.rank)

    def _layers_of(self, spec: AdapterSpec) -> list[tuple[str, int, int]]:
        wanted = set(spec.targets)
        return [(name, *shape) for name, shape in self._features.items() if name in wanted]

    def _put(self, name: str, layer: nn.Module) -> None:
        parent, _, leaf = name.rpartition(".")
        setattr(self.model.get_submodule(parent), leaf, layer)

    def remove(self) -> None:
        """Put the model's own layers back."""
        for name in self.sites:
            layer = self.model.get_submodule(name)
            if isinstance(layer, LaneLinear):
                self._put(name, layer.base)

    def occupy(self, lane: int, spec: AdapterSpec) -> None:
        """Give a lane to an adapter; all its matrices are zero until `initialise` or `write`.

        Raises:
            ValueError: the adapter is larger than those that the bank was made for, or on other layers.
        """
        if unknown := set(spec.targets) - set(self.sites):
            raise ValueError(f"layers that this bank does not hold: {sorted(unknown)}")
        if self.size_of(spec) > self.flat_KP.shape[1]:
            raise ValueError(
                f"an adapter of {self.size_of(spec)} numbers does not fit into {self.flat_KP.shape[1]}"
            )
        self.vacate(lane)
        self.specs[lane] = spec
        self.places[lane] = lay_out(self._layers_of(spec), spec.rank)
        for place in self.places[lane]:
            a, b = place.views(self.compute_KP[lane])
            grads = (None, None) if self.grad_KP is None else place.views(self.grad_KP[lane])
            self.sites[place.name].slots[lane] = Slot(a, b, spec.scale, spec.dropout, *grads)

    def vacate(self, lane: int) -> None:
        """Leave a lane without an adapter: its rows see the base model."""
        self.specs[lane] = None
        self.places[lane] = []
        self.flat_KP[lane].zero_()
        if self.grad_KP is not None:
            self.grad_KP[lane].zero_()
        for site in self.sites.values():
            site.slots[lane] = None

    def own_part(self, flat_KP: Tensor, lane: int) -> Tensor:
        """The numbers of a row that the lane's adapter uses."""
        return flat_KP[lane, : self.places[lane][-1].stop if self.places[lane] else 0]

    def initialise(self, lane: int, seed: int) -> None:
        """LoRA's start: A uniform in +-1/sqrt(I) (Kaiming with a = sqrt(5), as PEFT has it), B zero.

        The draws of a layer depend on the seed and the layer's name only.
        """
        for place in self.places[lane]:
            draw = torch.Generator().manual_seed(hash_key("lora_a", seed, place.name))
            a = torch.rand(place.rank, place.inputs, generator=draw) * 2 - 1
            place.views(self.flat_KP[lane])[0].copy_(a * place.inputs**-0.5)
        self.refresh()

    def read(self, lane: int) -> dict[str, tuple[Tensor, Tensor]]:
        """Copies of a lane's matrices: {layer: (A [r, I], B [O, r])}, float32."""
        found = {}
        for place in self.places[lane]:
            a, b = place.views(self.flat_KP[lane])
            found[place.name] = (a.clone(), b.clone())
        return found

    def write(self, lane: int, matrices: dict[str, tuple[Tensor, Tensor]]) -> None:
        """Set a lane's matrices from `read`'s form; layers that are not named keep theirs."""
        for place in self.places[lane]:
            if place.name in matrices:
                for view, matrix in zip(place.views(self.flat_KP[lane]), matrices[place.name], strict=True):
                    view.copy_(matrix)
        self.refresh()

    def refresh(self) -> None:
        """Bring the copies that the products use up to date with the float32 parameters."""
        if self.compute_KP is not self.flat_KP:
            self.compute_KP.copy_(self.flat_KP)
