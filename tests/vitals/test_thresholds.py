"""Thresholds: calibrated, stored, overridden."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from octavo.errors import InputError
from octavo.vitals.thresholds import RHO_MARGIN, Thresholds, calibrate, load, save
from octavo.vitals.verdict import judge
from tests.vitals.traces import healthy, trace, verdicts


def test_calibration_goes_by_the_largest_of_the_healthy_runs() -> None:
    runs = {
        "a": healthy(),
        "b": trace(40, loss=lambda s: 1.0, rho=lambda s: 0.03),
        "c": trace(40, loss=lambda s: 1.0 if s < 20 else 3.0, rho=lambda s: 0.01, probe=lambda s: 3.5),
    }
    found = calibrate(runs)
    assert found.rho == pytest.approx(RHO_MARGIN * 0.03)
    assert found.rho_step == pytest.approx(
        RHO_MARGIN * 0.03
    )  # in the first step of b; later ones divide by more
    assert found.loss_rise == pytest.approx(1.5 * 2.0)
    assert found.probe_rise == pytest.approx(1.5 * 1.0)
    assert found.grad_z == Thresholds().grad_z  # no healthy run came near it
    assert found.origin["rho"] == "3 healthy runs: a, b, c"
    assert "grad_z" not in found.origin
    for rows in runs.values():
        assert not any(v.trips for v in verdicts(rows, judge, found))


def test_the_growth_of_the_update_is_taken_from_the_early_steps_alone() -> None:
    late = trace(60, loss=lambda s: 1.0, rho=lambda s: 0.0002 * s if s <= 20 else 9.0)
    found = calibrate({"a": late, "b": late, "c": late})
    assert found.rho_step == pytest.approx(RHO_MARGIN * 0.0002)
    assert found.rho == pytest.approx(RHO_MARGIN * 9.0)


def test_few_runs_or_a_dead_one_calibrate_nothing() -> None:
    with pytest.raises(InputError, match="at least 3 healthy runs"):
        calibrate({"a": healthy(), "b": healthy()})
    dead = healthy()
    dead[20]["vitals"]["rho"] = "nan"
    with pytest.raises(InputError, match="dead: rho is not finite"):
        calibrate({"a": healthy(), "b": healthy(), "dead": dead})


def test_they_are_stored_with_their_origin(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    made = Thresholds().with_values({"rho": 0.2})
    save(made, path)
    assert load(path).rho == 0.2
    stored = json.loads(path.read_text())
    assert stored["origin"]["rho"] == "the study"
    assert stored["origin"]["grad_z"] == "default of this version"
    assert judge(healthy(), load(path)) == judge(healthy(), made)


@pytest.mark.parametrize("text", ["[]", "{", '{"rho": 0.1}', '{"rho": "x", "origin": {}}'])
def test_a_file_of_something_else_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "thresholds.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"thresholds\.json"):
        load(path)


@pytest.mark.parametrize("values", [{"rhoo": 0.1}, {"rho": 0.0}, {"rho": math.nan}, {"origin": 1.0}])
def test_the_users_values_are_checked(values: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"vitals\.thresholds"):
        Thresholds().with_values(values)
