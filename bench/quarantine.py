"""A NaN in one lane of eight: the other seven end bit for bit as without it, and the study names what happened.

Eight variants on the embedded model. Last line: one JSON object.
    python bench/quarantine.py [--quick]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import tempfile
from pathlib import Path

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.ledger import Ledger
from octavo.study import Study
from octavo.training.loop import PackTrainer

VICTIM, AT_WINDOW = 3, 2
SETTINGS = [
    "train.batch_size=1",
    "train.accumulation=1",
    "train.eval_every=1000",
    "train.max_length=128",
    "corpus.examples=16",
    "corpus.heldout=4",
]


def poison(trainer: PackTrainer) -> None:
    """Write a NaN among the victim's parameters after a window."""
    if trainer.window_number == AT_WINDOW:
        trainer.bank.flat_KP[VICTIM, 5] = math.nan


def adapters(out: Path) -> dict[str, str]:
    """SHA-256 of every exported adapter."""
    files = sorted((out / "runs").glob("*/adapter/adapter_model.safetensors"))
    return {f.parent.parent.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def main() -> int:
    """Train twice, once with the NaN, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="6 steps instead of 12")
    steps = 6 if parser.parse_args().quick else 12
    study = Study.load("demo", [*SETTINGS, f"train.steps={steps}"])
    runs = [run.id for run in study.expand()]
    with tempfile.TemporaryDirectory() as place:
        clean, dirty = Path(place) / "clean", Path(place) / "dirty"
        for out, hook in ((clean, None), (dirty, poison)):
            pipeline.stage_data(study, out)
            pipeline.stage_train(study, out, after_window=hook)
        with Ledger(Folder(dirty).ledger) as ledger:
            row = {r["run"]: r for r in ledger.rows()}[runs[VICTIM]]
        events = [e for e in read_jsonl(Folder(dirty).events(runs[VICTIM])) if e["kind"] == "nonfinite"]
        others = [run for run in runs if run != runs[VICTIM]]
        same = sum(adapters(dirty).get(run) == adapters(clean)[run] for run in others)
        figures = {
            "others_bit_for_bit": f"{same}/{len(others)}",
            "state": row["state"],
            "verdict": row["verdict"],
            "exported": runs[VICTIM] in adapters(dirty),
            "seen_after_steps": events[0]["step"] - AT_WINDOW if events else None,
            "evidence": events[0]["evidence"] if events else None,
        }
    print(json.dumps(figures))
    named = events and "adapter matrix" in events[0]["evidence"]
    return (
        0
        if same == len(others) and row["state"] == "quarantined" and named and not figures["exported"]
        else 1
    )


if __name__ == "__main__":
    sys.exit(main())
