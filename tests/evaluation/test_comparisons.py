"""Comparisons of a study on planted lines: what is found, what is not, and what is said beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from octavo.evaluation.comparisons import compare
from octavo.settings import Comparison
from octavo.study import Study
from tests.evaluation.comparisons_data import heldout_lines, make_study, right_or_wrong, rows_of

EFFECTS = {"think": -0.05, "spore": 0.0}


def found(study: Study, lines: list[dict[str, Any]] | None = None, **changes: Any) -> list[dict[str, Any]]:
    """The declared comparisons of a study."""
    lines = heldout_lines(study, EFFECTS) if lines is None else lines
    declared = study.evaluate.comparisons or []
    return compare(study, declared, [], rows_of(study, **changes), {"heldout": lines})


def declare(**comparison: Any) -> dict[str, Any]:
    return {"evaluate": {"comparisons": [comparison]}}


def test_an_effect_is_found_and_none_is_not_separable() -> None:
    think, spore = found(make_study())
    assert (think["variant"], think["control"], think["declared"]) == ("think", "control", True)
    assert think["recipe"]["verdict"] == think["checkpoints"]["verdict"] == "differ"
    assert think["recipe"]["interval"][0] < -0.05 < think["recipe"]["interval"][1]
    assert think["recipe"]["p"] == pytest.approx(2 / 924)
    assert think["recipe"]["p_adjusted"] == pytest.approx(4 / 924)  # Holm over two
    assert (think["checkpoints"]["unit"], think["checkpoints"]["units"], think["checkpoints"]["items"]) == (
        "family",
        20,
        40,
    )
    assert spore["recipe"]["verdict"] == "not separable"
    assert 0 < spore["recipe"]["minimum_detectable"] < 0.05
    low, high = spore["recipe"]["interval_other_items"]
    assert low < 0 < high


def test_the_figures_are_those_of_run_means() -> None:
    """Loss a target of each run, sums over sums, then Welch on the runs."""
    study = make_study()
    lines = heldout_lines(study, EFFECTS)
    think = found(study, lines)[0]
    means: dict[str, list[float]] = {}
    for run in study.expand():
        own = [
            line["detail"] for line in lines if line["run"] == run.id and line["detail"]["set"] == "control"
        ]
        means.setdefault(run.variant, []).append(
            sum(d["loss_sum"] for d in own) / sum(d["targets"] for d in own)
        )
    reference = stats.ttest_ind(means["think"], means["control"], equal_var=False)
    assert think["recipe"]["estimate"] == pytest.approx(np.mean(means["think"]) - np.mean(means["control"]))
    assert think["recipe"]["tests"]["welch"] == pytest.approx(reference.pvalue)
    assert think["recipe"]["interval"] == pytest.approx(list(reference.confidence_interval(0.95)))
    assert [group["mean"] for group in think["groups"]] == pytest.approx(
        [np.mean(means["think"]), np.mean(means["control"])]
    )
    assert think["groups"][0]["sd_of_runs"] == pytest.approx(np.std(means["think"], ddof=1))


def test_the_same_lines_give_the_same_figures() -> None:
    assert found(make_study()) == found(make_study())


def test_one_seed_supports_no_claim_about_a_recipe() -> None:
    think = found(make_study(seeds=[0]))[0]
    assert think["checkpoints"]["possible"]
    assert not think["recipe"]["possible"]
    assert "with one seed that counts in an arm no claim about a recipe is possible" in think["recipe"]["why"]
    assert (think["recipe"]["verdict"], think["recipe"]["p"]) == ("no claim possible", None)


def test_three_seeds_can_find_nothing_and_say_so() -> None:
    think = found(make_study(seeds=3))[0]
    assert think["recipe"]["p"] == pytest.approx(0.1)
    assert think["recipe"]["verdict"] == "not separable"
    assert think["recipe"]["minimum_detectable"] is None
    assert think["recipe"]["smallest_p"] == pytest.approx(0.1)


def test_checkpoints_may_differ_where_recipes_do_not() -> None:
    """Runs that vary much, items little: the checkpoints differ for certain, the recipe does not."""
    study = make_study()
    think, _ = found(study, heldout_lines(study, {}, run_sd=0.2, item_sd=0.01, seed=3))
    assert think["checkpoints"]["verdict"] == "differ"
    assert think["recipe"]["verdict"] == "not separable"


def test_equivalence_needs_a_margin_that_the_interval_is_inside_of() -> None:
    wide = found(make_study(**declare(kind="equivalence", variants="spore", margin=0.05)))[0]
    assert wide["recipe"]["verdict"] == wide["checkpoints"]["verdict"] == "equivalent"
    assert wide["recipe"]["level"] == pytest.approx(0.9)
    assert max(map(abs, wide["recipe"]["interval"])) < 0.05
    narrow = found(make_study(**declare(kind="equivalence", variants="spore", margin=0.001)))[0]
    assert narrow["recipe"]["verdict"] == "not shown to be equivalent"


GLYPHS = [
    {"name": "control", "recipe": "control"},
    {"name": "low", "recipe": "glyphs", "options": {"density": 0.25}},
    {"name": "high", "recipe": "glyphs", "options": {"density": 1.0}},
    {"name": "neutral", "recipe": "placebo_neutral", "options": {"density": 1.0}},
]


def test_a_trend_over_density() -> None:
    study = make_study(variants=GLYPHS, **declare(kind="trend"))
    lines = heldout_lines(study, {"low": 0.02, "high": 0.08, "neutral": 5.0})
    trend = found(study, lines)[0]
    assert (trend["variant"], trend["control"]) == (["low", "high"], "control")
    assert trend["recipe"]["verdict"] == trend["checkpoints"]["verdict"] == "trend"
    assert trend["recipe"]["estimate"] == pytest.approx(0.08, abs=0.02)
    flat = found(study, heldout_lines(study, {}, seed=4))[0]
    assert flat["recipe"]["verdict"] == "no trend shown"


def test_an_interaction_between_bases() -> None:
    bases = [{"name": "one"}, {"name": "two"}]
    study = make_study(bases=bases, sweep={"base": ["one", "two"]}, **declare(kind="interaction"))
    lines = heldout_lines(study, {"think@one": 0.0, "think@two": 0.1, "spore@one": 0.1, "spore@two": 0.1})
    think, spore = found(study, lines)
    assert think["recipe"]["verdict"] == think["checkpoints"]["verdict"] == "differ between bases"
    assert think["recipe"]["estimate"] == pytest.approx(0.1, abs=0.03)
    assert spore["recipe"]["verdict"] == "not separable"
    assert think["bases"] == ["two", "one"]


def test_swept_settings_are_compared_like_with_like() -> None:
    study = make_study(seeds=2, sweep={"train.learning_rate": [1e-3, 1e-4]})
    entries = found(study)
    assert [entry["settings"]["train.learning_rate"] for entry in entries] == [1e-3, 1e-4, 1e-3, 1e-4]
    assert all(group["planned"] == 2 for entry in entries for group in entry["groups"])


def test_lost_runs_are_counted_and_shown() -> None:
    lost = {f"think_s{seed}": {"state": "quarantined", "verdict": "dead"} for seed in range(2)}
    stopped = {"think_s2": {"state": "stopped"}}
    think = found(make_study(), **lost, **stopped)[0]
    facts = think["groups"][0]
    assert (facts["planned"], facts["counted"], facts["quarantined"], facts["stopped"], facts["unwell"]) == (
        6,
        3,
        2,
        1,
        2,
    )
    assert any(
        "3 of 6 runs of think did not complete (1 stopped, 2 quarantined)" in note for note in think["notes"]
    )
    assert think["survival"]["p"] == pytest.approx(stats.fisher_exact([[3, 3], [6, 0]]).pvalue)


def test_rescued_runs_are_pooled_only_where_asked() -> None:
    rescued = {"think_s0": {"rescued": True}}
    apart = found(make_study(), **rescued)[0]["groups"][0]
    assert (apart["counted"], apart["rescued"], "think-s0" in apart["runs"]) == (5, 1, False)
    pooled = found(make_study(**declare(pool_rescued=True)), **rescued)[0]["groups"][0]
    assert pooled["counted"] == 6


def test_scores_that_are_not_finite_are_not_averaged() -> None:
    study = make_study()
    lines = heldout_lines(study, EFFECTS)
    broken = next(line for line in lines if line["run"] == "think-s1" and line["detail"]["set"] == "control")
    broken["detail"]["loss_sum"] = "nan"
    facts = found(study, lines)[0]["groups"][0]
    assert (facts["counted"], facts["not_finite"]) == (5, 1)
    assert np.isfinite(facts["mean"])


def test_a_variant_without_a_run_that_counts() -> None:
    gone = {f"think_s{seed}": {"state": "failed"} for seed in range(6)}
    think = found(make_study(), **gone)[0]
    assert think["recipe"]["why"] == think["checkpoints"]["why"] == "no run of think counts"
    assert think["groups"][0]["mean"] is None


def test_the_effect_of_glyphs_that_counts_is_over_the_placebo() -> None:
    study = make_study(variants=GLYPHS)
    entries = found(study, heldout_lines(study, {"high": 0.1, "neutral": 0.1}))
    by_pair = {(entry["variant"], entry["control"]): entry for entry in entries}
    against_control = by_pair["high", "control"]
    assert against_control["recipe"]["verdict"] == "differ"
    assert any("see high against neutral" in note for note in against_control["notes"])
    assert any("no placebo of low" in note for note in by_pair["low", "control"]["notes"])
    over_placebo = by_pair["high", "neutral"]  # came by itself
    assert (over_placebo["declared"], over_placebo["correction"]) == (False, "benjamini-hochberg")
    assert over_placebo["recipe"]["verdict"] == "not separable"


def test_a_declared_placebo_is_not_asked_for_again() -> None:
    study = make_study(variants=GLYPHS, **declare(variants="high", control="neutral"))
    entries = found(study, heldout_lines(study, {}))
    assert [(entry["variant"], entry["control"], entry["declared"]) for entry in entries] == [
        ("high", "neutral", True)
    ]


def test_other_suites_are_explored_and_corrected_apart() -> None:
    study = make_study(seeds=[0])
    lines = {"tasks": right_or_wrong(study, {"control": 0.3, "think": 0.7, "spore": 0.3})}
    lines["heldout"] = heldout_lines(study, EFFECTS)
    entries = compare(study, study.evaluate.comparisons or [], [], rows_of(study), lines)
    tasks = [entry for entry in entries if entry["metric"] == "tasks"]
    assert [entry["declared"] for entry in tasks] == [False, False]
    assert set(tasks[0]["checkpoints"]["tests"]) == {"sign_flip", "mcnemar"}
    assert (tasks[0]["checkpoints"]["verdict"], tasks[0]["checkpoints"]["family"]) == ("differ", 2)
    assert tasks[0]["checkpoints"]["tests"]["mcnemar"] < 0.001
    assert (tasks[0]["checkpoints"]["unit"], tasks[0]["checkpoints"]["units"]) == ("item", 80)


def test_a_figure_of_the_detail_and_bits_of_own_sets_are_metrics_too() -> None:
    study = make_study(seeds=2)
    lines = {"tasks": right_or_wrong(study, dict.fromkeys(("control", "think", "spore"), 0.5))}
    lines["heldout"] = heldout_lines(study, EFFECTS)
    asked = [Comparison(metric="tasks.chars"), Comparison(metric="heldout_bits_per_character")]
    entries = compare(study, [], asked, rows_of(study), lines)
    chars = next(entry for entry in entries if entry["metric"] == "tasks.chars")
    assert (chars["checkpoints"]["estimate"], chars["checkpoints"]["p"]) == (0, 1)
    bits = next(entry for entry in entries if entry["metric"] == "heldout_bits_per_character")
    assert bits["checkpoints"]["items"] == 40
    assert not bits["declared"]


def test_items_that_a_run_did_not_answer_are_left_out_and_said() -> None:
    study = make_study()
    lines = [x for x in heldout_lines(study, EFFECTS) if (x["run"], x["item"]) != ("think-s0", "control/e7")]
    think, spore = found(study, lines)
    assert think["checkpoints"]["items"] == 39
    assert any(note.startswith("1 items") for note in think["notes"])
    assert spore["checkpoints"]["items"] == 40
