"""A value that is not finite stays in its lane, is named, and never becomes an adapter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.models import load as loading
from octavo.objectives.causal import Causal
from octavo.study import Study
from octavo.training import data as feeding
from octavo.training.loop import PackTrainer
from octavo.training.recorder import LAST_GOOD
from tests.models.makers import tiny_base
from tests.training.children import run_child
from tests.training.studies import (
    Notes,
    adapter_hashes,
    ledger_rows,
    load_study,
    matrices,
    read_strict,
    settings,
    steps_of,
    train_only,
    write_corpus,
)

BAD = "v3-s0"
RUNS = [f"v{i}-s0" for i in range(8)]
OTHERS = [run for run in RUNS if run != BAD]


@pytest.fixture(scope="module")
def untied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base whose embedding rows are no rows of its head: a bad one reaches only those who read that token."""
    return tiny_base(tmp_path_factory.mktemp("untied"), tied=False)


@pytest.fixture(scope="module")
def study(untied: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Eight runs of different ranks, lengths and recipes."""
    folder = tmp_path_factory.mktemp("eight")
    variants = [
        {"name": f"v{i}", "recipe": "control", "train": {"lora.rank": 2 + i, "lora.dropout": 0.1 * (i % 2)}}
        for i in range(8)
    ]
    variants[3] |= {"recipe": "glyphs", "options": {"density": 1.0}}
    variants[5]["train"] |= {"steps": 7, "epochs": None}
    values = settings(untied, write_corpus(folder / "corpus.jsonl"), variants=variants)
    values["criteria"] = {"nonfinite_parameters": 0, "loss_falls": True}
    return load_study(folder / "study.yaml", values)


@pytest.fixture(scope="module")
def clean(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All eight trained with no fault."""
    out = tmp_path_factory.mktemp("clean") / "out"
    train_only(study, out)
    assert list(adapter_hashes(out)) == RUNS
    return out


def poison_parameters(step: int, value: float = math.nan) -> Callable[[PackTrainer], None]:
    """After the window of a step, put a value into the bad run's parameters."""

    def after_window(trainer: PackTrainer) -> None:
        for lane, state in enumerate(trainer.states):
            if state is not None and state.run == BAD and state.step == step - 1:
                trainer.bank.flat_KP[lane, 11] = value

    return after_window


def assert_others_untouched(out: Path, clean: Path) -> None:
    """Adapters of the other seven bit for bit, and every figure that was measured of them."""
    wanted = adapter_hashes(clean)
    assert adapter_hashes(out) == {run: wanted[run] for run in OTHERS}
    for run in OTHERS:
        for mine, theirs in zip(*(read_jsonl(Folder(o).metrics(run)) for o in (out, clean)), strict=True):
            assert mine | {"seconds": 0} == theirs | {"seconds": 0}
        row = ledger_rows(out)[run]
        assert (row["state"], row["verdict"]) == ("completed", None)


def assert_quarantined(out: Path, step: int, tensor: str) -> str:
    """Ledger, event and last good adapter of the bad run. Returns the evidence."""
    row = ledger_rows(out)[BAD]
    assert (row["state"], row["verdict"], row["lease"], row["rescued"]) == (
        "quarantined",
        "dead",
        None,
        False,
    )
    events = [event for event in read_jsonl(Folder(out).events(BAD)) if event["kind"] != "resumed"]
    assert [(event["step"], event["kind"], event["action"]) for event in events] == [
        # a fault in the parameters themselves is found after the step, which is taken back
        (
            step,
            "nonfinite",
            f"quarantined, {'step undone' if 'adapter matrix' in tensor else 'no step taken'}",
        )
    ]
    evidence = events[0]["evidence"]
    assert row["message"] == evidence
    assert evidence.startswith(f"step {step}: loss ")
    assert f"first non-finite tensor: {tensor}" in evidence
    assert not Folder(out).adapter(BAD).exists()
    assert steps_of(out, BAD) == list(range(1, step + 1))
    kept = load_file(Folder(out).checkpoints(BAD) / LAST_GOOD)
    assert kept
    assert all(bool(torch.isfinite(t).all()) for t in kept.values())
    return evidence


def batch_of(study: Study, out: Path, step: int) -> list[str]:
    """Ids of the examples that the bad run read at a step."""
    ids = [row["id"] for row in read_jsonl(Folder(out).data("v3") / "train.jsonl")]
    train = study.expand()[3].train
    rows = [feeding.Tokens(i, "", (), (), 0) for i in ids]
    feed = feeding.Feed(rows, 0, train.batch_size, train.accumulation, train.epochs, train.steps)
    return [ids[i] for batch in feed.batches(step - 1) for i in batch]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_bad_parameter_is_named_and_kept_from_the_others(
    study: Study, clean: Path, tmp_path: Path, value: float
):
    notes = Notes()
    train_only(study, tmp_path, poison_parameters(3, value), notes)
    assert_others_untouched(tmp_path, clean)
    evidence = assert_quarantined(tmp_path, 3, "adapter matrix A of model.layers.0.self_attn.q_proj")
    assert evidence.endswith(f"examples of the batch: {', '.join(batch_of(study, tmp_path, 3))}")
    assert any(text.startswith(f"{BAD}: step 3: ") for text in notes.messages)


def test_the_last_good_adapter_is_that_of_the_step_before(study: Study, tmp_path: Path):
    seen: list[dict] = []

    def after_window(trainer: PackTrainer) -> None:
        lane = [i for i, state in enumerate(trainer.states) if state and state.run == BAD]
        if lane and trainer.window_number == 2:
            seen.append(trainer.bank.read(lane[0]))
        poison_parameters(3)(trainer)

    train_only(study, tmp_path, after_window)
    kept = load_file(Folder(tmp_path).checkpoints(BAD) / LAST_GOOD)
    assert len(kept) == 2 * len(seen[0])
    for name, (a, b) in seen[0].items():
        assert torch.equal(kept[f"{name}.A"], a)
        assert torch.equal(kept[f"{name}.B"], b)


def test_a_bad_first_step_leaves_the_beginning(study: Study, clean: Path, tmp_path: Path):
    train_only(study, tmp_path, poison_parameters(1))
    assert_others_untouched(tmp_path, clean)
    assert_quarantined(tmp_path, 1, "adapter matrix A of ")


def test_a_bad_last_step_exports_nothing(study: Study, clean: Path, tmp_path: Path):
    train_only(study, tmp_path, poison_parameters(5))
    assert_others_untouched(tmp_path, clean)
    assert_quarantined(tmp_path, 5, "adapter matrix A of ")


def test_an_example_with_an_infinite_loss(
    study: Study, clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = Causal.window
    glyphs = {row["id"] for row in read_jsonl(Folder(clean).data("v3") / "train.jsonl")}
    marked = sorted(glyphs)[0]

    def window(self: Causal, batches: Any, seed: int, step: int, lane: int):
        made = whole(self, batches, seed, step, lane)
        # lane 3 is the bad run's for the whole study: eight runs, eight lanes
        return [
            [
                replace(sample, weight=math.inf) if lane == 3 and row.id == marked else sample
                for sample, (_, row) in zip(samples, batch, strict=True)
            ]
            for samples, batch in zip(made, batches, strict=True)
        ]

    monkeypatch.setattr(Causal, "window", window)
    train_only(study, tmp_path)
    assert_others_untouched(tmp_path, clean)
    step = next(s for s in range(1, 6) if marked in batch_of(study, tmp_path, s))
    evidence = assert_quarantined(tmp_path, step, "gradient of the adapter of model.layers.")
    assert f"step {step}: loss inf, gradient norm " in evidence
    assert marked in evidence
    assert read_jsonl(Folder(tmp_path).metrics(BAD))[-1]["loss"] == "inf"


def test_a_bad_row_of_the_base_reaches_only_who_reads_its_token(
    study: Study, clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    patch_embedding(study, clean, monkeypatch)
    train_only(study, tmp_path)
    assert_others_untouched(tmp_path, clean)
    evidence = assert_quarantined(tmp_path, 1, "output of embed_tokens")
    assert evidence.startswith("step 1: loss nan, gradient norm nan; ")
    assert read_jsonl(Folder(tmp_path).metrics(BAD))[0]["loss"] == "nan"


def patch_embedding(study: Study, clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the base with a NaN in the row of a token that only the glyphs variant reads, in every example."""
    from octavo.corpus.encode import Encoder
    from octavo.models.resolve import resolve_base

    encoder = Encoder(loading.load_tokenizer(resolve_base(study.bases[0], study.directory)))
    read = {
        name: [set(row.ids) for row in feeding.tokenise(Folder(clean).data(name) / file, encoder, 512)]
        for name in ("v0", "v3")
        for file in ("train.jsonl", "heldout.jsonl")
    }
    only = set.intersection(*read["v3"]) - set.union(*read["v0"])
    assert only
    whole = loading.load_model

    def load_model(*args, **options):
        model = whole(*args, **options)
        with torch.no_grad():
            model.get_input_embeddings().weight[min(only)] = math.nan
        return model

    monkeypatch.setattr("octavo.training.stage.load_model", load_model)


def test_results_report_and_exit_code_of_a_study_with_a_dead_run(study: Study, tmp_path: Path):
    results = pipeline.run(study, tmp_path, after_window=poison_parameters(3))
    assert results == read_strict(Folder(tmp_path).results)
    rows = {row["id"]: row for row in results["runs"]}
    dead = rows[BAD]
    assert (dead["state"], dead["verdict"], dead["steps"]) == ("quarantined", "dead", 3)
    for key in ("nonfinite_parameters", "heldout_loss", "heldout_loss_control", "heldout_bits_per_character"):
        assert dead[key] is None
        assert all(rows[run][key] is not None for run in OTHERS)
    assert [event["kind"] for event in dead["events"]] == ["nonfinite"]
    criteria = {item["name"]: item for item in results["criteria"]}
    assert criteria["nonfinite_parameters"]["met"] is False
    assert BAD in criteria["nonfinite_parameters"]["evidence"]
    assert {line["run"] for line in read_jsonl(Folder(tmp_path).evaluation("heldout"))} == {
        *OTHERS, "base:tiny",
    }  # fmt: skip
    row = results["matrix"]["heldout_loss"][results["matrix"]["rows"].index(BAD)]
    assert row == [None] * 8
    page = Folder(tmp_path).report.read_text(encoding="utf-8")
    assert BAD in page
    assert "quarantined" in page
    # the same command again has nothing to do, and says the same
    code, log = run_child(study.directory / "study.yaml", tmp_path)
    assert code == 1, log
    assert f"{BAD}\tquarantined\t-" in log
    assert "octavo: criteria not met: nonfinite_parameters" in log


@pytest.mark.parametrize("window", [4, 6])
def test_a_study_with_a_quarantined_lane_resumes_to_the_same_bits(
    study: Study, clean: Path, tmp_path: Path, window: int
):
    """Window 4 is before the quarantined run's planned last step, window 6 after it."""

    class Stop(Exception):
        pass

    def poison_and_stop(trainer: PackTrainer) -> None:
        poison_parameters(2)(trainer)
        if trainer.window_number == window:
            raise Stop

    with pytest.raises(Stop):
        train_only(study, tmp_path, poison_and_stop)
    assert ledger_rows(tmp_path)[BAD]["state"] == "quarantined"
    train_only(study, tmp_path)
    assert_others_untouched(tmp_path, clean)
    assert_quarantined(tmp_path, 2, "adapter matrix A of ")


def test_a_fault_that_does_not_come_back_after_a_kill_leaves_no_trace(
    study: Study, clean: Path, tmp_path: Path
):
    """The checkpoint is of step 2, the fault of step 3, the kill in step 4: the run is well when it goes on."""

    class Stop(Exception):
        pass

    def poison_and_stop(trainer: PackTrainer) -> None:
        poison_parameters(3)(trainer)
        if trainer.window_number == 4:
            raise Stop

    with pytest.raises(Stop):
        train_only(study, tmp_path, poison_and_stop)
    assert ledger_rows(tmp_path)[BAD]["verdict"] == "dead"
    train_only(study, tmp_path)
    assert adapter_hashes(tmp_path) == adapter_hashes(clean)
    row = ledger_rows(tmp_path)[BAD]
    assert (row["state"], row["verdict"], row["message"]) == ("completed", None, None)
    assert not (Folder(tmp_path).checkpoints(BAD) / LAST_GOOD).exists()
    assert [event["kind"] for event in read_jsonl(Folder(tmp_path).events(BAD))] == ["resumed"]


def test_every_adapter_moved(clean: Path):
    for run in RUNS:
        assert all(bool(b.any()) for _, b in matrices(clean, run).values())
