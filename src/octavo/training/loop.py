"""The loop: runs are admitted to lanes, a window is a step of every lane, a run that ends gives its lane on."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from octavo.lanes.adapters import AdapterBank
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.pack import Sample
from octavo.lanes.peft_io import Matrices, unmoved_layers
from octavo.lanes.trace import Fault, find_fault
from octavo.lanes.window import LaneEngine, WindowResult
from octavo.objectives.objective import Objective, Row, score_rows
from octavo.training.tasks import Task
from octavo.training.trips import answer, finite_trip, learning_rate, nonfinite_trip, optimizer_spec
from octavo.training.watch import Watch, WatchPlan
from octavo.vitals.verdict import ORDER, Verdict

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
        quarantined: its values stopped being finite, or its vitals tripped; it keeps its rows until its planned last
            step.
        tokens, label_tokens: read so far. seconds: wall time in the lane so far.
        verdict: of its vitals; null where nothing is watched and all is finite.
        rescued: whether its training was changed to save it. skips: windows passed over, the last at step `skipped`.
        retries: times it went back to a good snapshot, the last after step `went_back`.
    """

    run: str
    step: int = 0
    quarantined: bool = False
    tokens: int = 0
    label_tokens: int = 0
    seconds: float = 0.0
    verdict: str | None = None
    rescued: bool = False
    skips: int = 0
    skipped: int = 0
    retries: int = 0
    went_back: int = 0

    def to_json(self) -> dict[str, object]:
        """As a checkpoint holds it."""
        return asdict(self)


class Recorder(Protocol):
    """What is told of everything that happens; writes files, ledger and screen."""

    def admitted(self, task: Task, lane: int) -> None:
        """A run got a lane."""

    def step(self, task: Task, row: dict[str, object]) -> None:
        """A metrics line."""

    def event(
        self,
        task: Task,
        step: int,
        kind: str,
        evidence: str,
        action: str,
        found: Mapping[str, Any] | None = None,
        /,
    ) -> None:
        """An event line; `found` is what it holds beside its words."""

    def verdict(self, task: Task, health: str, /) -> None:
        """The verdict on a run is another one than before."""

    def rescued(self, task: Task, /) -> None:
        """A run's training was changed to save it."""

    def quarantined(self, task: Task, state: LaneState, evidence: str, snapshot: Matrices | None, /) -> None:
        """A run learns no more (`state.verdict`); `snapshot` holds its last good adapter, if that is finite."""

    def completed(self, task: Task, state: LaneState, matrices: Matrices, /) -> None:
        """A run ended with a finite adapter."""


class PackTrainer:
    """Trains the runs of one base.

    Arguments:
        base: the frozen model.
        tasks: all runs of the pack, in the order in which they are admitted.
        lanes: K; micro_step_tokens: from the plan.
        recorder: is told of all that happens.
        after_window: called with the trainer after every window's gradients and steps, before these are looked at.
        vitals: what is watched; None: only that all is finite.

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
        vitals: WatchPlan | None = None,
    ) -> None:
        self.base, self.recorder, self.after_window = base, recorder, after_window
        self.tasks = {task.run.id: task for task in tasks}
        self.micro_step_tokens = micro_step_tokens
        self.bank = self.make_bank(lanes)
        self.optimizer = self.make_optimizer()
        self.engine = LaneEngine(base, self.bank, self.optimizer)
        self.watch = None if vitals is None else self.make_watch(vitals)
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

    def make_watch(self, vitals: WatchPlan) -> Watch:
        """What reads their vitals."""
        return Watch(vitals, self.base, self.bank, self.optimizer, objective=self.objective)

    @property
    def objective(self) -> Objective:
        """Of the base, hence of all runs: one of them stands for what they share."""
        return next(iter(self.tasks.values())).feed.objective

    def find_fault(self, lane: int, samples: Sequence[Sample]) -> Fault:
        """Find the first tensor of a lane's window that is not finite."""
        return find_fault(self.engine, lane, samples)

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
                if self.watch is not None:
                    self.watch.begin(lane)
                self.recorder.admitted(task, lane)

    def occupy(self, lane: int, task: Task, state: LaneState) -> None:
        """Put a run into a lane, its adapter still zero and its optimizer state empty."""
        self.states[lane] = state
        self.bank.occupy(lane, task.adapter)
        self.optimizer.occupy(lane, optimizer_spec(task, state))

    def step(self) -> None:
        """One window: every run in a lane takes one optimizer step."""
        self.admit()
        began = time.perf_counter()
        rates = [0.0] * self.bank.lanes
        chunks: list[list[list[Sample]]] = []
        for lane, state in self._occupied():
            task = self.tasks[state.run]
            rates[lane] = learning_rate(task, state)
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
        well = [state for state in self.states if state is not None and not state.quarantined]
        began = time.perf_counter()
        readings = self._read_vitals(result)
        # vitals are part of training and of its speed
        reading = time.perf_counter() - began if readings else 0.0
        self.totals["seconds"] += reading
        self._guard(result)
        began = time.perf_counter()
        heldout = self._heldout_losses()
        # a run stands in its lane meanwhile, whoever is evaluated
        seconds = reading + (time.perf_counter() - began if heldout else 0.0)
        for lane, state in self._occupied():
            state.seconds += seconds
            if state in well:
                self._record(lane, state, rates[lane], result, heldout.get(lane), readings.get(lane))
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
        self,
        lane: int,
        state: LaneState,
        rate: float,
        result: WindowResult,
        heldout: float | None,
        vitals: dict[str, Any] | None,
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
            "vitals": vitals,
        }
        self.recorder.step(self.tasks[state.run], row)

    def _read_vitals(self, result: WindowResult) -> dict[int, dict[str, Any]]:
        if self.watch is None:
            return {}
        steps = {lane: state.step for lane, state in self._occupied()}
        contents = {lane: self._contents(state) for lane, state in self._occupied()}
        return self.watch.read(steps, result.losses, result.grad_norms, contents)

    def _contents(self, state: LaneState) -> list[int]:
        """What the step that has just passed read, a number an example."""
        feed = self.tasks[state.run].feed
        return [feed.rows[i].content for batch in feed.batches(state.step - 1) for i in batch]

    def _guard(self, result: WindowResult) -> None:
        """Answer for every lane whose window or step was not finite, or whose vitals trip."""
        # with vitals the parameters have been looked at
        sums = self.bank.flat_KP.sum(dim=1).tolist() if self.watch is None else None
        for lane, state in self._occupied():
            if state.quarantined:
                continue
            verdict = None if self.watch is None else self.watch.verdicts[lane]
            finite = math.isfinite(sums[lane]) if sums is not None else self._all_finite(lane)
            if not (finite and result.stepped[lane]):
                answer(self, lane, state, nonfinite_trip(self, lane, state, result))
            elif verdict is not None and verdict.trips:
                answer(self, lane, state, finite_trip(self, state, verdict))
            else:
                self._well(lane, state, verdict)
        self.keep_good()

    def _all_finite(self, lane: int) -> bool:
        """By the vitals; by the numbers themselves where these could not be read."""
        assert self.watch is not None
        read = self.watch.traces[lane].rows[-1]["vitals"].get("finite")
        return bool(self.bank.flat_KP[lane].isfinite().all()) if read is None else bool(read)

    def _well(self, lane: int, state: LaneState, verdict: Verdict | None) -> None:
        """A lane with no trip: say what has changed, and keep it as good where it is."""
        task = self.tasks[state.run]
        if state.step == _MOVED_BY and (still := unmoved_layers(self.bank.read(lane))):
            evidence = f"after {state.step} steps B is still zero in {len(still)} layers, first {still[0]}"
            self.recorder.event(task, state.step, "unmoved", evidence, "none")
        if verdict is None or self.watch is None:
            return
        if state.verdict is None or (verdict.health != state.verdict and not tripped(state.verdict)):
            if (state.verdict or ORDER[0]) != verdict.health:
                found = {
                    "verdict": verdict.health,
                    "signals": list(verdict.signals),
                    "module": verdict.module,
                }
                self.recorder.event(task, state.step, "verdict", verdict.evidence, "none", found)
            state.verdict = verdict.health
            self.recorder.verdict(task, verdict.health)
        self.watch.settle(lane, state.step)

    def keep_good(self) -> None:
        """Note the numbers of every lane that is well as those to fall back to."""
        for lane, state in self._occupied():
            if not state.quarantined:
                self.good_KP[lane].copy_(self.bank.flat_KP[lane])

    def _heldout_losses(self) -> dict[int, float]:
        """Mean loss a target on their own held-out set of all lanes that are due, in one pass."""
        pairs: list[tuple[Objective, int, Row]] = []
        for lane, state in self._occupied():
            task = self.tasks[state.run]
            due = state.step % task.run.train.eval_every == 0 or state.step == task.total_steps
            if due and not state.quarantined:
                pairs += [(task.feed.objective, lane, row) for row in task.heldout]
        losses = score_rows(self.base, pairs, self.scoring_tokens, halved=self._take_halved_scoring)
        found: dict[int, float] = {}
        for lane in {lane for _, lane, _ in pairs}:
            picked = [i for i, pair in enumerate(pairs) if pair[1] == lane]
            found[lane] = sum(losses[i] for i in picked) / sum(pairs[i][2].targets for i in picked)
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


def tripped(health: str) -> bool:
    """Is it a verdict that trips? A run that went on after one keeps it."""
    return Verdict(health, 0, "").trips
