"""A child that crashes, hangs, exits or returns NaN is a result; the probes after it are made all the same."""

from __future__ import annotations

import os

import pytest

from octavo.training.doctor.children import START, probe_device
from tests.training.doctor.fakes import CPU, GPU, child

PROBES = ["flash:float32", "math:float32", "flash:bfloat16", "math:bfloat16"]


def probe(table: dict[str, str], seconds: float = 30.0):
    return probe_device("cuda", PROBES, os.environ, seconds, child(table))


def results(found) -> list[str]:
    return [r.result for r in found.results]


def test_all_is_well():
    found = probe({})
    assert results(found) == ["ok"] * 4
    assert found.facts == GPU
    assert found.build == {"torch": "2.13.0", "cuda": None, "hip": "7.0"}


@pytest.mark.parametrize("place", range(4))
def test_a_crash_is_a_result_wherever_it_comes(place: int):
    found = probe({PROBES[place]: "SEGFAULT"})
    assert [r.probe for r in found.results] == PROBES
    assert results(found) == ["crashed: SIGSEGV" if i == place else "ok" for i in range(4)]


def test_every_probe_may_crash():
    assert results(probe(dict.fromkeys(PROBES, "SEGFAULT"))) == ["crashed: SIGSEGV"] * 4


def test_a_hang_is_ended_and_is_a_result():
    found = probe({PROBES[1]: "HANG"}, seconds=1.5)
    assert results(found) == ["ok", "hung: no answer within 1.5 s", "ok", "ok"]


def test_nan_and_an_exit_with_its_last_words():
    found = probe({PROBES[0]: "nan", PROBES[2]: "EXIT"})
    assert results(found) == ["nan", "ok", "failed: exit code 3: driver: the sky falls", "ok"]
    assert [r.bad for r in found.results] == [True, False, True, False]


def test_a_child_that_never_comes_up_ends_the_probing_of_its_device():
    import sys

    found = probe_device("cuda", PROBES, os.environ, 5.0, [sys.executable, "-c", "import os; os.abort()"])
    assert [(r.probe, r.result) for r in found.results] == [(START, "crashed: SIGABRT")]


def test_a_device_that_is_not_there_has_no_results():
    found = probe_device(
        "cuda", PROBES, os.environ, 5.0, [*child({}, None)[:2], "print('{\"facts\": null}')"]
    )
    assert (found.facts, found.results) == (None, [])


def test_the_real_child_on_this_cpu():
    found = probe_device("cpu", ["sdpa:float32", "eager:bfloat16", "efficient:float32"], os.environ)
    assert results(found) == ["ok", "ok", "absent"]
    assert found.facts is not None
    assert set(CPU) <= set(found.facts)
