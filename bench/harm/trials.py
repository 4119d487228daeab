"""Many runs at once on lanes, healthy and harmed; their readings are kept for every rule to be judged on them."""

from __future__ import annotations

import contextlib
import math
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harm.injections import Fault
from harm.record import Trace
from harm.texts import rows
from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import LaneOptimizer, OptimizerSpec
from octavo.lanes.trace import find_fault
from octavo.lanes.window import LaneEngine, split_micro_steps
from octavo.training.data import Feed
from octavo.vitals.cause import cause_of_nonfinite
from octavo.vitals.prompts import prompt_ids
from octavo.vitals.signal import Cadence, History, LaneMoment, Watched, read_signals
from octavo.vitals.signals import make_signals

BATCH = 2
RANK, ALPHA, DROPOUT = 8, 16.0, 0.1
FAULT_RATE = 1e-4  # of faults that are none of the rate
MICRO_STEP_TOKENS = 2048
# a fault of one step comes when a run has a history, and early enough to see what follows
EARLIEST, LATEST = 15, 35


@dataclass(frozen=True)
class Trial:
    """A run of the bench.

    Attributes:
        rate: constant, no warm-up. seed: of adapter, order, dropout and data.
        purpose: whose texts it reads.
        fault, step: what happens to it and in which step, from 1; None, 0 to a healthy one.
    """

    name: str
    rate: float
    seed: int
    purpose: str
    fault: Fault | None = None
    step: int = 0


def healthy(rates: Sequence[float], seeds: Sequence[int], purpose: str) -> list[Trial]:
    """Runs at every rate with every seed."""
    return [Trial(f"healthy-{rate:g}-s{seed}", rate, seed, purpose) for seed in seeds for rate in rates]


def harmed(faults: Sequence[Fault], seeds: Sequence[int], purpose: str) -> list[Trial]:
    """Every fault with every seed, its step drawn by the seed."""
    found = []
    for seed in seeds:
        for fault in faults:
            draw = random.Random(f"{fault.name} {seed}")
            step = draw.randint(EARLIEST, LATEST) if fault.at_step else 0
            rate = FAULT_RATE if fault.rate is None else fault.rate
            found.append(Trial(f"{fault.name}-s{seed}", rate, seed, purpose, fault, step))
    return found


def feed_of(trial: Trial, encoder: Any, steps: int) -> Feed:
    """The run's data, with its fault in them if it is one of the data."""
    data = rows(encoder, trial.purpose, trial.seed, BATCH * steps)
    feed = Feed(data, trial.seed, BATCH, 1, None, steps)
    if trial.fault is not None and trial.fault.data is not None:
        feed = trial.fault.data(feed, trial.step, random.Random(trial.name))
    return feed


class Bed:
    """Lanes in which trials run side by side.

    Arguments:
        targets: layers that are adapted. probe_every: steps between readings of the probe.
    """

    def __init__(
        self,
        base: BaseModel,
        encoder: Any,
        targets: Sequence[str],
        trials: Sequence[Trial],
        steps: int,
        probe_every: int,
    ) -> None:
        self.base, self.trials, self.steps = base, trials, steps
        spec = AdapterSpec(RANK, ALPHA, DROPOUT, tuple(targets))
        self.bank = AdapterBank(base.model, [spec], len(trials))
        self.optimizer = LaneOptimizer(self.bank)
        self.engine = LaneEngine(base, self.bank, self.optimizer)
        for lane, trial in enumerate(trials):
            self.bank.occupy(lane, spec)
            self.bank.initialise(lane, trial.seed)
            self.optimizer.occupy(lane, OptimizerSpec(weight_decay=0.01, max_grad_norm=1.0))
        ids = prompt_ids(lambda text: encoder.encode_text(text).ids)
        watched = Watched(base, self.bank, ids, Cadence(probe_every=probe_every))
        self.signals = [
            one for one in make_signals(watched) if one.name != "spectrum"
        ]  # described, never judged
        self.feeds = [feed_of(trial, encoder, steps) for trial in trials]
        self.histories = [History() for _ in trials]
        self.dead: set[int] = set()

    def run(self, told: Callable[[str], None] = print) -> list[Trace]:
        """Train to the end; lanes whose values stop being finite step no more. The lanes are closed afterwards."""
        traces = [
            Trace(one.name, one.rate, one.seed, one.fault.name if one.fault else None, one.step)
            for one in self.trials
        ]
        try:
            first = read_signals(self.signals, [LaneMoment(n, 0, h) for n, h in enumerate(self.histories)])
            for lane, trace in enumerate(traces):
                trace.rows.append({"step": 0, "loss": None, "grad_norm": None, "vitals": first.get(lane)})
            for step in range(1, self.steps + 1):
                self._step(step, traces)
                if step % 10 == 0:
                    told(f"  step {step}: {len(self.dead)} of {len(traces)} are not finite any more")
        finally:
            self.bank.remove()
        return traces

    def _step(self, step: int, traces: Sequence[Trace]) -> None:
        alive = [lane for lane in range(len(traces)) if lane not in self.dead]
        chunks = [self.feeds[lane].window(step - 1, lane) for lane in alive]
        before = list(self.optimizer.clock)
        with self._hooks(step, alive):
            result = self.engine.run(
                split_micro_steps(chunks, MICRO_STEP_TOKENS),
                [trial.rate for trial in self.trials],
                [lane in alive for lane in range(len(traces))],
            )
            for lane in alive:
                trace = traces[lane]
                row = {"step": step, "loss": result.losses[lane], "grad_norm": result.grad_norms[lane]}
                trace.rows.append({**row, "lr": trace.rate, "vitals": None})
                trace.contents.append(self._contents(lane, step))
                self.histories[lane].add(result.losses[lane], result.grad_norms[lane], trace.contents[-1])
                if not result.stepped[lane]:
                    self._ended(lane, step, trace)
                trace.corrupted += self._corrupted(lane, before[lane], trace)
        for lane in alive:
            self._change(step, lane)
        self._read(step, [lane for lane in alive if lane not in self.dead], traces)

    @contextlib.contextmanager
    def _hooks(self, step: int, alive: Sequence[int]) -> Iterator[None]:
        """The faults of the forward pass that happen in a step; they are there for its replay too."""
        with contextlib.ExitStack() as stack:
            for lane in alive:
                trial = self.trials[lane]
                if trial.fault is not None and trial.fault.hook is not None and trial.step == step:
                    stack.enter_context(trial.fault.hook(self.base, lane))
            yield

    def _change(self, step: int, lane: int) -> None:
        """The faults that are changes of numbers after a step."""
        trial = self.trials[lane]
        if trial.fault is not None and trial.fault.after is not None and trial.step in (0, step):
            trial.fault.after(self.bank, lane)

    def _corrupted(self, lane: int, clock: int, trace: Trace) -> int:
        """Whether the optimizer stepped on what was not finite, or made such numbers."""
        if self.optimizer.clock[lane] == clock:
            return 0
        part = self.bank.own_part(self.bank.flat_KP, lane)
        last = trace.rows[-1]
        good = (
            math.isfinite(last["loss"]) and math.isfinite(last["grad_norm"]) and bool(part.isfinite().all())
        )
        return int(not good)

    def _read(self, step: int, lanes: Sequence[int], traces: Sequence[Trace]) -> None:
        found = read_signals(self.signals, [LaneMoment(n, step, self.histories[n]) for n in lanes])
        for lane, vitals in found.items():
            traces[lane].rows[-1]["vitals"] = vitals
            if vitals.get("finite") is False:
                self._ended(lane, step, traces[lane])

    def _ended(self, lane: int, step: int, trace: Trace) -> None:
        """A lane is not finite: replay its window and name the cause."""
        self.dead.add(lane)
        feed = self.feeds[lane]
        numbers = self._numbers(lane, step)
        samples = [sample for batch in feed.window(step - 1, lane) for sample in batch]
        found = cause_of_nonfinite(
            trace.rows[-1]["loss"],
            trace.rows[-1]["grad_norm"],
            sum(feed.rows[i].targets for i in numbers),
            find_fault(self.engine, lane, samples),
            torch.float32,
            [feed.rows[i].id for i in numbers],
        )
        trace.cause, trace.evidence = found.kind, found.evidence

    def _numbers(self, lane: int, step: int) -> list[int]:
        return [i for batch in self.feeds[lane].batches(step - 1) for i in batch]

    def _contents(self, lane: int, step: int) -> list[int]:
        """A number for each text that a step read: equal texts have equal ones."""
        rows = self.feeds[lane].rows
        return [zlib.crc32(str(rows[i].ids).encode()) for i in self._numbers(lane, step)]
