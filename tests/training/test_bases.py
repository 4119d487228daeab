"""Two bases in one study: packs one after the other, one ledger, one report."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.models.quiet import quiet
from octavo.study import Study
from tests.models.makers import tiny_base, tiny_tokenizer
from tests.training.children import Fault, run_child
from tests.training.studies import (
    adapter_hashes,
    ledger_rows,
    load_study,
    read_strict,
    settings,
    train_only,
    write_corpus,
)

RUNS = ["control-basenarrow-s0", "control-basewide-s0", "glyphs-basenarrow-s0", "glyphs-basewide-s0"]


def wide_base(folder: Path) -> Path:
    """One layer, twice as wide, another draw."""
    tokenizer = tiny_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(5)
        LlamaForCausalLM(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("bases")
    bases = [
        {"name": "narrow", "model": str(tiny_base(folder / "narrow")), "dtype": "float32"},
        {"name": "wide", "model": str(wide_base(folder / "wide")), "dtype": "float32"},
    ]
    values = settings(
        folder, write_corpus(folder / "corpus.jsonl"), bases=bases, sweep={"base": ["narrow", "wide"]}
    )
    return load_study(folder / "study.yaml", values)


@pytest.fixture(scope="module")
def done(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("done") / "out"
    pipeline.run(study, out)
    return out


def test_one_ledger_holds_the_runs_of_both(done: Path):
    rows = ledger_rows(done)
    assert sorted(rows) == RUNS
    assert {row["state"] for row in rows.values()} == {"completed"}
    assert {row["base"] for row in rows.values()} == {"narrow", "wide"}
    assert list(adapter_hashes(done)) == RUNS


def test_each_base_has_its_plan_and_checkpoints(done: Path):
    packs = json.loads(Folder(done).plan.read_text())["packs"]
    assert {name: pack["lanes"] for name, pack in packs.items()} == {"narrow": 2, "wide": 2}
    assert packs["narrow"]["base_parameters"] != packs["wide"]["base_parameters"]
    assert all((done / "packs" / name).is_dir() for name in packs)


def test_results_have_rows_for_both(done: Path):
    results = read_strict(Folder(done).results)
    assert [base["name"] for base in results["bases"]] == ["narrow", "wide"]
    assert all(base["parameters"] and base["dtype"] == "float32" for base in results["bases"])
    assert sorted(run["id"] for run in results["runs"]) == RUNS
    assert all(run["heldout_loss"] is not None for run in results["runs"])
    matrix = results["matrix"]
    assert set(matrix["rows"]) == {*RUNS, "base:narrow", "base:wide"}
    rows = dict(zip(matrix["rows"], matrix["heldout_loss"], strict=True))
    assert all(None not in rows[f"base:{name}"] for name in ("narrow", "wide"))
    assert rows["base:narrow"] != rows["base:wide"]
    answers = results["evaluation"]["generations"][0]["answers"]
    assert set(answers) == {*RUNS, "base:narrow", "base:wide"}


def test_packs_train_one_after_the_other(study: Study, done: Path, tmp_path: Path):
    order: list[str] = []
    train_only(study, tmp_path, lambda t: order.append(next(s.run for s in t.states if s)))
    assert ["narrow" in run for run in order] == [True] * 5 + [False] * 5
    assert adapter_hashes(tmp_path) == adapter_hashes(done)


def test_a_base_alone_gives_the_same_runs(study: Study, done: Path, tmp_path: Path):
    values = study.resolved() | {"sweep": {"base": ["wide"]}}
    train_only(load_study(tmp_path / "study.yaml", values), tmp_path / "out")
    wanted = {run: sha for run, sha in adapter_hashes(done).items() if "wide" in run}
    assert adapter_hashes(tmp_path / "out") == wanted


def test_a_kill_in_the_second_pack_repeats_nothing_of_the_first(study: Study, done: Path, tmp_path: Path):
    file = study.directory / "study.yaml"
    code, log = run_child(file, tmp_path, Fault("step", 3, "glyphs-basewide-s0"))
    assert code == -signal.SIGKILL, log
    states = {run: row["state"] for run, row in ledger_rows(tmp_path).items()}
    assert states == {run: "completed" if "narrow" in run else "training" for run in RUNS}
    stamp = Folder(tmp_path).metrics("control-basenarrow-s0").stat().st_mtime_ns
    code, log = run_child(file, tmp_path)
    assert code == 0, log
    assert Folder(tmp_path).metrics("control-basenarrow-s0").stat().st_mtime_ns == stamp
    assert adapter_hashes(tmp_path) == adapter_hashes(done)
    assert [len(read_jsonl(Folder(tmp_path).metrics(run))) for run in RUNS] == [5] * 4
