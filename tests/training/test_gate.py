"""Threads at the gate: many together, one alone."""

from __future__ import annotations

import threading
import time

import pytest

from octavo.training.gate import Gate, allow_compilations


def in_threads(*works) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_who_is_alone_is_alone_and_the_others_are_together():
    gate, inside, seen = Gate(), [], []
    with gate.turn("known"):
        pass
    meet = threading.Barrier(3)

    def together() -> None:
        with gate.turn("known"):
            inside.append(1)
            meet.wait(30)  # breaks unless all three are inside at once
            inside.pop()

    def alone() -> None:
        with gate.alone():
            seen.append(list(inside))
            time.sleep(0.05)
            seen.append(list(inside))

    in_threads(together, together, together)
    in_threads(alone, alone, lambda: meet.wait(30), lambda: meet.wait(30), lambda: meet.wait(30))
    assert seen == [[], [], [], []]


def test_nobody_comes_in_while_one_is_alone():
    gate, order = Gate(), []
    with gate.turn("known"):
        pass
    begun = threading.Event()

    def first() -> None:
        with gate.alone():
            begun.set()
            time.sleep(0.1)
            order.append("alone")

    def second() -> None:
        begun.wait(30)
        with gate.turn("known"):
            order.append("together")

    in_threads(first, second)
    assert order == ["alone", "together"]


def test_the_first_of_a_kind_is_alone_until_one_has_ended_well():
    gate, most, now = Gate(), [0], [0]

    def work() -> None:
        with gate.turn("new"):
            now[0] += 1
            most[0] = max(most[0], now[0])
            if most[0] == 1:
                time.sleep(0.1)
            now[0] -= 1

    with pytest.raises(ValueError, match="failed"), gate.turn("new"):
        raise ValueError("failed")
    assert gate._passed == set()
    in_threads(work)
    assert gate._passed == {"new"}
    assert most[0] == 1


def test_a_kernel_may_be_compiled_once_for_every_thread():
    import torch._dynamo.config as settings

    found: list[int] = []

    def work() -> None:
        allow_compilations(4)
        found.append(settings.recompile_limit)

    before = settings.recompile_limit
    in_threads(work)
    assert found == [4 * 8]
    assert settings.recompile_limit == before
