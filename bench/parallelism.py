"""How many runs at once: a model for each run (`replicas`) against lanes of one model (`fused`), 1 to 8 runs.

The same LoRA runs of the embedded model, every configuration in a process of its own, orders interleaved. Seconds are
those of the whole training stage, loading included; bytes are the process's peak over what it held before; failures
are runs that did not complete. Medians over the repeats. Last line: one JSON object.
    python bench/parallelism.py [--quick] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

COUNTS = (1, 2, 3, 4, 8)
EXECUTORS = ("replicas", "fused")


def settings(executor: str, count: int, steps: int) -> list[str]:
    """`count` seeds of the control; short texts, no evaluation on the way."""
    return [
        f"seeds={count}",
        f"lanes.executor={executor}",
        f"lanes.max_parallel={count}",
        "lanes.stagger_seconds=0",
        f"train.steps={steps}",
        "train.batch_size=2",
        "train.accumulation=1",
        "train.max_length=128",
        "train.eval_every=1000",
        "train.save_every=1000",
        "corpus.examples=32",
        "corpus.heldout=4",
    ]


def child(executor: str, count: int, steps: int) -> dict[str, Any]:
    """One configuration, in this process."""
    import torch

    from octavo import pipeline
    from octavo.artifacts import Folder
    from octavo.lanes.shortage import give_back
    from octavo.ledger import Ledger
    from octavo.progress import Silent
    from octavo.study import Study
    from octavo.training.memory import PeakMeter

    class Notes(Silent):
        def message(self, text: str) -> None:
            said.append(text)

    said: list[str] = []
    study = Study.load("parallelism", settings(executor, count, steps))
    with tempfile.TemporaryDirectory() as warm:
        # libraries are imported and kernels compiled, once a process, before the clock starts
        one = Study.load("parallelism", settings(executor, 1, 1))
        pipeline.stage_data(one, warm)
        pipeline.stage_train(one, warm)
    with tempfile.TemporaryDirectory() as place:
        pipeline.stage_data(study, place)
        give_back(torch.device("cpu"))
        meter = PeakMeter(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        began = time.perf_counter()
        pipeline.stage_train(study, place, Notes())
        seconds = time.perf_counter() - began
        rows = Ledger(Folder(place).ledger).rows()
    for row in rows:
        if row["state"] != "completed":
            print(f"{row['run']} is {row['state']}: {row['message']}", file=sys.stderr)
    return {
        "executor": executor,
        "runs": count,
        "seconds": round(seconds, 2),
        "peak_bytes": meter.peak(),
        "failures": sum(row["state"] != "completed" for row in rows),
        "waited_for_memory": any("waits for" in text for text in said),
    }


def measure(executor: str, count: int, steps: int) -> dict[str, Any]:
    """One configuration in a process of its own; a process that dies has failed with all its runs."""
    words = [sys.executable, __file__, "--child", executor, str(count), str(steps)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    print(done.stderr[-2000:], end="", file=sys.stderr)
    if done.returncode:
        found = {"executor": executor, "runs": count, "seconds": None, "peak_bytes": None}
        return found | {"failures": count, "waited_for_memory": False}
    return json.loads(done.stdout.splitlines()[-1])


def median(rows: list[dict[str, Any]], executor: str, count: int, key: str) -> float | None:
    """Median of what was measured; None where nothing was."""
    values = [r[key] for r in rows if r["executor"] == executor and r["runs"] == count and r[key] is not None]
    return statistics.median(values) if values else None


def table(figures: dict[str, Any]) -> str:
    """The figures for people, a line a number of runs."""
    lines = ["runs   replicas              fused                 ratio of seconds"]
    for count in map(str, figures["runs"]):
        cells = []
        for executor in EXECUTORS:
            seconds, peak = figures[f"{executor}_seconds"][count], figures[f"{executor}_peak_bytes"][count]
            failed = figures["failures"][executor][count]
            text = "-" if seconds is None else f"{seconds:7.1f} s {(peak or 0) / 2**30:6.2f} GiB"
            cells.append(f"{text}{f' {failed} failed' if failed else '':4}")
        both = [figures[f"{executor}_seconds"][count] for executor in EXECUTORS]
        ratio = f"{both[0] / both[1]:.2f}" if all(both) else "-"
        lines.append(f"{count:>4}   {'  '.join(cells)}  {ratio}")
    return "\n".join(lines)


def main() -> int:
    """Measure all configurations and print the table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="6 steps and one repeat instead of 16 and 5")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--child", nargs=3, metavar=("EXECUTOR", "RUNS", "STEPS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        executor, count, steps = arguments.child
        print(json.dumps(child(executor, int(count), int(steps))))
        return 0
    steps = 6 if arguments.quick else 16
    repeats = arguments.repeats or (1 if arguments.quick else 5)
    rows = []
    for repeat in range(repeats):
        plan = [(executor, count) for count in COUNTS for executor in EXECUTORS]
        # every other time the other way round, so that neither is always the one on the warmer machine
        for executor, count in plan if repeat % 2 == 0 else reversed(plan):
            rows.append(measure(executor, count, steps))
            print(json.dumps(rows[-1]), flush=True)
    figures: dict[str, Any] = {"runs": list(COUNTS), "steps": steps, "repeats": repeats}
    for key in ("seconds", "peak_bytes"):
        for executor in EXECUTORS:
            figures[f"{executor}_{key}"] = {str(n): median(rows, executor, n, key) for n in COUNTS}
    figures["failures"] = {
        executor: {
            str(n): sum(r["failures"] for r in rows if (r["executor"], r["runs"]) == (executor, n))
            for n in COUNTS
        }
        for executor in EXECUTORS
    }
    figures["waited_for_memory"] = sorted({r["runs"] for r in rows if r["waited_for_memory"]})
    print(table(figures))
    print(json.dumps(figures))
    return 0 if not any(sum(part.values()) for part in figures["failures"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
