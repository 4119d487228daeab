"""A tiny model with adapters in its lanes, for the tests of signals."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.targets import resolve_targets
from octavo.vitals.signal import Cadence, History, LaneMoment, Watched
from tests.lanes.tiny import tiny_llama

PROMPTS = ([1, 2, 3, 4, 5], [9, 8, 7, 6, 5, 4, 3], [50, 60])


def watched(
    ranks: Sequence[int] = (4, 4, 2), moved: bool = True, layers: int = 2, attention: str = "causal"
) -> Watched:
    """Lanes with random adapters of these ranks on all linear layers; `moved`: B is not zero."""
    model = tiny_llama(num_hidden_layers=layers)
    model.config.attention_mode, model.config.block_size = attention, 2
    base = BaseModel(model)
    targets = tuple(resolve_targets(base.model, "all-linear"))
    specs = [AdapterSpec(rank, 8, 0.0, targets) for rank in ranks]
    bank = AdapterBank(base.model, specs, len(ranks))
    for lane, spec in enumerate(specs):
        bank.occupy(lane, spec)
        bank.initialise(lane, lane)
        if moved:
            draw = torch.Generator().manual_seed(lane)
            part = bank.own_part(bank.flat_KP, lane)
            part.add_(torch.randn(len(part), generator=draw) * 0.1)
    bank.refresh()
    return Watched(base, bank, PROMPTS, Cadence())


def moments(lanes: Sequence[int], step: int, loss: float = 1.0, norm: float = 1.0) -> list[LaneMoment]:
    return [LaneMoment(lane, step, History([loss] * step, [norm] * step)) for lane in lanes]
