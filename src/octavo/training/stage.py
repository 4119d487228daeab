"""The training stage: datasets and frozen study in, adapters, metrics and ledger out; a second call goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from octavo.artifacts import Folder
from octavo.expand import Run
from octavo.lanes.base import BaseModel
from octavo.ledger import Ledger
from octavo.models.load import load_model
from octavo.models.resolve import BaseSource
from octavo.progress import Progress
from octavo.settings import Base
from octavo.study import Study
from octavo.training.checkpoint import Checkpoints
from octavo.training.data import Encoder, load_rows
from octavo.training.device import describe, library_versions, pick_device, pick_dtype
from octavo.training.interrupt import stop_between_windows
from octavo.training.loop import PackTrainer
from octavo.training.memory import PeakMeter, give_back, memory_limit
from octavo.training.plan import Plan, lanes_for, make_plan
from octavo.training.plan_file import read_plans, write_plan
from octavo.training.probe import seconds_of
from octavo.training.recorder import FileRecorder
from octavo.training.tasks import Task, make_task, tell_parameters, trainable_parameters, wide_ranks

ENDED = ("completed", "quarantined")


def train(
    study: Study,
    folder: Folder,
    sources: dict[str, BaseSource],
    encoders: dict[str, Encoder],
    progress: Progress,
    after_window: Callable[[PackTrainer], None] | None = None,
) -> None:
    """Train every run of the study that has not ended yet, a pack for each base.

    Arguments:
        sources, encoders: by name of base.
        after_window: called after every window (tests put faults in here).

    Raises:
        InputError: data missing, targets that match nothing, a study that does not fit into memory.
    """
    runs = study.expand()
    with Ledger(folder.ledger) as ledger:
        ledger.ensure(runs)
        states = {row["run"]: row["state"] for row in ledger.rows()}
        if stale := [row for row in ledger.rows() if row["state"] == "training"]:
            # this process holds the folder's lock, so whoever had the lease is gone, expired or not
            progress.message(
                f"{len(stale)} runs were left in training by {stale[0]['worker']}, which is gone"
            )
        progress.runs([run.id for run in runs])
        for base in study.bases:
            chosen = [run for run in runs if run.base == base.name]
            if any(states[run.id] not in ENDED for run in chosen):
                _train_pack(
                    study,
                    base,
                    chosen,
                    folder,
                    ledger,
                    sources[base.name],
                    encoders[base.name],
                    progress,
                    after_window,
                )


def _train_pack(
    study: Study,
    base: Base,
    runs: Sequence[Run],
    folder: Folder,
    ledger: Ledger,
    source: BaseSource,
    encoder: Encoder,
    progress: Progress,
    after_window: Callable[[PackTrainer], None] | None,
) -> None:
    progress.stage(f"training {len(runs)} runs on {base.name}")
    device = pick_device()
    dtype = pick_dtype(base.dtype, device)
    rows = load_rows(runs, folder, encoder)
    meter = PeakMeter(device)
    limit = memory_limit(study.lanes.memory, device)
    model = BaseModel(load_model(source, dtype).to(device))
    tasks = [make_task(run, *rows[run.id], model.model) for run in runs]
    parameters = {task.run.id: trainable_parameters(task, model) for task in tasks}
    for note in [*model.notes, *wide_ranks(tasks, model)]:
        progress.message(note)
    progress.message(tell_parameters(parameters))
    plan = _plan(study, base, tasks, model, limit, folder, progress)
    trainer_recorder = FileRecorder(folder, ledger, base, study.name, model.model, parameters, progress)
    trainer = PackTrainer(model, tasks, plan.lanes, plan.micro_step_tokens, trainer_recorder, after_window)
    keep = max(run.train.keep_checkpoints for run in runs)
    checkpoints = Checkpoints(folder, base.name, keep, progress.message)
    if checkpoints.restore(trainer):
        _tell_resumed(trainer, trainer_recorder)
    else:
        plan.predicted_seconds = seconds_of(trainer, tasks)
        plan.device, plan.versions = describe(device), library_versions()
        write_plan(folder, base.name, plan)
    try:
        stopped = _loop(trainer, checkpoints, trainer_recorder, meter.start + plan.between_windows)
    except Exception as error:
        # the disk may be what failed; the first error is the one to tell
        with contextlib.suppress(Exception):
            for state in trainer.states:
                if state is not None and not state.quarantined:
                    trainer_recorder.failed(state.run, error)
        raise
    if not trainer.busy:
        plan.measured = _measured(trainer, meter)
        write_plan(folder, base.name, plan)
    if stopped:
        raise KeyboardInterrupt


def _tell_resumed(trainer: PackTrainer, recorder: FileRecorder) -> None:
    """Bring files and ledger back to where the checkpoint stands."""
    for state in trainer.states:
        if state is not None:
            recorder.resumed(trainer.tasks[state.run], state)
    for run_id in trainer.queue:
        recorder.queued(run_id)


def _measured(trainer: PackTrainer, meter: PeakMeter) -> dict[str, Any]:
    peak = meter.peak()
    return {
        "peak_bytes": None if peak is None else max(0, peak - meter.start),
        "seconds": round(trainer.totals["seconds"], 3),
        "tokens": int(trainer.totals["tokens"]),
        "label_tokens": int(trainer.totals["label_tokens"]),
    }


def _plan(
    study: Study,
    base: Base,
    tasks: Sequence[Task],
    model: BaseModel,
    limit: int,
    folder: Folder,
    progress: Progress,
) -> Plan:
    """The frozen plan of an earlier call, or a new one where there is none or `lanes.memory` was changed."""
    stored = read_plans(folder).get(base.name)
    frozen = None if stored is None else Plan(**stored)
    if frozen is not None and frozen.memory == study.lanes.memory:
        return frozen
    targets = sorted({name for task in tasks for name in task.adapter.targets})
    plan = make_plan(
        config=model.config,
        dtype=model.dtype,
        base_parameters=sum(p.numel() for p in model.model.parameters()),
        adapter_parameters=max(trainable_parameters(task, model) for task in tasks),
        targets=targets,
        lanes=frozen.lanes if frozen else lanes_for(study.lanes.strategy, len(tasks)),
        longest_example=max(len(r.ids) for task in tasks for r in [*task.feed.rows, *task.heldout]),
        limit_bytes=limit,
    )
    plan.memory = study.lanes.memory
    if frozen is not None:
        plan.predicted_seconds, plan.device, plan.versions = (
            frozen.predicted_seconds,
            frozen.device,
            frozen.versions,
        )
        write_plan(folder, base.name, plan)
    peak, share = plan.predicted_bytes["peak"], plan.predicted_bytes["peak"] / limit
    progress.message(
        f"{plan.lanes} lanes, micro-steps of up to {plan.micro_step_tokens:,} tokens in {plan.dtype}: "
        f"{peak / 2**30:.1f} GiB predicted ({share:.0%} of what may be used)"
    )
    return plan


def _loop(trainer: PackTrainer, checkpoints: Checkpoints, recorder: FileRecorder, most_bytes: int) -> bool:
    """Train until all runs have ended or a person asks to stop, which is what is returned.

    Arguments:
        most_bytes: what the process may hold between two windows before it gives freed memory back.
    """
    stop = False
    with stop_between_windows() as asked_to_stop:
        while trainer.busy and not stop:
            ended = len(trainer.finished)
            trainer.step()
            give_back(trainer.base.device, most_bytes)
            stop = asked_to_stop.is_set()
            if stop or len(trainer.finished) > ended or _due(trainer):
                checkpoints.save(trainer)
                for state in trainer.states:
                    if state is not None and not state.quarantined:
                        recorder.checkpointed(state.run, state.step)
    trainer.close()
    for state in trainer.states:
        if state is not None and not state.quarantined:
            recorder.queued(state.run, f"interrupted after step {state.step}; the same command continues")
    return stop


def _due(trainer: PackTrainer) -> bool:
    return any(
        state is not None and state.step % trainer.tasks[state.run].run.train.save_every == 0
        for state in trainer.states
    )
