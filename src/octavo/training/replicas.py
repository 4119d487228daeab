"""The `replicas` executor: every run has a copy of the model to itself and trains in a thread.

Needed where all weights train, and where runs of different bases are to train at the same time. Data order, schedules,
loss, steps and records are those of the fused loop, which is what runs here, with one lane.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from octavo.artifacts import Folder, append_jsonl, read_jsonl
from octavo.expand import Run
from octavo.lanes.base import BaseModel
from octavo.ledger import Ledger
from octavo.models.load import load_model
from octavo.models.resolve import BaseSource
from octavo.progress import Progress
from octavo.study import Study
from octavo.training.checkpoint import Checkpoints
from octavo.training.data import Encoder
from octavo.training.device import pick_device
from octavo.training.full import FullCheckpoints, FullRecorder, FullTrainer, ReplicaRecorder
from octavo.training.full_weights import FullBank, FullModel
from octavo.training.gate import Gate, allow_compilations
from octavo.training.limits import memory_limit
from octavo.training.loop import PackTrainer
from octavo.training.memory import PeakMeter
from octavo.training.plan import Plan
from octavo.training.plan_file import read_plans, write_plan
from octavo.training.replica_plan import TOGETHER, plan_together
from octavo.training.replica_pool import Job, Memory, ReplicaPool
from octavo.training.replica_setup import Replica, prepare_replicas
from octavo.training.tasks import Task
from octavo.training.watch_files import most_positions, watch_plan

Hook = Callable[[PackTrainer], None] | None


def is_replica(study: Study, run: Run) -> bool:
    """Does a run need a model of its own, or has the study asked for one?"""
    return study.lanes.executor == "replicas" or run.train.method == "full"


def _scores(trainer: PackTrainer, task: Task) -> bool:
    """Does the next window end with held-out scoring?"""
    state = trainer.states[0]
    step = 1 if state is None else state.step + 1
    return step % task.run.train.eval_every == 0 or step == task.total_steps


class _Shared:
    """A display that threads may use at the same time."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._lock = progress, threading.Lock()

    def update(self, run_id: str, **standing: Any) -> None:
        with self._lock:
            self._progress.update(run_id, **standing)

    def message(self, text: str) -> None:
        with self._lock:
            self._progress.message(text)


def train_replicas(
    study: Study,
    runs: Sequence[Run],
    ended: Sequence[str],
    folder: Folder,
    sources: dict[str, BaseSource],
    encoders: dict[str, Encoder],
    progress: Progress,
    after_window: Hook = None,
    opened: Hook = None,
) -> None:
    """Train the runs of all bases, `lanes.max_parallel` at once.

    Arguments:
        runs: those that have models of their own; ended: ids of those of them that are not to be trained any more.
        sources, encoders: by name of base.
        after_window: called after every window of every run, in its thread; opened: before its first.

    Raises:
        InputError: data missing, targets that match nothing, a replica that does not fit into memory.
    """
    device = pick_device()
    limit = memory_limit(study.lanes.memory, device)
    meter = PeakMeter(device)
    crew = _Crew(study, folder, encoders, progress, device, after_window, opened)
    replicas = prepare_replicas(study, runs, folder, sources, encoders, device, limit, progress.message)
    waiting = [replica for replica in replicas if replica.task.run.id not in ended]
    parallel = min(study.lanes.max_parallel, len(waiting))
    progress.stage(f"training {len(waiting)} runs, each on a model of its own, at most {parallel} at once")
    memory = Memory(device, limit)
    pool = ReplicaPool(memory, parallel, study.lanes.stagger_seconds, crew.progress.message)
    began = time.monotonic()
    try:
        stopped = pool.run([crew.job(replica) for replica in waiting])
    finally:
        plan = plan_together([replica.plan for replica in replicas], study.lanes.max_parallel, limit)
        crew.note_measured(plan, meter, time.monotonic() - began)
    if stopped:
        raise KeyboardInterrupt


class _Crew:
    """Makes replicas and trains them."""

    def __init__(
        self,
        study: Study,
        folder: Folder,
        encoders: dict[str, Encoder],
        progress: Progress,
        device: torch.device,
        after_window: Hook,
        opened: Hook,
    ) -> None:
        self.study, self.folder, self.device = study, folder, device
        self.progress: Any = _Shared(progress)
        self.encoders = encoders
        self.after_window, self.opened = after_window, opened
        self.done = {"tokens": 0.0, "label_tokens": 0.0}
        self._adding = threading.Lock()
        self.gate = Gate()

    def job(self, replica: Replica) -> Job:
        """A run as the pool takes it."""
        run = replica.task.run
        return Job(
            name=run.id,
            kind=replica.kind,
            bytes=replica.plan.predicted_bytes["training"],
            work=lambda stop: self._train(replica, stop),
            failed=lambda message, again: self._failed(replica, message, again),
        )

    def _train(self, replica: Replica, stop: threading.Event) -> None:
        """One run from its model to its export, or until it is asked to stop."""
        allow_compilations(self.study.lanes.max_parallel)
        with self.gate.alone():
            trainer, recorder, checkpoints = self._make(replica)
            if self.opened is not None:
                self.opened(trainer)
        state = None
        try:
            if checkpoints.restore(trainer):
                for state in trainer.states:
                    if state is not None:
                        recorder.resumed(replica.task, state)
            before = dict(trainer.totals)
            while trainer.busy and not stop.is_set():
                with self.gate.turn((replica.kind, _scores(trainer, replica.task))):
                    trainer.step()
                state = trainer.states[0]
                if state is not None and state.quarantined:
                    break  # there are no neighbours whose pack its rows would be missed in
                if stop.is_set() or state is None or state.step % replica.task.run.train.save_every == 0:
                    checkpoints.save(trainer)
                    if state is not None:
                        recorder.checkpointed(state.run, state.step)
            if state is not None and not state.quarantined:
                recorder.queued(state.run, f"interrupted after step {state.step}; the same command continues")
            with self._adding:
                for key in self.done:
                    self.done[key] += trainer.totals[key] - before[key]
        finally:
            trainer.close()

    def _make(self, replica: Replica) -> tuple[PackTrainer, ReplicaRecorder, Checkpoints]:
        """The model, and everything about it; one thread at a time."""
        task, base, plan = replica.task, replica.base, replica.plan
        full = task.run.train.method == "full"
        loaded = load_model(replica.source, torch.float32 if full else replica.dtype).to(self.device)
        model = FullModel(loaded, replica.dtype) if full else BaseModel(loaded)
        for note in model.notes:
            self.progress.message(f"{task.run.id}: {note}")
        records = (
            self.folder,
            Ledger(self.folder.ledger),  # a connection for each call: sqlite keeps them to their threads
            base,
            self.study.name,
            model.model,
            {task.run.id: replica.parameters},
            self.progress,
        )
        place = (
            self.folder,
            f"replicas/{task.run.id}",
            task.run.train.keep_checkpoints,
            self.progress.message,
        )
        tokens = plan.micro_step_tokens
        positions = most_positions(model.config)
        vitals = watch_plan(self.study, base.name, self.folder, self.encoders[base.name], positions)
        if not isinstance(model, FullModel):
            recorder = ReplicaRecorder(*records)
            trainer = PackTrainer(model, [task], 1, tokens, recorder, self.after_window, vitals)
            return trainer, recorder, Checkpoints(*place)
        bank = FullBank(model.model, replica.dtype)
        full_recorder = FullRecorder(*records, source=replica.source, bank=bank)
        full_trainer = FullTrainer(model, bank, task, tokens, full_recorder, self.after_window, vitals)
        return full_trainer, full_recorder, FullCheckpoints(*place)

    def _failed(self, replica: Replica, message: str, again: bool) -> None:
        """Keep what ended a run; the others go on."""
        run = replica.task.run.id
        rows = read_jsonl(self.folder.metrics(run)) if self.folder.metrics(run).exists() else []
        step = rows[-1]["step"] if rows else 0
        action = (
            "tried again alone after the others"
            if again
            else "the others go on; the same command tries again"
        )
        row = {"step": step, "kind": "failed", "evidence": message, "action": action}
        append_jsonl(self.folder.events(run), row)
        state = "queued" if again else "failed"
        Ledger(self.folder.ledger).set(run, state=state, worker=None, lease=None, message=message)
        self.progress.update(run, step=step, total=replica.task.total_steps, loss=None, state=state)
        self.progress.message(f"{run}: {message}; {action}")

    def note_measured(self, plan: Plan, meter: PeakMeter, seconds: float) -> None:
        """Write what this call came to, on top of what earlier ones did."""
        before = read_plans(self.folder).get(TOGETHER, {}).get("measured") or {}
        peak = meter.peak()
        peaks = [value for value in (peak, before.get("peak_bytes")) if value is not None]
        plan.measured = {
            "peak_bytes": max(peaks, default=None),
            "seconds": round(seconds + (before.get("seconds") or 0.0), 3),
            "tokens": int(self.done["tokens"] + before.get("tokens", 0)),
            "label_tokens": int(self.done["label_tokens"] + before.get("label_tokens", 0)),
        }
        write_plan(self.folder, TOGETHER, plan)
