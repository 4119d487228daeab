"""Learning-rate schedules: factors of the base rate, in the conventions of `transformers.optimization`.

A step counts from 0 (steps already taken), so with a warm-up the first step has factor 0.
Warm-up, stable, decay: MiniCPM (Hu et al. 2024); 1-sqrt: Haegele et al. 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from octavo.settings import Schedule

# wsd: share of the steps spent on the decay where none is given (2.5 % is not enough, 10 % is)
DECAY_SHARE = 0.1
# the exponential decay halves this many times over its length
_HALVINGS = 10

_DECAYS: dict[str, Callable[[float], float]] = {
    "linear": lambda p: 1 - p,
    "cosine": lambda p: 0.5 * (1 + math.cos(math.pi * p)),
    "1-sqrt": lambda p: 1 - math.sqrt(p),
    "exponential": lambda p: 0.5 ** (_HALVINGS * p),
}


def factor(schedule: Schedule, step: int, total_steps: int) -> float:
    """What the learning rate is multiplied with at `step` (0-based) of `total_steps`."""
    warmup = schedule.warmup_steps
    if step < warmup:
        return step / max(1, warmup)
    if schedule.kind == "constant":
        return 1.0
    if schedule.kind == "wsd":
        decay_steps = schedule.decay_steps or max(1, round(DECAY_SHARE * total_steps))
        begin = total_steps - decay_steps
        if step < begin:
            return 1.0
        share = _DECAYS[schedule.decay](min(1.0, (step - begin) / decay_steps))
    else:
        progress = min(1.0, (step - warmup) / max(1, total_steps - warmup))
        share = _DECAYS[schedule.kind](progress)
    return schedule.floor + (1 - schedule.floor) * share
