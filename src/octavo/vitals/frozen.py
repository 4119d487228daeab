"""Norms of frozen weights, however they are stored."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from octavo.lanes.linear import LaneLinear
from octavo.lanes.targets import features_of

_ROWS = 256  # of the identity at a time: 256 x outputs numbers are held, whatever the layer's size


@torch.no_grad()
def frozen_norm(layer: nn.Module, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Frobenius norm of a linear layer's weight, a float64 scalar on the device; does not wait for it.

    A weight that is stored as a matrix of numbers is read. Of any other (quantised, packed) the layer itself is asked,
    by multiplying an identity: what it computes with is what counts, whatever it keeps.

    Arguments:
        layer: a frozen layer or the `LaneLinear` in its place.
        device, dtype: of activations.
    """
    layer = layer.base if isinstance(layer, LaneLinear) else layer
    inputs, outputs = features_of(layer)
    weight = getattr(layer, "weight", None)
    if isinstance(weight, Tensor) and _is_plain(weight, inputs, outputs):
        return torch.linalg.vector_norm(weight.detach(), dtype=torch.float64)
    return _asked_norm(layer, inputs, device, dtype)


def _is_plain(weight: Tensor, inputs: int, outputs: int) -> bool:
    """A matrix of numbers; subclasses of tensors may be anything below their shape."""
    kinds = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
    shapes = ((outputs, inputs), (inputs, outputs))
    return type(weight) in (Tensor, nn.Parameter) and weight.dtype in kinds and weight.shape in shapes


def _asked_norm(layer: nn.Module, inputs: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    bias = layer(torch.zeros(1, inputs, device=device, dtype=dtype)).double()
    total = torch.zeros((), dtype=torch.float64, device=device)
    for start in range(0, inputs, _ROWS):
        size = min(_ROWS, inputs - start)
        rows = torch.zeros(size, inputs, device=device, dtype=dtype)
        rows[:, start : start + size].fill_diagonal_(1)
        total += (layer(rows).double() - bias).square().sum()
    return total.sqrt()
