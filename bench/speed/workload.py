"""The eight variants over GSM8K or the procedural corpus, ready for any way of training them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from octavo.artifacts import Folder
from octavo.lanes.adapters import AdapterBank
from octavo.lanes.peft_io import Matrices
from octavo.training.tasks import Task

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Workload:
    """What is trained.

    Attributes:
        source: "gsm8k" or "builtin". targets: "attention" or "all-linear".
        steps: optimizer steps of each run. accumulation: batches of two examples in each; None: the study's four.
        runs: how many of the eight variants. settings: further settings of the study, "key=value".
    """

    source: str = "gsm8k"
    targets: str = "attention"
    steps: int = 3
    accumulation: int | None = None
    runs: int = 8
    settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For people and records."""
        return f"{self.source}, {self.targets}"


def gsm8k() -> Path | None:
    """The GSM8K questions in OCTAVO_TEST_DATA (by default ../shared/data), None where they are not there."""
    folder = Path(os.environ.get("OCTAVO_TEST_DATA") or ROOT.parent / "shared" / "data")
    path = folder / "gsm8k_test.jsonl"
    return path if path.is_file() else None


def sources() -> list[str]:
    """The corpora that can be had."""
    return ["gsm8k", "builtin"] if gsm8k() else ["builtin"]


def study_of(work: Workload) -> Any:
    """The eight-variant study at this size, dropout 0, a short warm-up so that the few steps move something."""
    from octavo.study import Study

    batches = work.accumulation or 4
    settings = [
        f"train.steps={work.steps}",
        f"train.accumulation={batches}",
        f"train.lora.targets={work.targets}",
        "train.lora.dropout=0",
        "train.schedule.warmup_steps=1",
        "train.eval_every=100000",
        "train.save_every=100000",
        f"corpus.examples={max(16, work.steps * batches * 2)}",
        "corpus.heldout=4",
        "evaluate.generations=0",
        *work.settings,
    ]
    if work.source == "gsm8k":
        settings.append(f"corpus.source={gsm8k()}")
    return Study.load("eight-variants", settings)


def prepare(work: Workload, folder: Path) -> None:
    """Write the data of all variants."""
    from octavo import pipeline

    pipeline.stage_data(study_of(work), folder)


def load(work: Workload, folder: Path, dtype: torch.dtype) -> tuple[Any, list[Task], Any]:
    """The model with its own attention, the tasks, and the tokenizer."""
    from octavo.corpus.encode import Encoder
    from octavo.models.load import load_model, load_tokenizer
    from octavo.models.resolve import resolve_base
    from octavo.training.data import load_rows
    from octavo.training.tasks import make_task

    study = study_of(work)
    base = study.bases[0]
    source = resolve_base(base, study.directory)
    tokenizer = load_tokenizer(source)
    runs = study.expand()[: work.runs]
    rows = load_rows(runs, Folder(folder), Encoder(tokenizer, None, base.eos, base.pad))
    model = load_model(source, dtype)
    return model, [make_task(run, *rows[run.id], model) for run in runs], tokenizer


def starts(model: Any, tasks: Sequence[Task]) -> dict[str, Matrices]:
    """The matrices that every way of training begins with, by run."""
    bank = AdapterBank(model, [task.adapter for task in tasks], 1, trainable=False)
    found = {}
    for task in tasks:
        bank.occupy(0, task.adapter)
        bank.initialise(0, task.run.seed)
        found[task.run.id] = bank.read(0)
    bank.remove()
    return found


def label_tokens(tasks: Sequence[Task]) -> int:
    """Targets of all steps of all runs."""
    return sum(task.feed.total_tokens()[1] for task in tasks)
