"""How the next token is chosen: the most likely one, or drawn by temperature and nucleus."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from octavo.errors import InputError
from octavo.lanes.generate import Choice


def sampler(temperature: float, top_p: float = 1.0, seed: int = 0) -> Choice | None:
    """A way to choose tokens for `octavo.lanes.generate`; None at temperature 0: the most likely ones.

    Each prompt draws from a stream of its own, so that an answer depends on neither its neighbours nor their number.

    Arguments:
        temperature: divides the logits. top_p: only the likeliest tokens of together this probability (nucleus
            sampling, Holtzman et al. 2020). seed: of the draws.

    Raises:
        InputError: a temperature below 0, a `top_p` outside (0, 1].
    """
    if not 0 <= temperature < float("inf"):
        raise InputError(f"--temperature {temperature:g}: give 0 or more; 0 takes the most likely token")
    if not 0 < top_p <= 1:
        raise InputError(f"--top-p {top_p:g}: give a share above 0, at most 1")
    if temperature == 0:
        return None
    from transformers import TemperatureLogitsWarper, TopPLogitsWarper

    warm = TemperatureLogitsWarper(float(temperature))
    nucleus = TopPLogitsWarper(float(top_p))
    streams: dict[int, torch.Generator] = {}

    def choose(logits_NV: Tensor, prompts: Sequence[int]) -> Tensor:
        ids = torch.empty(0, dtype=torch.long)  # both warpers ask for the text so far and read nothing of it
        odds_NV = nucleus(ids, warm(ids, logits_NV.cpu())).softmax(-1)
        drawn = []
        for row_V, prompt in zip(odds_NV, prompts, strict=True):
            stream = streams.setdefault(prompt, torch.Generator().manual_seed(seed * 1_000_003 + prompt))
            drawn.append(torch.multinomial(row_V, 1, generator=stream))
        return torch.cat(drawn).to(logits_NV.device)

    return choose
