"""The two claims about a question: what its checkpoints show, and what its recipes do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from octavo.evaluation.comparisons.contrasts import Contrast
from octavo.evaluation.statistics.arms import Interval, cluster_parts, estimate, influence
from octavo.evaluation.statistics.detectable import minimum_detectable
from octavo.evaluation.statistics.mcnemar import mcnemar
from octavo.evaluation.statistics.paired_bootstrap import cluster_variance, paired_bootstrap
from octavo.evaluation.statistics.run_permutation import attainable, run_permutation, smallest_p
from octavo.evaluation.statistics.sign_flip import sign_flip
from octavo.evaluation.statistics.tost import tost
from octavo.evaluation.statistics.trend import dose_permutation
from octavo.evaluation.statistics.two_way_bootstrap import two_way_bootstrap
from octavo.evaluation.statistics.welch import Contrast as Welch
from octavo.evaluation.statistics.welch import contrast as welch

Claim = dict[str, Any]
CHECKPOINTS, RECIPE = "checkpoints", "recipe"
FEWEST_SEEDS = 2
_FINEST = 1 / 10_000  # of tests by 9,999 draws
_ANY = 1e-9  # a test by a formula can give every p


def checkpoint_claim(found: Contrast) -> Claim:
    """ "These checkpoints differ": the items are the sample, the trained weights are fixed.

    With several runs an arm, the claim is about their means on each item.
    """
    question, units = found.question, found.table.clusters
    claim: Claim = {
        "claim": CHECKPOINTS,
        "unit": found.table.unit,
        "units": units,
        "items": found.table.items,
    }
    if units < 2:
        return claim | _impossible(f"{units} items answered by all: nothing to draw a conclusion from")
    variance = cluster_variance(influence(found.arms))
    spread = Welch(np.asarray(estimate(found.arms)), np.sqrt(variance), np.asarray(units - 1.0))
    tests: dict[str, float | None] = {}
    if question.kind == "equivalence":
        assert question.margin is not None  # the study's rules see to that
        tests["tost"] = _figure(tost(spread, question.margin))
    else:
        tests["sign_flip"] = _figure(sign_flip(cluster_parts(found.arms), question.rng("signs")))
        if (answers := found.items_right) is not None:
            tests["mcnemar"] = _figure(mcnemar(answers[0], answers[1]))
    level = 2 * question.alpha if question.kind == "equivalence" else question.alpha
    interval = paired_bootstrap(found.arms, question.rng("clusters"), level)
    return claim | {
        "possible": True,
        "estimate": _figure(interval.estimate),
        "interval": _bounds(interval),
        "level": 1 - level,
        "tests": tests,
        "p": next(iter(tests.values())),
        "smallest_p": max(2.0 ** (1 - units), _FINEST) if "sign_flip" in tests else _ANY,
        "se": _figure(spread.se),
        "df": units - 1,
    }


def recipe_claim(found: Contrast) -> Claim:
    """ "This recipe differs": the run is the unit, for another seed moves a run as well.

    The p is that of the run-label permutation (of doses for a trend); an interaction has no exact permutation, and is
    judged by Welch's t as equivalence is.
    """
    question = found.question
    fewest = question.fewest_runs
    claim: Claim = {"claim": RECIPE, "unit": "run", "units": fewest}
    if fewest < FEWEST_SEEDS:
        seeds = "one seed" if fewest == 1 else "no run"
        return claim | _impossible(
            f"with {seeds} that counts in an arm no claim about a recipe is possible: "
            "another seed may move a run as far"
        )
    if not found.table.items:
        return claim | _impossible("no item was answered by all runs")
    runs = [arm.run_means for arm in found.arms]
    spread = welch(runs, question.coefficients)
    tests = _recipe_tests(found, spread)
    level = 2 * question.alpha if question.kind == "equivalence" else question.alpha
    least = smallest_p(len(runs[0]), len(runs[1])) if question.kind == "difference" else _ANY
    both = two_way_bootstrap(found.arms, question.rng("both"), level) if found.table.clusters > 1 else None
    return claim | {
        "possible": True,
        "estimate": _figure(spread.estimate),
        "interval": _bounds(spread.interval(level)),
        "interval_other_items": _bounds(both) if both else None,
        "level": 1 - level,
        "tests": tests,
        "p": next(iter(tests.values())),
        "smallest_p": least,
        "se": _figure(spread.se),
        "df": _figure(spread.df),
    }


def detectable(claim: Claim, alpha: float) -> float | None:
    """The least true effect that a possible claim's test finds four times in five at `alpha`; None: none, however
    large, since the test's p cannot become so small, or nothing varies."""
    level = attainable(alpha, claim["smallest_p"])
    return minimum_detectable(claim["se"], claim["df"] or 0, level) if claim["se"] is not None else None


def _recipe_tests(found: Contrast, spread: Welch) -> dict[str, float | None]:
    """Name -> p, the one that decides first."""
    question = found.question
    runs = [arm.run_means for arm in found.arms]
    if question.kind == "equivalence":
        assert question.margin is not None
        return {"tost": _figure(tost(spread, question.margin))}
    if question.kind == "trend":
        assert question.doses is not None
        doses = np.repeat(question.doses, [len(one) for one in runs])
        p = dose_permutation(np.concatenate(runs), doses, question.rng("doses"))
        return {"dose_permutation": _figure(p), "welch": _figure(spread.p)}
    if question.kind == "interaction":
        return {"welch": _figure(spread.p)}
    p = run_permutation(runs[0], runs[1], question.rng("labels"))
    return {"run_permutation": _figure(p), "welch": _figure(spread.p)}


def _impossible(why: str) -> Claim:
    return {"possible": False, "why": why, "estimate": None, "interval": None, "tests": {}, "p": None}


def _figure(value: Any) -> float | None:
    """A number for JSON; None for one that could not be had."""
    number = float(value)
    return number if math.isfinite(number) else None


def _bounds(interval: Interval) -> list[float | None] | None:
    bounds = [_figure(interval.low), _figure(interval.high)]
    return None if None in bounds else bounds
