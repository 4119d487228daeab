"""The share of numbers in half precision, against numpy's and torch's own roundings."""

from __future__ import annotations

import pytest
import torch

from octavo.vitals.signal import read_signals
from octavo.vitals.signals.precision import Precision
from tests.vitals.watched import moments, watched


def shares(seen, lanes=(0, 1, 2), step=5):
    return [
        found["half_share"]
        for _, found in sorted(read_signals([Precision(seen)], moments(lanes, step)).items())
    ]


def test_numbers_trained_in_float32_are_hardly_ever_half_precision() -> None:
    assert max(shares(watched())) < 0.01


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_lane_that_was_rounded_is_known_from_its_neighbours(dtype: torch.dtype) -> None:
    seen = watched()
    part = seen.bank.own_part(seen.bank.flat_KP, 1)
    part.copy_(part.to(dtype))
    low, high, last = shares(seen)
    assert high == 1.0
    assert max(low, last) < 0.01


def test_zeros_count_as_neither() -> None:
    seen = watched(moved=False)  # B is zero, half of the numbers
    assert max(shares(seen)) < 0.01
    seen.bank.flat_KP.zero_()
    assert shares(seen) == [None] * 3


def test_it_counts_what_rounding_leaves() -> None:
    seen = watched()
    part = seen.bank.own_part(seen.bank.flat_KP, 0)
    part[: len(part) // 2] = part[: len(part) // 2].bfloat16().float()
    expected = max(
        float((part == part.to(t).float()).double().mean()) for t in (torch.bfloat16, torch.float16)
    )
    assert shares(seen)[0] == pytest.approx(expected)


def test_it_is_read_every_five_steps() -> None:
    signal = Precision(watched())
    assert [step for step in range(21) if signal.due(step)] == [5, 10, 15, 20]
