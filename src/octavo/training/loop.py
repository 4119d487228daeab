"""The loop: runs are admitted to lanes, a window is a step of every lane, a run that ends gives its lane on."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from octavo.lanes.adapters import AdapterBank
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.pack import Sample
from octavo.lanes.peft_io import Matrices, nonfinite_count, unmoved_layers
from octavo.lanes.scoring import score_all
from octavo.lanes.trace import first_bad_tensor
from octavo.lanes.window import LaneEngine, WindowResult
from octavo.training.tasks import Task

# kind of the event of a window or a held-out pack that had to be repeated in smaller parts
OUT_OF_MEMORY = "out_of_memory"
# by this many steps every B must have left zero (the first step may have learning rate 0)
_MOVED_BY = 3


@dataclass
class LaneState:
    """Where the run of a lane is.

    Attributes:
        run: id of the run.
        step: optimizer steps of its plan that have passed; a quarantined run goes on counting them.
        quarantined: its values stopped being finite; it keeps its rows until its planned last step.
        tokens, label_tokens: read so far. seconds: wall time in the lane so far.
    """

    run: str
    step: int = 0
    quarantined: bool = False
    tokens: int = 0
    label_tokens: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, object]:
        """As a checkpoint holds it."""
        return asdict(self)


class Recorder(Protocol):
    """What is told of everything that happens; writes files, ledger and screen."""

    def admitted(self, task: Task, lane: int) -> None:
        """A run got a lane."""

    def step(self, task: Task, row: dict[str, object]) -> None:
        """A metrics line."""

    def event(self, task: Task, step: int, kind: str, evidence: str, action: str) -> None:
        """An event line."""

    def quarantined(self, task: Task, state: LaneState, evidence: str, snapshot: Matrices | None, /) -> None:
        """A run stopped being finite; `snapshot` holds its last good adapter, if that is finite."""

    def completed(self, task: Task, state: LaneState, matrices: Matrices, /) -> None:
        """A run ended with a finite adapter."""


class PackTrainer:
    """Trains the runs of one base.

    Arguments:
        base: the frozen model.
        tasks: all runs of the pack, in the order in which they are admitted.
        lanes: K; micro_step_tokens: from the plan.
        recorder: is told of all that happens.
        after_window: called with the trainer after every window's gradients and steps (tests and vitals).

    Attributes:
        states: the run in each lane, None where it is empty.
        window_number: windows of the pack so far; totals: what they came to, {tokens, label_tokens, seconds}, held-out
            evaluation aside.
        finished: {run id: "completed" or "quarantined"}.
        micro_step_tokens, scoring_tokens: budgets in force, smaller than the plan's once memory has run out.
        halvings: {window, from, to} of each time that it has.
    """

    def __init__(
        self,
        base: BaseModel,
        tasks: Sequence[Task],
        lanes: int,
        micro_step_tokens: int,
        recorder: Recorder,
        after_window: Callable[[PackTrainer], None] | None = None,
    ) -> None:
        self.base, self.recorder, self.after_window = base, recorder, after_window
        self.tasks = {task.run.id: task for task in tasks}
        self.micro_step_tokens = micro_step_tokens
        self.bank = self.make_bank(lanes)
        self.optimizer = self.make_optimizer()
        self.engine = LaneEngine(base, self.bank, self.optimizer)
        self.states: list[LaneState | None] = [None] * lanes
        # every lane as its last finite window left it
        self.good_KP = self.bank.flat_KP.clone()
        self.queue = deque(self.tasks)
        self.finished: dict[str, str] = {}
        self.window_number = 0
        self.totals = {"tokens": 0.0, "label_tokens": 0.0, "seconds": 0.0}
        self.cut: Sequence[Sequence[Sample]] = []
        self.scoring_tokens = micro_step_tokens
        self.halvings: list[dict[str, int]] = []

    def make_bank(self, lanes: int) -> AdapterBank:
        """What holds the numbers that are trained."""
        return AdapterBank(self.base.model, [task.adapter for task in self.tasks.values()], lanes)

    def make_optimizer(self) -> LaneOptimizer:
        """What steps them."""
        return LaneOptimizer(self.bank)

    def first_bad(self, lane: int, samples: Sequence[Sample]) -> str:
        """Name the first tensor of a lane's window that is not finite."""
        return first_bad_tensor(self.engine, lane, samples)

    def use_budget(self, tokens: int) -> None:
        """Take another number of tokens of a micro-step, for training and for held-out scoring."""
        self.micro_step_tokens = self.scoring_tokens = tokens

    @property
    def busy(self) -> bool:
        """Is there a run in a lane or in the queue?"""
        return bool(self.queue) or any(self.states)

    def close(self) -> None:
        """Take the adapters off the model."""
        self.bank.remove()

    def admit(self) -> None:
        """Give every empty lane to the next run of the queue."""
        for lane, state in enumerate(self.states):
            if state is None and self.queue:
                task = self.tasks[self.queue.popleft()]
                self.occupy(lane, task, LaneState(task.run.id))
                self.bank.initialise(lane, task.run.seed)
                self.good_KP[lane].copy_(self.bank.flat_KP[lane])
                self.recorder.admitted(task, lane)

    def occupy(self, lane: int, task: Task, state: LaneState) -> None:
        """Put a run into a lane, its adapter still zero and its optimizer state empty."""
        self.states[lane] = state
        self.bank.occupy(lane, task.adapter)
        self.optimizer.occupy(lane, task.optimizer)

    def step(self) -> None:
        """One window: every run in a lane takes one optimizer step."""
        self.admit()
        began = time.perf_counter()
        rates = [0.0] * self.bank.lanes
        chunks: list[list[list[Sample]]] = []
        for lane, state in self._occupied():
            task = self.tasks[state.run]
            rates[lane] = task.learning_rate(state.step)
            chunks.append(task.feed.window(state.step, lane))
        may_step = [s is not None and not s.quarantined for s in self.states]
        result = self.engine.run_within(chunks, self.micro_step_tokens, rates, may_step)
        self.cut = result.cut
        self.window_number += 1
        if result.token_budget < self.micro_step_tokens:
            self._take_halved(result.token_budget)
        if self.after_window is not None:
            self.after_window(self)
        seconds = time.perf_counter() - began
        self.totals["seconds"] += seconds
        for _, state in self._occupied():
            self._count(state, seconds)
        self._guard(result)
        began = time.perf_counter()
        heldout = self._heldout_losses()
        # a run stands in its lane meanwhile, whoever is evaluated
        seconds = time.perf_counter() - began if heldout else 0.0
        for lane, state in self._occupied():
            state.seconds += seconds
            if not state.quarantined:
                self._record(lane, state, rates[lane], result, heldout.get(lane))
        self._release()

    def _take_halved(self, budget: int) -> None:
        """Memory ran out in the window that has just been made: what follows is cut as finely."""
        self.halvings.append({"window": self.window_number, "from": self.micro_step_tokens, "to": budget})
        evidence = (
            f"memory ran out with micro-steps of up to {self.micro_step_tokens:,} tokens in window "
            f"{self.window_number}"
        )
        for _, state in self._occupied():
            action = f"window repeated with {budget:,} tokens a micro-step, kept from here on"
            self.recorder.event(self.tasks[state.run], state.step + 1, OUT_OF_MEMORY, evidence, action)
        self.micro_step_tokens = budget
        self.scoring_tokens = min(self.scoring_tokens, budget)

    def _take_halved_scoring(self, budget: int) -> None:
        evidence = f"memory ran out in held-out scoring of {self.scoring_tokens:,} tokens at once"
        for _, state in self._occupied():
            self.recorder.event(
                self.tasks[state.run], state.step, OUT_OF_MEMORY, evidence, f"repeated with {budget:,}"
            )
        self.scoring_tokens = budget

    def _occupied(self) -> list[tuple[int, LaneState]]:
        return [(lane, state) for lane, state in enumerate(self.states) if state is not None]

    def _count(self, state: LaneState, seconds: float) -> None:
        tokens, targets = self.tasks[state.run].feed.tokens_of(state.step)
        state.step += 1
        state.tokens += tokens
        state.label_tokens += targets
        state.seconds += seconds
        self.totals["tokens"] += tokens
        self.totals["label_tokens"] += targets

    def _record(
        self, lane: int, state: LaneState, rate: float, result: WindowResult, heldout: float | None
    ) -> None:
        row: dict[str, object] = {
            "step": state.step,
            "tokens": state.tokens,
            "label_tokens": state.label_tokens,
            "loss": result.losses[lane],
            "lr": rate,
            "grad_norm": result.grad_norms[lane],
            "seconds": round(state.seconds, 3),
            "heldout_loss": heldout,
            "vitals": None,
        }
        self.recorder.step(self.tasks[state.run], row)

    def _guard(self, result: WindowResult) -> None:
        """Quarantine every lane whose window was not finite or whose step left something that is not."""
        sums = self.bank.flat_KP.sum(dim=1).tolist()
        for lane, state in self._occupied():
            if state.quarantined:
                continue
            task = self.tasks[state.run]
            finite = result.stepped[lane] and math.isfinite(sums[lane])
            if not finite:
                self._quarantine(lane, state, task, result)
            elif state.step == _MOVED_BY and (still := unmoved_layers(self.bank.read(lane))):
                evidence = (
                    f"after {state.step} steps B is still zero in {len(still)} layers, first {still[0]}"
                )
                self.recorder.event(task, state.step, "unmoved", evidence, "none")
        self.keep_good()

    def keep_good(self) -> None:
        """Note the numbers of every lane that is well as those to fall back to."""
        for lane, state in self._occupied():
            if not state.quarantined:
                self.good_KP[lane].copy_(self.bank.flat_KP[lane])

    def _quarantine(self, lane: int, state: LaneState, task: Task, result: WindowResult) -> None:
        state.quarantined = True
        samples = [s for samples in self.cut for s in samples if s.lane == lane]
        bad = self.first_bad(lane, samples)
        ids = [task.feed.rows[i].id for batch in task.feed.batches(state.step - 1) for i in batch]
        evidence = (
            f"step {state.step}: loss {result.losses[lane]:g}, gradient norm {result.grad_norms[lane]:g}; first "
            f"non-finite tensor: {bad}; examples of the batch: {', '.join(ids)}"
        )
        self._record(lane, state, task.learning_rate(state.step - 1), result, None)
        action = "quarantined, step undone" if result.stepped[lane] else "quarantined, no step taken"
        self.recorder.event(task, state.step, "nonfinite", evidence, action)
        # a fault after the step is in the parameters themselves: the last good ones are those before it
        self.bank.flat_KP[lane].copy_(self.good_KP[lane])
        self.bank.refresh()
        matrices = self.bank.read(lane)
        self.recorder.quarantined(task, state, evidence, None if nonfinite_count(matrices) else matrices)

    def _heldout_losses(self) -> dict[int, float]:
        """Mean loss a target on their own held-out set of all lanes that are due, in one pass."""
        samples: list[Sample] = []
        for lane, state in self._occupied():
            task = self.tasks[state.run]
            due = state.step % task.run.train.eval_every == 0 or state.step == task.total_steps
            if due and not state.quarantined:
                samples += [Sample(lane, row.ids, row.labels) for row in task.heldout]
        losses, counts = score_all(self.base, samples, self.scoring_tokens, halved=self._take_halved_scoring)
        found: dict[int, float] = {}
        for lane in {s.lane for s in samples}:
            picked = [i for i, s in enumerate(samples) if s.lane == lane]
            found[lane] = sum(losses[i] for i in picked) / sum(counts[i] for i in picked)
        return found

    def _release(self) -> None:
        """Runs that are at their planned last step leave their lanes."""
        for lane, state in self._occupied():
            task = self.tasks[state.run]
            if state.step < task.total_steps:
                continue
            self.finished[state.run] = "quarantined" if state.quarantined else "completed"
            if not state.quarantined:
                self.recorder.completed(task, state, self.bank.read(lane))
            self.states[lane] = None
            self.bank.vacate(lane)
