"""The plan of one base's runs: counted from config and data, corrected by the probe, measured afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from octavo.evaluation.generations import MAX_NEW_TOKENS
from octavo.lanes.adapters import AdapterBank
from octavo.lanes.base import BaseModel
from octavo.lanes.native import is_native
from octavo.sizes import in_words
from octavo.study import Study
from octavo.training import probe
from octavo.training.footprint import (
    activation_bytes_per_token,
    backward_bytes_per_token,
    head_bytes,
    resident,
)
from octavo.training.loop import PackTrainer
from octavo.training.memory import PeakMeter
from octavo.training.plan import (
    Demand,
    Plan,
    does_not_fit,
    lanes_for,
    make_plan,
    most_tokens,
    tokens_within,
    with_sums,
)
from octavo.training.tasks import Task, trainable_parameters
from octavo.training.windows import largest_heldout, largest_micro_step

# tokens of a micro-step for each token of the larger probe step: a line is not trusted further out
_MOST_STRETCH = 4
# a token of training over a token of the probe, whose heap is fresh: holes between tensors of ever-changing sizes
HOLES = {"cpu": 1.15, "cuda": 1.0}
# share of a micro-step's memory that may be held when it begins, beside what is held for good: a heap that is kept
# from step to step is torn by tensors of ever-changing sizes, one that is given back costs no time that could be seen
_AIR = 0.25
# a plan below this is not corrected: buffers and heaps of the libraries are as large as what would be measured
_SMALL = 64 * 2**20


def plan_pack(
    study: Study,
    tasks: Sequence[Task],
    model: nn.Module,
    dtype: torch.dtype,
    limit: int,
    device: str,
    lanes: int | None = None,
    path: str | None = None,
) -> Plan:
    """The plan before the probe.

    Arguments:
        model: with or without data in its weights (`octavo.models.load.skeleton`).
        limit: bytes. lanes: of an earlier plan, else by `lanes.strategy`.
        path: of the loaded base (`BaseModel.path`); None: by `path_of`.

    Raises:
        InputError: base, adapters and one longest example do not fit.
    """
    lanes = lanes or lanes_for(study.lanes.strategy, len(tasks))
    parameters = [trainable_parameters(task, model) for task in tasks]
    plan = make_plan(
        config=model.config,
        dtype=dtype,
        base_parameters=sum(p.numel() for p in model.parameters()),
        adapter_parameters=max(parameters),
        targets=sorted({name for task in tasks for name in task.adapter.targets}),
        lanes=lanes,
        longest_example=max(task.longest for task in tasks),
        limit_bytes=limit,
        demand=_demand(study, tasks, lanes, parameters),
        path=path or path_of(model, tasks),
        device=device,
        dropout=any(task.adapter.dropout for task in tasks),
        rank=max(task.adapter.rank for task in tasks),
    )
    plan.memory = study.lanes.memory
    return plan


def path_of(model: Any, tasks: Sequence[Task]) -> str:
    """The forward pass that a base will be read by, as far as its classes and config tell; the check at load may
    find that packs or kernels do not work here. Models that train whole have no native one."""
    whole = any(task.run.train.method == "full" for task in tasks)
    return "native" if not whole and is_native(type(model.base_model), model.config) else "generic"


def _demand(study: Study, tasks: Sequence[Task], lanes: int, parameters: Sequence[int]) -> Demand:
    """What the data and the evaluation ask for; a prompt is at most as long as a held-out example."""

    def largest(budget: int) -> tuple[int, int]:
        rows = largest_micro_step(tasks, lanes, budget)
        return rows.tokens, rows.labels

    return Demand(
        largest=largest,
        heldout_tokens=lambda budget: largest_heldout(tasks, budget),
        adapter_numbers=sum(parameters),
        prompts=study.evaluate.generations * (len(tasks) + 1) if tasks[0].feed.objective.writes else 0,
        longest_prompt=max(len(row.ids) for task in tasks for row in task.heldout),
        new_tokens=MAX_NEW_TOKENS,
    )


def probe_pack(
    plan: Plan, trainer: PackTrainer, tasks: Sequence[Task], meter: PeakMeter, told: Callable[[str], None]
) -> None:
    """Measure two steps and correct the plan by them, in place; the trainer takes the corrected budget.

    The plan stands where the system tells no peak, and where it is too small to be measured.

    Raises:
        InputError: the longest example does not fit by what was measured.
        MachineError: it did not when it was tried.
    """
    steps = probe.probe_trainer(trainer, tasks, meter, plan.largest_micro_step, told)
    plan.predicted_seconds = probe.seconds_of(steps, tasks)
    if plan.analytic_bytes["training"] < _SMALL or any(step.peak_bytes == 0 for step in steps):
        return
    base = trainer.base
    slope = _slope(plan, trainer.bank, base.config, base.dtype, base.device.type)
    line = probe.line_through(steps, lambda rows: head_bytes(base.config, base.dtype, rows), slope)
    plan.probe = probe.to_json(steps, line)
    line = probe.Line(line.fixed, line.per_token * HOLES.get(base.device.type, 1.0))
    _correct(plan, line, base, tasks, steps[-1].tokens)
    trainer.use_budget(plan.micro_step_tokens)


def keep_within(plan: Plan, trainer: PackTrainer, start: int) -> None:
    """Have freed memory returned before a micro-step where the process holds more than is held for good.

    Arguments:
        start: bytes that the process held before.
    """
    if trainer.base.device.type == "cpu":
        parts = plan.predicted_bytes
        step = parts["activations"] + parts["head"]
        trainer.engine.most_held = start + round(max(parts["training"] - step * (1 - _AIR), _SMALL))


def _slope(plan: Plan, bank: AdapterBank, config: Any, dtype: torch.dtype, device: str) -> float:
    targets = sorted(bank.sites)
    per_token = activation_bytes_per_token(config, dtype, targets, plan.path, device)
    return resident(per_token, device) + backward_bytes_per_token(config, dtype)


def _correct(plan: Plan, line: probe.Line, base: BaseModel, tasks: Sequence[Task], probed: int) -> None:
    """Take the tokens that fit by the line, and the parts that it makes of them."""
    config, dtype, device = base.config, base.dtype, base.device.type
    head = head_bytes(config, dtype)
    tokens = tokens_within(int(plan.limit_bytes - line.fixed), line.per_token, 0.0, head)
    if tokens < plan.longest_example:
        need = line.fixed + line.per_token * plan.longest_example + head
        missing = int(need - plan.limit_bytes)
        raise does_not_fit(plan.lanes, plan.longest_example, missing, plan.limit_bytes)
    most = max(min(most_tokens(device), probed * _MOST_STRETCH), plan.longest_example)
    plan.micro_step_tokens = min(tokens, most)
    before, planned_rows = plan.analytic_bytes, plan.largest_micro_step
    rows = largest_micro_step(tasks, plan.lanes, plan.micro_step_tokens)
    plan.largest_micro_step = rows.tokens
    parts = {name: before[name] for name in ("base", "adapters")}
    parts["activations"] = round(line.per_token * rows.tokens)
    parts["head"] = head_bytes(config, dtype, rows.labels)
    # what the line has beside base and adapters; less than nothing where not all of these has been touched yet
    rest = round(line.fixed) - parts["base"] - parts["adapters"]
    parts["workspace"] = max(0, rest)
    parts["activations"] += min(0, rest)
    plan.predicted_bytes = with_sums(parts, before["evaluation"])
    # the formula's own figure is of the micro-step that it planned, which the probe may have changed
    planned = line.fixed + line.per_token * planned_rows + parts["head"]
    plan.analytic_error = _relative(before["training"], planned)


def _relative(predicted: float, real: float) -> float:
    return round(predicted / real - 1, 4)


def tell(plan: Plan) -> str:
    """The plan in a line."""
    peak = plan.predicted_bytes["peak"]
    error = (
        "" if plan.analytic_error is None else f"; the formula alone was off by {plan.analytic_error:+.0%}"
    )
    return (
        f"{plan.lanes} lanes, micro-steps of up to {plan.micro_step_tokens:,} tokens in {plan.dtype}: "
        f"{in_words(peak)} predicted ({peak / plan.limit_bytes:.0%} of what may be used){error}"
    )


def note_halvings(plan: Plan, trainer: PackTrainer, told: Callable[[str], None]) -> None:
    """Keep the smaller budget that the trainer has come to, and say so once."""
    last = trainer.halvings[-1]
    plan.micro_step_tokens = last["to"]
    plan.halvings.append(last)
    told(
        f"memory ran out in window {last['window']}: repeated with micro-steps of {last['to']:,} tokens instead of "
        f"{last['from']:,}, which is kept; results do not change"
    )


def note_measured(plan: Plan, trainer: PackTrainer, meter: PeakMeter) -> None:
    """Write what training came to beside what was predicted."""
    peak = meter.peak()
    plan.measured = {
        "peak_bytes": peak,
        "seconds": round(trainer.totals["seconds"], 3),
        "tokens": int(trainer.totals["tokens"]),
        "label_tokens": int(trainer.totals["label_tokens"]),
        "error": _relative(plan.predicted_bytes["training"], peak) if peak else None,
        "analytic_error": _relative(plan.analytic_bytes["training"], peak) if peak else None,
    }
