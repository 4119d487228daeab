"""results.json from the files of a study folder: what is missing is null, what is not finite is text."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from octavo import results as gathering
from octavo.artifacts import Folder, append_jsonl, write_json_atomic
from octavo.ledger import Ledger
from octavo.report import write_report
from octavo.study import Study
from tests.training.studies import load_study, read_strict

DEVICE = {"kind": "cpu", "name": "a CPU", "threads": 1}
RUN_KEYS = {
    "id", "variant", "base", "seed", "hyperparameters", "state", "verdict", "rescued", "steps", "tokens",
    "label_tokens", "trainable_parameters", "nonfinite_parameters", "train_loss", "heldout_loss",
    "heldout_bits_per_character", "seconds", "events",
}  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Study:
    variants = [{"name": "control", "recipe": "control"}, {"name": "spore", "recipe": "spore"}]
    bases = [{"name": "one"}, {"name": "two"}]
    return load_study(tmp_path / "study.yaml", {"variants": variants, "bases": bases})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "out").mkdir()
    return Folder(tmp_path / "out")


def gather(study: Study, folder: Folder) -> dict[str, Any]:
    """What is read back from the file."""
    write_json_atomic(folder.results, gathering.collect(study, folder, DEVICE))
    return read_strict(folder.results)


def plan(peak: int | None, limit: int, seconds: float | None = 10.0, tokens: int = 1000) -> dict[str, Any]:
    return {
        "dtype": "float32",
        "base_parameters": 5,
        "predicted_bytes": {"base": 20, "peak": 40},
        "limit_bytes": limit,
        "measured": {"peak_bytes": peak, "seconds": seconds, "tokens": tokens, "label_tokens": tokens // 4},
    }


def metrics_line(step: int, loss: float, **changes: Any) -> dict[str, Any]:
    line = {"step": step, "tokens": step * 10, "label_tokens": step * 4, "loss": loss, "lr": 1e-3}
    return line | {"grad_norm": 1.0, "seconds": step * 2.0, "heldout_loss": None, "vitals": None} | changes


def test_an_empty_folder_gives_nulls_and_a_page(study: Study, folder: Folder):
    found = gather(study, folder)
    assert [run["state"] for run in found["runs"]] == ["queued", "queued"]
    for run in found["runs"]:
        assert set(run) >= RUN_KEYS
        for key in RUN_KEYS - {
            "id",
            "variant",
            "base",
            "seed",
            "hyperparameters",
            "state",
            "rescued",
            "events",
        }:
            assert run[key] in (None, {"first": None, "last": None}), key
    assert set(found["memory"].values()) == set(found["throughput"].values()) == {None}
    assert found["bases"][0]["parameters"] is None
    assert found["matrix"]["heldout_loss"] == [[None, None]] * 4
    assert found["evaluation"] == {"heldout": None, "suites": {}, "generations": []}
    assert found["data"] == {"control": None, "spore": None}
    assert (found["comparisons"], found["basins"]) == (None, None)
    assert [(item["name"], item["met"]) for item in found["criteria"]] == [("nonfinite_parameters", None)]
    assert write_report(folder).stat().st_size > 1000


def test_losses_that_are_not_finite_stay_visible(study: Study, folder: Folder):
    for step in range(1, 21):
        append_jsonl(folder.metrics("control-s0"), metrics_line(step, 4.0 - step / 10))
    append_jsonl(folder.metrics("spore-s0"), metrics_line(1, 4.0))
    append_jsonl(folder.metrics("spore-s0"), metrics_line(2, math.nan, grad_norm=math.inf))
    control, spore = gather(study, folder)["runs"]
    assert control["train_loss"] == {"first": pytest.approx(3.85), "last": pytest.approx(2.05)}
    assert (control["steps"], control["tokens"], control["label_tokens"]) == (20, 200, 80)
    assert control["seconds"] == 40.0
    assert spore["train_loss"] == {"first": 4.0, "last": "nan"}
    assert spore["curves"]["loss"] == [4.0, "nan"]
    assert spore["curves"]["grad_norm"] == [1.0, "inf"]


def test_held_out_points_are_those_that_were_measured(study: Study, folder: Folder):
    append_jsonl(folder.metrics("control-s0"), metrics_line(1, 4.0))
    append_jsonl(folder.metrics("control-s0"), metrics_line(2, 3.0, heldout_loss=3.5))
    append_jsonl(folder.metrics("control-s0"), metrics_line(3, 2.0, heldout_loss=math.nan))
    curves = gather(study, folder)["runs"][0]["curves"]
    assert curves["heldout"] == {"step": [2, 3], "loss": [3.5, "nan"]}


def test_the_last_line_of_a_killed_process_is_passed_over(study: Study, folder: Folder):
    append_jsonl(folder.metrics("control-s0"), metrics_line(1, 4.0))
    with open(folder.metrics("control-s0"), "a", encoding="utf-8") as file:
        file.write('{"step": 2, "to')
    assert gather(study, folder)["runs"][0]["steps"] == 1


def heldout_line(run: str, variant: str, loss: float, targets: int, **detail: Any) -> dict[str, Any]:
    shown = {
        "set": variant,
        "family": "f",
        "seen": True,
        "loss_sum": loss,
        "targets": targets,
        "characters": 8,
    }
    line = {"suite": "heldout", "version": 1, "item": f"{variant}/e", "item_sha": "", "prompt_sha": ""}
    return line | {"run": run, "score": loss / targets, "detail": shown | detail}


def test_sums_are_divided_by_sums(study: Study, folder: Folder):
    path = folder.evaluation("heldout")
    append_jsonl(path, heldout_line("control-s0", "control", 30.0, 10))
    append_jsonl(path, heldout_line("control-s0", "control", 1.0, 1, family="g", seen=False))
    append_jsonl(path, heldout_line("spore-s0", "spore", 4.0, 2))
    append_jsonl(path, heldout_line("spore-s0", "control", math.nan, 2))
    append_jsonl(path, heldout_line("base:one", "control", 5.0, 2, characters=0))
    found = gather(study, folder)
    control, spore = found["runs"]
    assert control["heldout_loss"] == control["heldout_loss_control"] == pytest.approx(31 / 11)
    assert control["heldout_bits_per_character"] == pytest.approx(31 / 16 / math.log(2))
    assert (spore["heldout_loss"], spore["heldout_loss_control"]) == (2.0, "nan")
    cells = dict(zip(found["matrix"]["rows"], found["matrix"]["heldout_loss"], strict=True))
    assert cells["base:one"] == [2.5, None]
    assert cells["base:two"] == [None, None]
    rows = found["evaluation"]["heldout"]["rows"]
    assert [(r["run"], r["set"], r["family"], r["seen"], r["items"]) for r in rows[:3]] == [
        ("control-s0", "control", "f", True, 1),
        ("control-s0", "control", "g", False, 1),
        ("spore-s0", "spore", "f", True, 1),
    ]
    assert rows[3]["loss"] == "nan"


def test_memory_speaks_of_the_pack_nearest_to_its_limit(study: Study, folder: Folder):
    write_json_atomic(folder.plan, {"packs": {"one": plan(900, 10_000), "two": plan(500, 1000)}})
    found = gather(study, folder)
    assert (found["memory"]["peak_bytes"], found["memory"]["limit_bytes"]) == (500, 1000)
    assert found["memory"]["predicted_bytes"] == 40
    assert found["throughput"] == {"tokens_per_second": 100.0, "label_tokens_per_second": 25.0}


def test_a_pack_that_has_not_ended_has_a_prediction_alone(study: Study, folder: Folder):
    unmeasured = plan(None, 1000) | {"measured": {"peak_bytes": None, "seconds": None}}
    write_json_atomic(folder.plan, {"packs": {"one": unmeasured}})
    found = gather(study, folder)
    assert (found["memory"]["peak_bytes"], found["memory"]["predicted_bytes"]) == (None, 40)
    assert found["throughput"]["tokens_per_second"] is None


def test_state_verdict_and_events_come_from_ledger_and_file(study: Study, folder: Folder):
    with Ledger(folder.ledger) as ledger:
        ledger.ensure(study.expand())
        ledger.set("spore-s0", state="quarantined", verdict="dead", message="step 2: bad", rescued=1)
    event = {
        "step": 2,
        "kind": "nonfinite",
        "evidence": "step 2: bad",
        "action": "quarantined, no step taken",
    }
    append_jsonl(folder.events("spore-s0"), event)
    spore = gather(study, folder)["runs"][1]
    assert (spore["state"], spore["verdict"], spore["rescued"]) == ("quarantined", "dead", True)
    assert spore["message"] == "step 2: bad"
    assert spore["events"] == [event]


def test_generations_are_gathered_by_prompt(study: Study, folder: Folder):
    for item, run, answer in (
        ("e1", "control-s0", "yes"),
        ("e1", "base:one", None),
        ("e2", "control-s0", ""),
    ):
        detail = {"prompt": f"ask {item}", "answer": answer}
        append_jsonl(folder.evaluation("generations"), {"item": item, "run": run, "detail": detail})
    assert gather(study, folder)["evaluation"]["generations"] == [
        {"prompt": "ask e1", "answers": {"control-s0": "yes", "base:one": None}},
        {"prompt": "ask e2", "answers": {"control-s0": ""}},
    ]


def test_the_file_is_json_for_every_reader(study: Study, folder: Folder):
    append_jsonl(folder.metrics("control-s0"), metrics_line(1, -math.inf))
    gather(study, folder)
    text = folder.results.read_text(encoding="utf-8")
    assert json.loads(text)["runs"][0]["curves"]["loss"] == ["-inf"]
    assert "NaN" not in text
    assert "Infinity" not in text
