"""The four comparisons of `octavo verify`, by the norm of invariant 1."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from octavo.expand import Run
from octavo.lanes.base import BaseModel
from octavo.lanes.difference import relative_difference, same_bits
from octavo.lanes.peft_io import Matrices
from octavo.lanes.targets import linear_layers
from octavo.objectives.causal import CAUSAL
from octavo.objectives.objective import Objective
from octavo.training.data import Encoder
from octavo.training.loop import LaneState, PackTrainer
from octavo.training.tasks import Task, make_task
from octavo.verification.reference import train_reference
from octavo.verification.runs import make_rows, make_runs

LIMIT_ALONE, LIMIT_SPLIT, LIMIT_PEFT = 1e-4, 1e-3, 1e-3
# fewer lanes than runs: two runs wait for a lane to become free
LANES = 6
_WHOLE, _SPLIT = 10_000, 100


@dataclass
class Kept:
    """The recorder of a verification: keeps what runs begin and end with, writes nothing."""

    started: dict[str, Matrices]
    ended: dict[str, Matrices]
    trainer: PackTrainer | None = None

    def admitted(self, task: Task, lane: int) -> None:
        """Remember the initial matrices."""
        if self.trainer is not None:
            self.started[task.run.id] = self.trainer.bank.read(lane)

    def step(self, task: Task, row: dict[str, Any]) -> None:
        """Nothing."""

    def event(
        self, task: Task, step: int, kind: str, evidence: str, action: str, found: object = None
    ) -> None:
        """Nothing."""

    def verdict(self, task: Task, health: str) -> None:
        """Nothing: vitals are not watched here."""

    def rescued(self, task: Task) -> None:
        """Nothing."""

    def quarantined(self, task: Task, _state: LaneState, evidence: str, _snapshot: Matrices | None) -> None:
        """A run that dies here is a failure of the verification."""
        raise RuntimeError(f"{task.run.id}: {evidence}")

    def completed(self, task: Task, _state: LaneState, matrices: Matrices) -> None:
        """Remember the trained matrices."""
        self.ended[task.run.id] = matrices


def train_lanes(model: Any, tasks: Sequence[Task], lanes: int, tokens: int) -> Kept:
    """Train tasks in a bank of `lanes` with micro-steps of at most `tokens`; the model is left as it was.

    It is read on the path that a study would take: packed, or a sequence at a time.
    """
    base = BaseModel(model)
    kept = Kept({}, {})
    trainer = PackTrainer(base, tasks, lanes, tokens, kept)
    kept.trainer = trainer
    try:
        while trainer.busy:
            trainer.step()
    finally:
        trainer.close()
        base.close()
    return kept


def verify(
    model: Any,
    encoder: Encoder,
    steps: int = 20,
    say: Callable[[str], None] = lambda _: None,
    fault: Callable[[], AbstractContextManager[None]] = nullcontext,
    objective: Objective = CAUSAL,
) -> dict[str, Any]:
    """Compare eight mixed runs trained in lanes with each alone, with another cut, and with plain PEFT.

    Arguments:
        model: in float32, on the CPU, with any attention; left as it was.
        steps: optimizer steps of the short runs; the long ones take a third more.
        say: told of each arm.
        objective: what the runs learn.
        fault: a context that is entered around the fused arms only (tests plant mistakes through it).

    Returns:
        {"runs", "max_relative_difference", "max_relative_difference_split", "max_relative_difference_peft",
        "bitwise"}: the worst run of each comparison.
    """
    data = make_rows(encoder)
    plain = copy.deepcopy(model)

    def tasks_of(runs: Sequence[Run]) -> list[Task]:
        return [
            make_task(run, data[run.train.max_length], data[run.train.max_length][:2], model, objective)
            for run in runs
        ]

    kinds = list(dict.fromkeys(name.rsplit(".", 1)[-1] for name in linear_layers(model)))
    tasks = tasks_of(make_runs(steps, kinds))
    say(f"{len(tasks)} runs in {LANES} lanes")
    with fault():
        fused = train_lanes(model, tasks, LANES, _WHOLE).ended
    say("each run alone")
    alone = {t.run.id: train_lanes(model, [t], 1, _WHOLE).ended[t.run.id] for t in tasks}
    say(f"micro-steps of at most {_SPLIT} tokens")
    with fault():
        split = train_lanes(model, tasks, LANES, _SPLIT).ended
    say("without dropout, in lanes")
    without = tasks_of(make_runs(steps, kinds, dropout=False))
    with fault():
        plain_lanes = train_lanes(model, without, LANES, _WHOLE)
    say("without dropout, by plain PEFT and torch AdamW")
    peft = {t.run.id: train_reference(plain, t, plain_lanes.started[t.run.id]) for t in without}
    rows = []
    for task in tasks:
        name = task.run.id
        against_alone = relative_difference(fused[name], alone[name])
        against_split = relative_difference(split[name], alone[name])
        against_peft = relative_difference(plain_lanes.ended[name], peft[name])
        rows.append((against_alone, against_split, against_peft))
        say(f"{name}: alone {against_alone:.1e}, other cut {against_split:.1e}, PEFT {against_peft:.1e}")
    worst = [max(column) for column in zip(*rows, strict=True)]
    return {
        "runs": len(tasks),
        "max_relative_difference": worst[0],
        "max_relative_difference_split": worst[1],
        "max_relative_difference_peft": worst[2],
        "bitwise": all(same_bits(fused[task.run.id], alone[task.run.id]) for task in tasks),
    }


def holds(found: dict[str, Any]) -> bool:
    """Are all figures within the bounds?"""
    return (
        found["max_relative_difference"] <= LIMIT_ALONE
        and found["max_relative_difference_split"] <= LIMIT_SPLIT
        and found["max_relative_difference_peft"] <= LIMIT_PEFT
    )
