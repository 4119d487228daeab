"""Tests whose unit is the item, against published results, scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

from octavo.evaluation.statistics.arms import Arm, cluster_parts, estimate
from octavo.evaluation.statistics.mcnemar import mcnemar
from octavo.evaluation.statistics.paired_bootstrap import cluster_variance, expanded_level, paired_bootstrap
from octavo.evaluation.statistics.sign_flip import EXACT_UP_TO, sign_flip

# Darwin's 15 pairs of maize plants, crossed less self-fertilised, in eighths of an inch (Fisher 1935, table 3)
MAIZE = np.array([49.0, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])


def two_arms(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> list[Arm]:
    return [Arm(first[None], weights, 1.0), Arm(second[None], weights, -1.0)]


def test_fishers_own_count_for_darwins_maize(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("octavo.evaluation.statistics.sign_flip.EXACT_UP_TO", 15)
    # section 21: 1,726 of the 32,768 ways reach a total as far from zero as 314
    assert sign_flip(MAIZE, np.random.default_rng(0)) == pytest.approx(1726 / 32768)


def test_drawn_signs_come_near_the_exact_count() -> None:
    assert len(MAIZE) > EXACT_UP_TO
    assert sign_flip(MAIZE, np.random.default_rng(1), draws=100_000) == pytest.approx(1726 / 32768, abs=0.003)


def test_sign_flip_is_scipys_for_many_studies_at_once() -> None:
    parts = np.random.default_rng(2).normal(0.3, 1, (4, 9))
    found = sign_flip(parts, np.random.default_rng(0))
    for row, p in zip(parts, found, strict=True):
        reference = stats.permutation_test(
            (row,), lambda x, axis: np.abs(x.sum(axis)), permutation_type="samples", alternative="greater"
        )
        assert p == pytest.approx(reference.pvalue)


def test_no_difference_at_all_is_p_one() -> None:
    assert sign_flip(np.zeros(10), np.random.default_rng(0)) == 1
    assert sign_flip(np.zeros(30), np.random.default_rng(0)) == 1


def test_mid_p_of_the_published_table() -> None:
    """Airway responsiveness before and after transplantation, [[1, 1], [7, 12]]: exact 0.070, mid-p 0.039
    (Fagerland, Lydersen and Laake 2013, table 4)."""
    before = np.array([1] * 2 + [0] * 19)
    after = np.array([1, 0] + [1] * 7 + [0] * 12)
    assert mcnemar(before, after, mid=False) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar(before, after) == pytest.approx(0.0391, abs=5e-5)


def test_mcnemar_is_statsmodels_exact_test() -> None:
    answers = np.random.default_rng(3).random((2, 6, 40)) < np.array([0.5, 0.65])[:, None, None]
    found = mcnemar(answers[0], answers[1], mid=False)
    for first, second, p in zip(answers[0], answers[1], found, strict=True):
        table = [
            [(first & second).sum(), (first & ~second).sum()],
            [(~first & second).sum(), (~first & ~second).sum()],
        ]
        assert p == pytest.approx(reference_mcnemar(table, exact=True).pvalue)


def test_mcnemar_without_a_discordant_item() -> None:
    assert mcnemar(np.ones(5), np.ones(5)) == 1
    assert mcnemar(np.array([1, 0]), np.array([0, 1])) == 1


def test_the_parts_of_clusters_add_up_to_the_estimate() -> None:
    rng = np.random.default_rng(4)
    weights = rng.integers(1, 9, 12).astype(float)
    arms = two_arms(rng.normal(size=12), rng.normal(size=12), weights)
    assert cluster_parts(arms).sum() == pytest.approx(float(estimate(arms)))
    expected = (arms[0].sums.sum() - arms[1].sums.sum()) / weights.sum()
    assert estimate(arms) == pytest.approx(expected)


def test_the_bootstrap_is_as_wide_as_a_t_interval_of_normal_clusters() -> None:
    """Equal weights: the expanded percentiles are made to cover as Student's t does."""
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.4, 1, 25), rng.normal(0, 1, 25)
    found = paired_bootstrap(two_arms(first, second, np.ones(25)), rng, draws=40_000)
    low, high = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert found.estimate == pytest.approx((first - second).mean())
    assert float(found.high - found.low) == pytest.approx(high - low, rel=0.08)
    assert (float(found.low), float(found.high)) == pytest.approx((low, high), abs=0.1)


def test_the_bootstrap_agrees_with_scipys_on_a_quotient() -> None:
    """Clusters of unequal weight: scipy's percentile interval at the expanded level is the reference."""
    rng = np.random.default_rng(6)
    weights = rng.integers(1, 9, 20).astype(float)
    first, second = rng.normal(weights, 2), rng.normal(0.7 * weights, 2)
    found = paired_bootstrap(two_arms(first, second, weights), rng, draws=40_000)

    def quotient(a: np.ndarray, b: np.ndarray, w: np.ndarray, axis: int) -> np.ndarray:
        return (a.sum(axis) - b.sum(axis)) / w.sum(axis)

    reference = stats.bootstrap(
        (first, second, weights), quotient, paired=True, n_resamples=40_000, method="percentile",
        confidence_level=1 - 2 * expanded_level(0.05, 20), rng=np.random.default_rng(7),
    ).confidence_interval  # fmt: skip
    assert (float(found.low), float(found.high)) == pytest.approx((reference.low, reference.high), abs=0.02)


def test_the_variance_over_clusters_is_that_of_a_mean() -> None:
    parts = np.random.default_rng(8).normal(size=(3, 11)) / 11
    assert cluster_variance(parts) == pytest.approx((parts * 11).var(-1, ddof=1) / 11)


def test_the_expanded_level_of_hesterberg() -> None:
    """Table 4 of his paper: for n = 20 the 2.5 % tail is taken at 1.6 %."""
    assert expanded_level(0.05, 20) == pytest.approx(0.0159, abs=1e-4)
    assert expanded_level(0.05, 10**6) == pytest.approx(0.025, abs=1e-5)
