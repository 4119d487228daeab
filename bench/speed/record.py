"""What all passes came to, in one file: the slices of a bench add up, and its figures are made of all of them."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

from octavo.errors import InputError
from speed.worker import SEQUENTIAL, Arm, Done, Worker
from speed.workload import ROOT, Workload

FLOAT = "float32"
_RESAMPLES = 10_000


class Record:
    """Passes by workload, turn and arm.

    A turn is one pass of each arm of a slice, right after one another: ratios are made within it where it holds both
    arms, so that what else the machine does falls on both.

    Arguments:
        path: written after every pass; None: kept in memory.
        fresh: forget what the file holds.

    Attributes:
        workloads: {name: {"shape", "label_tokens", "turns": [{"revision", "seconds": {arm: s}}], "arms": {arm: {...}},
            "errors": {arm: text}}}.
    """

    def __init__(self, path: Path | None, fresh: bool = False) -> None:
        self.path = path
        self.workloads: dict[str, Any] = {}
        if path is not None and path.is_file() and not fresh:
            self.workloads = json.loads(path.read_text(encoding="utf-8"))["workloads"]

    def open(self, work: Workload, tokens: int) -> dict[str, Any]:
        """The entry of a workload.

        Raises:
            InputError: the file holds passes of another size under its name.
        """
        shape = json.loads(json.dumps({**asdict(work), "tokens": tokens}))
        entry = self.workloads.setdefault(
            work.name, {"shape": shape, "label_tokens": None, "turns": [], "arms": {}, "errors": {}}
        )
        if entry["shape"] != shape:
            raise InputError(
                f"{self.path} holds '{work.name}' of another size ({entry['shape']}, now {shape}): take --fresh or "
                "another --record"
            )
        return dict(entry)

    def met(self, work: Workload, worker: Worker) -> None:
        """An arm has loaded and is warm, or cannot be measured here."""
        entry = self.workloads[work.name]
        if worker.error is not None:
            entry["errors"][worker.arm.name] = worker.error
            return
        entry["errors"].pop(worker.arm.name, None)
        entry["label_tokens"] = worker.labels
        known = entry["arms"].setdefault(worker.arm.name, {"peak_bytes": None, "gap": None})
        known |= {"load_seconds": round(worker.load, 2), "warm_up_seconds": round(worker.warm_up, 2)}

    def begin_turn(self, work: Workload) -> dict[str, float]:
        """Where the seconds of the passes of a new turn are put."""
        seconds: dict[str, float] = {}
        self.workloads[work.name]["turns"].append({"revision": revision(), "seconds": seconds})
        return seconds

    def add(self, work: Workload, turn: dict[str, float], arm: Arm, done: Done) -> None:
        """A pass."""
        turn[arm.name] = round(done.seconds, 4)
        known = self.workloads[work.name]["arms"][arm.name]
        if done.peak is not None:
            known["peak_bytes"] = max(done.peak, known["peak_bytes"] or 0)
        self.write()

    def add_gap(self, work: Workload, arm: Arm, gap: float) -> None:
        """How far an arm's adapters are from those of the plain arm in float32; the largest is kept."""
        known = self.workloads[work.name]["arms"][arm.name]
        known["gap"] = max(gap, known["gap"] or 0.0)
        self.write()

    def write(self) -> None:
        """Note everything so far."""
        if self.path is None:
            return
        from octavo.training.device import describe, library_versions, pick_device

        best = best_sequential(self.workloads[headline(self.workloads)])
        record = {
            "best_sequential": None
            if best is None
            else dict(zip(("kind", "dtype"), best.split(), strict=True)),
            "device": describe(pick_device()),
            "versions": library_versions(),
            "workloads": self.workloads,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def headline(workloads: dict[str, Any]) -> str:
    """The workload whose figures come first: GSM8K with attention adapters, whatever slice was measured first."""
    return min(workloads, key=lambda name: ("attention" not in name, "gsm8k" not in name))


def recorded_best(path: Path, fast: str) -> Arm:
    """The best sequential arm of the last full bench on a machine of this fast dtype, else the plain one."""
    try:
        best = json.loads(path.read_text(encoding="utf-8"))["best_sequential"]
        arm = Arm(best["kind"], best["dtype"])
    except (OSError, ValueError, KeyError, TypeError):
        return Arm("peft", fast)
    return arm if arm.dtype in (fast, FLOAT) else Arm("peft", fast)


def revision() -> str | None:
    """The commit of the code, "+" behind it where src/ has been changed since; None outside a checkout."""
    try:
        head = _git("rev-parse", "--short", "HEAD")
        return head + "+" * bool(_git("status", "--porcelain", "--", "src"))
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def seconds_of(entry: dict[str, Any], arm: str) -> list[float]:
    """Of all passes of an arm."""
    return [turn["seconds"][arm] for turn in entry["turns"] if arm in turn["seconds"]]


def best_sequential(entry: dict[str, Any], dtype: str | None = None) -> str | None:
    """The sequential arm of the smallest median, of one dtype or of any; None where none was measured."""
    medians = {
        name: statistics.median(passes)
        for name in entry["arms"]
        if name.split()[0] in SEQUENTIAL
        and dtype in (None, name.split()[1])
        and (passes := seconds_of(entry, name))
    }
    return min(medians, key=medians.__getitem__) if medians else None


def ratio(entry: dict[str, Any], slow: str | None, quick: str) -> tuple[float, list[float]] | None:
    """Median ratio of seconds and its 95 % bootstrap interval; None where an arm was not measured.

    Turns that hold both arms are resampled; where there is none, the passes of each.
    """
    if slow is None or not seconds_of(entry, slow) or not seconds_of(entry, quick):
        return None
    draw = random.Random(0)
    turns = [turn["seconds"] for turn in entry["turns"]]
    if pairs := [t[slow] / t[quick] for t in turns if slow in t and quick in t]:
        middle = statistics.median(pairs)
        drawn = [statistics.median(draw.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES)]
    else:
        a, b = seconds_of(entry, slow), seconds_of(entry, quick)
        middle = statistics.median(a) / statistics.median(b)
        drawn = [
            statistics.median(draw.choices(a, k=len(a))) / statistics.median(draw.choices(b, k=len(b)))
            for _ in range(_RESAMPLES)
        ]
    drawn.sort()
    ends = [round(drawn[_RESAMPLES // 40], 3), round(drawn[_RESAMPLES - _RESAMPLES // 40 - 1], 3)]
    return middle, ends


def figures_of(entry: dict[str, Any], fast: str) -> dict[str, Any]:
    """What is claimed of one workload; null for what was not measured."""
    best, fused = best_sequential(entry), f"fused {fast}"
    gained = ratio(entry, best, fused)
    gained_float = ratio(entry, best_sequential(entry, FLOAT), f"fused {FLOAT}")
    known = entry["arms"]
    # one PEFT run of batch 2 in the dtype of the lanes: the sequential arm holds one run at a time
    peaks = [known.get(name, {}).get("peak_bytes") for name in (fused, f"peft {fast}")]
    passes = seconds_of(entry, fused)
    return {
        "speedup_vs_best_sequential": None if gained is None else round(gained[0], 3),
        "interval": None if gained is None else gained[1],
        "speedup_fp32": None if gained_float is None else round(gained_float[0], 3),
        "peak_over_single_run": round(peaks[0] / peaks[1], 3) if all(peaks) else None,
        "max_relative_difference": known.get(f"fused {FLOAT}", {}).get("gap"),
        "best_sequential": best,
        "fused_dtype": fast,
        "turns": len(entry["turns"]),
        "label_tokens_per_second": (
            round(entry["label_tokens"] / statistics.median(passes), 1) if passes else None
        ),
    }


def table(entry: dict[str, Any]) -> str:
    """The arms of a workload in Markdown."""
    best = best_sequential(entry)
    lines = [
        "| arm | passes | seconds | label tokens/s | against best sequential | peak | gap | load | warm-up |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, known in entry["arms"].items():
        passes = seconds_of(entry, name)
        if not passes:
            continue
        middle, gained = statistics.median(passes), ratio(entry, best, name)
        peak = "-" if known["peak_bytes"] is None else f"{known['peak_bytes'] / 2**30:.2f} GiB"
        cells = [
            name,
            str(len(passes)),
            f"{middle:.1f}",
            f"{entry['label_tokens'] / middle:.0f}",
            "-" if gained is None else f"{gained[0]:.2f}x ({gained[1][0]:.2f} to {gained[1][1]:.2f})",
            peak,
            "-" if known["gap"] is None else f"{known['gap']:.1e}",
            f"{known['load_seconds']:.0f} s",
            f"{known['warm_up_seconds']:.0f} s",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [f"\n{name}: cannot be measured here: {text}" for name, text in entry["errors"].items()]
    return "\n".join(lines)
