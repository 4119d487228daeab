"""`octavo power`: spreads from a study folder or given, a table, JSON, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from octavo.artifacts import Folder, append_jsonl, write_text_atomic
from octavo.cli import app
from octavo.evaluation.power_command import measured
from octavo.evaluation.statistics.components import components
from octavo.ledger import Ledger
from tests.evaluation.comparisons_data import heldout_lines, make_study

GIVEN = ["--run-sd", "0.04", "--item-sd", "0.45", "--items", "200"]


def power(*arguments: str) -> dict:  # type: ignore[type-arg]
    outcome = CliRunner().invoke(app, ["power", *arguments, "--json"])
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


def test_planted_spreads_are_found_again() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(100):
        weights = rng.integers(20, 60, 50).astype(float)
        items = rng.normal(0, 0.3, 50)
        arms = [items + rng.normal(0, 0.02, (6, 1)) + rng.normal(0, 0.1, (6, 50)) for _ in range(3)]
        one = components([(arm * weights, weights) for arm in arms])
        assert one.run_sd is not None
        found.append((one.run_sd**2, one.item_sd**2))
    run, item = np.sqrt(np.mean(found, axis=0))
    assert run == pytest.approx(0.02, rel=0.1)
    assert item == pytest.approx(0.1, rel=0.03)


def test_a_study_folder_gives_its_own_spreads(tmp_path: Path) -> None:
    study, folder = make_study(), Folder(tmp_path)
    study.freeze(folder.study)
    with Ledger(folder.ledger) as ledger:
        ledger.ensure(study.expand())
    for line in heldout_lines(study, {}, run_sd=0.03, item_sd=0.1, items=20):
        append_jsonl(folder.evaluation("heldout"), line)
    found = measured(tmp_path, "heldout_loss_control")
    assert (found.items, found.runs) == (20, 18)
    assert found.run_sd == pytest.approx(0.03, rel=0.5)
    assert found.item_sd == pytest.approx(0.1, rel=0.15)
    plan = power(str(tmp_path), "--effect", "0.1")
    assert plan["source"] == "measured on 18 runs"
    assert plan["run_sd"] == pytest.approx(found.run_sd)
    larger = power(str(tmp_path), "--effect", "0.1", "--run-sd", "0.5")
    assert larger["recipe"]["power"] < plan["recipe"]["power"]


def test_one_run_an_arm_does_not_tell_how_runs_vary(tmp_path: Path) -> None:
    study, folder = make_study(seeds=[0]), Folder(tmp_path)
    study.freeze(folder.study)
    with Ledger(folder.ledger) as ledger:
        ledger.ensure(study.expand())
    for line in heldout_lines(study, {}):
        append_jsonl(folder.evaluation("heldout"), line)
    outcome = CliRunner().invoke(app, ["power", str(tmp_path), "--effect", "0.1"])
    assert outcome.exit_code == 2
    assert "the study has one run an arm; give --run-sd too" in outcome.output


def test_needs_fall_with_the_effect_and_rise_with_the_claims() -> None:
    large, small = power("--effect", "0.2", *GIVEN), power("--effect", "0.05", *GIVEN)
    assert large["recipe"]["seeds_needed"] < small["recipe"]["seeds_needed"]
    assert large["recipe"]["power"] > 0.95 > small["recipe"]["power"]
    assert small["checkpoints"]["items_needed"] > 1000
    many = power("--effect", "0.2", "--comparisons", "7", *GIVEN)
    assert many["recipe"]["seeds_needed"] == 6
    rows = {row["seeds"]: row for row in many["by_seeds"]["rows"]}
    assert rows[5]["power"] == [0.0] * 3
    assert rows[1]["minimum_detectable"] is None
    assert rows[12]["minimum_detectable"] < rows[6]["minimum_detectable"]


def test_the_table_says_never_where_nothing_can_be_found() -> None:
    outcome = CliRunner().invoke(app, ["power", "--effect", "0.2", *GIVEN])
    assert outcome.exit_code == 0
    assert "never" in outcome.output
    assert "A claim about a recipe needs 4 seeds an arm at 200 items" in outcome.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (GIVEN, "--effect is the difference to be found"),
        (["--effect", "0.1", "--run-sd", "0.1"], "give --item-sd, --items too"),
        (["nowhere", "--effect", "0.1"], "no heldout.jsonl of an evaluation here"),
    ],
)
def test_mistakes_are_named(arguments: list[str], message: str) -> None:
    outcome = CliRunner().invoke(app, ["power", *arguments])
    assert outcome.exit_code == 2
    assert message in outcome.output


def test_a_metric_that_was_not_measured(tmp_path: Path) -> None:
    study, folder = make_study(), Folder(tmp_path)
    study.freeze(folder.study)
    with Ledger(folder.ledger) as ledger:
        ledger.ensure(study.expand())
    write_text_atomic(folder.evaluation("heldout"), "")
    outcome = CliRunner().invoke(app, ["power", str(tmp_path), "--effect", "0.1"])
    assert outcome.exit_code == 2
    assert "no run has a score of heldout_loss_control" in outcome.output
