"""Verdicts on written-out traces."""

from __future__ import annotations

import math
from typing import Any

import pytest

from octavo.vitals.signals.grad_z import robust_z
from octavo.vitals.thresholds import Thresholds
from octavo.vitals.verdict import COLLAPSED, DEAD, DIVERGING, HEALTHY, WATCH, judge
from tests.vitals.traces import BASE_NLL, LAYER, VOCABULARY, healthy, ripple, too_fast, trace, verdicts

LIMITS = Thresholds()


def first_trip(rows: list[dict[str, Any]]) -> Any:
    return next((v for v in verdicts(rows, judge, LIMITS) if v.trips), None)


def test_a_healthy_run_is_healthy_at_every_step() -> None:
    assert {v.health for v in verdicts(healthy(200), judge, LIMITS)} == {HEALTHY}


@pytest.mark.parametrize(("tenth", "above"), [(11, 30), (5, 12)])
def test_rates_that_destroy_trip_long_before_the_loss_is_gone(tenth: int, above: int) -> None:
    """The shapes measured for 1e-2 and 3e-2."""
    trip = first_trip(too_fast(tenth, above))
    assert trip.health == DIVERGING
    assert trip.step <= tenth
    assert above - trip.step >= 5
    assert trip.signals == ("rho",)
    assert trip.module == LAYER
    assert f"step {trip.step}: relative update" in trip.evidence
    assert LAYER in trip.evidence


def test_what_goes_on_becomes_a_collapse_within_ten_steps_of_the_probe() -> None:
    rows = too_fast(11, 30)
    found = verdicts(rows, judge, LIMITS)
    ceiling = math.log(VOCABULARY)
    passed = next(s for s in range(60) if (ceiling - BASE_NLL) * (s / 30) ** 4 > 1)
    collapsed = next(v for v in found if v.health == COLLAPSED)
    assert 0 <= collapsed.step - passed <= 10
    assert {"rho", "probe"} <= set(collapsed.signals)
    assert found[-1].health == COLLAPSED


def test_a_slow_large_update_alone_is_watched_and_does_not_trip() -> None:
    rows = trace(100, loss=lambda s: 1.5, rho=lambda s: 0.0018 * s)
    found = verdicts(rows, judge, LIMITS)
    assert not any(v.trips for v in found)
    assert found[-1].health == WATCH
    assert "one signal alone" in found[-1].evidence


def test_a_spike_that_heals_is_watched_and_forgotten() -> None:
    rows = trace(
        80,
        loss=lambda s: (9.0 if s == 40 else 1.5) + 0.2 * ripple(s),
        rho=lambda s: 0.01,
        norm=lambda s: (40.0 if s == 40 else 1.0) * math.exp(0.3 * ripple(s)),
    )
    found = verdicts(rows, judge, LIMITS)
    assert not any(v.trips for v in found)
    assert found[39].health == WATCH
    assert found[39].signals == ("grad_z",)
    assert found[-1].health == HEALTHY


def test_a_loss_above_ln_v_on_one_batch_is_nothing() -> None:
    rows = trace(40, loss=lambda s: 12.0 if s == 25 else 1.5, rho=lambda s: 0.01)
    found = verdicts(rows, judge, LIMITS)
    assert {v.health for v in found} == {HEALTHY, WATCH}
    assert found[-1].health == HEALTHY


def test_two_that_agree_after_the_early_steps_trip() -> None:
    rows = trace(80, loss=lambda s: 1.5 if s < 50 else 4.5, rho=lambda s: 0.01 if s < 50 else 0.2)
    trip = first_trip(rows)
    assert trip.health == DIVERGING
    assert set(trip.signals) == {"rho", "train_loss"}
    assert 50 < trip.step <= 60


def test_a_duplicated_example_is_learned_by_heart() -> None:
    rows = trace(
        120,
        loss=lambda s: 2.0 * math.exp(-s / 8),
        rho=lambda s: 0.05 * s / 120,
        probe=lambda s: BASE_NLL + s / 60,
    )
    trip = first_trip(rows)
    assert trip.health == COLLAPSED
    assert trip.signals == ("probe", "memorised")
    assert trip.step == 70  # the first probe more than a nat above the base


def test_a_small_loss_alone_is_no_sign() -> None:
    rows = trace(120, loss=lambda s: 2.0 * math.exp(-s / 8), rho=lambda s: 0.01)
    assert {v.health for v in verdicts(rows, judge, LIMITS)} == {HEALTHY}


def test_a_probe_that_says_one_word_is_raised() -> None:
    rows = trace(30, loss=lambda s: 4.0 if s > 12 else 1.5, rho=lambda s: 0.01, share=lambda s: 0.05)
    found = verdicts(rows, judge, LIMITS)
    assert found[9].signals == ("probe",)
    assert "5% distinct words" in found[9].evidence
    assert first_trip(rows).health == COLLAPSED


@pytest.mark.parametrize("value", [math.nan, math.inf, "nan", "inf"])
@pytest.mark.parametrize("key", ["loss", "grad_norm", "rho", "probe_nll"])
def test_what_is_not_finite_is_dead_at_once(key: str, value: object) -> None:
    rows = healthy(30)
    place = rows[-1] if key in rows[-1] else rows[-1]["vitals"]
    place[key] = value
    found = judge(rows, LIMITS)
    assert found.health == DEAD
    assert found.trips
    assert found.step == 30
    assert f"is {float(value):g}" in found.evidence  # type: ignore[arg-type]
    assert found.module == (LAYER if key == "rho" else None)


def test_a_bad_parameter_is_dead() -> None:
    rows = healthy(23)
    rows[-1]["vitals"]["finite"] = False
    found = judge(rows, LIMITS)
    assert found.health == DEAD
    assert "parameter" in found.evidence


def test_missing_readings_are_no_signal() -> None:
    rows = [{"step": s, "loss": 1.0, "grad_norm": 1.0, "vitals": None} for s in range(1, 30)]
    assert judge(rows, LIMITS).health == HEALTHY
    assert judge([], LIMITS).health == HEALTHY


def test_half_precision_is_watched_and_agrees_with_nothing() -> None:
    rows = trace(
        40, loss=lambda s: 1.5, rho=lambda s: 0.01, norm=lambda s: 40.0 if s == 30 else 1 + 0.1 * ripple(s)
    )
    for row in rows[5::5]:
        row["vitals"]["half_share"] = 1.0
    found = verdicts(rows, judge, LIMITS)
    assert found[3].health == HEALTHY
    assert {v.health for v in found[4:]} == {WATCH}
    assert set(found[29].signals) == {"grad_z", "precision"}
    assert "100% of the adapter's numbers are in half precision" in found[-1].evidence
    rows = [{**row, "vitals": {**row["vitals"], "half_share": 0.01}} for row in healthy()]
    assert {v.health for v in verdicts(rows, judge, LIMITS)} == {HEALTHY}


def test_a_batch_that_leaps_in_loss_and_gradient_trips_and_either_alone_does_not() -> None:
    for loss, norm, trips in ((12.0, 40.0, True), (12.0, 1.0, False), (1.5, 40.0, False)):
        rows = trace(
            40,
            loss=lambda s, loss=loss: (loss if s == 30 else 1.5) * math.exp(0.1 * ripple(s)),
            rho=lambda s: 0.01,
            norm=lambda s, norm=norm: (norm if s == 30 else 1.0) * math.exp(0.3 * ripple(s)),
        )
        for row in rows[1:]:
            row["vitals"]["loss_z"] = robust_z([r["loss"] for r in rows[1 : row["step"] + 1]])
        trip = first_trip(rows)
        assert (trip is not None) == trips
        if trip is not None:
            assert (trip.health, trip.step, set(trip.signals)) == (
                DIVERGING,
                30,
                {"grad_z", "loss_z", "train_loss"},
            )
            assert "training loss 1" in trip.evidence


def test_repeated_data_are_watched_and_agree_with_nothing() -> None:
    rows = trace(
        40, loss=lambda s: 1.5, rho=lambda s: 0.01, norm=lambda s: 40.0 if s == 30 else 1 + 0.1 * ripple(s)
    )
    for row in rows[10::5]:
        row["vitals"]["repeat_share"] = 0.51
    found = verdicts(rows, judge, LIMITS)
    assert {v.health for v in found[:9]} == {HEALTHY}
    assert {v.health for v in found[9:]} == {WATCH}
    assert "one example is 51% of what was read" in found[-1].evidence
    for row in rows[10::5]:
        row["vitals"]["repeat_share"] = 0.5
    assert verdicts(rows[:30], judge, LIMITS)[-1].health == HEALTHY


def test_an_update_that_grows_too_fast_is_seen_in_the_first_step() -> None:
    rows = trace(40, loss=lambda s: 1.5, rho=lambda s: min(0.029 * s, 0.09))
    trip = first_trip(rows)
    assert (trip.health, trip.step, trip.signals, trip.module) == (DIVERGING, 1, ("rho",), LAYER)
    assert "threshold 0.0145" in trip.evidence
    # after the early steps its size alone counts
    assert verdicts(rows, judge, LIMITS)[-1].health == HEALTHY
    slow = trace(40, loss=lambda s: 1.5, rho=lambda s: 0.0029 * s)
    assert first_trip(slow) is None


def test_a_gradient_supports_a_leap_of_the_loss_in_its_step_from_half_its_threshold_on() -> None:
    for at, trips in ((30, True), (28, False)):
        rows = trace(40, loss=lambda s: 1.5, rho=lambda s: 0.01)
        rows[30]["vitals"]["loss_z"] = 14.0
        rows[at]["vitals"]["grad_z"] = 4.0
        assert (first_trip(rows) is not None) == trips
