"""Likelihood of many sequences through the lanes, as many in one pack as the token budget holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from octavo.lanes.base import BaseModel
from octavo.lanes.pack import Sample


def score_all(
    base: BaseModel,
    samples: Sequence[Sample],
    token_budget: int,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[float], list[int]]:
    """Summed negative log-likelihood (nats) and targets of each sample, in the caller's order.

    Arguments:
        token_budget: most tokens of one pack; a longer sample goes alone.
        progress: called with the number of samples done after each pack.
    """
    losses: list[float] = []
    counts: list[int] = []
    for part in _parts(samples, token_budget):
        found, targets = base.score(part)
        losses += found
        counts += targets
        if progress is not None:
            progress(len(losses))
    return losses, counts


def _parts(samples: Sequence[Sample], token_budget: int) -> list[list[Sample]]:
    parts: list[list[Sample]] = []
    used = token_budget
    for sample in samples:
        if used + len(sample.ids) > token_budget:
            parts.append([])
            used = 0
        parts[-1].append(sample)
        used += len(sample.ids)
    return parts
