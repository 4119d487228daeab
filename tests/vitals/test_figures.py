"""Readings by layer become figures over steps."""

from __future__ import annotations

import math

from octavo.vitals.figures import KEYS, curves_of, figures_of

READ = {
    "rho": 0.01,
    "update_ranks": {"a.q": [1.0, 2.0], "a.v": [3.0, 4.0], "b.q": None},
    "attention": {
        "0": {"entropy": 0.5, "rank": 0.25, "singular_values": [1.0, 0.5, 0.1]},
        "4": {"entropy": 0.7, "rank": None, "singular_values": [1.0, 0.25]},
    },
    "hidden_rank": {"0": 10.0, "4": 20.0},
}


def test_means_are_over_what_was_read():
    found = figures_of(READ)
    assert found == {
        "rho": 0.01,
        "update_stable_rank": 2.0,
        "update_effective_rank": 3.0,
        "attention_entropy": 0.6,
        "attention_rank": 0.25,
        "attention_second": 0.375,
        "hidden_rank": 15.0,
    }
    assert set(found) <= set(KEYS)


def test_eigenvalues_stand_where_attention_looks_ahead():
    one = {"entropy": 0.5, "rank": 0.25, "eigenvalues": [1.0, 0.5]}
    assert figures_of({"attention": {"0": one}})["attention_second"] == 0.5


def test_missing_is_none_and_not_read_is_not_there():
    assert figures_of({"attention": None, "rho": None}) == {
        "rho": None,
        "attention_entropy": None,
        "attention_rank": None,
        "attention_second": None,
    }
    assert figures_of({}) == {}


def test_what_is_not_finite_stays_so():
    assert math.isnan(figures_of({"hidden_rank": {"0": 1.0, "4": "nan"}})["hidden_rank"])


def test_curves_have_the_steps_of_their_readings_and_gaps():
    rows = [
        {"step": 1, "vitals": {"rho": 0.1}},
        {"step": 2, "vitals": {"rho": None, "hidden_rank": {"0": 3.0}}},
        {"step": 3, "vitals": None},
        {"step": 4, "vitals": {"rho": 0.3, "probe_nll": None}},
    ]
    assert curves_of(rows) == {
        "rho": {"step": [1, 2, 4], "value": [0.1, None, 0.3]},
        "hidden_rank": {"step": [2], "value": [3.0]},
    }
