"""The vitals on the page: alarms with causes, curves beside the base, gaps, thresholds."""

from __future__ import annotations

from typing import Any

from octavo.report.render import render
from octavo.report.vitals import alarm_rows, threshold_rows, vitals_charts

EVENT = {
    "step": 14,
    "kind": "nonfinite",
    "evidence": "step 14: loss nan",
    "action": "rescued: the window is skipped",
    "verdict": "dead",
    "cause": "parameters",
    "examples": ["e3", "e9"],
    "first_bad": "lora_A of layer 0",
    "module": None,
}


def results(**changes: Any) -> dict[str, Any]:
    run = {
        "id": "a-s0",
        "variant": "a",
        "base": "b",
        "seed": 0,
        "state": "completed",
        "verdict": "healthy",
        "rescued": True,
        "events": [EVENT, {"step": 0, "kind": "admitted", "evidence": "", "action": ""}],
        "vitals": {
            "rho": {"step": [1, 2, 3, 4], "value": [0.01, 0.02, None, 0.03]},
            "probe_nll": {"step": [2, 4], "value": [2.5, "nan"]},
            "attention_entropy": {"step": [2, 4], "value": [None, None]},
        },
    }
    vitals = {"b": {"thresholds": {"rho": 0.1, "origin": {"rho": "the study"}}, "base": {"probe_nll": 2.4}}}
    return {"study": {"name": "s"}, "bases": [{"name": "b"}], "runs": [run], "vitals": vitals} | changes


def test_alarms_are_rows_with_cause_examples_and_tensor() -> None:
    (row,) = alarm_rows(results()["runs"])
    assert (row["run"], row["step"], row["verdict"], row["cause"]) == ("a-s0", "14", "dead", "parameters")
    assert (row["first"], row["examples"]) == ("lora_A of layer 0", "e3, e9")
    page = render(results())
    for text in ("lora_A of layer 0", "e3, e9", "rescued: the window is skipped", "step 14: loss nan"):
        assert text in page


def test_curves_have_the_base_as_a_dotted_line_and_gaps_stay_gaps() -> None:
    charts = {title: (note, str(svg)) for title, note, svg in vitals_charts(results(), {"a-s0": 0})}
    assert set(charts) == {"Relative update", "Probe"}
    note, svg = charts["Probe"]
    assert note.endswith("dotted: the base")
    assert "stroke-dasharray" in svg
    assert "dotted" not in charts["Relative update"][0]
    whole = results()
    whole["runs"][0]["vitals"]["rho"]["value"][2] = 0.02
    unbroken = {title: str(svg) for title, _, svg in vitals_charts(whole, {"a-s0": 0})}
    line = charts["Relative update"][1].count("M ") - unbroken["Relative update"].count("M ")
    assert line != 0  # the gap begins a new piece of the line


def test_thresholds_are_shown_with_where_they_come_from() -> None:
    assert threshold_rows(results()) == [("b", "rho", "0.1000", "the study")]


def test_a_study_without_vitals_has_no_section() -> None:
    bare = results(vitals={"b": None})
    bare["runs"][0] |= {"vitals": {}, "events": []}
    assert "<h2>Vitals</h2>" not in render(bare)
    assert "<h2>Vitals</h2>" in render(results())
