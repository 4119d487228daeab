"""AdamW and gradient clipping for all lanes, each with its own settings, state and clock.

The formula is torch.optim.AdamW's (Loshchilov and Hutter 2019), applied to one flat vector a lane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from octavo.lanes.adapters import AdapterBank


@dataclass(frozen=True)
class OptimizerSpec:
    """One lane's optimizer settings.

    Attributes:
        betas, eps, weight_decay: as in AdamW.
        max_grad_norm: clip the lane's gradient to this norm; None leaves it.
        ratio_b: learning rate of the B matrices over that of the A matrices (LoRA+, Hayou et al. 2024).
    """

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.01
    max_grad_norm: float | None = 1.0
    ratio_b: float = 1.0


class LaneOptimizer:
    """Steps the lanes of a bank.

    Attributes:
        mean_KP, square_KP: running moments of the gradients, float32.
        clock: steps each lane has taken.
    """

    def __init__(self, bank: AdapterBank) -> None:
        if bank.grad_KP is None:
            raise ValueError("this bank holds no gradients: it was made for evaluation")
        self.bank = bank
        self.grad_KP = bank.grad_KP
        self.mean_KP = torch.zeros_like(bank.flat_KP)
        self.square_KP = torch.zeros_like(bank.flat_KP)
        self.clock = [0] * bank.lanes
        self.specs = [OptimizerSpec() for _ in range(bank.lanes)]

    def occupy(self, lane: int, spec: OptimizerSpec) -> None:
        """A new run's settings and an empty state."""
        self.specs[lane] = spec
        self.clock[lane] = 0
        self.mean_KP[lane].zero_()
        self.square_KP[lane].zero_()

    def zero_grad(self) -> None:
        """Forget the gradients of the last window."""
        self.grad_KP.zero_()

    def grad_norms(self) -> Tensor:
        """L2 norm of each lane's gradient, [K]; a lane at a time, so that a lane's norm has the same bits alone."""
        parts = [self.bank.own_part(self.grad_KP, lane) for lane in range(self.bank.lanes)]
        return torch.stack([torch.linalg.vector_norm(part) for part in parts])

    def step(self, lane: int, learning_rate: float, grad_norm: float) -> None:
        """One clipped AdamW step of one lane.

        Arguments:
            learning_rate: of this step.
            grad_norm: the lane's norm, finite, from `grad_norms`.
        """
        spec = self.specs[lane]
        flats = (self.grad_KP, self.bank.flat_KP, self.mean_KP, self.square_KP)
        grad, value, mean, square = (self.bank.own_part(flat, lane) for flat in flats)
        if spec.max_grad_norm is not None:
            # torch.nn.utils.clip_grad_norm_: the 1e-6 and the cap at one are its own
            grad.mul_(min(1.0, spec.max_grad_norm / (grad_norm + 1e-6)))
        self.clock[lane] += 1
        beta1, beta2 = spec.betas
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction1 = 1 - beta1 ** self.clock[lane]
        correction2 = math.sqrt(1 - beta2 ** self.clock[lane])
        rate = self._rates(lane, learning_rate, spec.ratio_b)
        value.mul_(1 - rate * spec.weight_decay)
        update = mean / (square.sqrt() / correction2).add_(spec.eps)
        value.sub_(update.mul_(rate / correction1))

    def _rates(self, lane: int, learning_rate: float, ratio_b: float) -> float | Tensor:
        """The learning rate, or one a number where B has its own."""
        if ratio_b == 1.0:
            return learning_rate
        rates = torch.full_like(self.bank.own_part(self.grad_KP, lane), learning_rate)
        for place in self.bank.places[lane]:
            rates[place.middle : place.stop] = learning_rate * ratio_b
        return rates
