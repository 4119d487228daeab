"""The same eight runs one after the other and side by side: transformers' Trainer, TRL, replicas, lanes.

Every arm trains the eight variants (same examples in the same order, same initial adapters, dropout 0) in a process of
its own; the arms take turns. Only training counts, loading and compiling do not. Last line: one JSON object.
    python bench/throughput.py [--quick] [--steps N] [--repeats N] [--tokens N] [--sources ...] [--targets ...]
Without --quick the best sequential arm is noted in bench/records/throughput.json, which --quick then measures against.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from speed.worker import OURS, SEQUENTIAL, Arm, Done, Worker, largest_gap
from speed.workload import Workload, load, prepare, sources
from speed.workload import label_tokens as labels_of

RECORD = Path(__file__).parent / "records" / "throughput.json"
FLOAT = "float32"


def fast_dtype() -> str:
    """The dtype that this device multiplies fastest."""
    from octavo.training.device import pick_device, pick_dtype

    return str(pick_dtype("auto", pick_device())).removeprefix("torch.")


def all_arms(fast: str) -> list[Arm]:
    """Every way of training in every dtype that it is measured in."""
    kinds = [kind for kind in (*SEQUENTIAL, *OURS) if kind != "peft-autocast" or fast != FLOAT]
    arms = [Arm(kind, fast) for kind in kinds]
    return arms + [Arm(kind, FLOAT) for kind in kinds if fast != FLOAT and kind != "peft-autocast"]


def few_arms(best: Arm, fast: str) -> list[Arm]:
    """Enough for the figures: the best sequential arm, lanes, and both in float32 for the equality."""
    arms = [best, Arm("fused", fast), Arm("peft", FLOAT), Arm("fused", FLOAT)]
    return list(dict.fromkeys(arms))


def recorded_best(fast: str) -> Arm:
    """The best sequential arm of the last full bench on a machine of this fast dtype, else the plain one."""
    try:
        best = json.loads(RECORD.read_text(encoding="utf-8"))["best_sequential"]
        arm = Arm(best["kind"], best["dtype"])
    except (OSError, ValueError, KeyError):
        return Arm("peft", fast)
    return arm if arm.dtype in (fast, FLOAT) else Arm("peft", fast)


def measure(
    work: Workload, arms: list[Arm], repeats: int, tokens: int, once: tuple[Arm, ...] = ()
) -> dict[Arm, tuple[list[Done], float]]:
    """All arms, taking turns, every other time the other way round; {arm: (passes, seconds of its first pass)}.

    Arguments:
        once: arms that are measured a single time.
    """
    found: dict[Arm, tuple[list[Done], float]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(work, folder)
        workers = []
        for arm in arms:
            worker = Worker(arm, work, folder, tokens)
            if worker.error is not None:
                print(f"{arm.name}: cannot be measured here: {worker.error}", flush=True)
                continue
            workers.append(worker)
            found[arm] = ([], worker.warm_up)
        for repeat in range(repeats):
            for worker in workers if repeat % 2 == 0 else workers[::-1]:
                if repeat and worker.arm in once:
                    continue
                done = worker.run()
                found[worker.arm][0].append(done)
                print(f"  {work.name}: {worker.arm.name}: {done.seconds:.1f} s", flush=True)
        for worker in workers:
            worker.close()
        return {arm: (_with_gaps(arm, found), warm_up) for arm, (_, warm_up) in found.items()}


def _with_gaps(arm: Arm, found: dict[Arm, tuple[list[Done], float]]) -> list[Done]:
    """The passes of an arm, `adapters` replaced by the gap of the first to the plain arm in float32."""
    passes, plain = found[arm][0], found.get(Arm("peft", FLOAT))
    gap = largest_gap(passes[0].adapters, plain[0][0].adapters) if plain and passes else None
    return [Done(p.seconds, p.peak, json.dumps(gap)) for p in passes]


def rows_of(found: dict[Arm, tuple[list[Done], float]], labels: int) -> list[dict[str, Any]]:
    """An arm a row."""
    rows = []
    for arm, (passes, warm_up) in found.items():
        seconds = statistics.median(p.seconds for p in passes)
        rows.append(
            {
                "kind": arm.kind,
                "dtype": arm.dtype,
                "seconds": [round(p.seconds, 3) for p in passes],
                "label_tokens_per_second": round(labels / seconds, 2),
                "peak_bytes": passes[-1].peak,
                "gap": json.loads(passes[0].adapters),
                "first_pass_seconds": round(warm_up, 2),
            }
        )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The rows for people."""
    lines = [f"{'arm':28} {'seconds':>8} {'labels/s':>9} {'peak':>9} {'gap':>8} {'first':>7}"]
    for row in rows:
        peak = "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**30:.2f} GiB"
        gap = "-" if row["gap"] is None else f"{row['gap']:.1e}"
        lines.append(
            f"{row['kind'] + ' ' + row['dtype']:28} {statistics.median(row['seconds']):8.1f} "
            f"{row['label_tokens_per_second']:9.1f} {peak:>9} {gap:>8} {row['first_pass_seconds']:6.1f}s"
        )
    return "\n".join(lines)


def best_of(rows: list[dict[str, Any]], dtype: str | None = None) -> dict[str, Any]:
    """The fastest sequential row, of one dtype or of any."""
    chosen = [r for r in rows if r["kind"] in SEQUENTIAL and dtype in (None, r["dtype"])]
    return min(chosen, key=lambda row: statistics.median(row["seconds"]))


def fused_of(rows: list[dict[str, Any]], dtype: str) -> dict[str, Any]:
    """The row of the lanes."""
    return next(row for row in rows if row["kind"] == "fused" and row["dtype"] == dtype)


def ratio(slow: dict[str, Any], quick: dict[str, Any]) -> tuple[float, list[float]]:
    """Median over the turns of the ratio of seconds, and its 95 % bootstrap interval (10,000 resamples of turns)."""
    ratios = [a / b for a, b in zip(slow["seconds"], quick["seconds"], strict=False)]
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(10_000))
    return statistics.median(ratios), [round(medians[250], 3), round(medians[9_749], 3)]


def figures_of(rows: list[dict[str, Any]], fast: str) -> dict[str, Any]:
    """What is claimed of one workload."""
    best, fused = best_of(rows), fused_of(rows, fast)
    speedup, interval = ratio(best, fused)
    plain = fused_of(rows, FLOAT)
    # one PEFT run of batch 2 in the dtype of the lanes: the sequential arm holds one run at a time
    single = [r["peak_bytes"] for r in rows if r["kind"] == "peft" and r["dtype"] == fast]
    over = fused["peak_bytes"] / single[0] if single and single[0] and fused["peak_bytes"] else None
    return {
        "speedup_vs_best_sequential": round(speedup, 3),
        "interval": interval,
        "speedup_fp32": round(ratio(best_of(rows, FLOAT), plain)[0], 3),
        "peak_over_single_run": None if over is None else round(over, 3),
        "max_relative_difference": plain["gap"],
        "best_sequential": f"{best['kind']} {best['dtype']}",
        "fused_dtype": fast,
        "label_tokens_per_second": fused["label_tokens_per_second"],
    }


def count_labels(work: Workload) -> int:
    """Targets of one pass."""
    import torch

    with tempfile.TemporaryDirectory() as place:
        prepare(work, Path(place))
        _, tasks, _ = load(work, Path(place), torch.float32)
        return labels_of(tasks)


def write_record(workloads: dict[str, Any], best: dict[str, Any]) -> None:
    """Note the full bench for the quick one and for the docs."""
    from octavo.training.device import describe, library_versions, pick_device

    record = {
        "best_sequential": {"kind": best["kind"], "dtype": best["dtype"]},
        "device": describe(pick_device()),
        "versions": library_versions(),
        "workloads": workloads,
    }
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one workload, four arms, two turns")
    parser.add_argument("--steps", type=int, help="optimizer steps of a run in a pass (3; quick: 2)")
    parser.add_argument("--repeats", type=int, help="turns (5; quick: 2)")
    parser.add_argument("--accumulation", type=int, help="batches in a step (4; quick: 2)")
    parser.add_argument("--runs", type=int, default=8, help="how many of the eight variants")
    parser.add_argument("--tokens", type=int, help="most tokens of a fused micro-step")
    parser.add_argument("--sources", nargs="+", default=sources(), choices=["gsm8k", "builtin"])
    parser.add_argument("--targets", nargs="+", default=["attention", "all-linear"])
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of the study")
    return parser.parse_args()


def workloads_of(options: argparse.Namespace) -> list[Workload]:
    """What is trained, the one that decides the best sequential arm first."""
    steps = options.steps or (2 if options.quick else 3)
    accumulation = options.accumulation or (2 if options.quick else None)
    pairs = [(s, t) for t in options.targets for s in options.sources]
    return [
        Workload(source, targets, steps, accumulation, options.runs, tuple(options.set))
        for source, targets in (pairs[:1] if options.quick else pairs)
    ]


def main() -> int:
    """Measure, print the tables and the JSON line."""
    options = parse()
    from octavo.training.plan import MOST_TOKENS

    if "gsm8k" not in sources():
        print("GSM8K is not there (OCTAVO_TEST_DATA): the procedural corpus alone is measured")
    fast, repeats = fast_dtype(), options.repeats or (2 if options.quick else 5)
    best = recorded_best(fast)
    results: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for number, work in enumerate(workloads_of(options)):
        full = number == 0 and not options.quick
        arms = all_arms(fast) if full else few_arms(best, fast)
        # peak_over_single_run needs the plain arm in the fast dtype, once
        arms += [arm for arm in [Arm("peft", fast)] if arm not in arms]
        once = tuple(a for a in arms if a not in (best, Arm("fused", fast))) if options.quick else ()
        found = measure(work, arms, repeats, options.tokens or MOST_TOKENS, once)
        rows = rows_of(found, count_labels(work))
        print(f"{work.name}, {work.runs} runs, {work.steps} steps each\n{table(rows)}", flush=True)
        figures = figures_of(rows, fast)
        results[work.name] = {"steps": work.steps, **figures, "arms": rows}
        if number == 0:
            first = figures
            row = best_of(rows)
            best = Arm(row["kind"], row["dtype"])
    if not options.quick:
        write_record(results, {"kind": best.kind, "dtype": best.dtype})
    others = {name: {k: v for k, v in r.items() if k != "arms"} for name, r in results.items()}
    print(json.dumps({**first, "workloads": others}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
