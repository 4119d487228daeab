"""A device whose grouped products are wrong is found out; a CPU plays it, whose torch has the products too."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from octavo.lanes import grouped
from octavo.lanes.grouped_check import TOLERANCE, gap_to_loop, settle

CPU = torch.device("cpu")


@pytest.fixture
def told_of_a_kernel(monkeypatch: pytest.MonkeyPatch):
    """Grouped products are taken unless they were refused."""
    monkeypatch.setattr(grouped, "_refused", False)
    monkeypatch.setattr(grouped, "usable", lambda *_: not grouped._refused)


def test_torchs_own_are_within_rounding(told_of_a_kernel):
    gap = gap_to_loop(CPU)
    assert gap is not None
    assert 0 < gap <= TOLERANCE
    assert settle(CPU) is None
    assert not grouped._refused


def test_a_device_without_them_has_nothing_to_settle():
    assert gap_to_loop(CPU) is None
    assert settle(CPU) is None


def spoiled(how: str):
    right = grouped._kernel()
    assert right is not None

    def kernel(left, w, offs):
        if how == "raises":
            raise RuntimeError("no such kernel\nand more")
        found = right(left, w, offs=offs)
        # the last row alone, or one gradient's last block alone
        found[-1] = math.nan if how == "nan" else 2 * found[-1] + 10
        return found

    return kernel


@pytest.mark.parametrize(
    ("how", "word"), [("nan", "NaN"), ("wrong", "wrong values"), ("raises", "no such kernel")]
)
def test_wrong_ones_are_turned_off(told_of_a_kernel, monkeypatch, how: str, word: str):
    kernel = spoiled(how)
    monkeypatch.setattr(grouped, "_kernel", lambda: kernel)
    assert word in str(settle(CPU))
    assert grouped._refused


def test_what_is_refused_is_not_usable(monkeypatch: pytest.MonkeyPatch):
    """The real question, with a GPU's answers."""
    monkeypatch.setattr(grouped, "_refused", False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    monkeypatch.setattr(torch.version, "hip", None)

    class OnGpu:
        device, dtype, shape = torch.device("cuda"), torch.bfloat16, (4, 16)

    x: Any = OnGpu()
    assert grouped.usable(x, 8)
    assert not grouped.usable(x, 9)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
    assert not grouped.usable(x, 8)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    grouped.refuse()
    assert not grouped.usable(x, 8)
