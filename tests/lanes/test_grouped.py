"""Grouped products against the formula a block at a time, and the kernel of torch against the loop."""

from __future__ import annotations

import pytest
import torch

from octavo.lanes import grouped
from octavo.lanes.grouped import aligned_rank, backward, forward, groups_of, outer, times

SIZES = [7, 1, 12, 4]
RANK, INPUTS, OUTPUTS = 8, 16, 24


def make_operands(dtype: torch.dtype = torch.float64):
    draw = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64).to(dtype)

    x, a, b = normal(sum(SIZES), INPUTS), normal(4, RANK, INPUTS), normal(4, OUTPUTS, RANK)
    scale = torch.tensor([2.0, 0.5, 1.0, 3.0], dtype=dtype).repeat_interleave(torch.tensor(SIZES))[:, None]
    return x, a, b, scale


def by_autograd(x, a, b, scale, dy):
    """y and the gradients of sum(dy * y), by torch."""
    leaves = [t.clone().requires_grad_() for t in (x, a, b)]
    rows = [
        s * (part @ m.t() @ n.t())
        for part, m, n, s in zip(
            leaves[0].split(SIZES), leaves[1], leaves[2], scale.split(SIZES), strict=True
        )
    ]
    y = torch.cat(rows)
    return y.detach(), torch.autograd.grad(y, leaves, dy)


def test_forward_and_the_three_gradients_are_those_of_autograd():
    x, a, b, scale = make_operands()
    dy = torch.randn(sum(SIZES), OUTPUTS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    groups = groups_of(SIZES, "cpu")
    y, h = forward(x, a, b, scale, groups)
    wanted_y, wanted = by_autograd(x, a, b, scale, dy)
    torch.testing.assert_close(y, wanted_y)
    for found, right in zip(backward(dy, x, h, a, b, scale, groups), wanted, strict=True):
        torch.testing.assert_close(found, right)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_kernel_of_torch_gives_what_the_loop_gives(monkeypatch, transposed):
    """torch computes the grouped product on a CPU as well, so that its arguments are tried here."""
    x, a, b, _ = make_operands(torch.bfloat16)
    groups = groups_of(SIZES, "cpu")
    w = b if transposed else a.transpose(1, 2)
    left = x[:, :RANK] if transposed else x  # a view whose rows are apart
    loop = times(left, w.transpose(1, 2) if transposed else w, groups), outer(left, x, groups)
    monkeypatch.setattr(grouped, "usable", lambda *_: True)
    kernel = times(left, w.transpose(1, 2) if transposed else w, groups), outer(left, x, groups)
    for found, right in zip(kernel, loop, strict=True):
        assert found.shape == right.shape
        torch.testing.assert_close(found, right, rtol=2e-2, atol=2e-2)


def test_half_precision_is_kept_and_scales_are_not_rounded():
    x, a, b, _ = make_operands(torch.bfloat16)
    scale = torch.full((len(x), 1), 2 / 0.9)
    groups = groups_of(SIZES, "cpu")
    y, h = forward(x, a, b, scale, groups)
    assert y.dtype == h.dtype == torch.bfloat16
    assert torch.equal(h, (times(x, a.transpose(1, 2), groups).float() * (2 / 0.9)).bfloat16())
    assert {t.dtype for t in backward(y, x, h, a, b, scale, groups)} == {torch.bfloat16}


def test_a_nan_stays_in_its_block():
    x, a, b, scale = make_operands()
    groups = groups_of(SIZES, "cpu")
    clean, clean_h = forward(x, a, b, scale, groups)
    clean_grads = backward(clean, x, clean_h, a, b, scale, groups)
    x[9] = torch.nan  # in the third block
    dirty, dirty_h = forward(x, a, b, scale, groups)
    dirty_grads = backward(clean, x, dirty_h, a, b, scale, groups)
    others = [row for row in range(sum(SIZES)) if not 8 <= row < 20]
    assert torch.equal(dirty[others], clean[others])
    for found, right in zip(dirty_grads[1:], clean_grads[1:], strict=True):
        assert torch.equal(found[[0, 1, 3]], right[[0, 1, 3]])
        assert torch.isnan(found[2]).any()


def test_zero_rows_beyond_the_rank_change_nothing():
    x, a, b, scale = make_operands()
    groups = groups_of(SIZES, "cpu")
    narrow, _ = forward(x, a[:, :3], b[:, :, :3], scale, groups)
    wide_a, wide_b = a.clone(), b.clone()
    wide_a[:, 3:], wide_b[:, :, 3:] = 0, 0
    wide, h = forward(x, wide_a, wide_b, scale, groups)
    torch.testing.assert_close(wide, narrow)
    _, da, db = backward(wide, x, h, wide_a, wide_b, scale, groups)
    assert not da[:, 3:].any()
    assert not db[:, :, 3:].any()


@pytest.mark.parametrize(("rank", "wide"), [(1, 8), (8, 8), (9, 16), (64, 64)])
def test_aligned_rank(rank: int, wide: int):
    assert aligned_rank(rank) == wide


@pytest.mark.parametrize("sizes", [[], [3, 0, 2]])
def test_an_empty_block_is_refused(sizes: list[int]):
    with pytest.raises(ValueError, match="every block needs a row"):
        groups_of(sizes, "cpu")


def test_a_cpu_has_no_kernel():
    assert not grouped.usable(torch.zeros(4, 8, dtype=torch.bfloat16), 8)
