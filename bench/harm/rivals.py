"""What people watch runs with today, as rules on the same traces: when would each have spoken up?

Every rule is given a run's losses and gradient norms (before clipping) and returns the step of its first alarm, from 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, pstdev

Rule = Callable[[Sequence[float], Sequence[float]], int | None]

# ZClip's own defaults (Kumar et al. 2025, "ZClip: Adaptive Spike Mitigation for LLM Pre-Training")
_ALPHA, _Z, _WARM_UP, _EPS = 0.97, 2.5, 25, 1e-6
# a spike is seven standard deviations from the rolling mean of the last 1,000 losses (OLMo 2, 2025: "spike score")
_SPIKE, _ROLLING, _FEWEST = 7.0, 1000, 10


def logged_by_trainer(losses: Sequence[float]) -> list[float]:
    """What transformers' Trainer logs at every step with `logging_nan_inf_filter`, which is on by default.

    In the place of a loss that is not finite it adds the mean of what has been summed since the last line: nothing,
    where every step has its line, so that 0.0 is logged.
    """
    return [loss if math.isfinite(loss) else 0.0 for loss in losses]


def trainer_filter(losses: Sequence[float], norms: Sequence[float]) -> int | None:  # noqa: ARG001 - one signature
    """A look at the logged loss of Trainer: an alarm where it is not finite."""
    return next((n for n, loss in enumerate(logged_by_trainer(losses), 1) if not math.isfinite(loss)), None)


def isnan_stop(losses: Sequence[float], norms: Sequence[float]) -> int | None:  # noqa: ARG001 - one signature
    """`if isnan(loss): stop`."""
    return next((n for n, loss in enumerate(losses, 1) if math.isnan(loss)), None)


def zclip(losses: Sequence[float], norms: Sequence[float]) -> int | None:  # noqa: ARG001 - one signature
    """The first step in which ZClip takes the gradient for a spike.

    z of the norm over running mean and variance, both begun with 25 norms; what is clipped enters them clipped, to
    mean + 2.5 std / (z / 2.5). A NaN is greater than nothing, and enters the mean for good.
    """
    mean = var = 0.0
    for step, norm in enumerate(norms, 1):
        if step <= _WARM_UP:
            if step == _WARM_UP:
                mean = math.fsum(norms[:step]) / step
                var = math.fsum((n - mean) ** 2 for n in norms[:step]) / step
            continue
        std = math.sqrt(var) if var >= 0 else math.nan
        z = (norm - mean) / (std + _EPS)
        if z > _Z:
            return step
        mean = _ALPHA * mean + (1 - _ALPHA) * norm
        var = _ALPHA * var + (1 - _ALPHA) * (norm - mean) ** 2
    return None


def loss_spike(losses: Sequence[float], norms: Sequence[float]) -> int | None:  # noqa: ARG001 - one signature
    """A loss seven standard deviations above the rolling mean of those before it, of at least ten."""
    for number, loss in enumerate(losses):
        earlier = losses[max(0, number - _ROLLING) : number]
        if len(earlier) >= _FEWEST and loss > fmean(earlier) + _SPIKE * pstdev(earlier):
            return number + 1
    return None


RIVALS: Mapping[str, Rule] = {
    "Trainer's NaN filter": trainer_filter,
    "stop at isnan(loss)": isnan_stop,
    "ZClip": zclip,
    "loss spike (7 sigma)": loss_spike,
}
