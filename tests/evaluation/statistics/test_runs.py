"""Tests whose unit is the run, against published results, scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from octavo.evaluation.statistics.arms import Arm
from octavo.evaluation.statistics.run_permutation import attainable, run_permutation, smallest_p
from octavo.evaluation.statistics.tost import tost
from octavo.evaluation.statistics.trend import dose_permutation, slope_coefficients
from octavo.evaluation.statistics.two_way_bootstrap import crossed_variance, two_way_bootstrap
from octavo.evaluation.statistics.welch import contrast

# hours of additional sleep by two drugs (Student, Biometrika 6:1, 1908), as in R's `sleep`
FIRST = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SECOND = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_welch_on_students_sleep() -> None:
    """R's t.test(extra ~ group): t = -1.8608, df = 17.776, p = 0.07939, interval -3.3654832 to 0.2054832."""
    found = contrast([FIRST, SECOND], [1, -1])
    assert found.t(0) == pytest.approx(-1.8608, abs=5e-5)
    assert found.df == pytest.approx(17.776, abs=5e-4)
    assert found.p == pytest.approx(0.07939, abs=5e-6)
    inner = found.interval(0.05)
    assert (inner.low, inner.high) == pytest.approx((-3.3654832, 0.2054832), abs=1e-6)


def test_without_variation_there_is_no_p() -> None:
    found = contrast([np.ones(3), np.zeros(3)], [1, -1])
    assert np.isnan(found.p)
    assert np.isnan(tost(found, 2.0))


def test_difference_of_differences_is_the_interaction_of_a_linear_model() -> None:
    """With equal variances and sizes the pooled model has the same estimate and standard error."""
    cells = [np.array([-1.0, 0, 1]) + centre for centre in (5.0, 1.0, 2.0, 1.0)]
    found = contrast(cells, [1, -1, -1, 1])
    arm, base = np.repeat([1, 0, 1, 0], 3), np.repeat([1, 1, 0, 0], 3)
    fit = sm.OLS(np.concatenate(cells), np.column_stack([np.ones(12), arm, base, arm * base])).fit()
    assert (found.estimate, found.se) == pytest.approx((fit.params[3], fit.bse[3]))
    assert found.df == pytest.approx(8)


def test_permutation_is_scipys_exact_one() -> None:
    """Every deal of Welch's t, for several studies at once and unequal arms."""
    first, second = rng(1).normal(0.8, 1, (3, 4)), rng(2).normal(0, 2, (3, 6))
    found = run_permutation(first, second, rng())

    def welch(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
        return np.abs(stats.ttest_ind(a, b, axis=axis, equal_var=False).statistic)

    for one, other, p in zip(first, second, found, strict=True):
        reference = stats.permutation_test((one, other), welch, alternative="greater", n_resamples=np.inf)
        assert p == pytest.approx(reference.pvalue)


def test_the_least_p_by_seeds() -> None:
    """2 / C(2S, S): 0.10 at 3 seeds, 0.0079 at 5, 0.0022 at 6; reached by arms that do not overlap."""
    for seeds, p in ((3, 0.1), (5, 0.0079), (6, 0.0022)):
        far = run_permutation(10.0 + rng(3).random(seeds), rng(4).random(seeds), rng())
        assert float(far) == smallest_p(seeds, seeds) == pytest.approx(p, rel=0.02)


def test_many_runs_are_dealt_at_random() -> None:
    first, second = rng(5).normal(0.6, 1, 14), rng(6).normal(0, 1, 14)
    p = float(run_permutation(first, second, rng(), draws=40_000))
    assert p == pytest.approx(stats.ttest_ind(first, second).pvalue, abs=0.01)
    assert float(run_permutation(first + 9, second, rng(), draws=99)) == 0.01


def test_runs_that_do_not_vary() -> None:
    same = np.zeros(6)
    assert run_permutation(same, same, rng()) == 1
    assert float(run_permutation(same + 1, same, rng())) == smallest_p(6, 6)
    assert float(run_permutation(np.array([1.0]), np.array([0.0, 0.1, 0.2]), rng())) == 0.25


def test_the_level_that_permutations_can_have() -> None:
    assert attainable(0.05, smallest_p(3, 3)) == 0
    assert attainable(0.1, smallest_p(3, 3)) == pytest.approx(0.1)
    assert attainable(0.05 / 7, smallest_p(6, 6)) == pytest.approx(6 / 924)


def test_tost_is_statsmodels() -> None:
    for margin in (0.5, 2.0, 3.5):
        p = tost(contrast([FIRST, SECOND], [1, -1]), margin)
        assert p == pytest.approx(ttost_ind(FIRST, SECOND, -margin, margin, usevar="unequal")[0])


def test_slope_of_arms_is_least_squares() -> None:
    doses = np.array([0.0, 0.1, 0.25, 0.5, 1.0])
    runs = rng(7).normal(2 - doses, 0.1, (6, 5)).T
    fit = sm.OLS(runs.ravel(), sm.add_constant(np.repeat(doses, 6))).fit()
    found = contrast(list(runs), slope_coefficients(list(doses)))
    assert found.estimate == pytest.approx(fit.params[1])
    assert found.se == pytest.approx(fit.bse[1], rel=0.3)  # each arm has a variance of its own


def test_dose_permutation_is_scipys() -> None:
    doses, scores = np.repeat([0.0, 0.5, 1.0], 2), np.array([1.0, 1.1, 1.3, 0.9, 1.4, 1.6])
    reference = stats.permutation_test(
        (doses,), lambda x, axis: np.abs(((x - 0.5) * scores).sum(axis)), permutation_type="pairings",
        alternative="greater", vectorized=True, n_resamples=np.inf,
    )  # fmt: skip
    assert dose_permutation(scores, doses, rng(), draws=40_000) == pytest.approx(reference.pvalue, abs=0.01)


def crossed(seed: int, runs: float, clusters: float, cells: float, studies: int = 1) -> list[Arm]:
    """Two arms of 6 runs on the same 25 clusters with planted standard deviations; clusters act on one arm only."""
    draw = rng(seed).normal
    shape = (studies, 6, 25)
    first = draw(0, runs, (studies, 6, 1)) + draw(0, clusters, (studies, 1, 25)) + draw(0, cells, shape)
    second = draw(0, runs, (studies, 6, 1)) + draw(0, cells, shape)
    return [Arm(first, np.ones(25), 1.0), Arm(second, np.ones(25), -1.0)]


@pytest.mark.parametrize(("runs", "clusters", "cells"), [(1, 0, 1), (0, 1, 1), (1, 3, 2), (0.1, 0, 3)])
def test_the_crossed_variance_is_that_of_the_planted_parts(
    runs: float, clusters: float, cells: float
) -> None:
    variance, _ = crossed_variance(crossed(8, runs, clusters, cells, studies=4000))
    planted = 2 * runs**2 / 6 + clusters**2 / 25 + 2 * cells**2 / (6 * 25)
    assert (
        planted * 0.96 < variance.mean() < planted * 1.2
    )  # what is below V(runs) is cut off, so never far below


def test_the_two_way_interval_covers_the_truth_as_often_as_it_says() -> None:
    found = two_way_bootstrap(crossed(9, 1, 3, 2, studies=2000), rng(), draws=400)
    assert 0.03 <= found.excludes_zero.mean() <= 0.07


def test_two_ways_are_wider_than_one_where_clusters_differ() -> None:
    arms = crossed(10, 0.2, 3, 0.2)
    both = two_way_bootstrap(arms, rng())
    runs_only = contrast([arm.run_means for arm in arms], [1, -1]).interval()
    assert (both.high - both.low) > 2 * (runs_only.high - runs_only.low)
    assert both.estimate == pytest.approx(runs_only.estimate)
