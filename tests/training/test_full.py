"""Training all weights: against a plain loop, through a whole study, killed, poisoned, beside adapters."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.lanes.optimizer import OptimizerSpec
from octavo.lanes.window import LaneEngine, split_micro_steps
from octavo.study import Study
from octavo.training.full_weights import FullBank, FullModel, FullOptimizer
from octavo.training.loop import PackTrainer
from octavo.vitals.check import check_adapter
from tests.lanes.test_families import make
from tests.lanes.tiny import make_windows, padded_loss, tiny_llama, window_samples
from tests.models.makers import tiny_base
from tests.training.children import Fault, run_child
from tests.training.studies import (
    Notes,
    adapter_hashes,
    ledger_rows,
    load_study,
    read_strict,
    settings,
    train_only,
    write_corpus,
)

STEPS, RATE = 20, 1e-3
MOMENTS = OptimizerSpec(weight_decay=0.1, max_grad_norm=0.5)


def plain(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Padded batches, torch's AdamW and clipping over `model.parameters()`; returns the change of every weight."""
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    own = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(
        own.parameters(), lr=RATE, betas=MOMENTS.betas, eps=MOMENTS.eps, weight_decay=MOMENTS.weight_decay
    )
    for window in make_windows(3, STEPS):
        optimizer.zero_grad()
        total = sum(len(ids) - 1 for batch in window for ids in batch)
        for batch in window:
            padded_loss(own, batch).div(total).backward()
        torch.nn.utils.clip_grad_norm_(own.parameters(), MOMENTS.max_grad_norm)
        optimizer.step()
    return {n: p.detach() - start[n] for n, p in own.named_parameters()}


def packed(model: PreTrainedModel, dtype: torch.dtype, budget: int) -> dict[str, torch.Tensor]:
    """The same through the lanes' engine."""
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    base = FullModel(copy.deepcopy(model), dtype)
    bank = FullBank(base.model, dtype)
    optimizer = FullOptimizer(bank)
    optimizer.occupy(0, MOMENTS)
    engine = LaneEngine(base, bank, optimizer)
    for step, window in enumerate(make_windows(3, STEPS)):
        engine.run(split_micro_steps([window_samples(window, 0, 3, step)], budget), [RATE], [True])
    return {n: value - start[n] for n, value in bank.values().items()}


def gap(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> float:
    """||dW - dW_ref|| / ||dW_ref||, all weights together."""
    assert found.keys() == wanted.keys()
    off = sum(float((found[n] - w).square().sum()) for n, w in wanted.items())
    return math.sqrt(off / sum(float(w.square().sum()) for w in wanted.values()))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("budget", [10_000, 20])
def test_the_change_of_the_weights_is_that_of_a_plain_loop(tied: bool, budget: int):
    model = tiny_llama(tie_word_embeddings=tied)
    wanted = plain(model)
    assert all(bool(change.any()) for change in wanted.values())
    assert gap(packed(model, torch.float32, budget), wanted) <= 1e-3


def test_bfloat16_products_move_float32_weights():
    model = tiny_llama()
    change = packed(model, torch.bfloat16, 10_000)
    assert all(value.dtype == torch.float32 for value in change.values())
    assert gap(change, plain(model)) <= 0.2  # eight bits in every product, twenty steps


@pytest.mark.parametrize(
    "family",
    [
        "gemma2",
        "gpt2 with Conv1D",
        "granite with scaled logits",
        "mixtral, a mixture of experts",
        "bloom with alibi",
    ],
)
def test_other_families_train_whole_too(family: str):
    model = make(family)
    assert gap(packed(model, torch.float32, 10_000), plain(model)) <= 1e-3


def make_study(folder: Path, **changes: Any) -> Study:
    base = tiny_base(folder / "base")
    values = settings(base, write_corpus(folder / "corpus.jsonl"), **changes)
    values["lanes"] = {"stagger_seconds": 0}
    return load_study(folder / "study.yaml", values)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The control with an adapter, the glyphs with all weights."""
    variants = [
        {"name": "control", "recipe": "control"},
        {
            "name": "glyphs",
            "recipe": "glyphs",
            "options": {"density": 1.0},
            "train": {"method": "full", "learning_rate": 1e-3},
        },
    ]
    return make_study(tmp_path_factory.mktemp("full"), variants=variants)


@pytest.fixture(scope="module")
def done(study: Study, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], Notes]:
    out = tmp_path_factory.mktemp("done") / "out"
    notes = Notes()
    results = pipeline.run(study, out, notes)
    return out, results, notes


def weights(out: Path, run: str = "glyphs-s0") -> dict[str, torch.Tensor]:
    return load_file(Folder(out).model(run) / "model.safetensors")


def sha(out: Path, run: str = "glyphs-s0") -> str:
    return hashlib.sha256((Folder(out).model(run) / "model.safetensors").read_bytes()).hexdigest()


def test_both_kinds_of_run_stand_in_one_study(done: tuple[Path, dict[str, Any], Notes]):
    out, results, notes = done
    rows = {run["id"]: run for run in results["runs"]}
    assert {run: row["state"] for run, row in rows.items()} == {
        "control-s0": "completed",
        "glyphs-s0": "completed",
    }
    assert list(adapter_hashes(out)) == ["control-s0"]
    parameters = results["bases"][0]["parameters"]
    assert rows["glyphs-s0"]["trainable_parameters"] == parameters
    assert rows["glyphs-s0"]["nonfinite_parameters"] == 0
    assert rows["control-s0"]["trainable_parameters"] < parameters
    assert (
        sum("train.lora and train.learning_rate_ratio_b say nothing" in text for text in notes.messages) == 1
    )
    assert set(read_strict(Folder(out).plan)["packs"]) == {"tiny", "tiny/replica-full", "*/replicas"}


def test_plain_transformers_loads_the_model(study: Study, done: tuple[Path, dict[str, Any], Notes]):
    out, results, _ = done
    place = Folder(out).model("glyphs-s0")
    model = AutoModelForCausalLM.from_pretrained(place)
    tokenizer = AutoTokenizer.from_pretrained(place)
    assert next(model.parameters()).dtype == torch.float32
    base = AutoModelForCausalLM.from_pretrained(study.bases[0].model)
    moved = [n for n, p in model.named_parameters() if not torch.equal(p, base.get_parameter(n))]
    assert moved == [n for n, _ in model.named_parameters()]
    assert json.loads((place / "config.json").read_text())["dtype"] == "float32"
    assert "trainable parameters" in (place / "README.md").read_text()
    turns = [{"role": "user", "content": "Ann has 4 apples."}]
    ids = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_tensors="pt")["input_ids"]
    assert bool(torch.isfinite(model(input_ids=ids).logits).all())
    assert results["runs"][1]["heldout_loss"] > 0


def test_the_evaluation_asks_the_runs_own_model(done: tuple[Path, dict[str, Any], Notes]):
    out, results, _ = done
    last = read_jsonl(Folder(out).metrics("glyphs-s0"))[-1]
    assert results["runs"][1]["heldout_loss"] == pytest.approx(last["heldout_loss"], rel=1e-5)
    base_row = results["matrix"]["rows"].index("base:tiny")
    assert results["matrix"]["heldout_loss"][base_row][1] != pytest.approx(last["heldout_loss"], rel=1e-3)
    answers = results["evaluation"]["generations"][0]["answers"]
    assert set(answers) == {"control-s0", "glyphs-s0", "base:tiny"}
    assert len(read_jsonl(Folder(out).evaluation("heldout"))) == 4 * (1 + 2 + 2)


def test_check_counts_the_model_folder(done: tuple[Path, dict[str, Any], Notes]):
    out, _, _ = done
    folder = Folder(out)
    for place in (folder.model("glyphs-s0"), folder.run("glyphs-s0")):
        report = check_adapter(place)
        assert report["ok"]
        assert report["moved"] is None
        assert len(report["tensors"]) == len(weights(out))
    whole = check_adapter(out)
    assert whole["missing"] == []
    assert [one["name"] for one in whole["adapters"]] == ["control-s0", "glyphs-s0"]


def test_metrics_and_checkpoints_are_those_of_other_runs(done: tuple[Path, dict[str, Any], Notes]):
    out, _, _ = done
    folder = Folder(out)
    rows = read_jsonl(folder.metrics("glyphs-s0"))
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert rows[0].keys() == read_jsonl(folder.metrics("control-s0"))[0].keys()
    assert [f.name for f in folder.checkpoints("glyphs-s0").iterdir()] == ["step-00000004.safetensors"]


@pytest.mark.parametrize(("at", "count"), [("step", 3), ("manifest", 3)])
def test_a_killed_study_ends_with_the_same_weights(
    study: Study, done: tuple[Path, dict[str, Any], Notes], tmp_path: Path, at: str, count: int
):
    file = study.directory / "study.yaml"
    code, log = run_child(file, tmp_path, Fault(at, count, "glyphs-s0"))
    assert code == -9, log
    code, log = run_child(file, tmp_path)
    assert code == 0, log
    assert sha(tmp_path) == sha(done[0])
    assert [p.name for p in Folder(tmp_path).run("glyphs-s0").iterdir() if p.name.startswith(".")] == []


def test_a_nan_keeps_the_last_good_weights_and_exports_nothing(
    study: Study, done: tuple[Path, dict[str, Any], Notes], tmp_path: Path
):
    kept: dict[str, torch.Tensor] = {}

    def poison(trainer: PackTrainer) -> None:
        if "glyphs-s0" in trainer.tasks:
            if trainer.window_number == 2:
                kept.update({n: v.clone() for n, v in trainer.weights.values().items()})  # type: ignore[attr-defined]
            if trainer.window_number == 3:
                trainer.bank.flat_KP[0, 5] = math.nan

    folder = train_only(study, tmp_path, poison)
    row = ledger_rows(tmp_path)["glyphs-s0"]
    assert (row["state"], row["verdict"]) == ("quarantined", "dead")
    assert "first non-finite tensor: parameter model.embed_tokens.weight" in row["message"]
    assert not folder.model("glyphs-s0").exists()
    saved = load_file(folder.checkpoints("glyphs-s0") / "last-good.safetensors")
    assert saved.keys() == kept.keys()
    assert all(torch.equal(saved[name], value) for name, value in kept.items())
    assert adapter_hashes(tmp_path) == adapter_hashes(done[0])
    results = pipeline.run(study, tmp_path)
    assert results["runs"][1]["heldout_loss"] is None


def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(study: Study, tmp_path: Path):
    from octavo.errors import InputError

    values = study.resolved()
    small = Study.load(
        study.directory / "study.yaml", ["lanes.memory=1MiB", "variants.control.train.method=full"]
    )
    assert values["lanes"]["executor"] == "fused"
    with pytest.raises(InputError, match="does not fit into memory"):
        train_only(small, tmp_path)
    assert not (tmp_path / "runs").exists()
