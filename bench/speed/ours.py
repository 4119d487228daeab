"""The runs by Octavo: side by side in lanes, or each on a model of its own in a thread."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Sequence
from typing import Any

from octavo.lanes.base import BaseModel
from octavo.lanes.peft_io import Matrices
from octavo.training.loop import LaneState, PackTrainer
from octavo.training.tasks import Task
from speed.sequential import synchronise


class Quiet:
    """A recorder that keeps what runs end with."""

    def __init__(self) -> None:
        self.ended: dict[str, Matrices] = {}

    def admitted(self, task: Task, lane: int) -> None:
        """Nothing."""

    def step(self, task: Task, row: dict[str, Any]) -> None:
        """Nothing."""

    def event(
        self,
        task: Task,
        step: int,
        kind: str,
        evidence: str,
        action: str,
        found: object = None,  # noqa: ARG002
    ) -> None:
        """Nothing is to happen in a bench; what does changes the figures."""
        if kind != "unmoved":  # the few steps of a bench begin with a rate of zero
            raise RuntimeError(f"{task.run.id}, step {step}: {kind}: {evidence}; {action}")

    def verdict(self, task: Task, health: str) -> None:
        """Nothing: a verdict is no part of the speed."""

    def rescued(self, task: Task) -> None:
        """Nothing is rescued in a bench."""

    def quarantined(self, task: Task, _state: LaneState, evidence: str, _snapshot: Matrices | None) -> None:
        """A run that dies here is a failure of the bench."""
        raise RuntimeError(f"{task.run.id}: {evidence}")

    def completed(self, task: Task, _state: LaneState, matrices: Matrices) -> None:
        """Keep the matrices."""
        self.ended[task.run.id] = matrices


class Fused:
    """All runs in lanes over one model.

    Arguments:
        tokens: most tokens of a micro-step. lanes: side by side; None: all.
    """

    def __init__(self, model: Any, tasks: Sequence[Task], tokens: int, lanes: int | None = None) -> None:
        self.base = BaseModel(model)
        self.tasks, self.tokens, self.lanes = _without_heldout(tasks), tokens, lanes or len(tasks)

    def run(self) -> tuple[float, dict[str, Matrices]]:
        """Train all runs; seconds of training and what they ended with."""
        recorder = Quiet()
        trainer = PackTrainer(self.base, self.tasks, self.lanes, self.tokens, recorder)
        began = time.perf_counter()
        while trainer.busy:
            trainer.step()
        synchronise()
        seconds = time.perf_counter() - began
        trainer.close()
        return seconds, recorder.ended


class Replicas:
    """Each run on a copy of the model, `parallel` at once in threads, by the pool of the `replicas` executor.

    The copies are made before the clock starts.
    """

    def __init__(self, model: Any, tasks: Sequence[Task], tokens: int, parallel: int) -> None:
        self.bases = [BaseModel(copy.deepcopy(model)) for _ in tasks]
        self.tasks, self.tokens, self.parallel = _without_heldout(tasks), tokens, parallel

    def run(self) -> tuple[float, dict[str, Matrices]]:
        """Train all runs; seconds of training and what they ended with."""
        from octavo.training.replica_pool import Job, Memory, ReplicaPool

        recorder = Quiet()
        failures: list[str] = []

        def job(base: BaseModel, task: Task) -> Job:
            def work(_stop: threading.Event) -> None:
                trainer = PackTrainer(base, [task], 1, self.tokens, recorder)
                while trainer.busy:
                    trainer.step()
                trainer.close()

            return Job(task.run.id, "lora", 0, work, lambda message, _again: failures.append(message))

        pool = ReplicaPool(Memory(self.bases[0].device, 2**62), self.parallel, 0.0, lambda _text: None)
        began = time.perf_counter()
        pool.run([job(base, task) for base, task in zip(self.bases, self.tasks, strict=True)])
        synchronise()
        seconds = time.perf_counter() - began
        if failures:
            raise RuntimeError(failures[0])
        return seconds, recorder.ended


def _without_heldout(tasks: Sequence[Task]) -> list[Task]:
    """The same tasks with nothing to evaluate at their last step: the other ways of training do not either."""
    return [Task(t.run, t.feed, (), t.adapter, t.optimizer) for t in tasks]
