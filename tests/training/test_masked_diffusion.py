"""A study under masked diffusion, from data to report: killed, watched, planned and evaluated like any other."""

from __future__ import annotations

import json
import math
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.corpus.encode import Encoder
from octavo.evaluation.contestants import Contestants
from octavo.lanes.base import BaseModel
from octavo.models.load import load_model, load_tokenizer, skeleton
from octavo.models.resolve import resolve_base
from octavo.objectives.objective import make_objective
from octavo.study import Study
from octavo.training.data import load_rows, tokenise
from octavo.training.planning import plan_pack
from octavo.training.tasks import make_task
from octavo.training.windows import largest_heldout, largest_micro_step
from tests.training.children import Fault, run_child
from tests.training.studies import (
    adapter_hashes,
    largest_gap,
    load_study,
    read_strict,
    settings,
    train_only,
    write_corpus,
)


def values_of(base: Path, corpus: Path, **changes: Any) -> dict[str, Any]:
    own = {"objective": "masked_diffusion", "attention": "full"} | changes.pop("keys", {})
    bases = [{"name": "tiny", "model": str(base), "dtype": "float32"} | own]
    return settings(base, corpus, bases=bases, **changes)


@dataclass
class Whole:
    file: Path
    out: Path

    @property
    def study(self) -> Study:
        return Study.load(self.file)


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Three variants, one of them hiding glyphs whole, watched, and never interrupted."""
    folder = tmp_path_factory.mktemp("masked")
    values = values_of(
        tiny.folder,
        write_corpus(folder / "corpus.jsonl"),
        variants=[
            {"name": "control", "recipe": "control"},
            {"name": "glyphs", "recipe": "glyphs", "options": {"density": 1.0}},
            {
                "name": "whole-glyphs",
                "recipe": "glyphs",
                "options": {"density": 1.0},
                "train": {"mask_symbols": True},
            },
        ],
        lanes={"strategy": 2},
        # a tiny random model's adapters are soon as large as its weights
        vitals={"every": 1, "on_trip": "continue"},
    )
    load_study(folder / "study.yaml", values)
    code, log = run_child(folder / "study.yaml", folder / "out")
    assert code == 0, log
    return Whole(folder / "study.yaml", folder / "out")


def test_killed_and_continued_it_ends_in_the_same_bits(whole: Whole, tmp_path: Path) -> None:
    for fault in (Fault("step", 3, "control-s0"), Fault("step", 2, "whole-glyphs-s0")):
        assert run_child(whole.file, tmp_path, fault)[0] == -signal.SIGKILL
    code, log = run_child(whole.file, tmp_path)
    assert code == 0, log
    assert adapter_hashes(tmp_path) == adapter_hashes(whole.out)
    for name in ("heldout", "generations"):
        assert (
            Folder(tmp_path).evaluation(name).read_bytes() == Folder(whole.out).evaluation(name).read_bytes()
        )


def test_lanes_train_what_each_run_trains_alone_and_with_another_seed_something_else(
    whole: Whole, tiny, tmp_path: Path
) -> None:
    values = json.loads(json.dumps(whole.study.resolved())) | {"lanes": {"strategy": 1}}
    alone = train_only(load_study(tmp_path / "alone.yaml", values), tmp_path / "alone")
    assert largest_gap(alone.out, whole.out) <= 1e-4
    hashes = adapter_hashes(whole.out)
    assert hashes["glyphs-s0"] != hashes["whole-glyphs-s0"]


def test_held_out_lines_are_bounds_on_the_same_hidden_tokens_for_all(whole: Whole) -> None:
    folder = Folder(whole.out)
    lines = read_jsonl(folder.evaluation("heldout"))
    assert all(line["detail"]["bound"] is True for line in lines)
    study = whole.study
    base = study.bases[0]
    source = resolve_base(base, study.directory)
    objective = make_objective(base, source, study.expand()[0].train)
    encoder = Encoder(load_tokenizer(source))
    rows = {r.id: r for r in tokenise(folder.data("control") / "heldout.jsonl", encoder, 200)}
    run = "glyphs-s0"
    contestants = Contestants(
        BaseModel(load_model(source, torch.float32)), "tiny", [(run, folder.adapter(run))]
    )
    for line in lines:
        if line["run"] == run and line["detail"]["set"] == "control":
            samples = objective.heldout(rows[line["item"].split("/", 1)[1]], contestants.lanes[run])
            losses, _ = contestants.base.score(samples)
            assert line["detail"]["loss_sum"] == pytest.approx(sum(losses), rel=1e-4)
            assert line["score"] == pytest.approx(sum(losses) / line["detail"]["targets"], rel=1e-4)
    contestants.close()
    last = read_jsonl(folder.metrics(run))[-1]
    own = [line["detail"] for line in lines if line["run"] == run and line["detail"]["set"] == "glyphs"]
    mean = sum(d["loss_sum"] for d in own) / sum(d["targets"] for d in own)
    assert last["heldout_loss"] == pytest.approx(mean, rel=1e-4)


def test_generations_are_null_and_say_why_in_results_and_report(whole: Whole) -> None:
    results = read_strict(Folder(whole.out).results)
    (entry,) = results["evaluation"]["generations"]
    names = {"base:tiny", "control-s0", "glyphs-s0", "whole-glyphs-s0"}
    assert entry["answers"] == dict.fromkeys(names)
    assert entry["reasons"] == dict.fromkeys(names, "not available yet")
    page = (whole.out / "report.html").read_text(encoding="utf-8")
    assert page.count("not available yet") >= len(names)
    assert "Losses of tiny are of hidden tokens (masked diffusion): held-out ones are upper bounds" in page
    assert results["memory"]["predicted_bytes"]


def test_vitals_read_it_and_trip_on_nothing(whole: Whole) -> None:
    folder = Folder(whole.out)
    base = read_strict(whole.out / "vitals" / "tiny.json")["base"]
    assert math.isfinite(base["probe_nll"])
    assert base["probe_share"] is None
    assert base["attention"]["0"]["entropy"] > 0
    for run in ("control-s0", "glyphs-s0"):
        rows = read_jsonl(folder.metrics(run))
        assert all(row["vitals"]["loss_of_ln_v"] is None for row in rows)
        assert all(math.isfinite(row["vitals"]["rho"]) for row in rows)


def test_model_cards_say_what_was_learned(whole: Whole) -> None:
    card = (Folder(whole.out).adapter("control-s0") / "README.md").read_text(encoding="utf-8")
    assert "masked_diffusion, prediction next, attention full, mask token id" in card


def test_a_plan_counts_all_that_may_be_hidden_and_every_reading(whole: Whole) -> None:
    study, folder = whole.study, Folder(whole.out)
    source = resolve_base(study.bases[0], study.directory)
    run = study.expand()[0]
    rows = load_rows([run], folder, Encoder(load_tokenizer(source)))[run.id]
    task = make_task(run, *rows, skeleton(source), make_objective(study.bases[0], source, run.train))
    read = [len(sample.ids) for row in rows[1] for sample in task.feed.objective.heldout(row, 0)]
    assert len(read) == 4 * len(rows[1])
    assert largest_heldout([task], 10**6) == sum(read)
    assert largest_heldout([task], 1) == max(read)
    whole_step = largest_micro_step([task], 1, 10**6)
    assert whole_step.labels == max(task.feed.tokens_of(step)[1] for step in range(task.total_steps))
    plan = plan_pack(study, [task], skeleton(source), torch.float32, 10**10, "cpu")
    assert plan.longest_example == task.longest <= max(len(row.ids) for row in [*rows[0], *rows[1]])


def test_the_plan_from_the_file_is_that_of_the_training(whole: Whole) -> None:
    (found,) = pipeline.stage_plan(whole.study, probe=True)
    trained = json.loads(Folder(whole.out).plan.read_text(encoding="utf-8"))["packs"]["tiny"]
    for key in ("lanes", "longest_example", "analytic_bytes"):
        assert getattr(found.plan, key) == trained[key], key
    assert found.plan.predicted_seconds


@pytest.mark.parametrize(
    "keys",
    [
        {"attention": "block", "block_size": 16, "prediction": "same"},
        {"attention": "block", "block_size": 16},
        {"attention": "causal"},
    ],
    ids=lambda keys: " ".join(map(str, keys.values())),
)
def test_every_attention_trains_to_the_end(tiny, tmp_path: Path, keys: dict[str, Any]) -> None:
    corpus = write_corpus(tmp_path / "corpus.jsonl")
    study = load_study(tmp_path / "study.yaml", values_of(tiny.folder, corpus, keys=keys))
    results = study.run(out=tmp_path / "out")
    runs = read_strict(Folder(tmp_path / "out").results)["runs"]
    assert results is not None
    assert [run["state"] for run in runs] == ["completed", "completed"]
    assert all(math.isfinite(run["heldout_loss"]) for run in runs)


def test_all_weights_learn_it_too(tiny, tmp_path: Path) -> None:
    values = values_of(tiny.folder, write_corpus(tmp_path / "corpus.jsonl"), train={"method": "full"})
    with pipeline._opened(load_study(tmp_path / "study.yaml", values), tmp_path / "out", None) as work:
        work.data()
        work.train(None)
    rows = read_jsonl(Folder(tmp_path / "out").metrics("control-s0"))
    assert all(math.isfinite(row["loss"]) for row in rows)
    assert rows[-1]["heldout_loss"] is not None
