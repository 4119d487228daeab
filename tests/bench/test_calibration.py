"""The calibration bench on few studies: planted effects are there, one recipe's runs are one recipe's."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.conftest import ROOT


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import calibration

    return calibration


def test_simulated_answers_have_the_planted_difference(bench: ModuleType) -> None:
    scores = bench.answers(np.random.default_rng(0), 200, 6, [0.0, 0.2])
    assert scores.shape == (200, 2, 6, bench.ITEMS)
    assert (scores[:, 1] - scores[:, 0]).mean() == pytest.approx(0.2, abs=0.01)
    sums = bench.by_cluster(scores)
    assert sums.sum() == scores.sum()
    assert sums.shape[-1] == bench.CLUSTERS


def test_every_test_is_counted_and_near_its_level(bench: ModuleType) -> None:
    rates = bench.null_rates(250, np.random.default_rng(1))
    assert len(rates) == 2 * 9 + 3
    assert max(bench.judged(rates)) < 0.1
    assert min(bench.judged(rates)) > 0.005
    assert rates["(items for runs), 6 seeds"] > max(bench.judged(rates))


def test_the_promise_comes_from_the_spreads_of_the_studies(bench: ModuleType) -> None:
    design = bench.measured_design(np.random.default_rng(2), 6)
    assert design.run_sd == pytest.approx(bench.RUN_SD, rel=0.15)
    assert design.item_sd == pytest.approx((0.375 * 0.625) ** 0.5, rel=0.05)


def test_runs_of_one_recipe_are_dealt_into_two(bench: ModuleType) -> None:
    rng = np.random.default_rng(3)
    totals = rng.normal(100, 10, (1, 30)) + rng.normal(0, 1, (24, 1)) + rng.normal(0, 2, (24, 30))
    rates = bench.real_rates(totals, np.full(30, 40.0), 500, rng)
    assert set(bench.judged(rates)) == {rates[n] for n in ("run permutation", "Welch", "two-way bootstrap")}
    assert 0.01 < rates["run permutation"] < 0.1
