"""The same eight runs one after the other and side by side: transformers' Trainer, TRL, replicas, lanes.

Every arm trains the eight variants (same examples in the same order, same initial adapters, dropout 0) in a process of
its own; the arms take turns. Only training counts: loading, and the warm-up of one optimizer step of every run, with
what is compiled in it, stand in columns of their own. Last line: one JSON object.
    python bench/throughput.py [--quick] [--steps N] [--repeats N] [--arms peft:bfloat16 fused ...]
        [--data gsm8k procedural] [--targets attention all-linear] [--record FILE] [--fresh] [--from-record]
Without --quick every pass is added to bench/records/throughput.json, so that a long bench can be made in slices;
--from-record measures nothing and prints what the slices came to. --quick measures the best sequential arm of that
file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speed.record import FLOAT, Record, figures_of, headline, recorded_best, table
from speed.worker import AUTOCAST, OURS, SEQUENTIAL, Arm, Done, Worker, largest_gap
from speed.workload import Workload, prepare, sources

from octavo.errors import InputError

RECORD = Path(__file__).parent / "records" / "throughput.json"
PLAIN = Arm("peft", FLOAT)
PROCEDURAL = "procedural"  # the name on the command line of the source "builtin"
# --quick: no pass is begun that would probably end later than this many seconds after the start
QUICK_SECONDS = 540.0


def fast_dtype() -> str:
    """The dtype that this device multiplies fastest."""
    from octavo.training.device import pick_device, pick_dtype

    return str(pick_dtype("auto", pick_device())).removeprefix("torch.")


def all_arms(fast: str) -> list[Arm]:
    """Every way of training in every dtype that it is measured in."""
    kinds = (*SEQUENTIAL, *OURS)
    plain = [Arm(kind, FLOAT) for kind in kinds if kind not in AUTOCAST]
    return plain if fast == FLOAT else [Arm(kind, fast) for kind in kinds] + plain


def few_arms(best: Arm, fast: str) -> list[Arm]:
    """Enough for the figures: the best sequential arm, one run's peak, lanes, and the equality in float32."""
    arms = [best, Arm("fused", fast), PLAIN, Arm("fused", FLOAT), Arm("peft", fast)]
    return list(dict.fromkeys(arms))


def chosen_arms(names: Sequence[str], fast: str) -> list[Arm]:
    """Arms of the command line: "kind" in both dtypes, or "kind:dtype".

    Raises:
        InputError: no such arm.
    """
    known = all_arms(fast)
    found: list[Arm] = []
    for name in names:
        picked = [arm for arm in known if name in (arm.kind, f"{arm.kind}:{arm.dtype}")]
        if not picked:
            raise InputError(f"--arms: {name} is none of {', '.join(f'{a.kind}:{a.dtype}' for a in known)}")
        found += picked
    return list(dict.fromkeys(found))


def measure(
    work: Workload,
    arms: Sequence[Arm],
    repeats: int,
    tokens: int,
    record: Record,
    once: Sequence[Arm] = (),
    deadline: float | None = None,
) -> None:
    """All arms, taking turns, every other time the other way round.

    Arguments:
        once: arms that are measured a single time.
        deadline: by `time.monotonic`; after the first turn no pass is begun that would probably end later.
    """
    record.open(work, tokens)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(work, folder)
        workers = open_workers(work, arms, tokens, folder, record)
        last: dict[Arm, Done] = {}
        for repeat in range(repeats):
            again = [w for w in workers if not repeat or w.arm not in once]
            expected = sum(last[w.arm].seconds for w in again) if repeat else 0.0
            if repeat and deadline is not None and time.monotonic() + expected > deadline:
                print(f"  {work.name}: no time for another turn", flush=True)
                break
            turn = record.begin_turn(work)
            for worker in again if repeat % 2 == 0 else again[::-1]:
                last[worker.arm] = worker.run()
                record.add(work, turn, worker.arm, last[worker.arm])
                print(f"  {work.name}: {worker.arm.name}: {last[worker.arm].seconds:.1f} s", flush=True)
            if not repeat and PLAIN in last:
                for arm, done in last.items():
                    record.add_gap(work, arm, largest_gap(done.adapters, last[PLAIN].adapters))
        for worker in workers:
            worker.close()


def open_workers(
    work: Workload, arms: Sequence[Arm], tokens: int, folder: Path, record: Record
) -> list[Worker]:
    """A warm process for every arm that can be measured here."""
    workers = []
    for arm in arms:
        worker = Worker(arm, work, folder, tokens)
        record.met(work, worker)
        if worker.error is None:
            workers.append(worker)
            print(f"  {arm.name}: loaded {worker.load:.1f} s, warm {worker.warm_up:.1f} s", flush=True)
        else:
            print(f"  {arm.name}: cannot be measured here: {worker.error}", flush=True)
    return workers


def show(record: Record, fast: str) -> None:
    """Tables of all workloads and the JSON line; one workload gives its figures to the line itself."""
    found: dict[str, Any] = {}
    for name, entry in record.workloads.items():
        shape = entry["shape"]
        print(f"\n{name}: {shape['runs']} runs, {shape['steps']} steps, {len(entry['turns'])} turns")
        print(f"\n{table(entry)}")
        found[name] = figures_of(entry, fast)
    print()
    print(json.dumps({**found[headline(record.workloads)], "workloads": found}), flush=True)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one workload, five arms, two turns")
    parser.add_argument("--steps", type=int, help="optimizer steps of a run in a pass (3; quick: 2)")
    parser.add_argument("--repeats", type=int, help="turns (5; quick: 2)")
    parser.add_argument("--accumulation", type=int, help="batches in a step (4; quick: 2)")
    parser.add_argument("--runs", type=int, default=8, help="how many of the eight variants")
    parser.add_argument("--tokens", type=int, help="most tokens of a fused micro-step")
    parser.add_argument(
        "--arms", nargs="+", metavar="KIND[:DTYPE]", help="all for the first workload, five after"
    )
    names = [PROCEDURAL if name == "builtin" else name for name in sources()]
    parser.add_argument("--data", "--sources", nargs="+", default=names, choices=[*names, "builtin"])
    parser.add_argument(
        "--targets", nargs="+", default=["attention", "all-linear"], choices=["attention", "all-linear"]
    )
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of the study")
    parser.add_argument("--record", type=Path, default=RECORD, help="where passes are added")
    parser.add_argument("--fresh", action="store_true", help="forget the passes of the record")
    parser.add_argument("--from-record", action="store_true", help="measure nothing, print what is recorded")
    options = parser.parse_args()
    if options.steps is not None and options.steps < 2:
        parser.error("--steps: the first step has a rate of zero; take 2 or more")
    if options.from_record and not Record(options.record).workloads:
        parser.error(f"--from-record: {options.record} holds nothing yet")
    return options


def workloads_of(options: argparse.Namespace) -> list[Workload]:
    """What is trained, the one that decides the best sequential arm first."""
    steps = options.steps or (2 if options.quick else 3)
    accumulation = options.accumulation or (2 if options.quick else None)
    corpora = ["builtin" if name == PROCEDURAL else name for name in options.data]
    pairs = [(corpus, targets) for targets in options.targets for corpus in corpora]
    return [
        Workload(corpus, targets, steps, accumulation, options.runs, tuple(options.set))
        for corpus, targets in (pairs[:1] if options.quick else pairs)
    ]


def arms_of(options: argparse.Namespace, first: bool, fast: str) -> list[Arm]:
    """What is measured on a workload, the first or another."""
    if options.arms:
        return chosen_arms(options.arms, fast)
    if first and not options.quick:
        return all_arms(fast)
    return few_arms(recorded_best(options.record, fast), fast)


def main() -> int:
    """Measure, print the tables and the JSON line."""
    began = time.monotonic()
    options = parse()
    from octavo.training.plan import most_tokens

    if "gsm8k" not in sources():
        print("GSM8K is not there (OCTAVO_TEST_DATA): the procedural corpus alone is measured")
    fast = fast_dtype()
    record = Record(None if options.quick else options.record, options.fresh)
    deadline = began + QUICK_SECONDS if options.quick else None
    try:
        for number, work in enumerate([] if options.from_record else workloads_of(options)):
            arms = arms_of(options, number == 0, fast)
            repeats = options.repeats or (2 if options.quick else 5)
            kept = (recorded_best(options.record, fast), Arm("fused", fast))
            once = [arm for arm in arms if arm not in kept] if options.quick else []
            measure(work, arms, repeats, options.tokens or most_tokens("cpu"), record, once, deadline)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    show(record, fast)
    return 0


if __name__ == "__main__":
    sys.exit(main())
