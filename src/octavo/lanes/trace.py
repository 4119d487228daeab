"""Where a value stopped being finite: one lane's window is replayed with every layer watched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from octavo.lanes.base import BaseModel
from octavo.lanes.loss import head_loss
from octavo.lanes.pack import Sample, build_pack
from octavo.lanes.window import LaneEngine


@contextmanager
def _watch(model: nn.Module, found: list[str]) -> Iterator[None]:
    """Append to `found` the name of every leaf layer whose output is not finite, in the order of computation."""

    def look(name: str):
        def hook(_module: nn.Module, _inputs: object, output: object) -> None:
            if isinstance(output, Tensor) and not bool(torch.isfinite(output).all()):
                found.append(name)

        return hook

    handles = [m.register_forward_hook(look(n)) for n, m in model.named_modules() if n]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def first_bad_tensor(engine: LaneEngine, lane: int, samples: Sequence[Sample]) -> str:
    """Name the first tensor of a lane that is not finite: a parameter, an activation, the loss or a gradient.

    Arguments:
        samples: the lane's window; each sample is replayed alone.

    Returns:
        a phrase such as "output of model.layers.3.mlp" for a message.
    """
    bank = engine.bank
    for name, (a, b) in bank.read(lane).items():
        for kind, matrix in (("A", a), ("B", b)):
            if not bool(torch.isfinite(matrix).all()):
                return f"adapter matrix {kind} of {name}"
    for sample in samples:
        if not sample.targets:
            return "loss: a sequence of the batch has no target token"
        found = _forward(engine.base, sample)
        if found:
            return found
    if bank.grad_KP is not None:
        for place in bank.places[lane]:
            if not bool(torch.isfinite(bank.grad_KP[lane, place.start : place.stop]).all()):
                return f"gradient of the adapter of {place.name}"
    return "not found again when the batch was replayed"


@torch.no_grad()
def _forward(base: BaseModel, sample: Sample) -> str | None:
    pack = build_pack([sample], base.device, with_dropout=True)
    found: list[str] = []
    with _watch(base.decoder, found):
        hidden_TH = base.hidden(pack)
    if found:
        return f"output of {found[0]}"
    losses_N, _ = head_loss(base.head, hidden_TH[pack.label_index_N], pack.target_N, None)
    return None if bool(torch.isfinite(losses_N).all()) else "loss"
