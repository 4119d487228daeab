"""`octavo plan`: from the study file alone, or from a study folder's data, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from octavo import pipeline
from octavo.artifacts import Folder
from octavo.cli import app
from octavo.errors import InputError
from octavo.study import Study
from octavo.training.plan_table import plan_table
from tests.training.studies import Notes, load_study, settings, train_only, write_corpus


@pytest.fixture(scope="module")
def place(tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planned")
    corpus = write_corpus(folder / "corpus.jsonl")
    load_study(folder / "study.yaml", settings(tiny.folder, corpus))
    return folder


def study_of(place: Path) -> Study:
    return Study.load(place / "study.yaml")


def test_the_plan_from_the_file_is_the_plan_of_the_training(place: Path):
    before = {path.name for path in place.iterdir()}
    notes = Notes()
    (found,) = pipeline.stage_plan(study_of(place), progress=notes)
    assert {path.name for path in place.iterdir()} == before
    assert any("made for their lengths only" in text for text in notes.messages)
    assert found.plan.predicted_seconds is None
    out = train_only(study_of(place), place / "out").out
    trained = json.loads(Folder(out).plan.read_text(encoding="utf-8"))["packs"]["tiny"]
    for key in (
        "lanes",
        "dtype",
        "base_parameters",
        "adapter_parameters",
        "longest_example",
        "analytic_bytes",
    ):
        assert getattr(found.plan, key) == trained[key], key
    totals = trained["measured"]
    assert found.tokens == totals["tokens"]
    # the folder's own data is taken where it is there
    notes.messages.clear()
    (again,) = pipeline.stage_plan(study_of(place), out, notes)
    assert again.plan.analytic_bytes == found.plan.analytic_bytes
    assert not any("made for their lengths only" in text for text in notes.messages)


def test_the_probe_predicts_the_time(place: Path):
    (found,) = pipeline.stage_plan(study_of(place), probe=True)
    assert found.plan.predicted_seconds is not None
    assert found.plan.predicted_seconds > 0


def test_figures_go_to_stdout_and_the_table_has_the_limit(place: Path):
    shown = CliRunner().invoke(app, ["plan", str(place / "study.yaml"), "--json"])
    assert shown.exit_code == 0
    (row,) = json.loads(shown.stdout)
    assert row["runs"] == ["control-s0", "glyphs-s0"]
    assert row["predicted_bytes"]["peak"] <= row["limit_bytes"] <= row["free_bytes"]
    (found,) = pipeline.stage_plan(study_of(place))
    console = Console(record=True, width=100, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115
    with console.file:
        console.print(plan_table(found))
    text = console.export_text()
    for words in (
        "side by side",
        "limit (lanes.memory: auto)",
        "not known without --probe",
        "base model, frozen",
    ):
        assert words in text


def test_what_does_not_fit_is_refused(place: Path):
    study = Study.load(place / "study.yaml", ["lanes.memory=1MB"])
    with pytest.raises(InputError, match="does not fit into memory"):
        pipeline.stage_plan(study)
