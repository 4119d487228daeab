"""The comparisons on the page: both claims labelled, what could have been found, what was lost."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from octavo.artifacts import json_safe
from octavo.evaluation.comparisons import compare
from octavo.report.comparisons import comparison_sentences, comparison_tables
from octavo.report.render import render
from tests.evaluation.comparisons_data import heldout_lines, make_study, rows_of
from tests.report.make_results import make_results

EFFECTS = {"think": -0.05, "spore": 0.0}


def entries(seeds: int = 6, **values: Any) -> list[dict[str, Any]]:
    study = make_study(seeds=seeds, **values)
    lost = {"spore_s0": {"state": "quarantined", "verdict": "dead"}}
    rows = rows_of(study, **(lost if seeds > 1 else {}))
    found = compare(
        study, study.evaluate.comparisons or [], [], rows, {"heldout": heldout_lines(study, EFFECTS)}
    )
    return json_safe(found)


def page_of(found: list[dict[str, Any]]) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", render(make_results() | {"comparisons": found})))


def test_both_kinds_of_claim_stand_on_the_page_with_their_labels() -> None:
    text = page_of(entries())
    for part in (
        "Declared before training",
        "these checkpoints",
        "this recipe",
        "20 families",
        "run permutation",
    ):
        assert part in text
    assert (
        "Of recipes, by the declared comparisons: differ: think against control; not separable: spore" in text
    )
    assert "1 of 6 runs of spore did not complete (1 quarantined)" in text
    assert "5 of 6 runs" in text
    assert "Exploratory comparisons are corrected" in text


def test_beside_no_difference_stands_what_would_have_been_found() -> None:
    table = comparison_tables(entries())[0]
    spore = table["rows"][1]["claims"][1]
    assert spore["verdict"] == "not separable"
    assert re.fullmatch(r"0\.0\d\d\d", spore["least"])
    three = comparison_tables(entries(seeds=3))[0]["rows"][0]["claims"][1]
    assert three["least"] == "none, however large"


def test_one_seed_gives_a_dash_and_the_reason() -> None:
    found = entries(seeds=1)
    assert "no claim about a recipe is possible" in page_of(found)
    claim = comparison_tables(found)[0]["rows"][0]["claims"][1]
    assert (claim["p"], claim["estimate"], claim["verdict"]) == ("–", "–", "no claim possible")
    assert comparison_sentences(found) == [
        "Of recipes, by the declared comparisons: no claim possible: think against control and spore against control."
    ]


def test_without_declared_ones_the_page_says_exploratory() -> None:
    found = [entry | {"declared": False} for entry in entries()]
    assert [table["title"] for table in comparison_tables(found)] == ["Exploratory"]
    assert "No comparison was declared before training" in comparison_sentences(found)[0]


@pytest.mark.parametrize("bare", [None, [], [{}], [{"declared": True, "recipe": {"possible": True}}]])
def test_bare_entries_still_give_a_page(bare: Any) -> None:
    assert "</html>" in render({"comparisons": bare})
