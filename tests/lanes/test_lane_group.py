"""The adapters of a pack as grouped products: the same as a lane at a time, on a CPU that is told it has the kernel."""

from __future__ import annotations

import pytest
import torch

from octavo.lanes import grouped, lane_group
from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.linear import LaneDelta, Site, Slot
from octavo.lanes.pack import Sample, build_pack

INPUTS, OUTPUTS = 16, 24
SIZES = (7, 1, 12)


def make_site(ranks: tuple[int | None, ...], rate: float, dtype: torch.dtype, spaced: bool) -> Site:
    """Adapters of these ranks; `spaced`: each in a row of one tensor, as a bank has them."""
    draw = torch.Generator().manual_seed(0)
    rows = torch.zeros(len(ranks), 16 * (INPUTS + OUTPUTS), dtype=dtype)
    slots: list[Slot | None] = []
    for lane, rank in enumerate(ranks):
        if rank is None:
            slots.append(None)
            continue
        a = torch.randn(rank, INPUTS, generator=draw, dtype=torch.float64).to(dtype)
        b = torch.randn(OUTPUTS, rank, generator=draw, dtype=torch.float64).to(dtype)
        if spaced:
            middle, stop = rank * INPUTS, rank * (INPUTS + OUTPUTS)
            a = rows[lane, :middle].view_as(a).copy_(a)
            b = rows[lane, middle:stop].view_as(b).copy_(b)
        sinks = (torch.ones(a.shape), torch.ones(b.shape))
        slots.append(Slot(a, b, 2.0 / (lane + 1), rate if lane else 0.0, *sinks))
    return Site("layer", 5, slots, torch.zeros((), requires_grad=True))


def both_ways(site: Site, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch, dropout: bool):
    """Output, gradient to the input and gradients of the matrices: by the loop, then by the group."""
    samples = [Sample(lane, [1] * n, [True] * n, key=n) for lane, n in enumerate(SIZES)]
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(sum(SIZES), INPUTS, generator=draw, dtype=torch.float64).to(dtype)
    out, dy = (torch.randn(sum(SIZES), OUTPUTS, generator=draw, dtype=torch.float64).to(dtype) for _ in "ab")
    groups = []
    monkeypatch.setattr(
        "octavo.lanes.linear.group_of",
        lambda *a, **k: groups.append(lane_group.group_of(*a, **k)) or groups[-1],
    )
    found = []
    for way in ("loop", "group"):
        monkeypatch.setattr(grouped, "usable", lambda *_, on=way == "group": on)
        sinks = [t for s in site.slots if s for t in (s.grad_a_RI, s.grad_b_OR)]
        for sink in sinks:
            sink.fill_(1.0)
        leaf = x.clone().requires_grad_()
        pack = build_pack(samples, "cpu", dropout)
        y = LaneDelta.apply(out.clone().requires_grad_() * 1.0, leaf, site.anchor, site, pack)
        (dx,) = torch.autograd.grad(y, leaf, dy)
        found.append([y.detach(), dx, *(sink.clone() for sink in sinks)])
    return found, groups


@pytest.mark.parametrize("rank", [8, 3])
@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize("spaced", [True, False])
def test_a_group_gives_what_the_loop_gives(monkeypatch, rank: int, rate: float, spaced: bool):
    """Torch's kernel computes on a CPU as well, so that its arguments are tried too."""
    site = make_site((rank, rank, rank), rate, torch.bfloat16, spaced)
    (loop, group), groups = both_ways(site, torch.bfloat16, monkeypatch, rate > 0)
    assert groups[0] is None
    assert groups[1] is not None
    for found, wanted in zip(group, loop, strict=True):
        gap = torch.linalg.vector_norm((found - wanted).float()) / torch.linalg.vector_norm(wanted.float())
        assert gap < 1e-2  # bfloat16 rounds to 0.4 %, and the two scale at different places


def test_a_group_that_forgot_its_scale_would_be_seen(monkeypatch):
    site = make_site((8, 8, 8), 0.0, torch.bfloat16, True)
    monkeypatch.setattr(grouped, "_scaled", lambda h, _scale: h)
    (loop, group), _ = both_ways(site, torch.bfloat16, monkeypatch, False)
    gaps = [float((a - b).float().norm() / b.float().norm()) for a, b in zip(group, loop, strict=True)]
    assert max(gaps) > 0.1


@pytest.mark.parametrize("ranks", [(8, 16, 8), (8, None, 8)])
def test_other_ranks_or_a_lane_without_an_adapter_go_a_lane_at_a_time(monkeypatch, ranks):
    (loop, group), groups = both_ways(
        make_site(ranks, 0.0, torch.bfloat16, True), torch.bfloat16, monkeypatch, False
    )
    assert groups == [None, None]
    assert all(torch.equal(a, b) for a, b in zip(group, loop, strict=True))


def test_the_matrices_of_a_bank_are_stacked_without_a_copy():
    model = torch.nn.ModuleDict({"q": torch.nn.Linear(16, 24), "v": torch.nn.Linear(16, 8)})
    spec = AdapterSpec(8, 16.0, 0.0, ("q", "v"))
    bank = AdapterBank(model, [spec], 3)
    for lane in range(3):
        bank.occupy(lane, spec)
        bank.initialise(lane, lane)
    for site in bank.sites.values():
        matrices = [slot.a_RI for slot in site.slots if slot is not None]
        whole = grouped.stacked(matrices)
        assert whole.data_ptr() == matrices[0].data_ptr()
        assert torch.equal(whole, torch.stack(matrices))
        uneven = [matrices[0], matrices[2], matrices[1]]
        assert torch.equal(grouped.stacked(uneven), torch.stack(uneven))


def test_in_evaluation_no_gradients_are_kept_and_the_input_gets_its_own():
    site = make_site((8, 8, 8), 0.0, torch.bfloat16, True)
    for slot in site.slots:
        slot.grad_a_RI = slot.grad_b_OR = None
    groups = grouped.groups_of(SIZES, "cpu")
    group = lane_group.LaneGroup(site.slots, groups, torch.ones(sum(SIZES), 1), extra=0)
    x, dy = (torch.ones(sum(SIZES), n, dtype=torch.bfloat16) for n in (INPUTS, OUTPUTS))
    dx = group.backward(dy, x, group.add_to(torch.zeros_like(dy), x))
    slot = site.slots[2]
    assert slot is not None
    wanted = (dy[8:].float() @ slot.b_OR.float()) @ slot.a_RI.float()
    torch.testing.assert_close(dx[8:].float(), wanted, rtol=2e-2, atol=2e-1)
