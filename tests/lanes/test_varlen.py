"""Attention of a whole pack in one call: the arguments of the kernel, and the way without it."""

from __future__ import annotations

import pytest
import torch

from octavo.lanes import varlen
from octavo.lanes.attention import attend, visible
from octavo.lanes.varlen import attend_pack, segments_of

LENGTHS = [5, 1, 9, 3]


def make_qkv(heads: int = 4, kv_heads: int = 2, width: int = 8):
    draw = torch.Generator().manual_seed(0)
    total = sum(LENGTHS)
    return [torch.randn(1, n, total, width, generator=draw) for n in (heads, kv_heads, kv_heads)]


def one_at_a_time(q, k, v, scaling, window):
    parts = [t.split(LENGTHS, dim=2) for t in (q, k, v)]
    return torch.cat([attend(*p, scaling, window).transpose(1, 2) for p in zip(*parts, strict=True)], dim=1)


def by_definition(q, k, v, bounds, scale, left, gqa):
    """What torch documents of varlen_attn, causal: q [T, H, D]; `left` keys before the query's own, -1 for all."""
    if gqa:
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    assert q.shape[1] == k.shape[1]
    rows = []
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        scores = torch.einsum("qhd,khd->hqk", q[start:stop], k[start:stop])
        scores = scores * (q.shape[2] ** -0.5 if scale is None else scale)
        place = torch.arange(stop - start)
        seen = place[None, :] <= place[:, None]
        if left >= 0:
            seen &= place[None, :] >= place[:, None] - left
        weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
        rows.append(torch.einsum("hqk,khd->qhd", weights, v[start:stop]))
    return torch.cat(rows)


def newest(
    query,
    key,
    value,
    cu_seq_q,
    cu_seq_k,
    max_q,
    max_k,
    *,
    scale=None,
    window_size=(-1, -1),
    enable_gqa=False,
):
    """The signature of torch 2.13."""
    assert window_size[1] == 0
    assert max_q == max_k == max(LENGTHS)
    assert cu_seq_q.dtype == torch.int32
    return by_definition(query, key, value, cu_seq_q, scale, window_size[0], enable_gqa)


def oldest(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, is_causal=False):
    """The signature of the first release: no scale, no window, no groups of heads."""
    assert is_causal
    return by_definition(query, key, value, cu_seq_q, None, -1, False)


@pytest.mark.parametrize(
    ("kernel", "scaling", "window"),
    [
        (newest, None, None),
        (newest, 0.3, None),
        (newest, None, 3),
        (newest, 0.2, 1),
        (oldest, None, None),
        (oldest, 0.3, None),
    ],
)
def test_the_kernel_gets_what_attention_a_sequence_at_a_time_computes(monkeypatch, kernel, scaling, window):
    names = frozenset(
        kernel.__code__.co_varnames[: kernel.__code__.co_argcount + kernel.__code__.co_kwonlyargcount]
    )
    monkeypatch.setattr(varlen, "_kernel", lambda: (kernel, names))
    monkeypatch.setattr(varlen, "usable", lambda query, window=None: True)
    q, k, v = make_qkv()
    found = attend_pack(q, k, v, segments_of(LENGTHS, "cpu"), scaling, window)
    torch.testing.assert_close(found, one_at_a_time(q, k, v, scaling, window))


def test_this_torch_has_the_kernel_with_arguments_that_are_known_here():
    kernel = varlen._kernel()
    assert kernel is not None
    assert {"cu_seq_q", "cu_seq_k", "max_q", "max_k"} <= kernel[1]
    assert kernel[1] & {"window_size", "is_causal"}


@pytest.mark.parametrize("window", [None, 3])
def test_without_a_kernel_each_sequence_goes_alone(window):
    q, k, v = make_qkv()
    assert not varlen.usable(q, window)
    found = attend_pack(q, k, v, segments_of(LENGTHS, "cpu"), None, window)
    assert torch.equal(found, one_at_a_time(q, k, v, None, window))
    assert found.shape == (1, sum(LENGTHS), 4, 8)


def test_a_nan_stays_in_its_sequence():
    q, k, v = make_qkv()
    clean = attend_pack(q, k, v, segments_of(LENGTHS, "cpu"))
    for tensor in (q, k, v):
        tensor[:, :, 7] = torch.nan  # the second row of the third sequence
    dirty = attend_pack(q, k, v, segments_of(LENGTHS, "cpu"))
    others = [row for row in range(sum(LENGTHS)) if not 6 <= row < 15]
    assert torch.equal(dirty[:, others], clean[:, others])
    assert torch.isnan(dirty[:, 7:15]).all()


def test_the_fake_kernel_sees_as_far_as_attention_does():
    seen = visible(4, 4, 2, torch.device("cpu"))
    assert seen.sum(1).tolist() == [1, 2, 2, 2]
