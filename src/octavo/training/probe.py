"""A look at the real speed before training, so that the plan can say how long the study will take."""

from __future__ import annotations

import time
from collections.abc import Sequence

from octavo.lanes.window import split_micro_steps
from octavo.training.loop import PackTrainer
from octavo.training.tasks import Task


def seconds_of(trainer: PackTrainer, tasks: Sequence[Task]) -> float:
    """Predicted training seconds: tokens of all runs over the speed of one micro-step of the first window.

    The micro-step runs twice, the second is timed; its gradients are thrown away and nothing steps.
    """
    first = list(tasks[: trainer.bank.lanes])
    for lane, task in enumerate(first):
        trainer.bank.occupy(lane, task.adapter)
    chunks = [task.feed.window(0, lane) for lane, task in enumerate(first)]
    samples = split_micro_steps(chunks, trainer.micro_step_tokens)[0]
    for _ in range(2):
        began = time.perf_counter()
        trainer.engine.accumulate(samples)
        seconds = time.perf_counter() - began
    trainer.optimizer.zero_grad()
    for lane in range(len(first)):
        trainer.bank.vacate(lane)
    speed = sum(len(s.ids) for s in samples) / seconds
    return round(sum(task.feed.total_tokens()[0] for task in tasks) / speed, 1)
