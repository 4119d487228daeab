"""A study in which things go wrong, for its report: one run healthy, one diverging, one dead, one rescued.

    python bench/vitals_demo.py [--quick] [--out FOLDER]

The learning rate of one run is far too high; into two others a NaN is written between two steps, once and again and
again. `vitals.on_trip: rescue`, so each is tried twice before it is given up. Last line: one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import Any

from octavo import pipeline
from octavo.study import Study
from octavo.training.loop import PackTrainer
from octavo.yaml_text import dump_yaml

ONCE, AGAIN = 14, 24  # windows after which a NaN is written, once and from then on


def study_of(folder: Path, steps: int) -> Study:
    """Four runs of one small corpus on the embedded model."""
    rates = {"healthy": 5e-4, "diverging": 1e-1, "rescued": 5e-4, "dead": 5e-4}
    values: dict[str, Any] = {
        "name": "vitals-demo",
        "seeds": [0],
        "corpus": {"source": "builtin", "examples": 160, "heldout": 8},
        "variants": [
            {"name": name, "recipe": "control", "train": {"learning_rate": rate}}
            for name, rate in rates.items()
        ],
        "train": {
            "lora": {"rank": 8, "alpha": 16, "dropout": 0.1, "targets": "attention"},
            "steps": steps,
            "batch_size": 2,
            "accumulation": 1,
            "schedule": {"kind": "constant", "warmup_steps": 0},
            "max_length": 128,
            "eval_every": 20,
            "save_every": 10,
        },
        "vitals": {"every": 1, "spectrum_every": 10, "on_trip": "rescue"},
        "evaluate": {"suites": ["heldout"], "generations": 1},
        "report": {"title": "Four runs, three of them in trouble"},
    }
    path = folder / "study.yaml"
    path.write_text(dump_yaml(values), encoding="utf-8")
    return Study.load(path)


def harm(trainer: PackTrainer) -> None:
    """Write a NaN into the numbers of a lane, as a flipped bit would."""
    for lane, state in enumerate(trainer.states):
        if state is None:
            continue
        variant = trainer.tasks[state.run].run.variant
        window = trainer.window_number
        if (variant == "rescued" and window == ONCE) or (variant == "dead" and window >= AGAIN):
            trainer.bank.flat_KP[lane, trainer.bank.places[lane][0].start] = math.nan
            trainer.bank.refresh()


def main() -> None:
    """Run, report, tell how the runs ended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="40 steps in place of 60")
    parser.add_argument("--out", type=Path, help="keep the study folder there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        study = study_of(Path(temporary), 40 if given.quick else 60)
        out = given.out or Path(temporary) / "out"
        pipeline.stage_data(study, out)
        pipeline.stage_train(study, out, after_window=harm)
        pipeline.stage_evaluate(study, out)
        results = pipeline.stage_report(study, out)
        runs = {run["variant"]: run for run in results["runs"]}
    line = {
        name: {
            "state": run["state"],
            "verdict": run["verdict"],
            "rescued": run["rescued"],
            "events": [f"step {e['step']}: {e['kind']}: {e['action']}" for e in run["events"]],
        }
        for name, run in runs.items()
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
