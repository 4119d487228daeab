"""Likelihood under masked diffusion: the bound on -log p(answer | question), estimated with its standard error.

The bound is the mean over k = 1..L and over the sets of k hidden tokens of L / k times the cross-entropy of the hidden
tokens: that of guessing the answer in a random order (Uria et al. 2014; Ou et al. 2025).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from octavo.lanes.base import BaseModel
from octavo.lanes.pack import Sample
from octavo.lanes.scoring import score_all
from octavo.objectives.masked_diffusion import MaskedDiffusion, answer_of
from octavo.objectives.objective import Row


@dataclass(frozen=True)
class Likelihood:
    """An estimate of a row's bound.

    Attributes:
        nats: the mean. error: its standard error, from independent repetitions; nan with one.
        tokens: of the answer.
    """

    nats: float
    error: float
    tokens: int

    @property
    def per_token(self) -> float:
        """Nats a token."""
        return self.nats / self.tokens


def likelihood(
    base: BaseModel,
    objective: MaskedDiffusion,
    rows: Sequence[Row],
    lane: int = 0,
    draws: int = 8,
    repeats: int = 8,
    token_budget: int = 4096,
    progress: Callable[[int], None] | None = None,
) -> list[Likelihood]:
    """Estimate the bound of each row.

    Arguments:
        lane: whose adapter reads; one without an adapter reads as the base.
        draws: masks of a repetition, their k spread evenly over 1..L.
        repeats: independent repetitions, of which the error is taken.

    Returns:
        one a row; the draws follow from the row's id, so that models are compared on the same masks.
    """
    samples = [
        sample
        for row in rows
        for repeat in range(repeats)
        for sample in objective.readings(row, lane, draws, row.id, "likelihood", repeat)
    ]
    losses, _ = score_all(base, samples, token_budget, progress)
    found = []
    for number, row in enumerate(rows):
        own = losses[number * repeats * draws : (number + 1) * repeats * draws]
        sums = [math.fsum(own[i * draws : (i + 1) * draws]) for i in range(repeats)]
        found.append(Likelihood(math.fsum(sums) / repeats, _error(sums), len(answer_of(row))))
    return found


def exact_likelihood(
    base: BaseModel, objective: MaskedDiffusion, row: Row, lane: int = 0, token_budget: int = 4096
) -> float:
    """The bound of a short row in nats by all of its 2^L - 1 masks, each weighted 1 / (k C(L, k))."""
    answer = answer_of(row)
    samples: list[Sample] = []
    for k in range(1, len(answer) + 1):
        weight = 1.0 / (k * math.comb(len(answer), k))
        samples += [
            objective.sample(row, dict.fromkeys(hidden, weight), lane) for hidden in combinations(answer, k)
        ]
    losses, _ = score_all(base, samples, token_budget)
    return math.fsum(losses)


def _error(values: Sequence[float]) -> float:
    """Standard error of the mean of independent values."""
    count = len(values)
    if count < 2:
        return math.nan
    mean = math.fsum(values) / count
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (count - 1) / count)
