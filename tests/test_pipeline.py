"""A study from end to end on a tiny base: every file of the contract, each stage alone, nothing done twice."""

from __future__ import annotations

import math
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.errors import InputError
from octavo.models.resolve import BaseSource
from octavo.study import Study
from octavo.vitals.check import check_adapter
from tests.training.studies import (
    Notes,
    adapter_hashes,
    ledger_rows,
    load_study,
    read_strict,
    settings,
    steps_of,
    write_corpus,
)

CONTRACT = [
    "study.yaml",
    "plan.json",
    "ledger.sqlite",
    "results.json",
    "report.html",
    "evaluation/heldout.jsonl",
    "evaluation/generations.jsonl",
    "data/control/train.jsonl",
    "data/control/heldout.jsonl",
    "data/control/quality.json",
    "data/glyphs/train.jsonl",
    "data/glyphs/heldout.jsonl",
    "data/glyphs/quality.json",
]
RUN_FILES = [
    "run.yaml",
    "metrics.jsonl",
    "events.jsonl",
    "checkpoints",
    "adapter/adapter_config.json",
    "adapter/adapter_model.safetensors",
    "adapter/README.md",
]
KEYS = {
    "schema", "study", "device", "versions", "bases", "runs", "memory", "throughput", "matrix", "evaluation",
    "comparisons", "basins", "criteria",
}  # fmt: skip
RUN_KEYS = {
    "id", "variant", "base", "seed", "hyperparameters", "state", "verdict", "rescued", "steps", "tokens",
    "label_tokens", "trainable_parameters", "nonfinite_parameters", "train_loss", "heldout_loss",
    "heldout_bits_per_character", "seconds", "events", "curves",
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def study(tiny: BaseSource, tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    values = settings(tiny.folder, write_corpus(folder / "corpus.jsonl"), seeds=[0, 1])
    values["criteria"] = {
        "nonfinite_parameters": 0,
        "max_memory_share": 0.5,
        "max_minutes_per_run": 30,
        "loss_falls": True,
    }
    return load_study(folder / "study.yaml", values)


RUNS = ["control-s0", "control-s1", "glyphs-s0", "glyphs-s1"]


@pytest.fixture(scope="module")
def done(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    out = tmp_path_factory.mktemp("done") / "out"
    notes = Notes()
    results = pipeline.run(study, out, notes)
    assert results == read_strict(Folder(out).results)
    assert f"report: {Folder(out).report}" in notes.messages
    return Folder(out)


def test_every_file_of_the_contract_is_there(done: Folder):
    for name in CONTRACT:
        assert (done.out / name).is_file(), name
    for run in RUNS:
        for name in RUN_FILES:
            assert (done.run(run) / name).exists(), (run, name)
    assert {path.name for path in (done.out / "runs").iterdir()} == set(RUNS)
    assert not list(done.out.rglob("*.tmp"))
    assert Study.load(done.study) == Study.load(done.out)


def test_results_have_every_key_of_the_contract(done: Folder):
    results = read_strict(done.results)
    assert set(results) >= KEYS
    assert set(results["bases"][0]) >= {"name", "parameters", "objective", "dtype"}
    assert [run["id"] for run in results["runs"]] == RUNS
    for run in results["runs"]:
        assert set(run) >= RUN_KEYS
        assert (run["state"], run["verdict"], run["rescued"]) == ("completed", None, False)
        assert (run["nonfinite_parameters"], run["steps"], run["trainable_parameters"]) == (0, 5, 4096)
        assert set(run["train_loss"]) == {"first", "last"}
        assert run["train_loss"]["last"] < run["train_loss"]["first"]
        assert run["tokens"] > run["label_tokens"] > 0
    assert set(results["memory"]) >= {"predicted_bytes", "peak_bytes", "limit_bytes"}
    assert set(results["throughput"]) == {"tokens_per_second", "label_tokens_per_second"}
    assert set(results["matrix"]) >= {"rows", "columns", "heldout_loss"}
    assert results["matrix"]["rows"] == [*RUNS, "base:tiny"]
    assert all(set(item) == {"name", "met", "evidence"} for item in results["criteria"])
    assert [item["met"] for item in results["criteria"]] == [True] * 4
    assert set(results["data"]) == {"control", "glyphs"}
    assert results["study"] == Study.load(done.study).resolved()


def test_metrics_have_the_keys_of_the_contract(done: Folder):
    keys = {"step", "tokens", "loss", "lr", "grad_norm", "seconds", "heldout_loss", "vitals"}
    for run in RUNS:
        rows = read_jsonl(done.metrics(run))
        assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
        assert all(set(row) == keys | {"label_tokens"} for row in rows)
        # every second step and the last one
        assert [row["heldout_loss"] is not None for row in rows] == [False, True, False, True, True]
        assert all(math.isfinite(row["loss"]) and row["vitals"] is None for row in rows)
        assert [row["lr"] for row in rows][:2] == [0.0, 5e-3]
        assert rows == sorted(rows, key=lambda row: row["tokens"])
        assert read_jsonl(done.events(run)) == []


def test_the_ledger_says_that_all_is_done(done: Folder):
    for run, row in ledger_rows(done.out).items():
        assert (row["state"], row["verdict"], row["rescued"], row["message"]) == (
            "completed",
            None,
            False,
            None,
        )
        assert (row["lease"], row["checkpoint"], row["variant"]) == (None, 4, run[:-3])
        assert row["worker"].startswith("process ")
    with closing(sqlite3.connect(done.ledger)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
    assert set(columns) >= {"run", "state", "verdict", "worker", "lease", "checkpoint", "message"}


def test_the_report_shows_every_run_and_needs_no_network(done: Folder):
    page = done.report.read_text(encoding="utf-8")
    for name in [*RUNS, "base:tiny", "nonfinite_parameters", "loss_falls"]:
        assert name in page
    assert 'src="http' not in page
    assert 'href="http' not in page
    assert "@import" not in page


def test_the_adapters_pass_the_check(done: Folder):
    found = check_adapter(done.out)
    assert found["ok"]
    assert len(found["adapters"]) == 4
    assert (done.adapter("glyphs-s1") / "README.md").read_text(encoding="utf-8").count("glyphs-s1") == 1


def snapshot(folder: Folder) -> dict[str, Any]:
    """Bytes and times of what training and data left."""
    files = [*folder.out.glob("runs/**/*"), *folder.out.glob("data/**/*"), folder.study, folder.plan]
    return {str(f): (f.stat().st_mtime_ns, f.read_bytes()) for f in files if f.is_file()}


def test_a_second_run_repeats_nothing(study: Study, done: Folder):
    before, hashes = snapshot(done), adapter_hashes(done.out)
    results = read_strict(done.results)
    notes = Notes()
    again = pipeline.run(study, done.out, notes)
    assert snapshot(done) == before
    assert adapter_hashes(done.out) == hashes
    assert again == results
    assert not [text for text in notes.messages if "lanes" in text or "trainable" in text]


def test_the_stages_one_by_one_are_the_whole(study: Study, done: Folder, tmp_path: Path):
    folder = Folder(tmp_path / "out")
    pipeline.stage_data(study, folder.out)
    assert not folder.plan.exists()
    pipeline.stage_train(study, folder.out)
    assert not folder.evaluation("heldout").exists()
    pipeline.stage_evaluate(study, folder.out)
    assert not folder.results.exists()
    results = pipeline.stage_report(study, folder.out)
    assert adapter_hashes(folder.out) == adapter_hashes(done.out)
    assert results["matrix"] == read_strict(done.results)["matrix"]
    assert folder.report.is_file()


def test_stages_out_of_order_are_told(study: Study, tmp_path: Path):
    with pytest.raises(InputError, match=r"train\.jsonl is missing: run `octavo data` for this study first"):
        pipeline.stage_train(study, tmp_path / "a")
    with pytest.raises(InputError, match=r"4 of 4 runs have not been trained .* run `octavo train` first"):
        pipeline.stage_evaluate(study, tmp_path / "a")
    pipeline.stage_data(study, tmp_path / "b")
    with pytest.raises(InputError, match=r"first 'control-s0' \(queued\)"):
        pipeline.stage_evaluate(study, tmp_path / "b")


def test_a_report_of_a_study_under_way_shows_what_is_there(study: Study, tmp_path: Path):
    pipeline.stage_data(study, tmp_path)
    results = pipeline.stage_report(study, tmp_path)
    assert [run["state"] for run in results["runs"]] == ["queued"] * 4
    with pytest.raises(InputError, match="have not been trained"):
        pipeline.stage_evaluate(study, tmp_path)
    page = Folder(tmp_path).report.read_text(encoding="utf-8")
    assert all(run in page for run in RUNS)


def test_another_study_may_not_use_the_folder(study: Study, done: Folder, tmp_path: Path):
    values = study.resolved() | {"seeds": [0, 2]}
    with pytest.raises(InputError, match=r"holds another study: seeds\[1\] is 1 there and 2 here"):
        pipeline.run(load_study(tmp_path / "study.yaml", values), done.out)


def test_half_written_files_of_a_killed_process_go(study: Study, done: Folder):
    left = done.adapter("control-s0") / ".adapter_model.safetensors.ab12cd_9.tmp"
    own = done.out / ".notes.tmp"
    left.write_bytes(b"half")
    own.write_bytes(b"a person's")
    pipeline.stage_report(study, done.out)
    assert not left.exists()
    assert own.exists()
    own.unlink()


def test_the_builtin_corpus_from_end_to_end(tiny: BaseSource, tmp_path: Path):
    variants = [
        {"name": name, "recipe": recipe}
        for name, recipe in (("control", "control"), ("think", "think"), ("combined", ["glyphs", "spore"]))
    ]
    values = settings(
        tiny.folder, "builtin", variants=variants, train={"max_length": 500, "learning_rate": 1e-2}
    )
    values["corpus"] |= {"examples": 12, "heldout": 4}
    values["variants"][2]["options"] = {"density": 1.0}
    began = time.monotonic()
    results = pipeline.run(load_study(tmp_path / "study.yaml", values), tmp_path / "out")
    assert time.monotonic() - began < 60
    assert [run["state"] for run in results["runs"]] == ["completed"] * 3
    assert all(run["heldout_loss"] for run in results["runs"])
    assert steps_of(tmp_path / "out", "think-s0") == [1, 2, 3]
    rows = dict(zip(results["matrix"]["rows"], results["matrix"]["heldout_loss"], strict=True))
    for column, run in enumerate(("control-s0", "think-s0", "combined-s0")):
        assert rows[run][column] < rows["base:tiny"][column]


def test_a_study_runs_from_python(study: Study, done: Folder, tmp_path: Path):
    results = Study.load(study.directory / "study.yaml").run(out=tmp_path)
    assert adapter_hashes(tmp_path) == adapter_hashes(done.out)
    assert results["matrix"] == read_strict(done.results)["matrix"]


def test_scores_are_kept_until_something_they_follow_from_changes(study: Study, done: Folder, tmp_path: Path):
    copy = Folder(tmp_path / "copy")
    shutil.copytree(done.out, copy.out)
    before = copy.evaluation("heldout").stat().st_mtime_ns
    notes = Notes()
    pipeline.stage_evaluate(study, copy.out, notes)
    assert copy.evaluation("heldout").stat().st_mtime_ns == before
    assert any("kept" in text for text in notes.messages)
    run = study.expand()[0].id
    weights = copy.adapter(run) / "adapter_model.safetensors"
    weights.write_bytes(save({name: t * 2 for name, t in load_file(weights).items()}))
    pipeline.stage_evaluate(study, copy.out)
    old = {
        line["item"]: line["score"] for line in read_jsonl(done.evaluation("heldout")) if line["run"] == run
    }
    new = {
        line["item"]: line["score"] for line in read_jsonl(copy.evaluation("heldout")) if line["run"] == run
    }
    assert old.keys() == new.keys()
    assert all(old[item] != new[item] for item in old)


def test_a_study_goes_on_under_another_memory_limit(study: Study, done: Folder, tmp_path: Path):
    class Enough(Exception):
        pass

    def stop_after_two(trainer: Any) -> None:
        if trainer.window_number == 3:
            raise Enough

    out = tmp_path / "out"
    pipeline.stage_data(study, out)
    with pytest.raises(Enough):
        pipeline.stage_train(study, out, after_window=stop_after_two)
    first = read_strict(Folder(out).plan)["packs"]
    lower = study.model_copy(update={"lanes": study.lanes.model_copy(update={"memory": "1GiB"})})
    pipeline.stage_train(lower, out)
    second = read_strict(Folder(out).plan)["packs"]
    for name, plan in second.items():
        assert plan["limit_bytes"] == 2**30 != first[name]["limit_bytes"]
        assert plan["lanes"] == first[name]["lanes"]
    assert {row["state"] for row in ledger_rows(out).values()} == {"completed"}
    assert Study.load(Folder(out).study).lanes.memory == "1GiB"


def test_a_mended_study_may_have_the_folder_that_a_mistake_claimed(tiny: BaseSource, tmp_path: Path):
    values = settings(tiny.folder, write_corpus(tmp_path / "corpus.jsonl"))
    wrong = values | {"variants": [{"name": "control", "recipe": "contrl"}]}
    with pytest.raises(InputError, match="contrl"):
        pipeline.stage_data(load_study(tmp_path / "wrong.yaml", wrong), tmp_path / "out")
    right = load_study(tmp_path / "right.yaml", values)
    pipeline.stage_data(right, tmp_path / "out")
    assert Study.load(tmp_path / "out" / "study.yaml") == right


def test_a_report_of_nothing_is_refused(study: Study, tmp_path: Path):
    with pytest.raises(InputError, match="nothing has been made here yet"):
        pipeline.stage_report(study, tmp_path / "empty")
