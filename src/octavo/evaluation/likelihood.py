"""The likelihood and the continuation of sequences, by the objective that a base was trained with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from octavo.errors import InputError
from octavo.lanes.base import BaseModel
from octavo.lanes.generate import generate
from octavo.lanes.pack import Sample
from octavo.lanes.scoring import score_all


class Likelihood(Protocol):
    """Summed negative log-likelihood (nats) of each sample's labelled tokens, and how many those are."""

    def __call__(
        self,
        base: BaseModel,
        samples: Sequence[Sample],
        token_budget: int,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[float], list[int]]:
        """As `octavo.lanes.scoring.score_all`."""
        ...


class Continuation(Protocol):
    """Greedy answers to prompts, None where logits are not finite."""

    def __call__(
        self,
        base: BaseModel,
        prompts: Sequence[tuple[int, Sequence[int]]],
        stop_ids: Collection[int],
        max_new_tokens: int,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[int] | None]:
        """As `octavo.lanes.generate.generate`."""
        ...


@dataclass(frozen=True)
class Means:
    """How the sequences of an objective are scored and continued."""

    likelihood: Likelihood
    continuation: Continuation


MEANS: dict[str, Means] = {"causal": Means(score_all, generate)}


def means_of(objective: str) -> Means:
    """The functions of an objective.

    Raises:
        InputError: sequences of this objective cannot be scored.
    """
    if objective not in MEANS:
        raise InputError(f"bases.objective: suites cannot be scored with '{objective}'")
    return MEANS[objective]
