"""Harmed runs under `vitals.on_trip: rescue`, trained by the trainer of studies: which are saved?"""

# ruff: noqa: ARG002 - a recorder is told more than is kept here
from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harm.trials import ALPHA, BATCH, DROPOUT, MICRO_STEP_TOKENS, RANK, Trial, feed_of
from octavo.expand import Run
from octavo.lanes.adapters import AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import OptimizerSpec
from octavo.lanes.peft_io import Matrices, nonfinite_count
from octavo.settings import Train
from octavo.training.loop import LaneState, PackTrainer
from octavo.training.tasks import Task
from octavo.training.watch import WatchPlan
from octavo.vitals.prompts import prompt_ids
from octavo.vitals.signal import Cadence
from octavo.vitals.thresholds import Thresholds

LOST = 1.0  # nats of the probe over the base model's: a run that ends there is not saved


@dataclass
class Ended:
    """How a run ended.

    Attributes:
        state: "completed" or "quarantined". rescued: whether its training was changed to save it.
        finite: all numbers of its adapter are. probe_rise: nats over the base model's at its last reading.
        events: kind and action of each.
    """

    state: str | None = None
    rescued: bool = False
    finite: bool = False
    probe_rise: float | None = None
    events: list[str] = field(default_factory=list)

    @property
    def saved(self) -> bool:
        """It tripped, was changed, went through to its end, and the model still speaks."""
        well = self.probe_rise is not None and self.probe_rise <= LOST
        return self.state == "completed" and self.rescued and self.finite and well


class Notes:
    """A recorder that keeps how runs end."""

    def __init__(self, runs: Sequence[str]) -> None:
        self.ended = {run: Ended() for run in runs}
        self.start: float | None = None

    def admitted(self, task: Task, lane: int) -> None:
        """Nothing to keep."""

    def step(self, task: Task, row: Mapping[str, Any]) -> None:
        """Keep the probe."""
        value = (row["vitals"] or {}).get("probe_nll")
        if value is not None and self.start is not None:
            self.ended[task.run.id].probe_rise = float(value) - self.start

    def event(
        self, task: Task, step: int, kind: str, evidence: str, action: str, found: Any = None, /
    ) -> None:
        """Keep what was done."""
        self.ended[task.run.id].events.append(f"step {step}: {kind}: {action}")

    def verdict(self, task: Task, health: str, /) -> None:
        """Nothing to keep."""

    def rescued(self, task: Task, /) -> None:
        """Its training was changed."""
        self.ended[task.run.id].rescued = True

    def quarantined(self, task: Task, state: LaneState, evidence: str, snapshot: Matrices | None, /) -> None:
        """Given up."""
        self.ended[task.run.id].state = "quarantined"

    def completed(self, task: Task, state: LaneState, matrices: Matrices, /) -> None:
        """Trained to the end."""
        self.ended[task.run.id].state = "completed"
        self.ended[task.run.id].finite = nonfinite_count(matrices) == 0


def task_of(trial: Trial, encoder: Any, targets: Sequence[str], steps: int) -> Task:
    """A trial as the trainer takes it."""
    settings = {
        "steps": steps,
        "batch_size": BATCH,
        "accumulation": 1,
        "learning_rate": trial.rate,
        "schedule": {"kind": "constant", "warmup_steps": 0},
        "eval_every": 10 * steps,
    }
    run = Run(trial.name, trial.name, "base", trial.seed, Train.model_validate(settings))
    feed = feed_of(trial, encoder, steps)
    spec = AdapterSpec(RANK, ALPHA, DROPOUT, tuple(targets))
    return Task(run, feed, [], spec, OptimizerSpec(weight_decay=0.01, max_grad_norm=1.0))


def rescue(
    base: BaseModel,
    encoder: Any,
    targets: Sequence[str],
    trials: Sequence[Trial],
    steps: int,
    limits: Thresholds,
) -> dict[str, Ended]:
    """Train harmed runs with rescue asked for; a fault of one step happens in its window once."""
    tasks = [task_of(trial, encoder, targets, steps) for trial in trials]
    notes = Notes([trial.name for trial in trials])

    def keep(readings: Mapping[str, Any]) -> None:
        notes.start = float(readings["probe_nll"])

    def after(trainer: PackTrainer) -> None:
        for lane, trial in enumerate(trials):
            if (
                trial.fault is not None
                and trial.fault.after is not None
                and trial.step == trainer.window_number
            ):
                trial.fault.after(trainer.bank, lane)

    ids = prompt_ids(lambda text: encoder.encode_text(text).ids)
    cadence = Cadence(spectrum_every=100 * steps)  # described, never judged
    plan = WatchPlan(ids, cadence, thresholds=limits, on_trip="rescue", keep=keep)
    trainer = PackTrainer(base, tasks, len(tasks), MICRO_STEP_TOKENS, notes, after, plan)
    try:
        while trainer.busy:
            with contextlib.ExitStack() as stack:
                for lane, trial in enumerate(trials):
                    hook = trial.fault.hook if trial.fault is not None else None
                    if hook is not None and trial.step == trainer.window_number + 1:
                        stack.enter_context(hook(base, lane))
                trainer.step()
    finally:
        trainer.close()
    return notes.ended
