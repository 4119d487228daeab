"""Greedy continuation of many prompts at once, each read by its own lane."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

from octavo.lanes.base import BaseModel
from octavo.lanes.cache import PackCache
from octavo.lanes.pack import Sample, build_pack

Choice = Callable[[Tensor, Sequence[int]], Tensor]


def _most_likely(logits_NV: Tensor, _prompts: Sequence[int]) -> Tensor:
    return logits_NV.argmax(dim=-1)


@torch.no_grad()
def generate(
    base: BaseModel,
    prompts: Sequence[tuple[int, Sequence[int]]],
    stop_ids: Collection[int],
    max_new_tokens: int,
    progress: Callable[[int], None] | None = None,
    choose: Choice | None = None,
    heard: Callable[[int, int], None] | None = None,
) -> list[list[int] | None]:
    """Continue every prompt, by its most likely tokens unless told otherwise.

    Arguments:
        prompts: (lane, ids) each; a lane without an adapter answers as the base model.
        stop_ids: a token of these ends a continuation and is not part of it.
        max_new_tokens: of a continuation.
        progress: called with the number of tokens made so far, after each.
        choose: the next ids [N] of finite logits [N, V] and the prompts' indices; None: the most likely ones.
        heard: called with each new token: (index of the prompt, id).

    Returns:
        new ids of each prompt, in order; None where the logits stopped being finite.

    Raises:
        ValueError: the base's attention looks ahead.
    """
    if not base.pattern.causal:
        raise ValueError(f"a base with attention: {base.pattern.kind} does not write a token after the other")
    answers: list[list[int] | None] = [[] for _ in prompts]
    cache = PackCache()
    seen = [len(ids) for _, ids in prompts]
    alive = list(range(len(prompts)))
    pending: dict[int, Sequence[int]] = {i: ids for i, (_, ids) in enumerate(prompts)}
    for made in range(max_new_tokens):
        chosen = _next_ids(base, cache, prompts, alive, pending, seen, choose or _most_likely)
        still = []
        for slot in alive:
            token = chosen[slot]
            answer = answers[slot]
            if token is None or answer is None:
                answers[slot] = None
                cache.forget(slot)
            elif token in stop_ids:
                cache.forget(slot)
            else:
                answer.append(token)
                if heard is not None:
                    heard(slot, token)
                # a model that keeps its own attention fills no cache: it reads everything again
                pending[slot] = [token] if base.packed else [*prompts[slot][1], *answer]
                seen[slot] += 1
                still.append(slot)
        alive = still
        if progress is not None:
            progress(made + 1)
        if not alive:
            break
    return answers


def _next_ids(
    base: BaseModel,
    cache: PackCache,
    prompts: Sequence[tuple[int, Sequence[int]]],
    alive: Sequence[int],
    pending: dict[int, Sequence[int]],
    seen: Sequence[int],
    choose: Choice,
) -> dict[int, int | None]:
    """The next token of each live prompt, None where a logit is not finite."""
    samples = [
        Sample(prompts[s][0], pending[s], [False] * len(pending[s]), start=seen[s] - len(pending[s]))
        for s in alive
    ]
    pack = build_pack(samples, base.device)
    pack.cache = cache
    cache.slots = [alive[i] for i in pack.order]
    last_N = torch.tensor(pack.lengths, device=base.device).cumsum(0) - 1
    logits_NV = base.head(base.hidden(pack)[last_N]).float()
    finite_N = torch.isfinite(logits_NV).all(dim=-1)
    good = [slot for slot, fine in zip(cache.slots, finite_N.tolist(), strict=True) if fine]
    chosen = choose(logits_NV[finite_N], good).tolist() if good else []
    return dict.fromkeys(cache.slots) | dict(zip(good, chosen, strict=True))
