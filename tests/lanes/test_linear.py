"""The hand-written backward of the adapters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from octavo.lanes.dropout import hash_key, keep_mask
from octavo.lanes.linear import LaneDelta, LaneLinear, Site
from octavo.lanes.pack import Sample, build_pack, use_pack

RATES = [0.4, 0.0, 0.25]
SCALES: list[float | None] = [2.0, 0.5, None]


def make_site(rank: int = 3, inputs: int = 6, outputs: int = 5) -> Site:
    draw = torch.Generator().manual_seed(0)
    a = nn.Parameter(torch.randn(3, rank, inputs, generator=draw, dtype=torch.float64))
    b = nn.Parameter(torch.randn(3, outputs, rank, generator=draw, dtype=torch.float64))
    return Site("layer", hash_key("layer"), a, b, list(SCALES), list(RATES), a, b)


def make_pack():
    samples = [Sample(lane, [1] * n, [True] * n, key=n) for lane, n in ((0, 4), (2, 3), (1, 2), (0, 2))]
    return build_pack(samples, "cpu", with_dropout=True)


def by_autograd(out, x, site: Site, pack):
    """The same formula in plain torch."""
    rows = []
    for block in pack.blocks:
        part, lane = slice(block.start, block.stop), block.lane
        y = out[part]
        if site.scales[lane] is not None:
            keep = keep_mask(pack.row_key_T[part], site.key, x.shape[1], site.rates[lane])
            dropped = x[part] * keep / (1 - site.rates[lane])
            y = y + site.scales[lane] * (dropped @ site.a_KRI[lane].T @ site.b_KOR[lane].T)
        rows.append(y)
    return torch.cat(rows)


def test_gradcheck_with_dropout():
    site, pack = make_site(), make_pack()
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(pack.tokens, 6, generator=draw, dtype=torch.float64, requires_grad=True)
    out = torch.randn(pack.tokens, 5, generator=draw, dtype=torch.float64, requires_grad=True)

    def function(out, x, a, b):
        site.compute_a_KRI, site.compute_b_KOR = a, b
        return LaneDelta.apply(out * 1.0, x, a, b, site, pack)

    assert torch.autograd.gradcheck(function, (out, x, site.a_KRI, site.b_KOR))


def test_values_and_gradients_are_those_of_the_formula():
    site, pack = make_site(), make_pack()
    x = torch.randn(pack.tokens, 6, dtype=torch.float64, requires_grad=True)
    out = torch.randn(pack.tokens, 5, dtype=torch.float64)
    weights = torch.randn(pack.tokens, 5, dtype=torch.float64)
    mine = LaneDelta.apply(out.clone().requires_grad_() * 1.0, x, site.a_KRI, site.b_KOR, site, pack)
    grads = torch.autograd.grad((mine * weights).sum(), (x, site.a_KRI, site.b_KOR))
    wanted = by_autograd(out, x, site, pack)
    expected = torch.autograd.grad((wanted * weights).sum(), (x, site.a_KRI, site.b_KOR))
    torch.testing.assert_close(mine, wanted)
    torch.testing.assert_close(grads, expected)


@pytest.mark.parametrize("fault", ["no mask in backward", "neighbour's scale"])
def test_the_check_has_teeth(fault: str):
    """The two usual mistakes of such code are found by the comparison above."""
    site, pack = make_site(), make_pack()
    x = torch.randn(pack.tokens, 6, dtype=torch.float64, requires_grad=True)
    out = torch.zeros(pack.tokens, 5, dtype=torch.float64)
    wanted = torch.autograd.grad(by_autograd(out, x, site, pack).sum(), site.a_KRI)[0]
    mine = LaneDelta.apply(out.clone().requires_grad_() * 1.0, x, site.a_KRI, site.b_KOR, site, pack)
    if fault == "no mask in backward":
        mine.grad_fn.masks = {start: torch.ones_like(m) for start, m in mine.grad_fn.masks.items()}  # type: ignore[union-attr]
    else:
        mine.grad_fn.scales = [0.5, 2.0, None]  # type: ignore[union-attr]
    got = torch.autograd.grad(mine.sum(), site.a_KRI)[0]
    assert not torch.allclose(got, wanted, rtol=1e-2)


def test_outside_of_a_pack_the_layer_is_the_base_layer():
    layer = nn.Linear(6, 5).double()
    wrapped = LaneLinear(layer, make_site())
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    assert torch.equal(wrapped(x), layer(x))
    assert wrapped.in_features == 6
    assert wrapped.weight is layer.weight


def test_an_empty_lane_sees_the_base_and_nan_stays_in_its_lane():
    layer, site, pack = nn.Linear(6, 5).double(), make_site(), make_pack()
    x = torch.randn(1, pack.tokens, 6, dtype=torch.float64)
    with torch.no_grad():
        site.a_KRI[0, 0, 0] = torch.nan
        with use_pack(pack):
            y = LaneLinear(layer, site)(x)
        plain = layer(x)
    rows = {block.lane: slice(block.start, block.stop) for block in pack.blocks}
    assert torch.equal(y[0, rows[2]], plain[0, rows[2]])
    assert torch.isnan(y[0, rows[0]]).any()
    assert torch.isfinite(y[0, rows[1]]).all()
