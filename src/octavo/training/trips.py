"""What becomes of a run whose vitals trip: it is stopped, rescued, or goes on, as the study says.

A rescue never changes which examples a lane reads in a window, so that its neighbours stay bit for bit the same:
a run that goes back goes on with its next examples, and those of the steps that were undone are passed over, as
Chowdhery et al. 2022 did (PaLM, section 5.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from octavo.lanes.optimizer import OptimizerSpec
from octavo.lanes.peft_io import nonfinite_count
from octavo.vitals.cause import Cause, cause_of_finite, cause_of_nonfinite
from octavo.vitals.verdict import DEAD, ORDER, Verdict

if TYPE_CHECKING:
    from octavo.lanes.window import WindowResult
    from octavo.training.loop import LaneState, PackTrainer
    from octavo.training.tasks import Task

RETRIES = 2  # times that a run goes back before it is given up
MOST_SKIPS = 3  # windows of a run that are passed over, never two one after the other
SLOWER = 0.5  # learning rate and clip of each retry over those before
_SHORTEST_WARMUP = 5  # steps that are doubled where the schedule has no warm-up of its own
_READ_OF_LATE = 20  # steps whose examples are looked through for a repeated one


@dataclass(frozen=True)
class Trip:
    """A run that has tripped.

    Attributes:
        verdict: on it. cause: why. examples: ids of the batch.
        first_bad: tensor; null where all are finite. stepped: whether the window's step was taken.
    """

    verdict: Verdict
    cause: Cause
    examples: Sequence[str]
    first_bad: str | None
    stepped: bool

    def found(self) -> dict[str, Any]:
        """Beside the words of its event."""
        return {
            "verdict": self.verdict.health,
            "signals": list(self.verdict.signals),
            "module": self.verdict.module,
            "cause": self.cause.kind,
            "examples": list(self.examples),
            "first_bad": self.first_bad,
        }


def learning_rate(task: Task, state: LaneState) -> float:
    """Of a run's next step: the schedule's, slower and warmed up again after each rescue."""
    rate = task.learning_rate(state.step)
    if not state.retries:
        return rate
    warmup = max(_SHORTEST_WARMUP, task.run.train.schedule.warmup_steps) * 2**state.retries
    return rate * SLOWER**state.retries * min(1.0, (state.step - state.went_back + 1) / warmup)


def optimizer_spec(task: Task, state: LaneState) -> OptimizerSpec:
    """A run's settings, with the clip of its rescues; none stays none."""
    clip = task.optimizer.max_grad_norm
    return replace(task.optimizer, max_grad_norm=None if clip is None else clip * SLOWER**state.retries)


def nonfinite_trip(trainer: PackTrainer, lane: int, state: LaneState, result: WindowResult) -> Trip:
    """The trip of a lane whose window or step was not finite; its batch is replayed."""
    samples = [s for samples in trainer.cut for s in samples if s.lane == lane]
    fault = trainer.find_fault(lane, samples)
    ids = _examples(trainer.tasks[state.run], state.step - 1)
    loss, norm = result.losses[lane], result.grad_norms[lane]
    targets = sum(len(s.targets) for s in samples)
    cause = cause_of_nonfinite(loss, norm, targets, fault, trainer.bank.flat_KP.dtype, ids)
    evidence = (
        f"step {state.step}: loss {loss:g}, gradient norm {norm:g}; first non-finite tensor: {fault.said}; "
        f"cause: {cause.kind}; examples of the batch: {', '.join(ids)}"
    )
    verdict = Verdict(DEAD, state.step, evidence, ("finite",))
    return Trip(verdict, cause, ids, fault.said, result.stepped[lane])


def finite_trip(trainer: PackTrainer, state: LaneState, verdict: Verdict) -> Trip:
    """The trip of a lane whose numbers are finite and whose signals are not well."""
    task = trainer.tasks[state.run]
    rows = task.feed.rows
    first: dict[tuple[int, ...], str] = {}
    read = []
    for step in range(max(0, state.step - _READ_OF_LATE), state.step):
        for i in (i for batch in task.feed.batches(step) for i in batch):
            # examples that say the same are one, whatever their ids
            read.append(first.setdefault(tuple(rows[i].ids), rows[i].id))
    cause = cause_of_finite(verdict, read, task.learning_rate(state.step - 1))
    said = replace(verdict, evidence=f"{verdict.evidence}; cause: {cause.evidence.partition(';')[0]}")
    return Trip(said, cause, _examples(task, state.step - 1), None, True)


def _examples(task: Task, step: int) -> list[str]:
    return [task.feed.rows[i].id for batch in task.feed.batches(step) for i in batch]


def answer(trainer: PackTrainer, lane: int, state: LaneState, trip: Trip) -> None:
    """Do what the study's policy says, and say so."""
    policy = "stop" if trainer.watch is None else trainer.watch.plan.on_trip
    dead = trip.verdict.health == DEAD
    task = trainer.tasks[state.run]
    kind = "nonfinite" if dead else trip.verdict.health
    if policy == "continue" and not dead:
        if state.verdict is None or ORDER.index(trip.verdict.health) > ORDER.index(state.verdict):
            action = "none: vitals.on_trip is continue"
            trainer.recorder.event(task, state.step, kind, trip.verdict.evidence, action, trip.found())
            _set_verdict(trainer, task, state, trip.verdict.health)
        return
    if policy == "rescue" and (tried := _rescue(trainer, lane, state, trip)) is not None:
        state.rescued = True
        trainer.recorder.event(task, state.step, kind, trip.verdict.evidence, tried, trip.found())
        trainer.recorder.rescued(task)
        return
    if dead:
        action = "quarantined, step undone" if trip.stepped else "quarantined, no step taken"
    else:
        action = "quarantined: it learns no more, and no adapter is exported"
    if state.retries:
        action += f", after {state.retries} retries"
    trainer.recorder.event(task, state.step, kind, trip.verdict.evidence, action, trip.found())
    _quarantine(trainer, lane, state, trip)


def _set_verdict(trainer: PackTrainer, task: Task, state: LaneState, health: str) -> None:
    state.verdict = health
    trainer.recorder.verdict(task, health)


def _quarantine(trainer: PackTrainer, lane: int, state: LaneState, trip: Trip) -> None:
    """The lane goes back to its last good numbers, which are handed to the recorder, and learns no more."""
    state.quarantined, state.verdict = True, trip.verdict.health
    good = trainer.good_KP[lane]
    if trainer.watch is not None and (kept := trainer.watch.snapshots[lane]) is not None:
        # what is not finite was so for one step; a run that diverges has been on its way for some
        good = good if trip.verdict.health == DEAD else kept.tensors["value"]
    trainer.bank.flat_KP[lane].copy_(good)
    trainer.bank.refresh()
    matrices = trainer.bank.read(lane)
    kept_matrices = None if nonfinite_count(matrices) else matrices
    trainer.recorder.quarantined(trainer.tasks[state.run], state, trip.verdict.evidence, kept_matrices)


def _rescue(trainer: PackTrainer, lane: int, state: LaneState, trip: Trip) -> str | None:
    """Pass the window over, or go back; says what was done, None where nothing is left to try."""
    if trip.verdict.health == DEAD and _may_skip(state):
        trainer.bank.flat_KP[lane].copy_(trainer.good_KP[lane])
        trainer.bank.refresh()
        state.skips, state.skipped = state.skips + 1, state.step
        return "rescued: window passed over, " + ("its step undone" if trip.stepped else "no step taken")
    watch = trainer.watch
    if watch is None or watch.snapshots[lane] is None or state.retries == RETRIES:
        return None
    step = watch.go_back(lane)
    state.retries, state.went_back = state.retries + 1, state.step
    task = trainer.tasks[state.run]
    trainer.optimizer.specs[lane] = optimizer_spec(task, state)
    return (
        f"rescued: back to the adapter of step {step}, retry {state.retries} of {RETRIES}; learning rate and clip "
        f"x {SLOWER**state.retries:g}, warmed up anew; goes on with its next examples"
    )


def _may_skip(state: LaneState) -> bool:
    return state.skips < MOST_SKIPS and (not state.skips or state.step > state.skipped + 1)
