"""A pack made ready: tasks, plan, probe and trainer, with shorter examples where nothing else helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from octavo.expand import Run
from octavo.lanes.base import BaseModel
from octavo.lanes.shortage import SampleTooLarge
from octavo.objectives.causal import CAUSAL
from octavo.objectives.objective import Objective
from octavo.study import Study
from octavo.training.loop import PackTrainer, Recorder
from octavo.training.memory import PeakMeter
from octavo.training.plan import DoesNotFit, Plan
from octavo.training.planning import plan_pack, probe_pack
from octavo.training.shorter import SHORTEST, Rows, shortened
from octavo.training.tasks import Task, make_task
from octavo.training.watch import WatchPlan


def open_pack(
    study: Study,
    runs: Sequence[Run],
    rows: Rows,
    model: BaseModel,
    limit: int,
    meter: PeakMeter,
    frozen: Plan | None,
    recorder: Callable[[Sequence[Task]], Recorder],
    told: Callable[[str], None],
    after_window: Callable[[PackTrainer], None] | None = None,
    vitals: WatchPlan | None = None,
    objective: Callable[[Run], Objective] = lambda _: CAUSAL,
) -> tuple[Plan, PackTrainer, bool]:
    """The trainer of a base's runs and its plan; is the plan new?

    Arguments:
        rows: train and held-out tokens by run. limit: bytes. meter: made before the base was loaded.
        frozen: the plan of an earlier call: it stands, unless `lanes.memory` was changed.
        recorder: makes what the trainer reports to. vitals: what is watched. objective: of each run.

    Raises:
        InputError: base, adapters and one longest example do not fit, by what was counted or measured.
        MachineError: memory ran out even for one example.
    """
    shorter = frozen is not None and frozen.shortened_to is not None
    while True:
        used = shortened(rows) if shorter else rows
        tasks = [make_task(run, *used[run.id], model.model, objective(run)) for run in runs]
        trainer = None
        try:
            plan, new = _plan(study, tasks, model, limit, frozen)
            plan.shortened_to = SHORTEST if shorter else None
            trainer = PackTrainer(
                model, tasks, plan.lanes, plan.micro_step_tokens, recorder(tasks), after_window, vitals
            )
            if new:
                probe_pack(plan, trainer, tasks, meter, told)
            return plan, trainer, new
        except (DoesNotFit, SampleTooLarge):
            if trainer is not None:
                trainer.close()
            longest = max(len(row.ids) for task in tasks for row in [*task.feed.rows, *task.heldout])
            if shorter or not study.lanes.allow_shorter or longest <= SHORTEST:
                raise
        told(f"an example of {longest} tokens does not fit: {shortening(SHORTEST)}")
        shorter = True


def shortening(length: int) -> str:
    """What to say of runs whose examples were cut, on the screen and in the report."""
    return (
        f"examples are cut at {length} tokens in all variants, as lanes.allow_shorter allows. This changes the runs: "
        "do not compare them with those of a machine with more memory"
    )


def _plan(
    study: Study, tasks: Sequence[Task], model: BaseModel, limit: int, frozen: Plan | None
) -> tuple[Plan, bool]:
    device, path = model.device.type, model.path
    if frozen is None:
        return plan_pack(study, tasks, model.model, model.dtype, limit, device, path=path), True
    if frozen.memory == study.lanes.memory:
        return frozen, False
    plan = plan_pack(study, tasks, model.model, model.dtype, limit, device, frozen.lanes, path)
    plan.device, plan.versions, plan.halvings = frozen.device, frozen.versions, frozen.halvings
    return plan, True
