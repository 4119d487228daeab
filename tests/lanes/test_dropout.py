"""Dropout bits as a function of their place."""

from __future__ import annotations

import torch

from octavo.lanes.dropout import hash_key, keep_mask, row_keys

ROWS = row_keys([hash_key("dropout", 0, 0, i) for i in range(40)], [50] * 40)


def test_rate_is_met_within_three_standard_errors():
    for rate in (0.05, 0.1, 0.5, 0.9):
        mask = keep_mask(ROWS, 1, 301, rate)
        error = 3 * (rate * (1 - rate) / mask.numel()) ** 0.5
        assert mask.shape == (2000, 301)
        assert abs(mask.float().mean().item() - (1 - rate)) < error


def test_bits_are_independent_of_neighbours_in_every_direction():
    mask = keep_mask(ROWS, 7, 400, 0.5).double() - 0.5
    shifts = [(1, 0), (0, 1), (0, 2), (0, 4), (1, 1), (1, 4), (50, 0), (3, 5)]
    for down, right in shifts:
        a, b = mask[: 2000 - down, : 400 - right], mask[down:, right:]
        correlation = (a * b).mean().item() / 0.25
        assert abs(correlation) < 4.5 / a.numel() ** 0.5, (down, right)
    columns, rows = mask.mean(0), mask.mean(1)
    assert 0.8 < columns.var().item() / (0.25 / 2000) < 1.25
    assert 0.8 < rows.var().item() / (0.25 / 400) < 1.25


def test_every_part_of_the_place_counts():
    keys = {
        hash_key("dropout", seed, step, example)
        for seed in range(5)
        for step in range(5)
        for example in range(5)
    }
    assert len(keys) == 125
    assert hash_key("ab", 1) != hash_key("a", "b1")
    one, other = keep_mask(ROWS, 1, 64, 0.5), keep_mask(ROWS, 2, 64, 0.5)
    assert 0.45 < (one == other).float().mean().item() < 0.55


def test_a_sequence_keeps_its_bits_in_any_pack():
    a, b = hash_key("a"), hash_key("b")
    together = keep_mask(row_keys([a, b], [7, 9]), 3, 33, 0.3)
    assert torch.equal(together[7:], keep_mask(row_keys([b], [9]), 3, 33, 0.3))
    longer = keep_mask(row_keys([a], [12]), 3, 33, 0.3)
    assert torch.equal(together[:7], longer[:7])
