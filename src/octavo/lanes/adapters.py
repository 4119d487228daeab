"""The bank: the adapters of all lanes, stacked, in one flat float32 row a lane.

One row a lane makes everything that is done a lane at a time (optimizer, clipping, snapshot, hand-over to the next
run) an operation on one contiguous vector; the layers see views of shape [K, R, I] and [K, O, R].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from octavo.lanes.dropout import hash_key
from octavo.lanes.linear import LaneLinear, Site
from octavo.lanes.targets import features_of


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
        targets: the union of the layers that any run of the pack adapts.
        lanes: K.
        rank: R, the largest rank of any run.
        trainable: keep gradients (a bank for evaluation needs none).

    Attributes:
        flat_KP, grad_KP: float32 parameters and gradients.
    """

    def __init__(
        self, model: nn.Module, targets: Sequence[str], lanes: int, rank: int, trainable: bool = True
    ) -> None:
        self.model = model
        self.lanes = lanes
        self.rank = rank
        modules = dict(model.named_modules())
        self.places = lay_out([(name, *features_of(modules[name])) for name in targets], rank)
        weight = next(model.parameters())
        self.device = weight.device
        self.dtype = weight.dtype
        size = self.places[-1].stop
        self.flat_KP = torch.zeros(lanes, size, dtype=torch.float32, device=self.device)
        self.grad_KP = torch.zeros_like(self.flat_KP) if trainable else None
        self.compute_KP = self.flat_KP if self.dtype == torch.float32 else self.flat_KP.to(self.dtype)
        self.specs: list[AdapterSpec | None] = [None] * lanes
        self.sites = [self._install(place, modules[place.name]) for place in self.places]

    def _install(self, place: Place, layer: nn.Module) -> Site:
        a, b = self._views(self.flat_KP, place)
        site = Site(
            name=place.name,
            key=hash_key("dropout", place.name),
            a_KRI=nn.Parameter(a, requires_grad=self.grad_KP is not None),
            b_KOR=nn.Parameter(b, requires_grad=self.grad_KP is not None),
            scales=[None] * self.lanes,
            rates=[0.0] * self.lanes,
            compute_a_KRI=self._views(self.compute_KP, place)[0],
            compute_b_KOR=self._views(self.compute_KP, place)[1],
        )
        if self.grad_KP is not None:
            site.grad_a_KRI, site.grad_b_KOR = self._views(self.grad_KP, place)
        parent, _, leaf = place.name.rpartition(".")
        setattr(self.model.get_submodule(parent), leaf, LaneLinear(layer, site))
        return site

    def remove(self) -> None:
        """Put the model's own layers back."""
        for place in self.places:
            parent, _, leaf = place.name.rpartition(".")
            module = self.model.get_submodule(parent)
            lane_linear = getattr(module, leaf)
            if isinstance(lane_linear, LaneLinear):
                setattr(module, leaf, lane_linear.base)

    def _views(self, flat_KP: Tensor, place: Place) -> tuple[Tensor, Tensor]:
        """[K, R, I] and [K, O, R] of one layer inside [K, P]."""
        a = flat_KP[:, place.start : place.middle].unflatten(1, (place.rank, place.inputs))
        b = flat_KP[:, place.middle : place.stop].unflatten(1, (place.outputs, place.rank))
        return a, b

    def occupy(self, lane: int, spec: AdapterSpec) -> None:
        """Give a lane to an adapter; all its matrices are zero until `initialise` or `write`."""
        if spec.rank > self.rank:
            raise ValueError(f"rank {spec.rank} does not fit into a bank of rank {self.rank}")
        wanted = set(spec.targets)
        if unknown := wanted - {place.name for place in self.places}:
            raise ValueError(f"layers that this bank does not hold: {sorted(unknown)}")
        self.specs[lane] = spec
        self.flat_KP[lane].zero_()
        for site in self.sites:
            site.scales[lane] = spec.scale if site.name in wanted else None
            site.rates[lane] = spec.dropout

    def vacate(self, lane: int) -> None:
        """Leave a lane without an adapter: its rows see the base model."""
        self.specs[lane] = None
        self.flat_KP[lane].zero_()
        for site in self.sites:
            site.scales[lane], site.rates[lane] = None, 0.0

    def initialise(self, lane: int, seed: int) -> None:
        """LoRA's start: A uniform in +-1/sqrt(I) (Kaiming with a = sqrt(5), as PEFT has it), B zero.

        The draws of a layer depend on the seed and the layer's name only.
        """
        spec = self._spec(lane)
        wanted = set(spec.targets)
        for place in self.places:
            if place.name not in wanted:
                continue
            draw = torch.Generator().manual_seed(hash_key("lora_a", seed, place.name))
            a = torch.rand(spec.rank, place.inputs, generator=draw) * 2 - 1
            self._views(self.flat_KP, place)[0][lane, : spec.rank] = (a * place.inputs**-0.5).to(self.device)
        self.refresh()

    def read(self, lane: int) -> dict[str, tuple[Tensor, Tensor]]:
        """Copies of a lane's matrices at their own rank: {layer: (A [r, I], B [O, r])}, float32."""
        spec = self._spec(lane)
        wanted = set(spec.targets)
        found = {}
        for place in self.places:
            if place.name in wanted:
                a, b = self._views(self.flat_KP, place)
                found[place.name] = (a[lane, : spec.rank].clone(), b[lane, :, : spec.rank].clone())
        return found

    def write(self, lane: int, matrices: dict[str, tuple[Tensor, Tensor]]) -> None:
        """Set a lane's matrices from `read`'s form."""
        spec = self._spec(lane)
        for place in self.places:
            if place.name in matrices:
                a, b = self._views(self.flat_KP, place)
                a[lane, : spec.rank] = matrices[place.name][0].to(self.device, torch.float32)
                b[lane, :, : spec.rank] = matrices[place.name][1].to(self.device, torch.float32)
        self.refresh()

    def refresh(self) -> None:
        """Bring the copies that the products use up to date with the float32 parameters."""
        if self.compute_KP is not self.flat_KP:
            self.compute_KP.copy_(self.flat_KP)

    def _spec(self, lane: int) -> AdapterSpec:
        spec = self.specs[lane]
        if spec is None:
            raise ValueError(f"lane {lane} is empty")
        return spec
