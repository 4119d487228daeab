"""The vitals of all lanes while they train: readings, the verdict on each run, and a good snapshot to go back to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from octavo.artifacts import json_safe
from octavo.lanes.adapters import AdapterBank
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.shortage import give_back, is_out_of_memory
from octavo.objectives.causal import CAUSAL
from octavo.objectives.objective import Objective
from octavo.vitals.signal import Cadence, History, LaneMoment, Signal, Watched, read_signals
from octavo.vitals.signals import make_signals
from octavo.vitals.thresholds import Thresholds, number
from octavo.vitals.verdict import HEALTHY, WATCHED, Verdict, judge

# of a run's history and lines, what the signals and the verdict can still ask for: windows of at most 51 norms, the
# first ten losses, and the latest reading of what is read every few steps
_FIRST, _LAST = 10, 60
_CONTENTS = 20  # steps, as many as `octavo.vitals.signals.repeats` looks back
# signals that speak of adapters; a model that trains whole has none
_OF_ADAPTERS = ("relative update", "precision")
# a snapshot is good where the relative update is below this part of its threshold: one that is about to trip would
# trip again at once
_WELL_BELOW = 0.5


@dataclass(frozen=True)
class WatchPlan:
    """What is watched in the runs of a base, and what follows.

    Attributes:
        prompts: token ids of the probe.
        cadence: how often. thresholds: in force.
        on_trip: "stop", "rescue" or "continue".
        base: the base model's own readings; null until they are made, then handed to `keep`.
    """

    prompts: Sequence[Sequence[int]]
    cadence: Cadence = field(default_factory=Cadence)
    thresholds: Thresholds = field(default_factory=Thresholds)
    on_trip: str = "stop"
    base: Mapping[str, Any] | None = None
    keep: Callable[[Mapping[str, Any]], None] | None = None


@dataclass
class Trace:
    """What a lane's run has been read to, as far back as signals and verdicts look.

    Attributes:
        history: losses and gradient norms. rows: lines with the readings that verdicts are drawn from.
        health: the last verdict's.
    """

    history: History = field(default_factory=History)
    rows: list[dict[str, Any]] = field(default_factory=list)
    health: str = HEALTHY

    def add(self, loss: float, grad_norm: float, contents: Sequence[int]) -> None:
        """Note a step; `contents` are numbers that equal examples share."""
        history = self.history
        history.add(loss, grad_norm, list(contents))
        history.contents = history.contents[-_CONTENTS:]
        if len(history.losses) > _FIRST + _LAST:
            history.losses = history.losses[:_FIRST] + history.losses[-_LAST:]
            history.grad_norms = history.grad_norms[-_LAST:]

    def note(self, row: Mapping[str, Any], keep: int, high: float) -> None:
        """Keep a line's readings: the last `keep` of them, and the first whose relative update is above `high`."""
        vitals = {key: value for key, value in row["vitals"].items() if key in WATCHED}
        self.rows.append({key: row[key] for key in ("step", "loss", "grad_norm")} | {"vitals": vitals})
        old = [one for one in self.rows[:-keep] if _above(one, high)]
        self.rows = old[:1] + self.rows[-keep:]

    def to_json(self) -> dict[str, Any]:
        """As a checkpoint holds it."""
        return json_safe(
            {
                "losses": self.history.losses,
                "grad_norms": self.history.grad_norms,
                "contents": self.history.contents,
                "rows": self.rows,
                "health": self.health,
            }
        )

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Trace:
        """What `to_json` gave."""
        history = History(
            [float(v) for v in found["losses"]],
            [float(v) for v in found["grad_norms"]],
            [list(keys) for keys in found["contents"]],
        )
        return Trace(history, list(found["rows"]), found["health"])


def _above(row: Mapping[str, Any], high: float) -> bool:
    rho = number(row["vitals"].get("rho"))
    return rho is not None and not rho <= high


@dataclass
class Snapshot:
    """A lane as it was when all was well with it.

    Attributes:
        step: passed steps. clock: of the optimizer. trace: as `Trace.to_json`.
        tensors: the lane's numbers, and the optimizer's moments where the run may go back to it.
    """

    step: int
    clock: int
    trace: Mapping[str, Any]
    tensors: dict[str, Tensor]


class Watch:
    """Reads the lanes of a trainer.

    Arguments:
        plan: what and how often.
        base, bank, optimizer: of the trainer, its lanes still empty: what is read then is the base model.
        whole: all weights train: what speaks of adapters is left out, and no snapshot is kept, since it would be a
            copy of the model.
        objective: of the runs.

    Attributes:
        traces, verdicts, snapshots: by lane.
    """

    def __init__(
        self,
        plan: WatchPlan,
        base: BaseModel,
        bank: AdapterBank,
        optimizer: LaneOptimizer,
        whole: bool = False,
        objective: Objective = CAUSAL,
    ) -> None:
        self.plan, self.base, self.bank, self.optimizer, self.whole = plan, base, bank, optimizer, whole
        self.objective = objective
        self.traces = [Trace() for _ in range(bank.lanes)]
        self.verdicts: list[Verdict | None] = [None] * bank.lanes
        self.snapshots: list[Snapshot | None] = [None] * bank.lanes
        self.signals: list[Signal] = []
        self.use(plan.cadence)
        if plan.base is None:
            readings = read_signals(self.signals, [LaneMoment(0, 0, History())]).get(0, {})
            self.plan = replace(plan, base=json_safe(readings))
            if plan.keep is not None:
                plan.keep(readings)

    def use(self, cadence: Cadence) -> None:
        """Read as often as this from now on."""
        self.cadence = cadence
        made = make_signals(Watched(self.base, self.bank, self.plan.prompts, cadence, self.objective))
        self.signals = [one for one in made if not (self.whole and one.name in _OF_ADAPTERS)]

    def begin(self, lane: int) -> None:
        """A run begins in a lane: its first adapter is its first good snapshot."""
        self.traces[lane], self.verdicts[lane] = Trace(), None
        self.snapshots[lane] = None
        self.keep(lane, 0)

    def keep(self, lane: int, step: int) -> None:
        """Take a snapshot of a lane in the place of the one before."""
        if self.whole:
            return
        rows = {"value": self.bank.flat_KP}
        if self.plan.on_trip == "rescue":
            rows |= {"mean": self.optimizer.mean_KP, "square": self.optimizer.square_KP}
        old = self.snapshots[lane]
        tensors = (
            {name: rows_KP[lane].clone() for name, rows_KP in rows.items()} if old is None else old.tensors
        )
        if old is not None:
            for name, rows_KP in rows.items():
                tensors[name].copy_(rows_KP[lane])
        trace = self.traces[lane].to_json()
        self.snapshots[lane] = Snapshot(step, self.optimizer.clock[lane], trace, tensors)

    def read(
        self,
        steps: Mapping[int, int],
        losses: Sequence[float],
        grad_norms: Sequence[float],
        contents: Mapping[int, Sequence[int]],
    ) -> dict[int, dict[str, Any]]:
        """Readings of all lanes that hold a run, well or not: {lane: readings}; each gets its verdict.

        Every lane is read whatever became of it, so that the others are read in the same products as ever.

        Arguments:
            steps: {lane: passed steps}. losses, grad_norms: of the window, by lane.
            contents: {lane: a number for each example of the step, the same for equal ones}.
        """
        for lane in steps:
            self.traces[lane].add(losses[lane], grad_norms[lane], contents[lane])
        found = self._readings(
            [LaneMoment(lane, step, self.traces[lane].history) for lane, step in steps.items()]
        )
        keep = max(self.cadence.every, self.cadence.probe_every, self.cadence.early) + _FIRST
        for lane, step in steps.items():
            row = {"step": step, "loss": losses[lane], "grad_norm": grad_norms[lane], "vitals": found[lane]}
            self.traces[lane].note(row, keep, self.plan.thresholds.rho)
            self.verdicts[lane] = judge([self.base_row, *self.traces[lane].rows], self.plan.thresholds)
        return found

    @property
    def base_row(self) -> dict[str, Any]:
        """The base model's readings as the line of step 0."""
        return {"step": 0, "loss": None, "vitals": self.plan.base}

    def _readings(self, moments: Sequence[LaneMoment]) -> dict[int, dict[str, Any]]:
        """All that is due; nothing where memory runs out: what was not read is null, and training goes on."""
        try:
            found = read_signals(self.signals, moments)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            found = {}
        if not found:
            give_back(self.base.device)
        return {one.lane: found.get(one.lane, {}) for one in moments}

    def settle(self, lane: int, step: int) -> None:
        """After a step with no trip: keep the lane where its probe has just been read and all is well."""
        verdict, row = self.verdicts[lane], self.traces[lane].rows[-1]["vitals"]
        rho = number(row.get("rho"))
        low = rho is None or rho <= _WELL_BELOW * self.plan.thresholds.rho
        if verdict is not None and verdict.health == HEALTHY and "probe_nll" in row and low:
            self.keep(lane, step)

    def go_back(self, lane: int) -> int:
        """Set a lane and its optimizer to the last good snapshot; returns that one's step."""
        found = self.snapshots[lane]
        assert found is not None
        self.bank.flat_KP[lane].copy_(found.tensors["value"])
        self.optimizer.mean_KP[lane].copy_(found.tensors["mean"])
        self.optimizer.square_KP[lane].copy_(found.tensors["square"])
        self.optimizer.clock[lane] = found.clock
        self.traces[lane] = Trace.from_json(found.trace)
        self.bank.refresh()
        return found.step
