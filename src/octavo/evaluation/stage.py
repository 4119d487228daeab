"""The evaluation stage: adapters and held-out data in, one JSON line an item and run out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from octavo import __version__
from octavo.artifacts import Folder, json_safe, write_json_atomic, write_text_atomic
from octavo.corpus.example import Example, load_examples
from octavo.declared import control_variant
from octavo.errors import InputError
from octavo.evaluation import generations, heldout
from octavo.evaluation.contestants import Contestants
from octavo.expand import Run
from octavo.lanes.base import BaseModel
from octavo.lanes.peft_io import WEIGHTS
from octavo.ledger import Ledger
from octavo.models.load import load_model
from octavo.models.resolve import BaseSource
from octavo.objectives.objective import make_objective
from octavo.progress import Progress
from octavo.settings import Base
from octavo.study import Study
from octavo.training.device import pick_device, pick_dtype
from octavo.training.memory import settle_allocator
from octavo.training.plan_file import least, plans_of, read_plans
from octavo.training.stage import ENDED

# below this many scores an evaluation is over before anybody wonders
_MANY = 500


def evaluate(
    study: Study, folder: Folder, sources: dict[str, BaseSource], encoders: dict[str, Any], progress: Progress
) -> None:
    """Score every completed run and every base; writes evaluation/<suite>.jsonl.

    Raises:
        InputError: a run has not been trained to its end.
    """
    settle_allocator(len(study.expand()))
    with Ledger(folder.ledger) as ledger:
        ledger.ensure(study.expand())
        states = {row["run"]: row["state"] for row in ledger.rows()}
    runs = study.expand()
    # a failed run is reported as such and leaves the others to be measured
    if open_runs := [run.id for run in runs if states[run.id] not in (*ENDED, "failed")]:
        raise InputError(
            f"{folder.out}: {len(open_runs)} of {len(runs)} runs have not been trained to their end, first "
            f"'{open_runs[0]}' ({states[open_runs[0]]}); run `octavo train` first"
        )
    made_from = _fingerprint(study, folder, [run for run in runs if states[run.id] == "completed"])
    if _is_current(folder, made_from):
        progress.message("evaluation: adapters, held-out data and settings are those of last time; kept")
        return
    lines: dict[str, list[dict[str, Any]]] = {heldout.NAME: [], generations.NAME: []}
    for base in study.bases:
        chosen = [run for run in runs if run.base == base.name]
        if chosen:
            done = [run for run in chosen if states[run.id] == "completed"]
            for suite, rows in _evaluate_base(
                study, base, chosen, done, folder, sources[base.name], encoders[base.name], progress
            ).items():
                lines[suite] += rows
    for suite, rows in lines.items():
        text = "".join(json.dumps(json_safe(row), ensure_ascii=False) + "\n" for row in rows)
        write_text_atomic(folder.evaluation(suite), text)
    write_json_atomic(_stamp(folder), {"made_from": made_from})


def _stamp(folder: Folder) -> Path:
    return folder.evaluation(heldout.NAME).with_name("made_from.json")


def _is_current(folder: Folder, made_from: str) -> bool:
    files = [folder.evaluation(heldout.NAME), folder.evaluation(generations.NAME), _stamp(folder)]
    return all(f.exists() for f in files) and json.loads(files[-1].read_text())["made_from"] == made_from


def _fingerprint(study: Study, folder: Folder, done: Sequence[Run]) -> str:
    """SHA-256 of all that the lines follow from: suites, settings, adapters and held-out data."""
    digest = hashlib.sha256(f"{__version__} {heldout.VERSION} {generations.VERSION}".encode())
    digest.update(json.dumps(study.resolved(), sort_keys=True).encode())
    for run in done:
        digest.update(run.id.encode())
        for path in _weights(folder, run):
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    for variant in study.variants:
        digest.update((folder.data(variant.name) / "heldout.jsonl").read_bytes())
    return digest.hexdigest()


def _weights(folder: Folder, run: Run) -> list[Path]:
    """The files that hold what a run has trained."""
    if run.train.method == "full":
        return sorted(folder.model(run.id).glob("*.safetensors"))
    return [folder.adapter(run.id) / WEIGHTS]


def _evaluate_base(
    study: Study,
    base: Base,
    runs: Sequence[Run],
    done: Sequence[Run],
    folder: Folder,
    source: BaseSource,
    encoder: Any,
    progress: Progress,
) -> dict[str, list[dict[str, Any]]]:
    progress.stage(f"evaluating {len(done)} runs and {base.name} itself")
    device = pick_device()
    plans = plans_of(read_plans(folder), base.name)
    budget, at_once = least(plans, "micro_step_tokens"), least(plans, "answers_at_once")
    assert budget is not None  # every plan has it
    prompts: list[Example] = []
    if study.evaluate.generations:
        control = control_variant(study) or runs[0].variant
        examples = load_examples(folder.data(control) / "heldout.jsonl")
        prompts = generations.pick_prompts(examples, study.evaluate.generations)
    pairs = _assign(study, runs, done, folder, encoder, f"base:{base.name}")
    tell = _tenths(len(pairs), progress)
    found: dict[str, list[dict[str, Any]]] = {heldout.NAME: [], generations.NAME: []}
    objective = make_objective(base, source, runs[0].train)  # the same for all runs where it scores
    for contestants in _contestants(base, source, done, folder, device):
        own = [(who, item) for who, item in pairs if who in contestants.lanes]
        told = _after(len(found[heldout.NAME]), tell)
        try:
            found[heldout.NAME] += heldout.score_items(contestants, own, budget, told, objective)
            if prompts and not objective.writes:
                found[generations.NAME] += generations.no_answers(contestants, prompts)
            elif prompts:
                found[generations.NAME] += generations.answer_prompts(
                    contestants, prompts, encoder, at_once=at_once
                )
        finally:
            contestants.close()
    return found


def _contestants(
    base: Base, source: BaseSource, done: Sequence[Run], folder: Folder, device: torch.device
) -> Iterator[Contestants]:
    """The base with all adapters, then each run that trained all weights; one model is loaded at a time."""
    dtype = pick_dtype(base.dtype, device)
    adapters = [(run.id, folder.adapter(run.id)) for run in done if run.train.method == "lora"]
    yield Contestants(BaseModel(load_model(source, dtype).to(device)), base.name, adapters)
    for run in done:
        if run.train.method == "full":
            own = replace(source, folder=folder.model(run.id), init="pretrained")
            yield Contestants.whole(BaseModel(load_model(own, dtype).to(device)), run.id)


def _tenths(total: int, progress: Progress) -> Callable[[int], None]:
    """Tell at every tenth of a long evaluation how many of the `total` answers are there."""
    told = 0

    def tell(done: int) -> None:
        nonlocal told
        if total >= _MANY and done * 10 // total > told:
            told = done * 10 // total
            progress.message(f"evaluation: {done} of {total} held-out scores")

    return tell


def _after(before: int, tell: Callable[[int], None]) -> Callable[[int], None]:
    """Count on from what the contestants before have answered."""
    return lambda done: tell(before + done)


def _assign(
    study: Study, runs: Sequence[Run], done: Sequence[Run], folder: Folder, encoder: Any, base_key: str
) -> list[tuple[str, heldout.HeldoutItem]]:
    """Who reads what: each run its own set and the control's, the base all sets; pairs of an item together."""
    control = control_variant(study)
    readers: dict[tuple[str, int], list[str]] = {(run.variant, run.train.max_length): [] for run in runs}
    for run in done:
        length = run.train.max_length
        for variant in dict.fromkeys([run.variant, control or run.variant]):
            readers.setdefault((variant, length), []).append(run.id)
    met: set[str] = set()
    for (variant, _), names in readers.items():
        if variant not in met:
            names.append(base_key)
        met.add(variant)
    pairs = []
    for (variant, max_length), names in readers.items():
        path = folder.data(variant) / "heldout.jsonl"
        for item in heldout.load_items(variant, path, encoder, max_length):
            pairs += [(who, item) for who in names]
    return pairs
