"""The bound of masked diffusion: all masks of a toy vocabulary, all orders of guessing, and draws that agree."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch

from octavo.lanes.base import BaseModel
from octavo.objectives.likelihood import exact_likelihood, likelihood
from octavo.objectives.masked_diffusion import MaskedDiffusion, answer_of
from tests.objectives.rows import BLOCK, Toy, log_p, looking

VOCABULARY = 7
TOY_MASK = 6
ROWS = [
    Toy("one", [1, 4, 2, 0, 5, 3, 3], [False, False, True, True, True, True, False]),
    Toy("two", [3, 1, 5, 5, 0, 2, 4, 1], [False] * 3 + [True] * 5),
    # two answers with a question between
    Toy("three", [0, 2, 2, 5, 1, 4, 0, 3, 1], [False, True, True, False, False, True, True, True, True]),
]


def toy_base(kind: str) -> BaseModel:
    """A model that has strong opinions: an untrained one says nearly the same whatever it reads."""
    model = looking(kind, vocab_size=VOCABULARY)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(6.0 if weight.dim() > 1 else 1.0)
    return BaseModel(model)


def in_random_order(base: BaseModel, one: MaskedDiffusion, row: Toy) -> float:
    """Mean over all orders of guessing of -log p of each token given those guessed before it."""
    answer = answer_of(row)
    known: dict[tuple[frozenset[int], int], float] = {}

    def cost(shown: frozenset[int], place: int) -> float:
        if (shown, place) not in known:
            last = answer[-1] + 1
            ids = [TOY_MASK if i in answer and i not in shown else row.ids[i] for i in range(last)]
            known[shown, place] = -float(
                log_p(base.model, ids, one.attention)[place - one.shift, row.ids[place]]
            )
        return known[shown, place]

    orders = list(permutations(answer))
    return sum(cost(frozenset(o[:i]), p) for o in orders for i, p in enumerate(o)) / len(orders)


@pytest.mark.parametrize("shift", [1, 0])
def test_the_bound_is_the_cost_of_guessing_in_a_random_order(shift: int):
    base, one = toy_base("full"), MaskedDiffusion(TOY_MASK, shift)
    for row in ROWS[:2]:
        assert exact_likelihood(base, one, row) == pytest.approx(in_random_order(base, one, row), rel=1e-4)


@pytest.mark.parametrize(
    ("kind", "shift"), [("full", 1), ("full", 0), ("block", 1), ("block", 0), ("causal", 1)]
)
def test_draws_agree_with_all_masks_within_their_standard_error(kind: str, shift: int):
    base, one = toy_base(kind), MaskedDiffusion(TOY_MASK, shift, kind, BLOCK)
    scores = []
    for row, found in zip(ROWS, likelihood(base, one, ROWS, draws=8, repeats=24), strict=True):
        exact = exact_likelihood(base, one, row)
        assert found.tokens == row.targets
        assert found.per_token == pytest.approx(found.nats / row.targets)
        assert found.error < 0.1 * exact
        scores.append((found.nats - exact) / found.error)
    assert max(map(abs, scores)) < 3.0


def test_a_bound_of_blocks_is_one_of_guessing_block_after_block():
    """With blocks of one token and prediction of the same place it is the exact likelihood, left to right."""
    base = toy_base("block")
    base.close()
    base.model.config.block_size = 1
    base = BaseModel(base.model)
    one, row = MaskedDiffusion(TOY_MASK, 0, "block", 1), ROWS[1]
    wanted = 0.0
    for place in answer_of(row):
        ids = [*row.ids[:place], TOY_MASK]
        wanted -= float(log_p(base.model, ids, "causal")[place, row.ids[place]])
    assert exact_likelihood(base, one, row) == pytest.approx(wanted, rel=1e-4)
    for found in likelihood(base, one, [row], repeats=2):
        assert math.isfinite(found.error)


def test_the_error_of_one_repetition_is_not_known():
    base, one = toy_base("full"), MaskedDiffusion(TOY_MASK)
    (found,) = likelihood(base, one, ROWS[:1], repeats=1)
    assert math.isnan(found.error)
    again = likelihood(base, one, ROWS, repeats=1)[0]
    assert again.nats == pytest.approx(found.nats, rel=1e-6)
