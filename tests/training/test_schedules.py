"""Learning-rate factors against the schedules of transformers."""

from __future__ import annotations

import itertools

import pytest
import torch
import transformers.optimization as theirs
from hypothesis import given
from hypothesis import strategies as st

from octavo.settings import Schedule
from octavo.training.schedules import DECAY_SHARE, factor

TOTAL = 40
WARMUPS = [0, 1, 7]


def ours(total: int = TOTAL, **settings: object) -> list[float]:
    schedule = Schedule.model_validate({"warmup_steps": 0, **settings})
    return [factor(schedule, step, total) for step in range(total)]


def factors_of(make, total: int = TOTAL) -> list[float]:
    """What a scheduler of transformers makes of a learning rate of 1."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(optimizer)
    found = []
    for _ in range(total):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize("warmup", WARMUPS)
def test_constant(warmup: int):
    wanted = factors_of(lambda o: theirs.get_constant_schedule_with_warmup(o, warmup))
    assert ours(kind="constant", warmup_steps=warmup) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("warmup", WARMUPS)
def test_linear(warmup: int):
    wanted = factors_of(lambda o: theirs.get_linear_schedule_with_warmup(o, warmup, TOTAL))
    assert ours(kind="linear", warmup_steps=warmup) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("warmup", WARMUPS)
@pytest.mark.parametrize("floor", [0.0, 0.1])
def test_cosine_with_and_without_floor(warmup: int, floor: float):
    wanted = factors_of(
        lambda o: theirs.get_cosine_with_min_lr_schedule_with_warmup(o, warmup, TOTAL, min_lr_rate=floor)
    )
    assert ours(kind="cosine", warmup_steps=warmup, floor=floor) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("decay", ["linear", "cosine", "1-sqrt"])
@pytest.mark.parametrize(("warmup", "floor"), [(0, 0.0), (1, 0.0), (7, 0.0), (0, 0.2), (7, 0.2)])
def test_wsd(decay: str, warmup: int, floor: float):
    wanted = factors_of(
        lambda o: theirs.get_wsd_schedule(
            o, warmup, 10, num_training_steps=TOTAL, decay_type=decay, min_lr_ratio=floor
        )
    )
    found = ours(kind="wsd", warmup_steps=warmup, decay_steps=10, decay=decay, floor=floor)
    # their warm-up begins at the floor; ours is s / W (MiniCPM), as in all the other schedules
    assert found[warmup:] == pytest.approx(wanted[warmup:], abs=1e-12)
    assert found[:warmup] == pytest.approx([step / warmup for step in range(warmup)], abs=1e-12)


def test_exponential_decay_halves_ten_times():
    found = ours(kind="wsd", decay="exponential", decay_steps=20, warmup_steps=3)
    begin, half = TOTAL - 20, 20 / 10
    assert found[3:begin] == [1.0] * (begin - 3)
    assert found[begin:] == pytest.approx([0.5 ** ((s - begin) / half) for s in range(begin, TOTAL)])
    floored = ours(kind="wsd", decay="exponential", decay_steps=20, warmup_steps=3, floor=0.1)
    assert floored[begin:] == pytest.approx([0.1 + 0.9 * f for f in found[begin:]])


def test_wsd_decays_over_a_tenth_where_nothing_is_said():
    found = ours(100, kind="wsd", decay="linear")
    assert found == ours(100, kind="wsd", decay="linear", decay_steps=round(100 * DECAY_SHARE))
    assert found[:90] == [1.0] * 90
    assert found[91] < 1


@given(
    kind=st.sampled_from(["constant", "linear", "cosine", "wsd"]),
    decay=st.sampled_from(["linear", "cosine", "1-sqrt", "exponential"]),
    warmup=st.integers(0, 30),
    decay_steps=st.one_of(st.none(), st.integers(1, 30)),
    floor=st.floats(0, 0.99),
    total=st.integers(1, 30),
)
def test_every_factor_is_between_zero_and_one_and_never_rises_after_the_warm_up(
    kind, decay, warmup, decay_steps, floor, total
):
    found = ours(total, kind=kind, decay=decay, warmup_steps=warmup, decay_steps=decay_steps, floor=floor)
    assert all(0 <= f <= 1 + 1e-12 for f in found)
    after = found[warmup:]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(after))
    assert all(f >= floor - 1e-12 for f in after)
