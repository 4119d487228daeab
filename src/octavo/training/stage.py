"""The training stage: datasets and frozen study in, adapters, metrics and ledger out; a second call goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import cast

from octavo.artifacts import Folder
from octavo.expand import Run
from octavo.lanes.base import BaseModel
from octavo.lanes.shortage import give_back
from octavo.ledger import Ledger
from octavo.models.load import load_model
from octavo.models.resolve import BaseSource
from octavo.objectives.objective import make_objective
from octavo.progress import Progress
from octavo.settings import Base
from octavo.study import Study
from octavo.training.checkpoint import Checkpoints
from octavo.training.compiler import settle_compiler
from octavo.training.data import Encoder, load_rows
from octavo.training.device import describe, library_versions, pick_device, pick_dtype
from octavo.training.interrupt import stop_between_windows
from octavo.training.limits import memory_limit
from octavo.training.loop import PackTrainer
from octavo.training.memory import PeakMeter, settle_allocator
from octavo.training.opening import open_pack
from octavo.training.plan_file import stored_plan, write_plan
from octavo.training.planning import keep_within, note_halvings, note_measured, tell
from octavo.training.recorder import FileRecorder
from octavo.training.replicas import is_replica, train_replicas
from octavo.training.tasks import Task, tell_parameters, trainable_parameters, wide_ranks
from octavo.training.watch_files import most_positions, watch_plan

ENDED = ("completed", "quarantined")
Hook = Callable[[PackTrainer], None] | None


def train(
    study: Study,
    folder: Folder,
    sources: dict[str, BaseSource],
    encoders: dict[str, Encoder],
    progress: Progress,
    after_window: Hook = None,
    opened: Hook = None,
) -> None:
    """Train every run of the study that has not ended yet: a pack for each base, then those with models of their own.

    Arguments:
        sources, encoders: by name of base.
        after_window: called after every window (tests put faults in here).
        opened: called with each trainer before its first window of this call: for hooks on its model, other rows of
            its tasks, another cadence of its vitals (`trainer.watch.use`).

    Raises:
        InputError: data missing, targets that match nothing, a study that does not fit into memory.
    """
    settle_allocator(len(study.expand()))
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
        fused = [run for run in runs if not is_replica(study, run)]
        for base in study.bases:
            chosen = [run for run in fused if run.base == base.name]
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
                    opened,
                )
    alone = [run for run in runs if is_replica(study, run)]
    ended = [run.id for run in alone if states[run.id] in ENDED]
    if len(ended) < len(alone):
        settle_compiler(sources.values(), pick_device())
        train_replicas(study, alone, ended, folder, sources, encoders, progress, after_window, opened)


def _train_pack(
    study: Study,
    base: Base,
    runs: Sequence[Run],
    folder: Folder,
    ledger: Ledger,
    source: BaseSource,
    encoder: Encoder,
    progress: Progress,
    after_window: Hook,
    opened: Hook,
) -> None:
    progress.stage(f"training {len(runs)} runs on {base.name}")
    device = pick_device()
    dtype = pick_dtype(base.dtype, device, progress.message)
    rows = load_rows(runs, folder, encoder)
    settle_compiler([source], device)
    meter = PeakMeter(device)
    limit = memory_limit(study.lanes.memory, device)
    model = BaseModel(load_model(source, dtype).to(device))
    for note in model.notes:
        progress.message(note)

    def recorder(tasks: Sequence[Task]) -> FileRecorder:
        parameters = {task.run.id: trainable_parameters(task, model) for task in tasks}
        for note in [*wide_ranks(tasks, model), tell_parameters(parameters)]:
            progress.message(note)
        return FileRecorder(folder, ledger, base, study.name, model.model, parameters, progress)

    frozen = stored_plan(folder, base.name)
    told = progress.message
    vitals = watch_plan(study, base.name, folder, encoder, most_positions(model.config))
    plan, trainer, new = open_pack(
        study,
        runs,
        rows,
        model,
        limit,
        meter,
        frozen,
        recorder,
        told,
        after_window,
        vitals,
        lambda run: make_objective(base, source, run.train),
    )
    if opened is not None:
        opened(trainer)
    trainer_recorder = cast(FileRecorder, trainer.recorder)
    if new:
        plan.device, plan.versions = plan.device or describe(device), plan.versions or library_versions()
        write_plan(folder, base.name, plan)
        progress.message(tell(plan))
    keep = max(run.train.keep_checkpoints for run in runs)
    checkpoints = Checkpoints(folder, base.name, keep, progress.message)
    if checkpoints.restore(trainer):
        _tell_resumed(trainer, trainer_recorder)
    keep_within(plan, trainer, meter.start)
    give_back(device)
    meter.restart()

    def halved() -> None:
        note_halvings(plan, trainer, progress.message)
        write_plan(folder, base.name, plan)

    try:
        stopped = _loop(trainer, checkpoints, trainer_recorder, halved)
    except Exception as error:
        # the disk may be what failed; the first error is the one to tell
        with contextlib.suppress(Exception):
            for state in trainer.states:
                if state is not None and not state.quarantined:
                    trainer_recorder.failed(state.run, error)
        raise
    if not trainer.busy:
        note_measured(plan, trainer, meter)
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


def _loop(
    trainer: PackTrainer, checkpoints: Checkpoints, recorder: FileRecorder, halved: Callable[[], None]
) -> bool:
    """Train until all runs have ended or a person asks to stop, which is what is returned.

    Arguments:
        halved: called after a window that memory had not sufficed for at first.
    """
    stop = False
    with stop_between_windows() as asked_to_stop:
        while trainer.busy and not stop:
            ended = len(trainer.finished)
            halvings = len(trainer.halvings)
            trainer.step()
            if len(trainer.halvings) > halvings:
                halved()
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
