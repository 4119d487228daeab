"""Masked diffusion by its formula, and draws that nothing but seed, step and example can change."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from octavo.lanes.base import BaseModel
from octavo.objectives.masked_diffusion import (
    FLOOR,
    HELDOUT_DRAWS,
    MaskedDiffusion,
    answer_of,
    hidden_shares,
)
from octavo.objectives.objective import score_rows
from octavo.training.data import Feed, Tokens
from tests.objectives.rows import BLOCK, MASK, Toy, log_p, looking, toy

ROWS = [toy("a", 5, 6, 2), toy("bb", 2, 9), toy("ccc", 9, 3, 1), toy("dddd", 3, 7)]
KINDS = [(kind, shift) for kind in ("causal", "full", "block") for shift in (1, 0)]


def objective(kind: str = "full", shift: int = 1, symbols: bool = False) -> MaskedDiffusion:
    return MaskedDiffusion(MASK, shift, kind, BLOCK, symbols)


def batches(rows=ROWS, size: int = 2):
    pairs = list(enumerate(rows))
    return [pairs[i : i + size] for i in range(0, len(pairs), size)]


def flat(window):
    return [sample for batch in window for sample in batch]


def hidden_places(one: MaskedDiffusion, row: Toy, sample) -> dict[int, float]:
    """{place in the text: weight} of what a sample hides, read off its targets."""
    places = list(sample.positions)
    found = {}
    for at, target, weight in zip(
        sample.targets.rows, sample.targets.ids, sample.targets.weights, strict=True
    ):
        place = places[at] + one.shift
        assert row.ids[place] == target
        found[place] = weight
    return found


def loss_alone(one: MaskedDiffusion, model, row: Toy, hidden: dict[int, float]) -> float:
    """Sum of weight x cross-entropy; with blocks each block is read by itself behind the clean text."""
    last = answer_of(row)[-1]
    noisy = [MASK if i in hidden else token for i, token in enumerate(row.ids[: last + 1])]
    total = 0.0
    for place, weight in hidden.items():
        ids = noisy
        if one.attention == "block":
            start = place // BLOCK * BLOCK
            ids = row.ids[:start] + noisy[start : start + BLOCK]
        total -= weight * float(log_p(model, ids, one.attention)[place - one.shift, row.ids[place]])
    return total


@pytest.mark.parametrize(("kind", "shift"), KINDS)
def test_the_loss_of_a_step_is_the_formula(kind: str, shift: int):
    one, model = objective(kind, shift), looking(kind)
    base = BaseModel(model)
    window = one.window(batches(), seed=3, step=5, lane=0)
    found, _ = base.score(flat(window))
    shares = hidden_shares(3, 5, 4)
    for row, share, sample, loss in zip(ROWS, shares, flat(window), found, strict=True):
        hidden = hidden_places(one, row, sample)
        assert all(weight == pytest.approx(1 / share) for weight in hidden.values())
        assert loss == pytest.approx(loss_alone(one, model, row, hidden), rel=1e-4, abs=1e-6)
        assert sample.weight == pytest.approx(1 / row.targets / 4)
    assert sum(len(s.targets) for s in flat(window)) > 4


def test_shares_are_spread_evenly_over_a_step_and_uniform_over_steps():
    for step in range(20):
        shares = sorted((p - FLOOR) / (1 - FLOOR) for p in hidden_shares(0, step, 8))
        gaps = [b - a for a, b in pairwise(shares)]
        assert gaps == pytest.approx([1 / 8] * 7)
        assert 0 <= shares[0] < 1 / 8
    assert hidden_shares(0, 1, 8) != hidden_shares(0, 2, 8)
    assert hidden_shares(0, 1, 8) != hidden_shares(1, 1, 8)
    first = [hidden_shares(seed, 0, 1)[0] for seed in range(400)]
    assert sum(first) / 400 == pytest.approx(0.5, abs=0.05)


def test_only_answers_are_hidden_and_nothing_behind_them_is_read():
    one = objective()
    hidden = set()
    for step in range(40):
        for row, sample in zip(ROWS, flat(one.window(batches(), 0, step, 0)), strict=True):
            last = answer_of(row)[-1]
            assert len(sample.ids) == last + 1
            places = hidden_places(one, row, sample)
            assert set(places) <= set(answer_of(row))
            for place, token in enumerate(sample.ids):
                assert token == (MASK if place in places else row.ids[place])
            hidden |= {(row.id, place) for place in places}
    # every answer token is hidden at some time, the last of a turn included
    assert hidden == {(row.id, place) for row in ROWS for place in answer_of(row)}


def test_each_token_is_hidden_with_the_share_of_its_example():
    one, row = objective(), toy("long", 2, 50)
    hidden = expected = 0.0
    for step in range(200):
        ((sample,),) = one.window([[(0, row)]], 1, step, 0)
        hidden += len(sample.targets)
        expected += 50 * hidden_shares(1, step, 1)[0]
    assert hidden == pytest.approx(expected, rel=0.03)


def test_draws_follow_from_seed_step_and_example_alone():
    one = objective()
    tokens = [Tokens(r.id, "", tuple(r.ids), tuple(r.labels), r.targets) for r in ROWS * 3]
    feed = Feed(tokens, 7, 2, 2, None, 9, one)
    ahead = [feed.window(step, 0) for step in range(9)]
    assert Feed(tokens, 7, 2, 2, None, 9, one).window(4, 0) == ahead[4]
    for sample, other in zip(flat(feed.window(4, 3)), flat(ahead[4]), strict=True):
        assert (sample.ids, sample.given, sample.weight, sample.key) == (
            other.ids,
            other.given,
            other.weight,
            other.key,
        )
    # cut otherwise, a step is the same samples
    assert flat(Feed(tokens, 7, 4, 1, None, 9, one).window(4, 0)) == flat(ahead[4])
    assert flat(Feed(tokens, 8, 2, 2, None, 9, one).window(4, 0)) != flat(ahead[4])
    assert len({tuple(tuple(s.ids) for s in flat(window)) for window in ahead}) == 9


def test_the_tokens_of_a_symbol_are_hidden_together_and_no_more_often():
    units = [-1, -1, 0, 0, 0, -1, 1, 1, -1, 2, 2, -1]
    row = Toy("g", list(range(12)), [False, *[True] * 11], units)
    together, apart = objective(symbols=True), objective()
    counts = dict.fromkeys(range(1, 12), 0)
    differ = 0
    for step in range(600):
        ((sample,),) = together.window([[(0, row)]], 0, step, 0)
        hidden = hidden_places(together, row, sample)
        for unit in (0, 1, 2):
            places = [i for i, u in enumerate(units) if u == unit]
            assert len({place in hidden for place in places}) == 1
        for place in hidden:
            counts[place] += 1
        ((plain,),) = apart.window([[(0, row)]], 0, step, 0)
        differ += plain.ids != sample.ids
    assert differ > 100
    assert all(count == pytest.approx(300, abs=60) for count in counts.values())


def test_held_out_draws_are_those_of_the_row_and_of_nothing_else():
    row = ROWS[0]
    plain = objective().heldout(row, 0)
    assert len(plain) == HELDOUT_DRAWS
    assert [(s.ids, s.given) for s in objective(symbols=True).heldout(row, 3)] == [
        (s.ids, s.given) for s in plain
    ]
    renamed = Toy("other", row.ids, row.labels)
    assert [s.ids for s in objective().heldout(renamed, 0)] != [s.ids for s in plain]
    sizes = [len(s.targets) for s in plain]
    assert sizes == sorted(sizes)
    assert all(1 <= size <= row.targets for size in sizes)
    for sample, size in zip(plain, sizes, strict=True):
        assert sample.given.weights == pytest.approx([row.targets / size / HELDOUT_DRAWS] * size)


def test_scores_of_rows_are_the_sums_of_their_readings():
    one, model = objective(), looking("full")
    base = BaseModel(model)
    told = []
    found = score_rows(base, [(one, 0, row) for row in ROWS], 30, told.append)
    for row, loss in zip(ROWS, found, strict=True):
        wanted = sum(loss_alone(one, model, row, hidden_places(one, row, s)) for s in one.heldout(row, 0))
        assert loss == pytest.approx(wanted, rel=1e-4)
    assert told[-1] == len(ROWS)
    assert told == sorted(told)


def test_an_outline_is_the_largest_sample_of_a_row():
    for kind, shift in KINDS:
        one = objective(kind, shift)
        for row in ROWS:
            most = one.outline(row, 0)
            assert len(most.targets) == row.targets
            for step in range(5):
                ((sample,),) = one.window([[(0, row)]], 0, step, 0)
                assert len(sample.ids) == len(most.ids)


@pytest.mark.parametrize(("kind", "shift"), KINDS)
def test_tokens_of_a_step_are_those_that_are_read(kind: str, shift: int):
    tokens = [Tokens(r.id, "", tuple(r.ids), tuple(r.labels), r.targets) for r in ROWS]
    feed = Feed(tokens, 0, 2, 1, 1, None, objective(kind, shift))
    for step in range(2):
        samples = flat(feed.window(step, 0))
        assert feed.tokens_of(step)[0] == sum(len(s.ids) for s in samples)
    whole = sum(len(row.ids) for row in ROWS)
    assert (feed.total_tokens()[0] > whole) == (kind == "block")


def test_a_row_without_an_answer_has_nothing_to_learn():
    empty = Toy("e", [1, 2, 3], [False] * 3)
    ((sample,),) = objective().window([[(0, empty)]], 0, 0, 0)
    assert not sample.learns
    assert torch.tensor(sample.ids).tolist() == [1, 2, 3]
