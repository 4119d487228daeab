"""All weights of a model as what is trained: in one float32 row, where a bank of adapters has a row a lane.

Weights, gradients and moments are float32 whatever the model computes in: an update of a bfloat16 weight that is
smaller than its last bit (1/256 of it) would be lost, and at the usual rates most are. Where the model computes in
float32 its parameters are views of the row; else they are copies of it, brought up to date after every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import LaneOptimizer

_CACHE_LINE = 16  # float32 numbers in 64 bytes


class FullModel(BaseModel):
    """A `BaseModel` whose weights train too; its dropout layers, if it has any, stay off.

    Arguments:
        model: loaded in float32.
        dtype: of the products.
    """

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        super().__init__(model)
        self.dtype = dtype
        self.native = None  # the fast decoder takes weights for constants

    def head(self, hidden_NH: Tensor) -> Tensor:
        """Logits [N, V]; a gradient that comes back through them is also added to the head's own weights."""
        if torch.is_grad_enabled() and hidden_NH.requires_grad:
            return _TrainedHead.apply(hidden_NH, super().head)
        return super().head(hidden_NH)


class _TrainedHead(torch.autograd.Function):
    """A head whose weights get their gradients although the caller asks for that of the hidden states alone."""

    @staticmethod
    def forward(ctx: Any, hidden_NH: Tensor, head: Callable[[Tensor], Tensor]) -> Tensor:
        """Logits, with a graph of their own behind them."""
        with torch.enable_grad():
            ctx.inner = hidden_NH.detach().requires_grad_(True)
            ctx.logits = head(ctx.inner)
        return ctx.logits.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, None]:
        """The gradient of the hidden states."""
        torch.autograd.backward(ctx.logits, grads[0])
        return ctx.inner.grad, None


@dataclass(frozen=True)
class Span:
    """Where one parameter lies in the row."""

    name: str
    start: int
    stop: int
    parameter: nn.Parameter

    def view(self, row_P: Tensor) -> Tensor:
        """The parameter's numbers in a row, in its shape."""
        return row_P[self.start : self.stop].view(self.parameter.shape)


class FullBank(AdapterBank):
    """The weights of a model in the place of adapters: one lane, and nothing is installed.

    Arguments:
        model: loaded in float32 on its device; tied weights are one parameter and have one place.
        dtype: of the products; weights that the model wants in float32 always stay so.

    Attributes:
        flat_KP, grad_KP: [1, P].
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self.model, self.lanes, self.dtype = model, 1, dtype
        self.specs, self.places, self.sites = [None], [[]], {}
        self.spans = list(_lay_out(model))
        self.device = self.spans[0].parameter.device
        size = self.spans[-1].stop
        self.flat_KP = torch.zeros(1, size, dtype=torch.float32, device=self.device)
        self.grad_KP = torch.zeros_like(self.flat_KP)
        self.compute_KP = self.flat_KP
        always = {*(getattr(model, "_keep_in_fp32_modules", None) or ())}
        for span in self.spans:
            self._take(span, torch.float32 if always & set(span.name.split(".")) else dtype)

    def _take(self, span: Span, dtype: torch.dtype) -> None:
        """Move a parameter into the row and have its gradient added there."""
        value, grad = span.view(self.flat_KP[0]), span.view(self._grads[0])
        value.copy_(span.parameter.data)
        span.parameter.data = value if dtype == torch.float32 else value.to(dtype)
        span.parameter.requires_grad_(True)
        if dtype == torch.float32:
            span.parameter.grad = grad  # autograd adds to what is there
            return

        def move(parameter: Tensor) -> None:
            if parameter.grad is not None:
                grad.add_(parameter.grad)
                parameter.grad = None

        span.parameter.register_post_accumulate_grad_hook(move)

    @property
    def _grads(self) -> Tensor:
        assert self.grad_KP is not None
        return self.grad_KP

    def values(self) -> dict[str, Tensor]:
        """{parameter: its float32 numbers}, views of the row."""
        return {span.name: span.view(self.flat_KP[0]) for span in self.spans}

    def gradients(self) -> dict[str, Tensor]:
        """{parameter: its gradient}, views."""
        return {span.name: span.view(self._grads[0]) for span in self.spans}

    def nonfinite(self) -> int:
        """How many numbers are NaN or infinite."""
        return sum(int((~torch.isfinite(value)).sum()) for value in self.values().values())

    def size_of(self, spec: AdapterSpec) -> int:  # noqa: ARG002 - there is no adapter
        """Numbers of the row."""
        return self.spans[-1].stop

    def occupy(self, lane: int, spec: AdapterSpec) -> None:
        """The run's lane; the weights are those that were loaded."""
        self.specs[lane] = spec

    def vacate(self, lane: int) -> None:
        """The run has ended; its weights stay in the model."""
        self.specs[lane] = None

    def own_part(self, flat_KP: Tensor, lane: int) -> Tensor:
        """The whole row."""
        return flat_KP[lane]

    def initialise(self, lane: int, seed: int) -> None:
        """Nothing: training begins at the base."""

    def read(self, lane: int) -> dict[str, tuple[Tensor, Tensor]]:  # noqa: ARG002
        """Empty: there are no matrices; see `values`."""
        return {}

    def refresh(self) -> None:
        """Bring the copies that the products use up to date with the float32 weights."""
        for span in self.spans:
            if span.parameter.dtype != torch.float32:
                span.parameter.data.copy_(span.view(self.flat_KP[0]))

    def remove(self) -> None:
        """Let go of the gradients."""
        for span in self.spans:
            span.parameter.requires_grad_(False).grad = None


def _lay_out(model: nn.Module) -> Iterator[Span]:
    """A place for every parameter, each on a cache line of its own: kernels choose their order by alignment too."""
    start = 0
    for name, parameter in model.named_parameters():
        yield Span(name, start, start + parameter.numel(), parameter)
        start += -(-parameter.numel() // _CACHE_LINE) * _CACHE_LINE


class FullOptimizer(LaneOptimizer):
    """torch's AdamW on the row, norms and biases decayed like the rest, with its state where checkpoints look for it.

    The fused kernel needs no temporary tensors, of which the plain formula makes three of the model's size.
    """

    def __init__(self, bank: FullBank) -> None:
        super().__init__(bank)
        self.spans = bank.spans

    def grad_norms(self) -> Tensor:
        """L2 norm of the gradient, [1]: of the parameters' norms, as `torch.nn.utils.clip_grad_norm_` takes it."""
        return torch.nn.utils.get_total_norm([span.view(self.grad_KP[0]) for span in self.spans])[None]

    def step(self, lane: int, learning_rate: float, grad_norm: float) -> None:
        """One clipped step; arguments as in `LaneOptimizer.step`."""
        spec = self.specs[lane]
        if spec.max_grad_norm is not None:
            self.grad_KP[lane].mul_(min(1.0, spec.max_grad_norm / (grad_norm + 1e-6)))
        weights = nn.Parameter(self.bank.flat_KP[lane])
        weights.grad = self.grad_KP[lane]
        adamw = torch.optim.AdamW(
            [weights],
            lr=learning_rate,
            betas=spec.betas,
            eps=spec.eps,
            weight_decay=spec.weight_decay,
            fused=True,
        )
        adamw.state[weights] = {
            "step": torch.tensor(float(self.clock[lane]), device=weights.device),
            "exp_avg": self.mean_KP[lane],
            "exp_avg_sq": self.square_KP[lane],
        }
        adamw.step()
        self.clock[lane] += 1
