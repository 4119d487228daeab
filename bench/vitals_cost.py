"""What the vitals cost: their share of the training time of the ready study of eight variants.

One optimizer step of all eight runs and one reading of every signal take turns on the same lanes; a signal's share is
its time over the step's, by how often it is due in the study's steps. What judges the readings is counted too.
Last line: one JSON object.
    python bench/vitals_cost.py [--quick] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

LIMIT = 0.03  # of the training time
JUDGE = "verdict"


@dataclass(frozen=True)
class Turn:
    """Seconds of one optimizer step of all runs, and of one reading of each signal."""

    step: float
    signals: Mapping[str, float]


def timed(action: Callable[[], object]) -> float:
    """Seconds that an action takes; it ends with values on the host, so nothing is left under way."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def shares(turns: Sequence[Turn], due: Mapping[str, int], steps: int) -> dict[str, float]:
    """Each signal's share of the training time: the median over turns of (its time x times due) / (step x steps)."""
    return {
        name: median(turn.signals[name] / turn.step for turn in turns) * count / steps
        for name, count in due.items()
    }


class Lanes:
    """The study's eight runs in lanes, with the signals over them."""

    def __init__(self, folder: Path) -> None:
        from speed.workload import Workload, load, prepare

        from octavo.lanes.adapters import AdapterBank
        from octavo.lanes.base import BaseModel
        from octavo.lanes.optimizer import LaneOptimizer
        from octavo.lanes.window import LaneEngine
        from octavo.study import Study
        from octavo.training.device import pick_device, pick_dtype
        from octavo.vitals.prompts import prompt_ids
        from octavo.vitals.signal import Watched
        from octavo.vitals.signals import make_signals

        train = Study.load("eight-variants").train
        settings = (f"train.lora.dropout={train.lora.dropout}",)
        work = Workload("builtin", str(train.lora.targets), 8, train.accumulation, 8, settings)
        prepare(work, folder)
        device = pick_device()
        model, self.tasks, tokenizer = load(work, folder, pick_dtype("auto", device))
        self.base = BaseModel(model.to(device))
        self.bank = AdapterBank(self.base.model, [task.adapter for task in self.tasks], len(self.tasks))
        optimizer = LaneOptimizer(self.bank)
        self.engine = LaneEngine(self.base, self.bank, optimizer)
        for lane, task in enumerate(self.tasks):
            self.bank.occupy(lane, task.adapter)
            self.bank.initialise(lane, task.run.seed)
            optimizer.occupy(lane, task.optimizer)
        ids = prompt_ids(lambda text: tokenizer(text)["input_ids"])
        self.signals = make_signals(Watched(self.base, self.bank, ids))
        self.step_number = 0

    def step(self) -> None:
        """One optimizer step of every run."""
        from octavo.training.plan import most_tokens

        number, self.step_number = self.step_number, self.step_number + 1
        chunks = [task.feed.window(number, lane) for lane, task in enumerate(self.tasks)]
        runs = len(self.tasks)
        self.engine.run_within(chunks, most_tokens("cpu"), [1e-4] * runs, [True] * runs)

    def moments(self, step: int) -> list[Any]:
        """All lanes at a step at which everything is due."""
        from octavo.vitals.signal import History, LaneMoment

        history = History(
            [1.0 + 0.01 * (n % 7) for n in range(step)], [0.5 + 0.01 * (n % 5) for n in range(step)]
        )
        return [LaneMoment(lane, step, history) for lane in range(len(self.tasks))]

    def turn(self, rows: Sequence[Mapping[str, Any]]) -> Turn:
        """A step, then every signal."""
        from octavo.vitals.signal import read_signals
        from octavo.vitals.thresholds import Thresholds
        from octavo.vitals.verdict import judge

        limits = Thresholds()
        moments = self.moments(rows[-1]["step"])
        step = timed(self.step)
        found = {one.name: timed(partial(read_signals, [one], moments)) for one in self.signals}
        found[JUDGE] = timed(lambda: [judge(rows, limits) for _ in moments])
        return Turn(step, found)


def written_rows(steps: int) -> list[dict[str, Any]]:
    """Metrics lines of a healthy run of so many steps, as the verdict reads them."""
    rows: list[dict[str, Any]] = []
    for step in range(steps + 1):
        vitals: dict[str, Any] = {
            "finite": True,
            "grad_z": 0.5,
            "loss_mean": 1.5,
            "loss_start": 1.6,
            "loss_of_ln_v": 0.15,
        }
        if step % 5 == 0 or step <= 20:
            vitals |= {"rho": 0.001, "rho_module": "x"}
        if step % 10 == 0:
            vitals |= {"probe_nll": 2.5, "probe_share": 0.3}
        rows.append({"step": step, "loss": 1.5, "grad_norm": 1.0, "vitals": vitals})
    return rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="3 turns")
    parser.add_argument("--repeats", type=int, help="turns (7; quick: 3)")
    options = parser.parse_args()
    repeats = options.repeats or (3 if options.quick else 7)
    from octavo.study import Study

    train = Study.load("eight-variants").train
    steps = 1000 * int(train.epochs or 1) // (train.batch_size * train.accumulation)
    rows = written_rows(steps - steps % 50)
    with tempfile.TemporaryDirectory() as place:
        lanes = Lanes(Path(place))
        lanes.turn(rows)  # compiles, and makes what is made once: norms of the frozen weights
        turns = []
        for _ in range(repeats):
            turns.append(lanes.turn(rows))
            print(
                f"  step {turns[-1].step:.2f} s, all signals {sum(turns[-1].signals.values()):.3f} s",
                flush=True,
            )
    due = {one.name: sum(one.due(step) for step in range(steps + 1)) for one in lanes.signals} | {
        JUDGE: steps
    }
    found = shares(turns, due, steps)
    for name, share in found.items():
        seconds = median(turn.signals[name] for turn in turns)
        print(f"{name:<16} {seconds:8.4f} s a reading, {due[name]:>4} of {steps} steps: {share:8.4%}")
    total = sum(found.values())
    figures = {
        "vitals_share": round(total, 5),
        "limit": LIMIT,
        "by_signal": {name: round(share, 6) for name, share in found.items()},
        "step_seconds": round(median(turn.step for turn in turns), 3),
        "turns": repeats,
        "steps": steps,
    }
    print(json.dumps(figures), flush=True)
    return 0 if total <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
