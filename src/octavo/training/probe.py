"""Two steps before training, smaller than those that are planned: the line through their peaks corrects the plan.

Their gradients are thrown away and nothing steps. Labelled rows are counted apart: the logits of a chunk do not grow
beyond its size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.lanes.pack import Sample
from octavo.lanes.shortage import SampleTooLarge, give_back, held, is_out_of_memory
from octavo.lanes.window import LaneEngine
from octavo.training.memory import PeakMeter

if TYPE_CHECKING:
    from octavo.training.loop import PackTrainer
    from octavo.training.tasks import Task

# shares of the planned micro-step
_SHARES = (0.4, 0.8)
# windows whose examples a probe step may be filled from
_WINDOWS = 8


@dataclass(frozen=True)
class Step:
    """One probe step.

    Attributes:
        tokens, labels: its size, and how many of these are labelled.
        before_bytes, peak_bytes: held when it began, and its peak; both over the meter's start.
        seconds: its duration.
    """

    tokens: int
    labels: int
    before_bytes: int
    peak_bytes: int
    seconds: float


@dataclass(frozen=True)
class Line:
    """Bytes of a micro-step as a line: `fixed + per_token * tokens`, the chunk of logits aside."""

    fixed: float
    per_token: float


def probe(
    engine: LaneEngine,
    meter: PeakMeter,
    samples: Sequence[Sample],
    planned_tokens: int,
    told: Callable[[str], None] = lambda _: None,
) -> list[Step]:
    """Measure two fifths and four fifths of the planned micro-step; out of memory, half of that.

    Arguments:
        engine: its lanes occupied.
        meter: made before the base was loaded; it is restarted for each step.
        samples: to fill the steps from, in order; the longest of them is in every step that holds it.

    Returns:
        one or two steps, by size; none where the system tells no peak.

    Raises:
        SampleTooLarge: one example alone does not fit.
    """
    # what is made at the first use (kernels, threads) is there before anything is measured
    if _measured(engine, meter, [min(samples, key=lambda s: len(s.ids))]) is None:
        raise _nothing_fits(samples)
    size = planned_tokens
    while True:
        picked = steps_of(samples, [round(share * size) for share in _SHARES])
        found = [_measured(engine, meter, step) for step in picked]
        if None not in found:
            return [step for step in found if step is not None]
        if all(len(step) == 1 for step in picked):
            raise _nothing_fits(picked[-1])
        size //= 2
        told(f"probe: out of memory; going on with a step of {size // 2:,} tokens")


def steps_of(samples: Sequence[Sample], sizes: Sequence[int]) -> list[list[Sample]]:
    """Probe steps of at most these tokens, but at least one sample each; two that are the same are one.

    The longest sample comes first wherever it leaves room, then the others in their order.
    """
    found: list[list[Sample]] = []
    order = sorted(range(len(samples)), key=lambda i: (-len(samples[i].ids), i))
    for size in sizes:
        fitting = [i for i in order if len(samples[i].ids) <= size] or [order[-1]]
        chosen, used = [fitting[0]], len(samples[fitting[0]].ids)
        for i in range(len(samples)):
            if i != fitting[0] and used + len(samples[i].ids) <= size:
                chosen.append(i)
                used += len(samples[i].ids)
        step = [samples[i] for i in sorted(chosen)]
        if step not in found:
            found.append(step)
    return found


def _measured(engine: LaneEngine, meter: PeakMeter, step: Sequence[Sample]) -> Step | None:
    """A step's figures, None where memory ran out."""
    give_back(meter.device)
    meter.restart()
    before = held(meter.device) - meter.start
    began = time.perf_counter()
    try:
        engine.accumulate(step).tolist()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return None
    finally:
        engine.optimizer.zero_grad()
    seconds = time.perf_counter() - began
    tokens, labels = sum(len(s.ids) for s in step), sum(len(s.targets) for s in step)
    return Step(tokens, labels, before, meter.peak() or 0, seconds)


def line_through(steps: Sequence[Step], head: Callable[[int], int], per_token: float) -> Line:
    """The line through what the steps took on top of what was held, from which the chunk of logits is taken.

    What a process holds for good grows with its first steps (buffers of libraries and threads, code that is compiled
    for a new size), so that a line through the peaks themselves would be too steep; the last step's start has all of
    it.

    Arguments:
        head: bytes of the logits of so many labelled rows.
        per_token: the slope where there is one step only, or two that do not grow.
    """
    points = [(step.tokens, step.peak_bytes - step.before_bytes - head(step.labels)) for step in steps]
    (x0, y0), (x1, y1) = points[0], points[-1]
    if x1 > x0 and y1 > y0:
        per_token = (y1 - y0) / (x1 - x0)
    return Line(max(0.0, steps[-1].before_bytes + y1 - per_token * x1), per_token)


def _nothing_fits(step: Sequence[Sample]) -> SampleTooLarge:
    longest = max(len(s.ids) for s in step)
    return SampleTooLarge(
        f"out of memory: one example of {longest} tokens does not fit beside base and adapters; free memory (other "
        "programs), or lower train.max_length, train.lora.rank or lanes.strategy"
    )


def probe_trainer(
    trainer: PackTrainer,
    tasks: Sequence[Task],
    meter: PeakMeter,
    planned_tokens: int,
    told: Callable[[str], None],
) -> list[Step]:
    """`probe` on a trainer that has not begun: its lanes are occupied for as long as it takes."""
    first = list(tasks[: trainer.bank.lanes])
    for lane, task in enumerate(first):
        trainer.bank.occupy(lane, task.adapter)
    samples = list(_samples(first, planned_tokens))
    try:
        return probe(trainer.engine, meter, samples, planned_tokens, told)
    finally:
        trainer.optimizer.zero_grad()
        for lane in range(len(first)):
            trainer.bank.vacate(lane)


def _samples(tasks: Sequence[Task], tokens: int) -> Iterator[Sample]:
    """Each lane's longest example, then the examples of the first windows, lanes taking turns."""
    for lane, task in enumerate(tasks):
        rows = task.feed.rows
        longest = max(range(len(rows)), key=lambda i: len(rows[i].ids))
        yield task.feed.outline(longest, lane)
    used = 0
    for step in range(_WINDOWS):
        for lane, task in enumerate(tasks):
            if step >= task.total_steps:
                continue
            for sample in (s for batch in task.feed.window(step, lane) for s in batch):
                used += len(sample.ids)
                yield sample
        if used >= tokens:
            return


def seconds_of(steps: Sequence[Step], tasks: Sequence[Task]) -> float:
    """Predicted training seconds: tokens of all runs at the speed of the larger step."""
    speed = steps[-1].tokens / steps[-1].seconds
    return round(sum(task.feed.total_tokens()[0] for task in tasks) / speed, 1)


def to_json(steps: Sequence[Step], line: Line) -> dict[str, Any]:
    """As plan.json holds it."""
    return {
        "tokens": [step.tokens for step in steps],
        "before_bytes": [step.before_bytes for step in steps],
        "peak_bytes": [step.peak_bytes for step in steps],
        "seconds": [round(step.seconds, 3) for step in steps],
        "fixed_bytes": round(line.fixed),
        "bytes_per_token": round(line.per_token),
    }
