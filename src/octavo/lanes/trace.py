"""Where a value stopped being finite: one lane's window is replayed with every layer watched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from octavo.lanes.base import BaseModel
from octavo.lanes.loss import head_loss
from octavo.lanes.pack import Sample, build_pack
from octavo.lanes.window import LaneEngine

Kind = Literal["parameter", "no target", "overflow", "undefined", "loss", "gradient", "not found"]


@dataclass(frozen=True)
class Fault:
    """The first tensor of a window that is not finite.

    Attributes:
        kind: a parameter; a sequence without a target; an activation that holds an infinity (overflow) or NaN alone
            (undefined: 0/0, inf - inf); the loss of finite activations; a gradient of a finite loss; nothing found.
        said: the tensor, as a phrase for a message.
    """

    kind: Kind
    said: str


@contextmanager
def _watch(model: nn.Module, found: list[Fault]) -> Iterator[None]:
    """Append to `found` every layer that puts out, or is given, what is not finite, in the order of computation."""

    def look(name: str):
        def hook(_module: nn.Module, inputs: tuple[object, ...], output: object) -> None:
            # what is bad as it comes in, with no layer before it at fault, arose between layers: in attention
            for side, values in (("input", inputs), ("output", (output,))):
                for value in values:
                    if isinstance(value, Tensor) and not bool(torch.isfinite(value).all()):
                        kind: Kind = "overflow" if bool(torch.isinf(value).any()) else "undefined"
                        # an adapter's layer and the frozen one in it are given the same; what they put out differs
                        whose = name.removesuffix(".base") if side == "input" else name
                        found.append(Fault(kind, f"{side} of {whose}"))
                        return

        return hook

    handles = [m.register_forward_hook(look(n)) for n, m in model.named_modules() if n]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def first_bad_tensor(engine: LaneEngine, lane: int, samples: Sequence[Sample]) -> str:
    """`find_fault`, as a phrase such as "output of layers.3.mlp.up_proj"."""
    return find_fault(engine, lane, samples).said


def find_fault(engine: LaneEngine, lane: int, samples: Sequence[Sample]) -> Fault:
    """Find the first tensor of a lane that is not finite: a parameter, an activation, the loss or a gradient.

    Arguments:
        samples: the lane's window; each sample is replayed alone.
    """
    bank = engine.bank
    for name, (a, b) in bank.read(lane).items():
        for kind, matrix in (("A", a), ("B", b)):
            if not bool(torch.isfinite(matrix).all()):
                return Fault("parameter", f"adapter matrix {kind} of {name}")
    for sample in samples:
        if not sample.learns:
            return Fault("no target", "loss: a sequence of the batch has no target token")
        found = _forward(engine.base, sample)
        if found is not None:
            return found
    if bank.grad_KP is not None:
        for place in bank.places[lane]:
            if not bool(torch.isfinite(bank.grad_KP[lane, place.start : place.stop]).all()):
                return Fault("gradient", f"gradient of the adapter of {place.name}")
    return Fault("not found", "not found again when the batch was replayed")


@torch.no_grad()
def _forward(base: BaseModel, sample: Sample) -> Fault | None:
    pack = build_pack([sample], base.device, with_dropout=True)
    found: list[Fault] = []
    with _watch(base.decoder, found):
        hidden_TH = base.hidden(pack)
    if found:
        return found[0]
    losses_N, _ = head_loss(base.head, hidden_TH[pack.label_index_N], pack.target_N, None)
    return None if bool(torch.isfinite(losses_N).all()) else Fault("loss", "loss")
