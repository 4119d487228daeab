"""Likelihood of many sequences through the lanes, as many in one pack as the token budget holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from octavo.errors import MachineError
from octavo.lanes.base import BaseModel
from octavo.lanes.pack import Sample
from octavo.lanes.shortage import give_back, is_out_of_memory


def score_all(
    base: BaseModel,
    samples: Sequence[Sample],
    token_budget: int,
    progress: Callable[[int], None] | None = None,
    halved: Callable[[int], None] | None = None,
) -> tuple[list[float], list[int]]:
    """Summed negative log-likelihood (nats) and targets of each sample, in the caller's order.

    Out of memory, what is left is read in packs of half the size.

    Arguments:
        token_budget: most tokens of one pack; a longer sample goes alone.
        progress: called with the number of samples done after each pack.
        halved: called with the smaller budget when memory ran out.

    Raises:
        MachineError: one sample alone does not fit.
    """
    losses: list[float] = []
    counts: list[int] = []
    while len(losses) < len(samples):
        parts = _parts(samples[len(losses) :], token_budget)
        if _read(base, parts, losses, counts, progress):
            break
        give_back(base.device)
        under_way = _parts(samples[len(losses) :], token_budget)[0]
        if len(under_way) == 1:
            raise MachineError(
                f"out of memory: one example of {len(under_way[0].ids)} tokens cannot be read beside the base; "
                "free memory (other programs), and the same command continues"
            )
        token_budget = max(1, min(token_budget, sum(len(s.ids) for s in under_way)) // 2)
        if halved is not None:
            halved(token_budget)
    return losses, counts


def _read(
    base: BaseModel,
    parts: Sequence[Sequence[Sample]],
    losses: list[float],
    counts: list[int],
    progress: Callable[[int], None] | None,
) -> bool:
    """Append the scores of all parts; False where memory ran out before the end."""
    try:
        for part in parts:
            found, targets = base.score(part)
            losses += found
            counts += targets
            if progress is not None:
                progress(len(losses))
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return False
    return True


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
