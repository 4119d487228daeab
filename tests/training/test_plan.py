"""The plan: how many lanes, how many tokens a micro-step, and what is said when nothing fits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from octavo.artifacts import Folder
from octavo.errors import InputError
from octavo.study import Study
from octavo.training.plan import lanes_for
from tests.training.studies import (
    Notes,
    adapter_hashes,
    largest_gap,
    load_study,
    settings,
    train_only,
    write_corpus,
)


@pytest.mark.parametrize(
    ("strategy", "runs", "lanes"),
    [
        ("auto", 8, 8),
        ("full", 8, 8),
        ("batched", 8, 4),
        ("batched", 3, 3),
        ("safe", 8, 2),
        ("safe", 1, 1),
        (3, 8, 3),
        (12, 8, 8),
        (1, 8, 1),
    ],
)
def test_lanes_of_a_strategy(strategy: str | int, runs: int, lanes: int):
    assert lanes_for(strategy, runs) == lanes


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus.jsonl")


def study_with(tiny, corpus: Path, folder: Path, **lanes: object) -> Study:
    """Four runs that differ in length, rank, dropout and layers."""
    variants = [
        {"name": "control", "recipe": "control"},
        {"name": "small", "recipe": "control", "train": {"lora.rank": 2, "lora.targets": "attention"}},
        {"name": "dry", "recipe": "control", "train": {"lora.dropout": 0.0, "batch_size": 3}},
        {"name": "long", "recipe": "control", "train": {"steps": 8, "epochs": None, "learning_rate": 1e-2}},
    ]
    return load_study(folder / "study.yaml", settings(tiny.folder, corpus, variants=variants, lanes=lanes))


def plan_of(out: Path) -> dict:
    return json.loads(Folder(out).plan.read_text(encoding="utf-8"))["packs"]["tiny"]


@pytest.fixture(scope="module")
def usual(tiny, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained with all lanes side by side and all the memory there is."""
    folder = tmp_path_factory.mktemp("usual")
    return train_only(study_with(tiny, corpus, folder), folder / "out").out


def test_the_plan_is_written_with_its_parts_and_what_was_measured(usual: Path):
    plan = plan_of(usual)
    parts = plan["predicted_bytes"]
    of_training = ("base", "adapters", "activations", "head", "workspace")
    assert set(parts) == {*of_training, "training", "evaluation", "peak"}
    assert parts["training"] == sum(parts[key] for key in of_training)
    assert parts["peak"] == max(parts["training"], parts["evaluation"])
    assert (plan["lanes"], plan["dtype"], plan["base_parameters"]) == (4, "float32", 32_608)
    assert plan["limit_bytes"] > parts["peak"]
    assert plan["predicted_seconds"] > 0
    assert plan["measured"]["seconds"] > 0
    assert plan["measured"]["tokens"] > plan["measured"]["label_tokens"] > 0


def test_less_memory_makes_smaller_micro_steps_of_the_same_runs(
    tiny, corpus: Path, usual: Path, tmp_path: Path
):
    train_only(study_with(tiny, corpus, tmp_path, memory="3MB"), tmp_path / "out")
    plan = plan_of(tmp_path / "out")
    assert plan["longest_example"] <= plan["micro_step_tokens"] < 300
    assert plan_of(usual)["micro_step_tokens"] == 2560
    assert plan["predicted_bytes"]["peak"] <= plan["limit_bytes"] == 3_000_000
    assert plan["lanes"] == 4
    assert largest_gap(tmp_path / "out", usual) <= 1e-3


@pytest.mark.parametrize(("strategy", "lanes"), [("safe", 2), ("batched", 4), (3, 3), (1, 1)])
def test_another_strategy_is_the_same_training(
    tiny, corpus: Path, usual: Path, tmp_path: Path, strategy: str | int, lanes: int
):
    train_only(study_with(tiny, corpus, tmp_path, strategy=strategy), tmp_path / "out")
    assert plan_of(tmp_path / "out")["lanes"] == lanes
    assert largest_gap(tmp_path / "out", usual) <= 1e-3


def test_what_does_not_fit_is_said_with_what_is_missing_and_what_to_do(tiny, corpus: Path, tmp_path: Path):
    study = study_with(tiny, corpus, tmp_path, memory="2MiB")
    with pytest.raises(InputError) as caught:
        train_only(study, tmp_path / "out")
    text = str(caught.value)
    assert "does not fit into memory" in text
    assert "4 adapters and one example of " in text
    assert re.search(r"tokens need 0\.\d\d MiB more than the 2\.00 MiB of lanes\.memory", text)
    for key in ("train.max_length", "train.lora.rank", "lanes.strategy", "raise lanes.memory"):
        assert key in text
    assert not adapter_hashes(tmp_path / "out")
    assert not Folder(tmp_path / "out").plan.exists()


def test_a_plan_is_kept_when_the_training_goes_on(tiny, corpus: Path, tmp_path: Path):
    """The machine may have other memory free by then: the cut of the micro-steps stays, so the bits do."""

    class Stop(Exception):
        pass

    def stop(trainer) -> None:
        if trainer.window_number == 3:
            raise Stop

    study = study_with(tiny, corpus, tmp_path, memory="auto")
    with pytest.raises(Stop):
        train_only(study, tmp_path / "out", stop)
    packs = json.loads(Folder(tmp_path / "out").plan.read_text(encoding="utf-8"))
    packs["packs"]["tiny"]["micro_step_tokens"] = 200
    Folder(tmp_path / "out").plan.write_text(json.dumps(packs))
    cuts: list[int] = []
    train_only(study, tmp_path / "out", lambda trainer: cuts.append(len(trainer.cut)))
    assert plan_of(tmp_path / "out")["micro_step_tokens"] == 200
    assert min(cuts) > 1


def test_the_counts_of_trainable_numbers_are_said_before_training(tiny, corpus: Path, tmp_path: Path):
    notes = Notes()
    train_only(study_with(tiny, corpus, tmp_path), tmp_path / "out", progress=notes)
    # rank 2 on q, k, v, o of two layers; rank 4 on these and gate, up, down
    small = 2 * 2 * (64 + 48 + 48 + 64)
    large = 2 * 4 * (64 + 48 + 48 + 64 + 96 + 96 + 96)
    assert f"trainable parameters a run: {small:,} to {large:,}" in notes.messages
