"""How far the gradient norm is from the run's own recent ones. Supports other signals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from torch import Tensor

from octavo.vitals.signal import LaneMoment, Watched

WINDOW = 50  # earlier steps that a norm is compared with
_FEWEST = 10  # with fewer of them a spread says nothing
_NARROWEST = 0.05  # of log norms: 5 %; runs on one repeated example have next to no spread of their own
_MAD_TO_SIGMA = 1.4826  # of a normal distribution: 1 / Phi^-1(3/4)


def robust_z(norms: Sequence[float]) -> float | None:
    """z of the last of these norms among those before it, in standard deviations of a normal distribution.

    Formula: (ln n - median) / max(1.4826 MAD, 0.05) of the ln of up to 50 earlier norms, without those that are zero
    or not finite: one NaN never reaches a later value, as it would in a running mean. Null for a norm that has no
    logarithm, and before ten earlier ones. Source: Iglewicz and Hoaglin 1993, the modified z-score.
    """
    if not norms or not _has_log(norms[-1]):
        return None
    earlier = [math.log(n) for n in norms[-WINDOW - 1 : -1] if _has_log(n)]
    if len(earlier) < _FEWEST:
        return None
    middle = median(earlier)
    spread = median(abs(value - middle) for value in earlier)
    return (math.log(norms[-1]) - middle) / max(_MAD_TO_SIGMA * spread, _NARROWEST)


def _has_log(norm: float) -> bool:
    return math.isfinite(norm) and norm > 0


class GradZ:
    """`grad_z`, at every step; see `robust_z`."""

    name = "gradient norm"

    def due(self, step: int) -> bool:
        """At every step."""
        return step > 0

    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:  # noqa: ARG002 - the host has them
        """Nothing of the device's: the norms came over with the window."""
        return {}

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:  # noqa: ARG002
        """z of each lane."""
        return [{"grad_z": robust_z(one.history.grad_norms)} for one in lanes]


def make(watched: Watched) -> GradZ:  # noqa: ARG001 - it needs the history alone
    """The signal."""
    return GradZ()
