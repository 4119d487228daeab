"""The study's criteria: met, not met, and null where nothing was measured."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.criteria import judge
from octavo.settings import Criteria

ALL = {"nonfinite_parameters": 0, "max_memory_share": 0.5, "max_minutes_per_run": 30, "loss_falls": True}
MEMORY = {"peak_bytes": 4 * 2**30, "limit_bytes": 16 * 2**30}
NO_MEMORY = {"peak_bytes": None, "limit_bytes": None}


def run(name: str = "a", **changes: Any) -> dict[str, Any]:
    good = {
        "id": name,
        "verdict": None,
        "nonfinite_parameters": 0,
        "seconds": 600.0,
        "train_loss": {"first": 2.0, "last": 1.0},
    }
    return good | changes


def verdict(
    asked: dict[str, Any], runs: list[dict[str, Any]], memory: dict[str, Any] = MEMORY
) -> dict[str, Any]:
    (found,) = judge(Criteria(**({"nonfinite_parameters": None} | asked)), runs, memory)
    assert set(found) == {"name", "met", "evidence"}
    assert found["evidence"]
    return found


def test_all_met():
    found = judge(Criteria(**ALL), [run("a"), run("b")], MEMORY)
    assert [(item["name"], item["met"]) for item in found] == [(name, True) for name in ALL]
    evidence = {item["name"]: item["evidence"] for item in found}
    assert evidence["nonfinite_parameters"] == "0 non-finite numbers in 2 exported adapters"
    assert evidence["max_memory_share"] == "peak 4.00 GiB of 16.00 GiB, 25% (at most 50%)"
    assert evidence["max_minutes_per_run"] == "longest run 10.0 minutes (a; at most 30)"
    assert evidence["loss_falls"].startswith("lower at the end in all 2 runs; least in a: 2.000 to 1.000")


def test_a_study_without_criteria_has_the_first_alone():
    assert [item["name"] for item in judge(Criteria(), [run()], MEMORY)] == ["nonfinite_parameters"]


def test_null_is_not_asked():
    asked = dict.fromkeys(ALL)
    assert judge(Criteria(**asked), [run()], MEMORY) == []
    assert judge(Criteria(nonfinite_parameters=None, loss_falls=False), [run()], MEMORY) == []


@pytest.mark.parametrize(
    ("limit", "runs", "met", "said"),
    [
        (0, [run("a"), run("b", nonfinite_parameters=3)], False, "3 non-finite numbers in 2 exported"),
        (3, [run("a"), run("b", nonfinite_parameters=3)], True, "3 non-finite numbers"),
        (0, [run("a"), run("b", nonfinite_parameters=None, verdict="dead")], False, "1 of 2 runs died"),
        (9, [run("b", nonfinite_parameters=None, verdict="dead")], False, "exported nothing: b"),
        (0, [run("a", nonfinite_parameters=None)], None, "no run has exported an adapter"),
        (0, [], None, "no run has exported an adapter"),
    ],
)
def test_nonfinite_parameters(limit: int, runs: list[dict[str, Any]], met: bool | None, said: str):
    found = verdict({"nonfinite_parameters": limit}, runs)
    assert found["met"] is met
    assert said in found["evidence"]


@pytest.mark.parametrize(
    ("limit", "memory", "met"),
    [
        (0.25, MEMORY, True),
        (0.24, MEMORY, False),
        (0.5, NO_MEMORY, None),
        (1.0, MEMORY | {"peak_bytes": None}, None),
    ],
)
def test_memory_share(limit: float, memory: dict[str, Any], met: bool | None):
    assert verdict({"max_memory_share": limit}, [run()], memory)["met"] is met


@pytest.mark.parametrize(
    ("limit", "seconds", "met"),
    [
        (10, [600.0, 60.0], True),
        (9.9, [60.0, 600.0], False),
        (10, [None, None], None),
        (1, [None, 59.0], True),
    ],
)
def test_minutes_a_run(limit: float, seconds: list[float | None], met: bool | None):
    runs = [run(name, seconds=s) for name, s in zip("ab", seconds, strict=True)]
    found = verdict({"max_minutes_per_run": limit}, runs)
    assert found["met"] is met
    if met is False:
        assert "10.0 minutes (b; at most 9.9)" in found["evidence"]


@pytest.mark.parametrize(
    ("ends", "met", "said"),
    [
        ([(2.0, 1.0), (2.0, 1.9)], True, "least in b: 2.000 to 1.900"),
        ([(2.0, 1.0), (1.0, 2.0)], False, "not lower at the end: b"),
        ([(2.0, 1.0), (1.0, 1.0)], False, "not lower at the end: b"),
        ([(2.0, 1.0), (2.0, None)], False, "1 runs have no finite loss at both ends"),
        ([(2.0, 1.0), (None, None)], False, "1 runs have no finite loss"),
        ([(2.0, 1.0), (2.0, "nan")], False, "1 runs have no finite loss at both ends"),
        ([("nan", "nan"), (2.0, "inf")], False, "2 runs have no finite loss"),
        ([(None, None), (None, None)], None, "no run has a training loss"),
    ],
)
def test_loss_falls(ends: list[tuple[Any, Any]], met: bool | None, said: str):
    runs = [
        run(name, train_loss={"first": first, "last": last})
        for name, (first, last) in zip("ab", ends, strict=True)
    ]
    found = verdict({"loss_falls": True}, runs)
    assert found["met"] is met
    assert said in found["evidence"]
