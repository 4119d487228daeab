"""What a signal of the vitals is, and how all that are due are read with one wait for the device.

Values stay tensors until everything that is due in a step has been launched; then one copy brings them all over. A
value that was not measured is null; one that was measured and is not finite stays nan or inf, for verdicts to see.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from octavo.lanes.adapters import AdapterBank
from octavo.lanes.base import BaseModel
from octavo.objectives.causal import CAUSAL
from octavo.objectives.objective import Objective


@dataclass(frozen=True)
class Cadence:
    """How often signals are read, in optimizer steps of a run.

    Attributes:
        every: relative update. early: it is read at every step up to this one.
        probe_every: the probe. spectrum_every: the spectrum.
    """

    every: int = 5
    probe_every: int = 10
    spectrum_every: int = 50
    early: int = 20


@dataclass
class History:
    """Loss and gradient norm (before clipping) of each step of a run from its first on, finite or not.

    Attributes:
        contents: what each step read, a key an example; equal keys are equal examples. Empty where nobody tells.
    """

    losses: list[float] = field(default_factory=list)
    grad_norms: list[float] = field(default_factory=list)
    contents: list[Sequence[Hashable]] = field(default_factory=list)

    def add(self, loss: float, grad_norm: float, contents: Sequence[Hashable] = ()) -> None:
        """Note a step."""
        self.losses.append(loss)
        self.grad_norms.append(grad_norm)
        self.contents.append(contents)


@dataclass(frozen=True)
class LaneMoment:
    """A lane at the moment of reading; `step` counts the run's passed steps, 0 is its adapter before any."""

    lane: int
    step: int
    history: History


@dataclass(frozen=True)
class Watched:
    """What signals look at.

    Attributes:
        base, bank: the frozen model and the adapters on it.
        prompts: token ids of the fixed prompts, each of at least two.
        cadence: how often.
        objective: what is learned.
    """

    base: BaseModel
    bank: AdapterBank
    prompts: Sequence[Sequence[int]]
    cadence: Cadence = Cadence()
    objective: Objective = CAUSAL


class Signal(Protocol):
    """One signal; a file of `octavo.vitals.signals` makes one by `make(watched)`.

    Attributes:
        name: of the signal, for people.
    """

    name: str

    def due(self, step: int) -> bool:
        """Whether a run that has passed `step` steps is read."""
        ...

    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:
        """Launch the measurement of all these lanes; returns tensors of the device and does not wait for them."""
        ...

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:
        """The readings of each lane from the measured tensors, which are float64 on the host by now."""
        ...


def read_signals(signals: Sequence[Signal], lanes: Sequence[LaneMoment]) -> dict[int, dict[str, Any]]:
    """Readings of every lane that has any due: {lane: {reading: value or null}}; one copy from the device."""
    asked = []
    for signal in signals:
        due = [one for one in lanes if signal.due(one.step)]
        if due:
            asked.append((signal, due, signal.measure(due)))
    found: dict[int, dict[str, Any]] = {}
    for (signal, due, _), host in zip(asked, _to_host([values for _, _, values in asked]), strict=True):
        for one, readings in zip(due, signal.report(due, host), strict=True):
            found.setdefault(one.lane, {}).update(readings)
    return found


def _to_host(groups: Sequence[Mapping[str, Tensor]]) -> list[dict[str, Tensor]]:
    """The same tensors in float64 on the host, by one copy."""
    tensors = [tensor for group in groups for tensor in group.values()]
    if not tensors:
        return [{} for _ in groups]
    flat = torch.cat([tensor.detach().reshape(-1).double() for tensor in tensors]).cpu()
    parts = iter(flat.split([tensor.numel() for tensor in tensors]))
    return [{name: next(parts).view(tensor.shape) for name, tensor in group.items()} for group in groups]


def or_null(value: float) -> float | None:
    """A value of which nan says that it does not exist."""
    return None if math.isnan(value) else value
