"""What a replica will take, before its model is loaded: the plans of runs that each have a model of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import nn

from octavo.artifacts import Folder
from octavo.lanes.adapters import AdapterSpec
from octavo.lanes.targets import linear_layers
from octavo.sizes import in_words
from octavo.study import Study
from octavo.training.footprint import adapter_bytes, bytes_of
from octavo.training.plan import DoesNotFit, Plan, with_sums
from octavo.training.plan_file import stored_plan
from octavo.training.planning import plan_pack
from octavo.training.tasks import Task

# the pack of plan.json that stands for all replicas together; no base can be called so
TOGETHER = "*/replicas"


def plan_name(base: str, method: str) -> str:
    """The pack of plan.json that stands for one replica of a base."""
    return f"{base}/replica-{method}"


def plan_replica(
    study: Study,
    tasks: Sequence[Task],
    model: nn.Module,
    dtype: torch.dtype,
    limit: int,
    device: str,
    say: Callable[[str], None],
) -> Plan:
    """The plan of one replica: such that `lanes.max_parallel` of them fit at once, or as many as can.

    Arguments:
        tasks: runs of one base and method. model: its skeleton. limit: bytes of all replicas together.

    Raises:
        InputError: not even one fits.
    """
    full = tasks[0].run.train.method == "full"
    counted = [_with_all_layers(task, model) for task in tasks] if full else tasks
    most = min(study.lanes.max_parallel, len(tasks))
    for parallel in range(most, 0, -1):
        try:
            plan = plan_pack(study, counted, model, dtype, limit // parallel, device, lanes=1)
        except DoesNotFit:
            if parallel == 1:
                raise
            continue
        if parallel < most:
            say(f"{in_words(limit)} hold {parallel} of these replicas at once, not {most}")
        return _of_all_weights(plan, dtype) if full else plan
    raise AssertionError("the loop returns or raises")


def _with_all_layers(task: Task, model: nn.Module) -> Task:
    """For counting activations: every linear layer keeps its input, as one with an adapter does; of rank 0."""
    return replace(task, adapter=AdapterSpec(0, 1.0, 0.0, tuple(linear_layers(model))))


def _of_all_weights(plan: Plan, dtype: torch.dtype) -> Plan:
    """Count weights once: in float32 the products read the trained numbers themselves, else a copy of them.

    The plan of adapters counts a frozen base beside them and, in the evaluation, all models at once; here one is
    loaded after the other.
    """
    size = bytes_of(dtype)
    twice = plan.base_parameters * size
    parts = {
        key: count
        for key, count in plan.predicted_bytes.items()
        if key not in ("training", "evaluation", "peak")
    }
    parts["adapters"] -= twice
    answering = adapter_bytes(plan.adapter_parameters, dtype, trained=False)
    plan.predicted_bytes = with_sums(parts, max(twice, plan.predicted_bytes["evaluation"] - answering))
    plan.analytic_bytes = dict(plan.predicted_bytes)
    return plan


def frozen_plan(study: Study, folder: Folder, name: str) -> Plan | None:
    """The plan of an earlier call, unless `lanes.memory` was changed since."""
    plan = stored_plan(folder, name)
    return plan if plan is not None and plan.memory == study.lanes.memory else None


def plan_together(plans: Sequence[Plan], parallel: int, limit: int) -> Plan:
    """All replicas as one pack: the largest `parallel` of them at once.

    Arguments:
        plans: one a run.
    """
    largest = sorted(plans, key=lambda plan: plan.predicted_bytes["training"], reverse=True)[:parallel]
    names = [name for name in largest[0].predicted_bytes if name not in ("training", "evaluation", "peak")]
    parts = {name: sum(plan.predicted_bytes.get(name, 0) for plan in largest) for name in names}
    evaluation = max(plan.predicted_bytes["evaluation"] for plan in plans)
    first = largest[0]
    return Plan(
        lanes=len(largest),
        dtype=first.dtype,
        base_parameters=first.base_parameters,
        micro_step_tokens=first.micro_step_tokens,
        longest_example=first.longest_example,
        predicted_bytes=with_sums(parts, evaluation),
        limit_bytes=limit,
        memory=first.memory,
    )
