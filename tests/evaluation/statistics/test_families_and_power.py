"""Corrections for several claims, power and detectable effects, against published tables and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower, TTestPower

from octavo.evaluation.statistics.benjamini_hochberg import benjamini_hochberg
from octavo.evaluation.statistics.detectable import minimum_detectable, t_power
from octavo.evaluation.statistics.holm import holm
from octavo.evaluation.statistics.power import (
    Design,
    items_needed,
    items_needed_for_recipe,
    seeds_needed,
)
from octavo.evaluation.statistics.run_permutation import run_permutation

# the 15 comparisons of Neuhaus et al. (1992) in Benjamini and Hochberg (1995), section 3.2
NEUHAUS = np.array(
    [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
     0.7590, 1.0]
)  # fmt: skip


def test_the_published_findings_of_both_corrections() -> None:
    assert (benjamini_hochberg(NEUHAUS) <= 0.05).sum() == 4
    assert (holm(NEUHAUS) <= 0.05).sum() == 3


@pytest.mark.parametrize(("ours", "theirs"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_adjusted_values_are_statsmodels(ours, theirs: str) -> None:  # type: ignore[no-untyped-def]
    p = np.random.default_rng(0).beta(0.5, 2, (5, 8))
    for row, found in zip(p, ours(p), strict=True):
        assert found == pytest.approx(multipletests(row, method=theirs)[1])
    assert ours(np.array([0.04, 0.04])) == pytest.approx(multipletests([0.04, 0.04], method=theirs)[1])


@pytest.mark.parametrize(("d", "n"), [(0.2, 393), (0.5, 64), (0.8, 26)])
def test_cohens_table_of_sample_sizes(d: float, n: int) -> None:
    """Cohen, Statistical Power Analysis (1988), table 2.4.1: two samples, two-sided 0.05, power 0.80."""

    def power(size: int) -> float:
        return t_power(d * (size / 2) ** 0.5, 2 * size - 2, 0.05)

    assert power(n) == pytest.approx(0.8, abs=0.01)  # of whole numbers


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 7])
@pytest.mark.parametrize("shift", [0.1, 1.0, 3.0, 5.0])
def test_power_is_statsmodels(shift: float, alpha: float) -> None:
    reference = TTestIndPower().power(shift / 3**0.5, 6, alpha)
    assert t_power(shift, 10, alpha) == pytest.approx(reference, abs=1e-9)


def test_the_detectable_effect_is_statsmodels() -> None:
    reference = TTestIndPower().solve_power(nobs1=6, alpha=0.05, power=0.8) * 0.3
    assert minimum_detectable(0.3 * (2 / 6) ** 0.5, 10, 0.05) == pytest.approx(reference, rel=1e-6)
    assert minimum_detectable(0.0, 10, 0.05) == 0
    assert minimum_detectable(1.0, 10, 0.0) is None


def test_items_of_a_paired_claim_are_statsmodels() -> None:
    design = Design(run_sd=0.0, item_sd=0.4, seeds=1, items=100)
    effect = 0.05
    reference = TTestPower().solve_power(effect / (0.4 * 2**0.5), alpha=0.05, power=0.8)
    assert items_needed(design, effect) == int(np.ceil(reference))


def test_seeds_that_permutations_need() -> None:
    """However large the effect: 4 seeds for one claim, 6 for the first of seven under Holm."""
    design = Design(run_sd=0.01, item_sd=0.4, seeds=3, items=10_000)
    assert design.recipe_power(10.0) == 0
    assert design.recipe_detectable() is None
    assert seeds_needed(design, 10.0) == 4
    assert seeds_needed(Design(0.01, 0.4, 3, 10_000, alpha=0.05 / 7), 10.0) == 6
    assert Design(0.01, 0.4, 1, 10_000).recipe_power(10.0) == 0


def test_more_items_do_not_help_against_runs_that_vary() -> None:
    design = Design(run_sd=0.2, item_sd=0.4, seeds=6, items=50)
    assert items_needed_for_recipe(design, 0.05) is None
    assert seeds_needed(design, 0.05) is not None
    items = items_needed_for_recipe(Design(0.01, 0.4, 6, 50), 0.1)
    assert items is not None
    assert (
        Design(0.01, 0.4, 6, items).recipe_power(0.1)
        >= 0.8
        > Design(0.01, 0.4, 6, items - 1).recipe_power(0.1)
    )


@pytest.mark.parametrize(("seeds", "alpha"), [(4, 0.05), (6, 0.05), (6, 0.05 / 7)])
def test_the_promised_power_is_that_of_the_permutation_test(seeds: int, alpha: float) -> None:
    design = Design(run_sd=0.05, item_sd=0.4, seeds=seeds, items=200, alpha=alpha)
    effect = 2.2 * design.recipe_se
    rng = np.random.default_rng(1)
    scale = design.recipe_se * (seeds / 2) ** 0.5
    first, second = (rng.normal(shift, scale, (3000, seeds)) for shift in (effect, 0))
    found = (run_permutation(first, second, rng) <= alpha).mean()
    assert found == pytest.approx(design.recipe_power(effect), abs=0.05)


def test_no_effect_is_found_as_often_as_the_level_says() -> None:
    assert t_power(0, 10, 0.05) == pytest.approx(0.05)
    assert t_power(1e3, 1e7, 0.05) == pytest.approx(1)
