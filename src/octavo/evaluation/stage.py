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
from octavo.evaluation.answering import Asker
from octavo.evaluation.chosen import Chosen, choose, heldout_limit, with_data
from octavo.evaluation.contestants import Contestants
from octavo.evaluation.lines import Kept, chances, measure
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
    if _is_current(study, folder, made_from):
        progress.message("evaluation: adapters, held-out data and settings are those of last time; kept")
        return
    found = Measured(made_from, study)
    for base in study.bases:
        chosen = [run for run in runs if run.base == base.name]
        if chosen:
            done = [run for run in chosen if states[run.id] == "completed"]
            _evaluate_base(
                study, base, chosen, done, folder, sources[base.name], encoders[base.name], progress, found
            )
    found.write(folder)
    write_json_atomic(_stamp(folder), {"made_from": made_from})


def _stamp(folder: Folder) -> Path:
    return folder.evaluation(heldout.NAME).with_name("made_from.json")


def _is_current(study: Study, folder: Folder, made_from: str) -> bool:
    names = [heldout.NAME, generations.NAME, *(one.name for one in choose(study.evaluate.suites))]
    files = [*(folder.evaluation(name) for name in names), _stamp(folder)]
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
    for one in choose(study.evaluate.suites):
        digest.update(f"{one.name} {one.suite.version} {one.suite.rule}".encode())
        if one.request.file is not None:
            digest.update(_content(one.request.file))
    return digest.hexdigest()


def _content(path: Path) -> bytes:
    """What a suite's file or folder holds."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    return b"".join(file.read_bytes() for file in files)


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
    found: Measured,
) -> None:
    progress.stage(f"evaluating {len(done)} runs and {base.name} itself")
    device = pick_device()
    plans = plans_of(read_plans(folder), base.name)
    budget, at_once = least(plans, "micro_step_tokens"), least(plans, "answers_at_once")
    assert budget is not None  # every plan has it
    control = control_variant(study)
    prompts: list[Example] = []
    if study.evaluate.generations:
        examples = load_examples(folder.data(control or runs[0].variant) / "heldout.jsonl")
        prompts = generations.pick_prompts(examples, study.evaluate.generations)
    pairs = _assign(study, runs, done, folder, encoder, f"base:{base.name}")
    tell = _tenths(len(pairs), progress)
    heldout_lines = found.lines[heldout.NAME]
    before = len(heldout_lines)
    objective = make_objective(base, source, runs[0].train)  # the same for all runs where it scores
    for contestants in _contestants(base, source, done, folder, device):
        own = [(who, item) for who, item in pairs if who in contestants.lanes]
        told = _after(len(heldout_lines) - before, tell)
        try:
            heldout_lines += heldout.score_items(contestants, own, budget, told, objective)
            if prompts and not objective.writes:
                found.lines[generations.NAME] += generations.no_answers(contestants, prompts)
            elif prompts:
                found.lines[generations.NAME] += generations.answer_prompts(
                    contestants, prompts, encoder, at_once=at_once
                )
            asker = Asker(contestants, encoder, budget, at_once, objective)
            for one in found.chosen:
                found.add(with_data(one, study, folder, control, encoder), asker, base.name, folder, progress)
        finally:
            contestants.close()


class Measured:
    """The lines of all suites so far, and what is to be known of each suite."""

    def __init__(self, made_from: str, study: Study) -> None:
        self.made_from = made_from
        self.chosen = choose(study.evaluate.suites)
        names = [heldout.NAME, generations.NAME, *(one.name for one in self.chosen)]
        self.lines: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        self.facts: dict[str, dict[str, Any]] = {one.name: suite_facts(one) for one in self.chosen}
        self.kept: list[Kept] = []

    def add(self, one: Chosen, asker: Asker, base: str, folder: Folder, progress: Progress) -> None:
        """Ask the items of a suite; what an earlier call of the same study has kept is not asked again."""
        items = one.items()
        kept = Kept(
            folder.evaluation(one.name).parent / "partial" / f"{base}-{one.name}.jsonl", self.made_from
        )
        self.kept.append(kept)
        self.lines[one.name] += measure(asker, one, items, kept, progress.message)
        if asker.contestants.base_key in asker.contestants.lanes:
            self.facts[one.name]["chance"][base] = chances(asker, one, items)

    def write(self, folder: Folder) -> None:
        """Write every suite's file, whole, and forget what was kept on the way."""
        for suite, rows in self.lines.items():
            text = "".join(json.dumps(json_safe(row), ensure_ascii=False) + "\n" for row in rows)
            write_text_atomic(folder.evaluation(suite), text)
        write_json_atomic(folder.suites, self.facts)
        for kept in self.kept:
            kept.drop()


def suite_facts(one: Chosen) -> dict[str, Any]:
    """What is to be known of a suite beside its lines; `chance` is by base and metric."""
    suite = one.suite
    return {
        "version": suite.version,
        "rule": suite.rule,
        "says": suite.says,
        "unit": suite.unit,
        "metric": suite.metric,
        "limit": one.request.limit,
        "chance": {},
    }


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
    limit = heldout_limit(study.evaluate.suites)
    for (variant, max_length), names in readers.items():
        path = folder.data(variant) / "heldout.jsonl"
        for item in heldout.load_items(variant, path, encoder, max_length, limit):
            pairs += [(who, item) for who in names]
    return pairs
