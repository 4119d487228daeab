"""One optimizer step of all lanes: micro-steps, gradients, the finite guard, clipped steps.

When memory runs out the window is cut finer and repeated from its first micro-step: nothing has stepped by then, so
that it comes to the same as a window that was planned so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from octavo.lanes.adapters import AdapterBank
from octavo.lanes.base import BaseModel
from octavo.lanes.loss import head_loss
from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.pack import Sample, build_pack
from octavo.lanes.shortage import SampleTooLarge, give_back, held, is_out_of_memory, trim
from octavo.lanes.transfer import send


@dataclass
class WindowResult:
    """What one window came to, lane by lane.

    Attributes:
        losses: weighted loss of each lane (mean over its targets when the weights say so), nan where not finite and
            where the lane was given samples without a single target: a mean over nothing.
        grad_norms: before clipping.
        stepped: whether the lane took its step: loss and gradient were finite and it was asked to.
        tokens: rows that were computed.
        cut: the micro-steps that the window was made in.
        token_budget: tokens of a micro-step, smaller than asked for where memory ran out.
    """

    losses: list[float]
    grad_norms: list[float]
    stepped: list[bool] = field(default_factory=list)
    tokens: int = 0
    cut: Sequence[Sequence[Sample]] = ()
    token_budget: int = 0


def split_micro_steps(chunks: Sequence[Sequence[Sequence[Sample]]], token_budget: int) -> list[list[Sample]]:
    """Cut one window of all lanes into micro-steps of at most `token_budget` tokens.

    Arguments:
        chunks: for each lane the batches of its window, each a list of samples. Lane after lane, each in its order,
            they share a micro-step as long as they fit: the fewer and larger the products of a lane, the less they
            cost.
        token_budget: tokens of a micro-step. A batch that is larger is cut into samples; one sample that is larger
            goes alone.

    Returns:
        lists of samples. The cut changes which products run together, never what they add up to.
    """
    steps: list[list[Sample]] = []
    open_step: list[Sample] = []
    used = 0
    for batch in (batch for lane in chunks for batch in lane):
        size = sum(len(s.ids) for s in batch)
        for part in [list(batch)] if size <= token_budget else [[s] for s in batch]:
            size = sum(len(s.ids) for s in part)
            if open_step and used + size > token_budget:
                steps.append(open_step)
                open_step, used = [], 0
            open_step.extend(part)
            used += size
    return [*steps, open_step] if open_step else steps


class LaneEngine:
    """Runs windows on a base model, a bank and its optimizer.

    Attributes:
        most_held: bytes of the process from which on freed memory is returned to the system before a micro-step.
            glibc keeps it, and tensors of ever-changing sizes leave holes in it: in eight windows of eight variants
            the process grew by half. What that costs is not settled: from nothing to a quarter of the speed in single
            runs. None: never.
    """

    def __init__(self, base: BaseModel, bank: AdapterBank, optimizer: LaneOptimizer) -> None:
        self.base, self.bank, self.optimizer = base, bank, optimizer
        self.most_held: int | None = None
        self._under_way: Sequence[Sample] = ()

    def accumulate(self, samples: Sequence[Sample]) -> torch.Tensor:
        """Forward and backward of one micro-step; adds to the gradients and returns weighted losses, [K]."""
        with_dropout = any(
            spec is not None and spec.dropout > 0 and lane in {s.lane for s in samples}
            for lane, spec in enumerate(self.bank.specs)
        )
        pack = build_pack(samples, self.base.device, with_dropout)
        with torch.enable_grad():
            hidden_TH = self.base.hidden(pack)
            hidden_NH = hidden_TH.index_select(0, pack.label_index_N)
            losses_N, grad_NH = head_loss(
                self.base.head, hidden_NH, pack.target_N, pack.weight_N, kernels=self.base.kernels
            )
            if hidden_NH.requires_grad and len(losses_N):
                torch.autograd.backward(hidden_NH, grad_NH)
        lane_N = send(torch.tensor(pack.lanes), self.base.device)[pack.label_sequence_N]
        sums = torch.zeros(self.bank.lanes, dtype=torch.float64, device=self.base.device)
        return sums.index_add_(0, lane_N, (losses_N * pack.weight_N).double())

    def run(
        self,
        micro_steps: Sequence[Sequence[Sample]],
        learning_rates: Sequence[float],
        may_step: Sequence[bool],
    ) -> WindowResult:
        """One window: all micro-steps, then a step of every lane that may and whose values are finite.

        Arguments:
            learning_rates, may_step: one a lane.
        """
        return self._step(self._gradients(micro_steps), micro_steps, learning_rates, may_step)

    def run_within(
        self,
        chunks: Sequence[Sequence[Sequence[Sample]]],
        token_budget: int,
        learning_rates: Sequence[float],
        may_step: Sequence[bool],
    ) -> WindowResult:
        """`run` of a window cut by `split_micro_steps`; out of memory it is cut in halves and repeated.

        Arguments:
            chunks, token_budget: as `split_micro_steps` takes them.

        Raises:
            SampleTooLarge: one sample alone does not fit, twice in a row. No lane has stepped.
        """
        alone_before = False
        while True:
            cut = split_micro_steps(chunks, token_budget)
            try:
                sums = self._gradients(cut)
                break
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                reason = f"{type(error).__name__}: {str(error).strip()[:200]}"
            # out of the except block, where the error's frames no longer hold the step's tensors
            give_back(self.base.device)
            alone = len(self._under_way) == 1
            if alone and alone_before:
                raise SampleTooLarge(_too_large(self._under_way[0], reason))
            alone_before = alone
            if not alone:
                token_budget = _halved(cut, token_budget)
        result = self._step(sums, cut, learning_rates, may_step)
        result.token_budget = token_budget
        return result

    def _gradients(self, micro_steps: Sequence[Sequence[Sample]]) -> list[list[float]]:
        """Gradients of a window, from none; returns weighted losses and gradient norms of the lanes."""
        self.optimizer.zero_grad()
        losses_K = torch.zeros(self.bank.lanes, dtype=torch.float64, device=self.base.device)
        for samples in micro_steps:
            self._under_way = samples
            if self.most_held is not None and held(self.base.device) > self.most_held:
                trim()
            losses_K += self.accumulate(samples)
        # the one moment in a window at which the host waits for the device
        losses, norms = torch.stack([losses_K, self.optimizer.grad_norms().double()]).tolist()
        for lane in _without_target(micro_steps):
            losses[lane] = math.nan  # a sum over nothing is 0, and AdamW steps on a gradient of 0 too
        return [losses, norms]

    def _step(
        self,
        sums: list[list[float]],
        micro_steps: Sequence[Sequence[Sample]],
        learning_rates: Sequence[float],
        may_step: Sequence[bool],
    ) -> WindowResult:
        losses, norms = sums
        tokens = sum(len(s.ids) for samples in micro_steps for s in samples)
        result = WindowResult(losses=losses, grad_norms=norms, tokens=tokens, cut=micro_steps)
        for lane in range(self.bank.lanes):
            finite = math.isfinite(losses[lane]) and math.isfinite(norms[lane])
            result.stepped.append(finite and may_step[lane])
            if result.stepped[lane]:
                self.optimizer.step(lane, learning_rates[lane], norms[lane])
        self.bank.refresh()
        return result


def _without_target(micro_steps: Sequence[Sequence[Sample]]) -> set[int]:
    """Lanes that have samples in a window and nothing that could be a target in any of them."""
    given = {sample.lane for samples in micro_steps for sample in samples}
    return given - {sample.lane for samples in micro_steps for sample in samples if sample.learns}


def _halved(cut: Sequence[Sequence[Sample]], token_budget: int) -> int:
    """Half the tokens of the largest micro-step: half of a budget that no window fills would change nothing."""
    largest = max(sum(len(s.ids) for s in samples) for samples in cut)
    return max(1, min(token_budget, largest) // 2)


def _too_large(sample: Sample, reason: str) -> str:
    return (
        f"out of memory: one example of {len(sample.ids)} tokens does not fit beside base and adapters, and an "
        "example cannot be cut. Nothing is lost: free memory (other programs) and the same command continues; "
        "or take a smaller train.max_length, train.lora.rank or lanes.strategy, or lanes.allow_shorter: true, with "
        f"another --out ({reason})"
    )
