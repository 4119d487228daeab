"""The memory plan: what the study will hold at its peak, and how many tokens a micro-step may have.

peak = the larger of training and evaluation
training = base + lanes x 20 bytes x adapter parameters + activations(tokens of a micro-step) + head chunk + workspace
The tokens of a micro-step are the only knob: lanes are split over micro-steps, never trained differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from octavo.errors import InputError
from octavo.sizes import in_words
from octavo.training.footprint import (
    activation_bytes_per_token,
    adapter_bytes,
    backward_bytes_per_token,
    bytes_of,
    generation_bytes,
    head_bytes,
    resident,
    scoring_bytes,
)

# more tokens than this a micro-step gain nothing: the products of the base are at full speed long before. On two CPU
# cores 2,560 were as fast as 4,096 (`bench/throughput.py --tokens`), and hold less than one padded batch of PEFT needs
_MOST_TOKENS = {"cpu": 2560}
_MOST_ELSEWHERE = 4096


def most_tokens(device: str) -> int:
    """Tokens of a micro-step on a kind of device that a plan goes up to; one longer example is one micro-step."""
    return _MOST_TOKENS.get(device, _MOST_ELSEWHERE)


_STRATEGIES = {"batched": 4, "safe": 2}


@dataclass(frozen=True)
class Demand:
    """What a study's data and settings ask for; the defaults ask for full micro-steps and no evaluation.

    Attributes:
        largest: from a budget of tokens to (tokens, labels) of the largest micro-step that will occur.
        heldout_tokens: of the largest pack of held-out examples, given the budget.
        adapter_numbers: of all adapters that answer in the evaluation, together.
        prompts, longest_prompt, new_tokens: generations, tokens of the longest prompt and of an answer.
    """

    largest: Callable[[int], tuple[int, int]] = lambda budget: (budget, budget)
    heldout_tokens: Callable[[int], int] = lambda budget: budget
    adapter_numbers: int = 0
    prompts: int = 0
    longest_prompt: int = 0
    new_tokens: int = 0


@dataclass
class Plan:
    """What is decided before training and kept for the whole study.

    Attributes:
        lanes: runs trained side by side. base_parameters: of the frozen model.
        micro_step_tokens: most tokens of a micro-step.
        longest_example: tokens of the longest example of any run.
        predicted_bytes: parts of training's peak and their sum "training", "evaluation", and the larger as "peak";
            corrected by the probe once it has run.
        limit_bytes: what the plan kept under; like all bytes here on top of what the process held before.
        largest_micro_step: tokens that the largest micro-step will really have.
        adapter_parameters: numbers of one lane's padded adapter.
        path: which forward pass the activations were counted for.
        analytic_bytes: the parts as they were before the probe.
        analytic_error: of the analytic peak, relative to the probe's (before training) or the measured one (after).
        probe: {tokens, before_bytes, peak_bytes, seconds: of each step; fixed_bytes, bytes_per_token: the line}.
        predicted_seconds: training time by the probe, None before it.
        memory: `lanes.memory` as the study asked for it.
        answers_at_once: generations that are made side by side, None: all.
        shortened_to: `train.max_length` in force because one longest example did not fit, None: the study's own.
        halvings: {window, from, to} of each time that memory ran out.
        device, versions: where training began, and with what.
        measured: peak_bytes and seconds, once training has ended.
    """

    lanes: int
    dtype: str
    base_parameters: int
    micro_step_tokens: int
    longest_example: int
    predicted_bytes: dict[str, int]
    limit_bytes: int
    largest_micro_step: int = 0
    adapter_parameters: int = 0
    path: str = "generic"
    analytic_bytes: dict[str, int] = field(default_factory=dict)
    analytic_error: float | None = None
    probe: dict[str, Any] | None = None
    memory: str | float | None = None
    predicted_seconds: float | None = None
    answers_at_once: int | None = None
    shortened_to: int | None = None
    halvings: list[dict[str, int]] = field(default_factory=list)
    device: dict[str, Any] | None = None
    versions: dict[str, str] | None = None
    measured: dict[str, Any] = field(default_factory=lambda: {"peak_bytes": None, "seconds": None})

    def to_json(self) -> dict[str, Any]:
        """As written to plan.json."""
        return asdict(self)


class DoesNotFit(InputError):
    """Base, adapters and one longest example need more than the limit."""


def lanes_for(strategy: str | int, runs: int) -> int:
    """Runs side by side: full (and auto) all, batched 4, safe 2, or a number."""
    wanted = strategy if isinstance(strategy, int) else _STRATEGIES.get(strategy, runs)
    return max(1, min(int(wanted), runs))


def make_plan(
    config: Any,
    dtype: torch.dtype,
    base_parameters: int,
    adapter_parameters: int,
    targets: Sequence[str],
    lanes: int,
    longest_example: int,
    limit_bytes: int,
    demand: Demand | None = None,
    path: str = "generic",
    device: str = "cpu",
    dropout: bool = True,
    rank: int = 8,
) -> Plan:
    """Predict the peak and choose the tokens of a micro-step.

    Arguments:
        base_parameters: numbers of the frozen weights, tied ones once.
        adapter_parameters: numbers of one lane's padded adapter.
        limit_bytes: memory that may be used, the base included.
        path, device, dropout, rank: as `footprint.activation_bytes_per_token` takes them.

    Raises:
        DoesNotFit: an InputError that says how much is missing.
    """
    demand = demand or Demand()
    per_token = resident(
        activation_bytes_per_token(config, dtype, targets, path, device, dropout, rank), device
    )
    backward = backward_bytes_per_token(config, dtype)
    base = base_parameters * bytes_of(dtype)
    adapters = lanes * adapter_bytes(adapter_parameters, dtype)
    fixed = base + adapters
    tokens = min(
        max(most_tokens(device), longest_example),
        tokens_within(limit_bytes - fixed, per_token, backward, head_bytes(config, dtype)),
    )
    if tokens < longest_example:
        need = (
            fixed + longest_example * per_token + max(head_bytes(config, dtype), longest_example * backward)
        )
        raise does_not_fit(lanes, longest_example, need - limit_bytes, limit_bytes)
    largest, labels = demand.largest(tokens)
    head = head_bytes(config, dtype, labels)
    step = largest * per_token + max(head, largest * backward)
    scoring = scoring_bytes(config, dtype, demand.heldout_tokens(tokens))
    parts = {
        "base": base,
        "adapters": adapters,
        "activations": largest * per_token,
        "head": head,
        "workspace": max(step, scoring) - largest * per_token - head,
    }
    answers = demand.prompts
    while (
        answers > 1 and base + _evaluation_bytes(config, dtype, tokens, demand, device, answers) > limit_bytes
    ):
        answers = -(-answers // 2)
    evaluation = base + _evaluation_bytes(config, dtype, tokens, demand, device, answers)
    return Plan(
        lanes=lanes,
        dtype=str(dtype).removeprefix("torch."),
        base_parameters=base_parameters,
        micro_step_tokens=tokens,
        longest_example=longest_example,
        predicted_bytes=with_sums(parts, evaluation),
        limit_bytes=limit_bytes,
        largest_micro_step=largest,
        adapter_parameters=adapter_parameters,
        path=path,
        analytic_bytes=with_sums(parts, evaluation),
        answers_at_once=answers or None,
    )


def tokens_within(room: int, per_token: float, backward: float, head: int) -> int:
    """Most tokens whose activations fit into `room` bytes beside a chunk of logits or one layer's backward pass."""
    tokens = min((room - head) / per_token, room / (per_token + backward))
    return max(0, int(tokens))


def with_sums(parts: dict[str, int], evaluation: int) -> dict[str, int]:
    """The parts of training with their sum, what the evaluation takes, and the larger of the two."""
    training = sum(parts.values())
    return {**parts, "training": training, "evaluation": evaluation, "peak": max(training, evaluation)}


def does_not_fit(lanes: int, longest: int, missing: int, limit: int) -> DoesNotFit:
    """The message with what is missing and what to do."""
    return DoesNotFit(
        f"the study does not fit into memory: base, {lanes} adapters and one example of {longest} tokens need "
        f"{in_words(missing)} more than the {in_words(limit)} of lanes.memory; lower train.max_length, "
        "train.lora.rank or lanes.strategy, allow shorter examples (lanes.allow_shorter), or raise lanes.memory"
    )


def _evaluation_bytes(
    config: Any, dtype: torch.dtype, tokens: int, demand: Demand, device: str, answers: int
) -> int:
    """Adapters that answer, and the larger of held-out scoring and of `answers` generations side by side.

    Both work on tensors of changing sizes, as training does, and a CPU's heap holds more than the tensors have.
    """
    scoring = scoring_bytes(config, dtype, demand.heldout_tokens(tokens))
    answering = adapter_bytes(demand.adapter_numbers, dtype, trained=False)
    work = scoring
    if answers:
        read = answers * demand.longest_prompt
        work = max(scoring, generation_bytes(config, dtype, answers, read, demand.new_tokens, device))
    return answering + resident(work, device)
