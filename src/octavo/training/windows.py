"""What the data asks of the device: the largest micro-step that the windows of all lanes will come to."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from octavo.lanes.pack import Sample
from octavo.lanes.window import split_micro_steps
from octavo.training.tasks import Task

# windows that are looked at: a longer study's largest micro-step hardly differs from the largest of so many
_MOST_WINDOWS = 2_000


@dataclass(frozen=True)
class Rows:
    """Rows of a micro-step: tokens, and those of them whose prediction is learned."""

    tokens: int
    labels: int


def largest_micro_step(tasks: Sequence[Task], lanes: int, budget: int) -> Rows:
    """The micro-step of most tokens, by the cut that training makes of every window."""
    largest = Rows(0, 0)
    for chunks in _windows(tasks, lanes):
        for step in split_micro_steps(chunks, budget):
            tokens = sum(len(sample.ids) for sample in step)
            if tokens > largest.tokens:
                largest = Rows(tokens, sum(len(sample.targets) for sample in step))
    return largest


def largest_heldout(tasks: Sequence[Task], budget: int) -> int:
    """Most tokens of a pack of held-out examples, of which all runs' may be read together."""
    lengths = [
        len(s.ids) for task in tasks for row in task.heldout for s in task.feed.objective.heldout(row, 0)
    ]
    return min(sum(lengths), max(budget, max(lengths, default=0)))


def _windows(tasks: Sequence[Task], lanes: int) -> Iterator[list[list[list[Sample]]]]:
    """Lengths of the windows as the loop makes them: a run that ends gives its lane to the next of the queue."""
    queue = deque(tasks)
    standing: list[tuple[Task, int] | None] = [None] * lanes
    for _ in range(_MOST_WINDOWS):
        chunks = []
        for lane in range(lanes):
            if standing[lane] is None and queue:
                standing[lane] = (queue.popleft(), 0)
            if (one := standing[lane]) is not None:
                task, step = one
                chunks.append(_lengths(task, step, lane))
                standing[lane] = (task, step + 1) if step + 1 < task.total_steps else None
        if not chunks:
            return
        yield chunks


def _lengths(task: Task, step: int, lane: int) -> list[list[Sample]]:
    return [[task.feed.outline(i, lane) for i in batch] for batch in task.feed.batches(step)]
