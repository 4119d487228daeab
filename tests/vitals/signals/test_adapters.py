"""Signals of the adapters themselves, against the full matrices."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from octavo.lanes.linear import LaneLinear
from octavo.vitals.frozen import frozen_norm
from octavo.vitals.signal import Watched, read_signals
from octavo.vitals.signals import finite, rho, spectrum
from tests.vitals.watched import moments, watched


def ratios(seen: Watched, lane: int) -> dict[str, float]:
    """s ||B A|| / ||W|| of every layer, from the full matrices."""
    spec = seen.bank.specs[lane]
    assert spec is not None
    found = {}
    for name, (a, b) in seen.bank.read(lane).items():
        layer = seen.bank.model.get_submodule(name)
        update = spec.scale * torch.linalg.norm((b @ a).double())
        found[name] = float(update / torch.linalg.norm(layer.base.weight.double()))
    return found


def test_rho_is_that_of_the_full_matrices() -> None:
    seen = watched((4, 2, 4))
    found = read_signals([rho.make(seen)], moments([2, 0, 1], 5))
    for lane in range(3):
        wanted = ratios(seen, lane)
        worst = max(wanted, key=wanted.__getitem__)
        assert found[lane]["rho"] == pytest.approx(wanted[worst], rel=1e-5)
        assert found[lane]["rho_module"] == worst


def test_rho_hands_a_nan_on_and_names_its_layer() -> None:
    seen = watched((4, 4))
    place = seen.bank.places[1][5]
    seen.bank.flat_KP[1, place.middle + 1] = math.nan
    found = read_signals([rho.make(seen)], moments([0, 1], 1))
    assert math.isnan(found[1]["rho"])
    assert found[1]["rho_module"] == place.name
    assert math.isfinite(found[0]["rho"])


def test_rho_is_zero_before_the_first_step_and_null_without_an_adapter() -> None:
    seen = watched((4, 4), moved=False)
    seen.bank.vacate(1)
    found = read_signals([rho.make(seen)], moments([0, 1], 1))
    assert found[0]["rho"] == 0.0
    assert found[1] == {"rho": None, "rho_module": None}


def test_a_layer_whose_weight_is_zero_has_no_relative_update() -> None:
    seen = watched((4,))
    wanted = ratios(seen, 0)
    worst = max(wanted, key=wanted.__getitem__)
    seen.bank.model.get_submodule(worst).base.weight.zero_()
    found = read_signals([rho.make(seen)], moments([0], 1))[0]
    del wanted[worst]
    assert found["rho"] == pytest.approx(max(wanted.values()), rel=1e-5)


def test_early_steps_are_read_each_and_later_ones_every_fifth() -> None:
    signal = rho.make(watched((2,)))
    assert [step for step in range(32) if signal.due(step)] == [*range(1, 21), 25, 30]


class Packed(nn.Module):
    """A quantised layer: the weight that it keeps is no matrix of numbers."""

    def __init__(self, matrix: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.out_features, self.in_features = matrix.shape
        self.weight = matrix.to(torch.int8).reshape(-1)
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.view(self.out_features, self.in_features).to(x.dtype).t() + self.bias


def test_a_weight_that_cannot_be_read_is_asked_for_by_an_identity() -> None:
    matrix = torch.randint(-9, 9, (7, 600), generator=torch.Generator().manual_seed(1))
    layer = Packed(matrix, torch.full((7,), 3.0))
    found = frozen_norm(layer, torch.device("cpu"), torch.float32)
    assert float(found) == pytest.approx(float(matrix.double().norm()), rel=1e-6)


def test_a_plain_weight_is_read_below_its_adapter() -> None:
    seen = watched((2,))
    layer = next(m for m in seen.bank.model.modules() if isinstance(m, LaneLinear))
    found = frozen_norm(layer, torch.device("cpu"), torch.float32)
    assert float(found) == pytest.approx(float(layer.base.weight.double().norm()))


@pytest.mark.parametrize("where", ["parameter", "loss", "norm"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_finite_sees_parameters_loss_and_gradient(where: str, value: float) -> None:
    seen = watched((4, 4))
    lanes = moments([0, 1], 3)
    if where == "parameter":
        seen.bank.flat_KP[1, 7] = value
    elif where == "loss":
        lanes[1].history.losses[-1] = value
    else:
        lanes[1].history.grad_norms[-1] = value
    assert read_signals([finite.make(seen)], lanes) == {0: {"finite": True}, 1: {"finite": False}}


def test_large_finite_parameters_are_finite() -> None:
    seen = watched((4,))
    seen.bank.flat_KP[0, :8] = 3e38  # their sum is not a float32
    assert read_signals([finite.make(seen)], moments([0], 1)) == {0: {"finite": True}}


def test_update_ranks_are_those_of_the_full_product() -> None:
    seen = watched((4, 2))
    found = read_signals([spectrum.make(seen)], moments([0, 1], 50))
    for lane in range(2):
        for name, (a, b) in seen.bank.read(lane).items():
            s = torch.linalg.svdvals((b @ a).double())
            share = s / s.sum()
            wanted = [
                float((s**2).sum() / s[0] ** 2),
                math.exp(-sum(p * math.log(p) for p in share.tolist() if p > 1e-12)),
            ]
            assert found[lane]["update_ranks"][name] == pytest.approx(wanted, rel=1e-4)


def test_an_update_that_is_zero_or_not_finite_has_no_rank() -> None:
    seen = watched((4, 4), moved=False)
    seen.bank.own_part(seen.bank.flat_KP, 1).fill_(0.5)
    bad = seen.bank.places[1][2]
    seen.bank.flat_KP[1, bad.start] = math.nan
    found = read_signals([spectrum.make(seen)], moments([0, 1], 0))
    assert set(map(tuple, found[0]["update_ranks"].values())) == {(None, None)}
    ranks = found[1]["update_ranks"]
    assert ranks.pop(bad.name) == [None, None]
    assert all(pair == pytest.approx([1, 1], abs=1e-3) for pair in ranks.values())
