"""Runs made ready for models of their own, before any of the models is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from octavo.artifacts import Folder
from octavo.expand import Run
from octavo.models.load import skeleton
from octavo.models.resolve import BaseSource
from octavo.objectives.objective import make_objective
from octavo.settings import Base
from octavo.study import Study
from octavo.training.data import Encoder, load_rows
from octavo.training.device import describe, library_versions, pick_dtype
from octavo.training.opening import shortening
from octavo.training.plan import DoesNotFit, Plan
from octavo.training.plan_file import plans_of, read_plans, write_plan
from octavo.training.replica_plan import frozen_plan, plan_name, plan_replica
from octavo.training.shorter import SHORTEST, Rows, shortened
from octavo.training.tasks import Task, make_task, tell_parameters, trainable_parameters, wide_ranks


@dataclass(frozen=True)
class Replica:
    """A run that is ready for a model.

    Attributes:
        task: the run. base, source: its model. dtype: of the products.
        parameters: trainable ones. plan: of one such replica.
    """

    task: Task
    base: Base
    source: BaseSource
    dtype: torch.dtype
    parameters: int
    plan: Plan

    @property
    def kind(self) -> str:
        """Base and method: runs of a kind take the same memory and the same kernels."""
        return plan_name(self.base.name, self.task.run.train.method)


def prepare_replicas(
    study: Study,
    runs: Sequence[Run],
    folder: Folder,
    sources: dict[str, BaseSource],
    encoders: dict[str, Encoder],
    device: torch.device,
    limit: int,
    say: Callable[[str], None],
) -> list[Replica]:
    """Tasks and plans of all runs, in their order; plans are written, those of an earlier call are kept.

    Arguments:
        limit: bytes of all replicas together.

    Raises:
        InputError: data missing, targets that match nothing, a replica that does not fit.
    """
    found: dict[str, Replica] = {}
    for base in study.bases:
        chosen = [run for run in runs if run.base == base.name]
        if not chosen:
            continue
        setup = _Setup(study, folder, base, sources[base.name], device, limit, say)
        rows = load_rows(chosen, folder, encoders[base.name])
        found |= {replica.task.run.id: replica for replica in setup.replicas(chosen, rows)}
    replicas = [found[run.id] for run in runs]
    _tell(replicas, say)
    return replicas


def _tell(replicas: Sequence[Replica], say: Callable[[str], None]) -> None:
    say(tell_parameters({replica.task.run.id: replica.parameters for replica in replicas}))
    full = sum(replica.task.run.train.method == "full" for replica in replicas)
    if full:
        say(
            f"{full} runs train all weights: train.lora and train.learning_rate_ratio_b say nothing to them, "
            "dropout included"
        )


class _Setup:
    """The runs of one base."""

    def __init__(
        self,
        study: Study,
        folder: Folder,
        base: Base,
        source: BaseSource,
        device: torch.device,
        limit: int,
        say: Callable[[str], None],
    ) -> None:
        self.study, self.folder, self.base, self.source = study, folder, base, source
        self.device, self.limit, self.say = device, limit, say
        self.dtype = pick_dtype(base.dtype, device)

    def replicas(self, runs: Sequence[Run], rows: Rows) -> list[Replica]:
        """All runs, their examples cut where one does not fit and the study allows it."""
        plans = plans_of(read_plans(self.folder), self.base.name)
        if any(plan.get("shortened_to") is not None for plan in plans):
            return self._planned(runs, shortened(rows), SHORTEST)
        try:
            return self._planned(runs, rows, None)
        except DoesNotFit:
            longest = max(len(row.ids) for sides in rows.values() for side in sides for row in side)
            if not self.study.lanes.allow_shorter or longest <= SHORTEST:
                raise
        self.say(f"an example of {longest} tokens does not fit: {shortening(SHORTEST)}")
        return self._planned(runs, shortened(rows), SHORTEST)

    def _planned(self, runs: Sequence[Run], rows: Rows, length: int | None) -> list[Replica]:
        model = skeleton(self.source)
        tasks = [
            make_task(run, *rows[run.id], model, make_objective(self.base, self.source, run.train))
            for run in runs
        ]
        groups = {
            method: [task for task in tasks if task.run.train.method == method]
            for method in dict.fromkeys(run.train.method for run in runs)
        }
        plans = {method: self._plan(group, model, length) for method, group in groups.items()}
        for method, plan in plans.items():
            write_plan(self.folder, plan_name(self.base.name, method), plan)
            for note in wide_ranks(groups[method], model):
                self.say(note)
        return [
            Replica(
                task,
                self.base,
                self.source,
                self.dtype,
                trainable_parameters(task, model),
                plans[task.run.train.method],
            )
            for task in tasks
        ]

    def _plan(self, tasks: Sequence[Task], model: nn.Module, length: int | None) -> Plan:
        plan = frozen_plan(self.study, self.folder, plan_name(self.base.name, tasks[0].run.train.method))
        if plan is not None and plan.shortened_to == length:
            return plan
        plan = plan_replica(self.study, tasks, model, self.dtype, self.limit, self.device.type, self.say)
        plan.shortened_to = length
        plan.device, plan.versions = describe(self.device), library_versions()
        return plan
