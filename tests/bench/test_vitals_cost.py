"""The arithmetic of what vitals cost."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from vitals_cost import Turn, shares, timed, written_rows

from octavo.vitals.thresholds import Thresholds
from octavo.vitals.verdict import judge


def test_a_share_is_by_how_often_a_signal_is_due() -> None:
    turns = [Turn(10.0, {"often": 0.1, "rare": 2.0}), Turn(20.0, {"often": 0.2, "rare": 4.0})]
    assert shares(turns, {"often": 100, "rare": 2}, 100) == pytest.approx({"often": 0.01, "rare": 0.004})


def test_one_slow_turn_of_three_changes_nothing() -> None:
    turns = [Turn(10.0, {"a": 0.1}), Turn(10.0, {"a": 9.0}), Turn(10.0, {"a": 0.1})]
    assert shares(turns, {"a": 10}, 10)["a"] == pytest.approx(0.01)


def test_what_is_judged_is_a_healthy_run() -> None:
    rows = written_rows(150)
    assert rows[-1]["step"] == 150
    assert judge(rows, Thresholds()).health == "healthy"
    assert timed(lambda: judge(rows, Thresholds())) > 0
