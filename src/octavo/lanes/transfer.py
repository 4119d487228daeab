"""From the host to the device without a wait."""

from __future__ import annotations

import torch
from torch import Tensor


def send(tensor: Tensor, device: torch.device | str) -> Tensor:
    """A host's tensor on the device.

    A plain copy to a GPU ends only when the GPU has done all that it was given before; from pinned memory it takes
    its turn among the kernels, and the host goes on.
    """
    if torch.device(device).type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
