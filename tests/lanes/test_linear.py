"""The hand-written backward of the adapters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from octavo.errors import InputError
from octavo.lanes.dropout import hash_key, keep_mask
from octavo.lanes.linear import LaneDelta, LaneLinear, Site, Slot
from octavo.lanes.pack import Sample, build_pack, use_pack

LANES = [(2.0, 0.4), (0.5, 0.0), None]  # (scale, dropout rate) of each lane; the last has no adapter here


def make_site(rank: int = 3, inputs: int = 6, outputs: int = 5) -> Site:
    draw = torch.Generator().manual_seed(0)
    slots: list[Slot | None] = []
    for lane in LANES:
        a = torch.randn(rank, inputs, generator=draw, dtype=torch.float64)
        b = torch.randn(outputs, rank, generator=draw, dtype=torch.float64)
        slots.append(None if lane is None else Slot(a, b, *lane, torch.zeros_like(a), torch.zeros_like(b)))
    anchor = torch.zeros((), dtype=torch.float64, requires_grad=True)
    return Site("layer", hash_key("layer"), slots, anchor)


def make_pack():
    samples = [Sample(lane, [1] * n, [True] * n, key=n) for lane, n in ((0, 4), (2, 3), (1, 2), (0, 2))]
    return build_pack(samples, "cpu", with_dropout=True)


def by_autograd(out, x, site: Site, pack, matrices):
    """The same formula in plain torch, of matrices that may require gradients: {lane: (A, B)}."""
    rows = []
    for block in pack.blocks:
        part, slot = slice(block.start, block.stop), site.slots[block.lane]
        y = out[part]
        if slot is not None:
            a, b = matrices[block.lane]
            dropped = (
                x[part] * keep_mask(pack.row_key_T[part], site.key, x.shape[1], slot.rate) / (1 - slot.rate)
            )
            y = y + slot.scale * (dropped @ a.T @ b.T)
        rows.append(y)
    return torch.cat(rows)


def leaves(site: Site):
    return {
        lane: (slot.a_RI.clone().requires_grad_(), slot.b_OR.clone().requires_grad_())
        for lane, slot in enumerate(site.slots)
        if slot is not None
    }


class Checked(torch.autograd.Function):
    """LaneDelta with the matrices as inputs, so that gradcheck perturbs them as well."""

    @staticmethod
    def forward(ctx, out, x, site, pack, *matrices):
        with torch.enable_grad():
            ctx.inner = [t.detach().requires_grad_() for t in (out, x)]
            for slot, (a, b) in zip(
                [s for s in site.slots if s], zip(matrices[::2], matrices[1::2], strict=True), strict=True
            ):
                slot.a_RI, slot.b_OR = a.detach().clone(), b.detach().clone()
                slot.grad_a_RI, slot.grad_b_OR = torch.zeros_like(a), torch.zeros_like(b)
            ctx.outcome = LaneDelta.apply(ctx.inner[0] * 1.0, ctx.inner[1], site.anchor, site, pack)
        ctx.kept = [s for s in site.slots if s]
        ctx.sinks = [t for s in ctx.kept for t in (s.grad_a_RI, s.grad_b_OR)]
        return ctx.outcome.detach()

    @staticmethod
    def backward(ctx, dy):
        for sink in ctx.sinks:
            sink.zero_()
        for slot, (a, b) in zip(ctx.kept, zip(ctx.sinks[::2], ctx.sinks[1::2], strict=True), strict=True):
            slot.grad_a_RI, slot.grad_b_OR = a, b
        grads = torch.autograd.grad(ctx.outcome, ctx.inner, dy, retain_graph=True)
        return *grads, None, None, *[s.clone() for s in ctx.sinks]


def test_gradcheck_of_all_inputs_with_dropout():
    site, pack = make_site(), make_pack()
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(pack.tokens, 6, generator=draw, dtype=torch.float64, requires_grad=True)
    out = torch.randn(pack.tokens, 5, generator=draw, dtype=torch.float64, requires_grad=True)
    matrices = [m for pair in leaves(site).values() for m in pair]
    assert torch.autograd.gradcheck(lambda o, i, *m: Checked.apply(o, i, site, pack, *m), (out, x, *matrices))


def test_values_and_gradients_are_those_of_the_formula():
    site, pack = make_site(), make_pack()
    x = torch.randn(pack.tokens, 6, dtype=torch.float64, requires_grad=True)
    out = torch.randn(pack.tokens, 5, dtype=torch.float64)
    weights = torch.randn(pack.tokens, 5, dtype=torch.float64)
    mine = LaneDelta.apply(out.clone().requires_grad_() * 1.0, x, site.anchor, site, pack)
    (dx,) = torch.autograd.grad((mine * weights).sum(), x)
    matrices = leaves(site)
    wanted = by_autograd(out, x, site, pack, matrices)
    flat = [m for pair in matrices.values() for m in pair]
    expected = torch.autograd.grad((wanted * weights).sum(), [x, *flat])
    sinks = [t for s in site.slots if s is not None for t in (s.grad_a_RI, s.grad_b_OR)]
    torch.testing.assert_close(mine, wanted)
    torch.testing.assert_close([dx, *sinks], list(expected))


@pytest.mark.parametrize("fault", ["none", "no mask in backward", "neighbour's scale"])
def test_the_comparison_has_teeth(fault: str, monkeypatch: pytest.MonkeyPatch):
    """The two usual mistakes of such code are found by comparing gradients with the formula's."""
    site, pack = make_site(), make_pack()
    x = torch.randn(pack.tokens, 6, dtype=torch.float64, requires_grad=True)
    out = torch.zeros(pack.tokens, 5, dtype=torch.float64)
    matrices = leaves(site)
    wanted = torch.autograd.grad(by_autograd(out, x, site, pack, matrices).sum(), matrices[0][0])[0]
    mine = LaneDelta.apply(out.clone().requires_grad_() * 1.0, x, site.anchor, site, pack)
    slot = site.slots[0]
    assert slot is not None
    if fault == "no mask in backward":
        monkeypatch.setattr("octavo.lanes.linear.only_kept", lambda x, _keep: x)
    elif fault == "neighbour's scale":
        slot.scale = 0.5
    mine.sum().backward()
    assert torch.allclose(slot.grad_a_RI, wanted, rtol=1e-2) is (fault == "none")


def test_outside_of_a_pack_the_layer_is_the_base_layer():
    layer = nn.Linear(6, 5).double()
    wrapped = LaneLinear(layer, make_site())
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    assert torch.equal(wrapped(x), layer(x))
    assert wrapped.in_features == 6
    assert wrapped.weight is layer.weight


@pytest.mark.parametrize("rows", [1, 5, 20])
def test_a_layer_that_is_given_other_rows_than_the_packs_is_refused(rows: int):
    """An expert behind a router: cut by lanes, its rows would go to the wrong adapters."""
    wrapped, pack = LaneLinear(nn.Linear(6, 5).double(), make_site()), make_pack()
    x = torch.randn(rows, 6, dtype=torch.float64)
    with (
        use_pack(pack),
        pytest.raises(InputError, match=rf"layer is given {rows} rows where the pack has 11"),
    ):
        wrapped(x)
    with use_pack(pack):
        assert wrapped(x.new_zeros(1, 11, 6)).shape == (1, 11, 5)


def test_an_empty_lane_sees_the_base_and_nan_stays_in_its_lane():
    layer, site, pack = nn.Linear(6, 5).double(), make_site(), make_pack()
    x = torch.randn(1, pack.tokens, 6, dtype=torch.float64)
    with torch.no_grad():
        site.slots[0].a_RI[0, 0] = torch.nan  # type: ignore[union-attr]
        with use_pack(pack):
            y = LaneLinear(layer, site)(x)
        plain = layer(x)
    rows = {block.lane: slice(block.start, block.stop) for block in pack.blocks}
    assert torch.equal(y[0, rows[2]], plain[0, rows[2]])
    assert torch.isnan(y[0, rows[0]]).any()
    assert torch.isfinite(y[0, rows[1]]).all()
