"""A study killed five times, once while a checkpoint is being written, ends with the same adapters, bit for bit.

Eight variants on the embedded model in float32. Last line: one JSON object.
    python bench/kills.py [--quick] [--seed N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from octavo.artifacts import Folder, read_jsonl

SAVE_EVERY = 2
KILLS = 5


def command(out: Path, steps: int) -> list[str]:
    """The study: short texts, no evaluation in between, a checkpoint every other step."""
    settings = {
        "train.steps": steps,
        "train.batch_size": 1,
        "train.accumulation": 1,
        "train.save_every": SAVE_EVERY,
        "train.eval_every": 1000,
        "train.max_length": 128,
        "corpus.examples": 16,
        "corpus.heldout": 4,
        "bases.0.dtype": "float32",
    }
    changes = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return [sys.executable, "-m", "octavo", "train", "demo", "--out", str(out), *changes]


def prepare(out: Path, steps: int) -> None:
    """Make the data."""
    words = command(out, steps)
    words[words.index("train")] = "data"
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def adapters(out: Path) -> dict[str, str]:
    """SHA-256 of every exported adapter."""
    files = sorted((out / "runs").glob("*/adapter/adapter_model.safetensors"))
    return {f.parent.parent.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def last_step(out: Path) -> dict[str, int]:
    """The last step that each run's log shows."""
    found = {}
    for path in (out / "runs").glob("*/metrics.jsonl"):
        rows = read_jsonl(path)
        found[path.parent.name] = rows[-1]["step"] if rows else 0
    return found


def most_repeated(out: Path, logged: list[dict[str, int]]) -> int:
    """The most steps that were logged before a kill and done again after it, by the runs' own event lines.

    Arguments:
        logged: the last step of each run's log at each kill. A kill before the first checkpoint leaves no
            event: everything logged by then is done again.
    """
    most = 0
    for run in logged[-1]:
        resumed = [e["step"] for e in read_jsonl(Folder(out).events(run)) if e["kind"] == "resumed"]
        marks = [at.get(run, 0) for at in logged]
        begins = [0] * (len(marks) - len(resumed)) + resumed
        most = max(most, *(mark - begin for mark, begin in zip(marks, begins, strict=True)))
    return most


def writing(out: Path) -> bool:
    """Is a checkpoint being written at this moment?"""
    return any((out / "runs").glob("*/checkpoints/.*.tmp"))


def run_until(out: Path, steps: int, step: int, during_write: bool, draw: random.Random) -> bool:
    """Start the study and kill it once some run has logged `step`; False where it ended before that."""
    child = subprocess.Popen(command(out, steps), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while child.poll() is None:
        if max(last_step(out).values(), default=0) >= step and (not during_write or writing(out)):
            if not during_write:
                time.sleep(draw.random())
            child.send_signal(signal.SIGKILL)
            child.wait()
            return True
        time.sleep(0.001 if during_write else 0.05)
    return False


def main() -> int:
    """Run the comparison and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="8 steps instead of 16")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    steps = 8 if arguments.quick else 16
    draw = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        whole, killed = Path(place) / "whole", Path(place) / "killed"
        for out in (whole, killed):
            prepare(out, steps)
        subprocess.run(command(whole, steps), check=True, stderr=subprocess.DEVNULL)
        moments = sorted(draw.choices(range(1, steps - 1), k=KILLS))
        kills, torn = 0, False
        logged: list[dict[str, int]] = []
        for number, step in enumerate(moments):
            done = run_until(killed, steps, step, number == KILLS // 2, draw)
            kills += done
            torn = torn or writing(killed)
            logged.append(last_step(killed))
            print(f"kill {kills}: last step logged {max(logged[-1].values())}", flush=True)
        subprocess.run(command(killed, steps), check=True, stderr=subprocess.DEVNULL)
        repeated = most_repeated(killed, logged)
        once = all(
            Counter(row["step"] for row in read_jsonl(path)) == Counter(range(1, steps + 1))
            for path in (killed / "runs").glob("*/metrics.jsonl")
        )
        figures = {
            "runs": len(adapters(whole)),
            "steps": steps,
            "kills": kills,
            "one_within_a_write": torn,
            "same_adapters": adapters(whole) == adapters(killed) and len(adapters(whole)) == 8,
            "most_steps_repeated": repeated,
            "save_every": SAVE_EVERY,
            "each_step_once": once,
        }
    print(json.dumps(figures))
    good = figures["same_adapters"] and once and kills == KILLS and torn and repeated <= SAVE_EVERY
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
