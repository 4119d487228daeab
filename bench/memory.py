"""Predicted against measured memory: eight-variant shapes on the embedded model, a fresh process a configuration.

For 1, 4, 8 and 16 runs side by side and texts of up to 64, 200 and 500 tokens: the plan after its probe, and the peak
of the process over its start in several windows of training. The formula's own error, without the probe, beside it.
Last line: one JSON object.
    python bench/memory.py [--quick] [--runs 1,8] [--lengths 64,500] [--windows 4]
    python bench/memory.py --evaluation [--heldout 24]     # held-out scoring and answers of eight variants instead
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

RUNS, LENGTHS = (1, 4, 8, 16), (64, 200, 500)
QUICK = ((1, 500), (8, 64), (8, 500), (16, 200))
# characters of a token of the embedded tokenizer, roughly; texts are cut at the length anyway
_CHARACTERS = 4


def texts(length: int, count: int) -> list[str]:
    """Texts of half to all of `length` tokens, made of the procedural corpus."""
    from octavo.corpus.builtin import stream

    draw = random.Random(length)
    source = stream({"reasoning": 0.6, "conversation": 0.4}, 0, "train")
    made: list[str] = []
    while len(made) < count:
        wanted = int(draw.uniform(0.5, 1.15) * length * _CHARACTERS)
        text = ""
        while len(text) < wanted:
            text += " ".join(turn["content"] or "" for turn in next(source).messages) + "\n"
        made.append(text[:wanted])
    return made


def study_of(folder: Path, runs: int, length: int, windows: int) -> Path:
    """A study of `runs` variants of one corpus, `windows` optimizer steps each."""
    rows = [{"id": f"t{i}", "text": text} for i, text in enumerate(texts(length, 96))]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    variants = [
        {"name": f"v{i}", "recipe": "control", "train": {"learning_rate": 1e-4 + i * 1e-6}}
        for i in range(runs)
    ]
    study = {
        "bases": [{"name": "smollm2", "model": "smollm2-135m-instruct"}],
        "corpus": {"source": "corpus.jsonl", "examples": 64, "heldout": 4},
        "variants": variants,
        "train": {
            "steps": windows,
            "batch_size": 2,
            "accumulation": 4,
            "max_length": length,
            "overlong": "cut",
            "eval_every": 1000,
            "save_every": 1000,
        },
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study), encoding="utf-8")  # JSON is YAML
    return path


def train(study: str, out: str) -> None:
    """The training of a study whose data is there, in a process of its own."""
    from octavo import pipeline
    from octavo.study import Study

    pipeline.stage_train(Study.load(study), out)


def measure(runs: int, length: int, windows: int) -> dict[str, Any]:
    """The plan of one configuration with what was measured."""
    from octavo import pipeline
    from octavo.study import Study

    with tempfile.TemporaryDirectory() as place:
        study = study_of(Path(place), runs, length, windows)
        pipeline.stage_data(Study.load(study), f"{place}/out")
        child = multiprocessing.get_context("spawn").Process(target=train, args=(str(study), f"{place}/out"))
        child.start()
        child.join()
        if child.exitcode != 0:
            raise SystemExit(f"{runs} runs of {length} tokens ended with exit code {child.exitcode}")
        return json.loads((Path(place) / "out" / "plan.json").read_text())["packs"]["smollm2"]


def evaluate(study: str, out: str, settings: list[str], found: Any) -> None:
    """The evaluation of a trained study, in a process of its own; puts its peak over its start."""
    from octavo import pipeline
    from octavo.models.resolve import resolve_base
    from octavo.study import Study
    from octavo.training.compiler import settle_compiler
    from octavo.training.device import pick_device
    from octavo.training.memory import PeakMeter, settle_allocator

    settle_allocator()
    loaded, device = Study.load(study, settings), pick_device()
    settle_compiler([resolve_base(base, Path(out)) for base in loaded.bases], device)
    meter = PeakMeter(device)
    pipeline.stage_evaluate(loaded, out)
    found.put(meter.peak())


def measure_evaluation(heldout: int) -> dict[str, Any]:
    """The ready study of eight variants after one window: what its evaluation takes against its plan.

    Packs are as full as with all held-out examples, since a budget of tokens fills them.
    """
    from octavo import pipeline
    from octavo.study import Study

    name = "eight-variants"
    settings = ["corpus.examples=64", f"corpus.heldout={heldout}", "train.steps=1", "train.epochs=null"]
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        study, out = Study.load(name, settings), f"{place}/out"
        pipeline.stage_data(study, out)
        pipeline.stage_train(study, out)
        found = spawn.Queue()
        child = spawn.Process(target=evaluate, args=(name, out, settings, found))
        child.start()
        child.join()
        if child.exitcode != 0:
            raise SystemExit(f"the evaluation ended with exit code {child.exitcode}")
        plan = json.loads((Path(out) / "plan.json").read_text())["packs"]["smollm2"]
        predicted, peak = plan["predicted_bytes"], found.get()
        return {
            "predicted_evaluation": predicted["evaluation"],
            "predicted_peak": predicted["peak"],
            "measured_evaluation": peak,
            "evaluation_over_peak": round(peak / predicted["peak"], 4),
            "micro_step_tokens": plan["micro_step_tokens"],
            "answers_at_once": plan["answers_at_once"],
        }


def row_of(runs: int, length: int, plan: dict[str, Any]) -> dict[str, Any]:
    """What is compared."""
    peak = plan["measured"]["peak_bytes"]
    predicted, analytic = plan["predicted_bytes"]["training"], plan["analytic_bytes"]["training"]
    return {
        "runs": runs,
        "length": length,
        "tokens": plan["largest_micro_step"],
        "predicted": predicted,
        "measured": peak,
        "error": predicted / peak - 1,
        "analytic_error": analytic / peak - 1,
        "probe": plan["probe"],
        "seconds": [plan["predicted_seconds"], plan["measured"]["seconds"]],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The rows for people."""
    lines = [
        f"{'runs':>4} {'length':>6} {'micro-step':>10} {'predicted':>10} {'measured':>10} {'error':>7} {'formula':>8}"
    ]
    for row in rows:
        predicted, measured = (f"{row[name] / 2**20:,.0f} MiB" for name in ("predicted", "measured"))
        lines.append(
            f"{row['runs']:>4} {row['length']:>6} {row['tokens']:>10,} {predicted:>10} {measured:>10} "
            f"{row['error']:>+7.1%} {row['analytic_error']:>+8.1%}"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure every configuration and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="four configurations, three windows each")
    parser.add_argument("--runs", default=",".join(map(str, RUNS)))
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--evaluation", action="store_true", help="the evaluation of eight variants instead")
    parser.add_argument("--heldout", type=int, default=24, help="held-out examples of --evaluation")
    options = parser.parse_args()
    if options.evaluation:
        figures = measure_evaluation(options.heldout)
        print(json.dumps(figures))
        return 0 if figures["evaluation_over_peak"] <= 1 else 1
    pairs = [(int(k), int(n)) for n in options.lengths.split(",") for k in options.runs.split(",")]
    rows: list[dict[str, Any]] = []
    for runs, length in QUICK if options.quick else pairs:
        rows.append(row_of(runs, length, measure(runs, length, 3 if options.quick else options.windows)))
        print(table(rows[-1:]) if len(rows) == 1 else table(rows[-1:]).split("\n")[1], flush=True)
    worst = max(abs(row["error"]) for row in rows)
    print(f"worst error of the formula alone: {max(abs(row['analytic_error']) for row in rows):.1%}")
    peaks = {(row["runs"], row["length"]): row["measured"] for row in rows}
    ratios = [peaks[8, n] / peaks[1, n] for n in LENGTHS if (8, n) in peaks and (1, n) in peaks]
    figures = {
        "worst_relative_error": round(worst, 4),
        "eight_over_one": round(max(ratios), 3) if ratios else None,
        "worst_relative_error_of_formula": round(max(abs(row["analytic_error"]) for row in rows), 4),
        "rows": rows,
    }
    print(json.dumps(figures))
    return 0 if worst <= 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
