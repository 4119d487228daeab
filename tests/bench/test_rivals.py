"""The rules of others, on written-out losses and norms."""

from __future__ import annotations

import math
import random
import sys

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from harm.rivals import RIVALS, isnan_stop, logged_by_trainer, loss_spike, trainer_filter, zclip

NAN = math.nan


def noisy(count: int, seed: int = 0) -> list[float]:
    draw = random.Random(seed)
    return [2 + 0.1 * draw.gauss(0, 1) for _ in range(count)]


def test_trainer_shows_a_zero_where_the_loss_is_gone() -> None:
    assert logged_by_trainer([1.5, NAN, math.inf]) == [1.5, 0.0, 0.0]
    assert trainer_filter([1.5, NAN, math.inf], [1, NAN, NAN]) is None


def test_isnan_sees_a_nan_and_neither_an_infinity_nor_a_gradient() -> None:
    assert isnan_stop([1, 2, NAN, NAN], [1] * 4) == 3
    assert isnan_stop([1, math.inf], [1, NAN]) is None


def test_zclip_follows_its_paper() -> None:
    norms = noisy(25)
    mean = sum(norms) / 25
    std = math.sqrt(sum((n - mean) ** 2 for n in norms) / 25)
    assert zclip([], [*norms, mean + 2.6 * std]) == 26
    assert zclip([], [*norms, mean + 2.4 * std]) is None
    # the first norms are collected, whatever they are
    assert zclip([], [*norms[:10], 50.0, *norms[10:]]) is None


def test_one_nan_makes_zclip_blind_for_good() -> None:
    assert zclip([], [*noisy(30), 90.0]) == 31
    assert zclip([], [*noisy(30), NAN, *noisy(5), 90.0]) is None


def test_a_loss_spike_is_seven_deviations_of_those_before_it() -> None:
    losses = noisy(20)
    assert loss_spike([*losses, 4.0], []) == 21
    assert loss_spike([*losses, 2.4], []) is None
    assert loss_spike([1.0, 9.0], []) is None


@pytest.mark.parametrize("name", RIVALS)
def test_an_even_run_alarms_nobody(name: str) -> None:
    even = [2.0 + 0.01 * math.sin(2.4 * n) for n in range(60)]
    assert RIVALS[name](even, even) is None
