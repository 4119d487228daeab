"""Signals read from a run's losses and gradient norms."""

from __future__ import annotations

import math
import random

import pytest

from octavo.vitals.signal import History, LaneMoment, read_signals
from octavo.vitals.signals.grad_z import robust_z
from octavo.vitals.signals.loss_z import LossZ
from octavo.vitals.signals.repeats import Repeats
from octavo.vitals.signals.train_loss import TrainLoss, window_mean


def noisy(count: int, seed: int = 0) -> list[float]:
    draw = random.Random(seed)
    return [math.exp(draw.gauss(0, 0.3)) for _ in range(count)]


def test_z_is_in_standard_deviations_of_the_log() -> None:
    norms = noisy(50)
    assert robust_z([*norms, math.exp(0.9)]) == pytest.approx(3, abs=1)
    assert robust_z([*norms, math.exp(-0.9)]) == pytest.approx(-3, abs=1)


def test_one_nan_does_not_reach_later_values() -> None:
    norms = noisy(40)
    with_nan = [*norms[:20], math.nan, *norms[20:], 5.0]
    found = robust_z(with_nan)
    assert found is not None
    assert found > 3
    assert robust_z([*norms, math.nan]) is None


def test_norms_without_a_logarithm_have_no_z() -> None:
    for norm in (0.0, math.inf, math.nan):
        assert robust_z([*noisy(20), norm]) is None
    assert robust_z(noisy(10)) is None  # nine earlier ones
    assert robust_z(noisy(11)) is not None
    assert robust_z([]) is None


def test_a_run_without_spread_does_not_make_a_ripple_an_alarm() -> None:
    assert robust_z([1.0] * 30 + [1.01]) == pytest.approx(math.log(1.01) / 0.05)


def test_a_mean_needs_half_of_its_window() -> None:
    assert window_mean([1.0, math.nan, 3.0]) == 2.0
    assert window_mean([1.0, math.nan, math.inf]) is None
    assert window_mean([]) is None


def test_the_training_loss_is_set_against_its_start_and_ln_v() -> None:
    signal = TrainLoss(100)
    found = signal._of([2.0] * 10 + [4.0] * 15)
    assert found == {"loss_mean": 4.0, "loss_start": 2.0, "loss_of_ln_v": 4 / math.log(100)}
    assert signal._of([2.0] * 9)["loss_start"] is None
    # never 0.0 for a window of which nothing is known
    assert signal._of([2.0] * 10 + [math.nan] * 10)["loss_mean"] is None


def moment(step: int, losses: list[float], contents: list[list[int]]) -> list[LaneMoment]:
    history = History()
    for loss, read in zip(losses, contents, strict=True):
        history.add(loss, 1.0, read)
    return [LaneMoment(2, step, history)]


def test_the_loss_has_a_z_of_its_own() -> None:
    losses = [*noisy(30), 50.0]
    found = read_signals([LossZ()], moment(31, losses, [[]] * 31))
    assert found == {2: {"loss_z": robust_z(losses)}}
    assert found[2]["loss_z"] > 6
    assert read_signals([LossZ()], moment(3, [1.0] * 3, [[]] * 3)) == {2: {"loss_z": None}}


@pytest.mark.parametrize(
    ("contents", "share"),
    [
        ([[n, n + 100] for n in range(25)], 1 / 40),  # 20 steps of two, all different
        ([[7, 7] for _ in range(25)], 1.0),
        ([[1, 1]] * 5 + [[n, 7] for n in range(20, 40)], 0.5),  # what is longer ago is forgotten
        ([[7]] * 5, None),  # too few to tell
        ([[]] * 25, None),  # nobody told what was read
    ],
)
def test_repeated_examples_are_a_share_of_those_of_late(
    contents: list[list[int]], share: float | None
) -> None:
    found = read_signals([Repeats(5)], moment(25, [1.0] * len(contents), contents))
    assert found == {2: {"repeat_share": share}}


def test_repeats_are_read_every_few_steps() -> None:
    assert [step for step in range(11) if Repeats(5).due(step)] == [5, 10]
