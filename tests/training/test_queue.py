"""Runs that wait for a lane: admitted at the next step, and no different for having waited."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from octavo.artifacts import Folder, read_jsonl
from octavo.study import Study
from octavo.training.loop import PackTrainer
from tests.training.studies import (
    Notes,
    adapter_hashes,
    ledger_rows,
    load_study,
    settings,
    steps_of,
    train_only,
    write_corpus,
)

# optimizer steps of each run, in the order in which they are admitted to two lanes
STEPS = {"a": 2, "b": 5, "c": 4, "d": 1, "e": 3}


def variants_of(names: str) -> list[dict]:
    """Runs that differ in length, rank, rate, schedule and dropout."""
    made = []
    for i, name in enumerate("abcde"):
        train = {
            "steps": STEPS[name],
            "epochs": None,
            "lora.rank": 2 + i,
            "lora.dropout": 0.1 * i,
            "learning_rate": 1e-3 * (i + 1),
            "schedule.kind": ["constant", "linear", "cosine", "wsd", "cosine"][i],
            "schedule.warmup_steps": i % 2,
            "batch_size": 1 + i % 3,
        }
        made.append({"name": name, "recipe": "control", "train": train})
    return [variant for variant in made if variant["name"] in names]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus.jsonl")


def study_of(tiny, corpus: Path, folder: Path, names: str, lanes: int) -> Study:
    values = settings(tiny.folder, corpus, variants=variants_of(names), lanes={"strategy": lanes})
    return load_study(folder / "study.yaml", values)


@pytest.fixture(scope="module")
def queued(tiny, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[int, str]]]:
    """Five runs through two lanes, and which run stood in which lane in each window."""
    folder = tmp_path_factory.mktemp("queued")
    seen: list[dict[int, str]] = []

    def look(trainer: PackTrainer) -> None:
        seen.append({lane: state.run for lane, state in enumerate(trainer.states) if state is not None})

    return train_only(study_of(tiny, corpus, folder, "abcde", 2), folder / "out", look).out, seen


def test_a_lane_goes_to_the_next_run_at_the_next_step(queued):
    out, seen = queued
    lanes = [[window.get(lane, "")[:1] for window in seen] for lane in range(2)]
    # a ends after 2 windows and c takes its lane at once; d and e follow
    assert "".join(lanes[0]) == "aacccceee"
    assert "".join(name or "-" for name in lanes[1]) == "bbbbbd---"
    for name, steps in STEPS.items():
        assert steps_of(out, f"{name}-s0") == list(range(1, steps + 1))
        assert ledger_rows(out)[f"{name}-s0"]["state"] == "completed"


def test_a_run_that_waited_is_the_run_alone(queued, tiny, corpus: Path, tmp_path: Path):
    out, _ = queued
    wanted = adapter_hashes(out)
    for name in STEPS:
        alone = tmp_path / name
        train_only(study_of(tiny, corpus, alone, name, 1), alone / "out")
        assert adapter_hashes(alone / "out")[f"{name}-s0"] == wanted[f"{name}-s0"]
        mine, theirs = (read_jsonl(Folder(o).metrics(f"{name}-s0")) for o in (alone / "out", out))
        assert [m | {"seconds": 0} for m in mine] == [t | {"seconds": 0} for t in theirs]


def test_many_runs_through_one_lane(queued, tiny, corpus: Path, tmp_path: Path):
    train_only(study_of(tiny, corpus, tmp_path, "abcde", 1), tmp_path / "out")
    assert adapter_hashes(tmp_path / "out") == adapter_hashes(queued[0])


def test_seconds_in_a_lane_hold_the_evaluation(tiny, corpus: Path, tmp_path: Path, monkeypatch):
    plain = PackTrainer._heldout_losses

    def slow(self: PackTrainer) -> dict[int, float]:
        found = plain(self)
        if found:
            time.sleep(0.3)
        return found

    monkeypatch.setattr(PackTrainer, "_heldout_losses", slow)
    folder = train_only(study_of(tiny, corpus, tmp_path, "ab", 2), tmp_path / "out")
    # both stand in their lanes while either is evaluated: at steps 2, 4 and 5 (eval_every is 2, b has five)
    assert read_jsonl(folder.metrics("a-s0"))[-1]["seconds"] > 0.3
    assert read_jsonl(folder.metrics("b-s0"))[-1]["seconds"] > 0.9


def test_a_b_that_does_not_move_is_told_after_the_first_steps(tiny, corpus: Path, tmp_path: Path):
    """As gradient checkpointing that cuts the graph leaves it: the run goes on, and nothing is trained."""

    def hold(trainer: PackTrainer) -> None:
        for place in trainer.bank.places[1]:
            place.views(trainer.bank.flat_KP[1])[1].zero_()

    notes = Notes()
    folder = train_only(study_of(tiny, corpus, tmp_path, "bc", 2), tmp_path / "out", hold, notes)
    assert read_jsonl(folder.events("b-s0")) == []
    (event,) = read_jsonl(folder.events("c-s0"))
    assert (event["step"], event["kind"]) == (3, "unmoved")
    assert event["evidence"].startswith("after 3 steps B is still zero in 14 layers, first model.layers.0.")
    assert f"c-s0: {event['evidence']}" in notes.messages


def test_the_ledger_tells_who_waits(tiny, corpus: Path, tmp_path: Path):
    states: list[dict[str, str]] = []

    def look(trainer: PackTrainer) -> None:
        states.append({run[0]: row["state"] for run, row in ledger_rows(tmp_path / "out").items()})

    notes = Notes()
    train_only(study_of(tiny, corpus, tmp_path, "abcde", 2), tmp_path / "out", look, notes)
    assert states[0] == dict.fromkeys("ab", "training") | dict.fromkeys("cde", "queued")
    assert states[2] == {"a": "completed", "b": "training", "c": "training", "d": "queued", "e": "queued"}
    assert not [text for text in notes.messages if "zero" in text]
