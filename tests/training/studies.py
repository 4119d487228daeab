"""Small studies on a tiny base, and what is left of them on the disk."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.errors import InputError
from octavo.lanes.difference import relative_difference
from octavo.ledger import Ledger
from octavo.progress import Silent
from octavo.study import Study
from octavo.yaml_text import dump_yaml

NAMES = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jon"]


class Notes(Silent):
    """Keeps what a stage says."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def message(self, text: str) -> None:
        self.messages.append(text)


def write_corpus(path: Path, rows: int = 24) -> Path:
    """Short questions of different lengths, each with a family; the same at every call."""
    lines = []
    for i in range(rows):
        who, whom = NAMES[i % 10], NAMES[(i * 3 + i // 10 + 1) % 10]
        question = f"{who} has {i + 3} apples and gives {i % 3 + 1} to {whom}. How many are left?"
        answer = f"It is {i + 3 - (i % 3 + 1)}." + " So it is, and so it was." * (i % 3)
        turns = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        line = {"id": f"e{i}", "family": f"f{i % 2}", "kind": "reasoning", "messages": turns}
        lines.append(json.dumps(line) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def settings(base: Path, corpus: Path | str, **changes: Any) -> dict[str, Any]:
    """A study of two variants: five steps a run, a checkpoint every other step; `changes` go one level deep."""
    found: dict[str, Any] = {
        "name": "tiny",
        "seeds": [0],
        "bases": [{"name": "tiny", "model": str(base), "dtype": "float32"}],
        "corpus": {"source": str(corpus), "examples": 18, "heldout": 4},
        "variants": [
            {"name": "control", "recipe": "control"},
            {"name": "glyphs", "recipe": "glyphs", "options": {"density": 1.0}},
        ],
        "train": {
            "lora": {"rank": 4, "dropout": 0.1, "targets": "all-linear"},
            "epochs": 1,
            "batch_size": 2,
            "accumulation": 2,
            "learning_rate": 5e-3,
            "schedule": {"kind": "cosine", "warmup_steps": 1},
            "max_length": 200,
            "eval_every": 2,
            "save_every": 2,
        },
        "evaluate": {"suites": ["heldout"], "generations": 1},
        # a tiny random model's adapters are soon as large as its weights
        "vitals": None,
    }
    for key, value in changes.items():
        old = found.get(key)
        found[key] = {**old, **value} if isinstance(value, dict) and isinstance(old, dict) else value
    return found


def write_study(path: Path, values: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_yaml(values), encoding="utf-8")
    return path


def load_study(path: Path, values: dict[str, Any]) -> Study:
    return Study.load(write_study(path, values))


def train_only(study: Study, out: Path, after_window: Any = None, progress: Silent | None = None) -> Folder:
    """The data and the training stage."""
    with pipeline._opened(study, out, progress) as work:
        work.data()
        work.train(after_window)
    return Folder(out)


def memory_needed(study: Study, out: Path) -> str:
    """`lanes.memory` that just holds the study's longest example, as the refusal of one without memory names it."""
    with pytest.raises(InputError, match="does not fit into memory") as refused:
        train_only(study, out)
    more, limit = re.findall(r"([\d.]+) MiB", str(refused.value))[:2]
    return f"{(float(more) + float(limit)) * 1.01 + 0.02:.3f}MiB"  # the message rounds to 0.01


def adapter_hashes(out: Path) -> dict[str, str]:
    """{run: SHA-256 of its exported weights}."""
    files = sorted(Path(out).glob("runs/*/adapter/adapter_model.safetensors"))
    return {file.parts[-3]: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def matrices(out: Path, run: str) -> dict[str, tuple[Any, Any]]:
    """{layer: (A, B)} of an exported adapter."""
    tensors = load_file(Folder(out).adapter(run) / "adapter_model.safetensors")
    stems = {key.removesuffix(".lora_A.weight") for key in tensors if key.endswith(".lora_A.weight")}
    return {s: (tensors[f"{s}.lora_A.weight"], tensors[f"{s}.lora_B.weight"]) for s in sorted(stems)}


def largest_gap(out: Path, reference: Path) -> float:
    """The norm of invariant 1: the largest relative difference of any run's update."""
    runs = adapter_hashes(reference)
    assert adapter_hashes(out).keys() == runs.keys()
    return max(relative_difference(matrices(out, run), matrices(reference, run)) for run in runs)


def steps_of(out: Path, run: str) -> list[int]:
    return [row["step"] for row in read_jsonl(Folder(out).metrics(run))]


def ledger_rows(out: Path) -> dict[str, dict[str, Any]]:
    return {row["run"]: row for row in Ledger(Folder(out).ledger).rows()}


def read_strict(path: Path) -> Any:
    """JSON as every reader takes it: no NaN, no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in {path}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
