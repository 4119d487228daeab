"""Does a run read one example over and over?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from torch import Tensor

from octavo.vitals.signal import LaneMoment, Watched

WINDOW = 20  # steps


class Repeats:
    """`repeat_share`, every few steps: the share of the commonest content among the examples of the last 20 steps.

    Null where contents are not told, and where fewer than ten examples have been read. Unit: none.
    """

    name = "repeated data"
    _fewest = 10

    def __init__(self, every: int) -> None:
        self.every = every

    def due(self, step: int) -> bool:
        """Every few steps."""
        return step > 0 and step % self.every == 0

    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:  # noqa: ARG002 - the host has them
        """Nothing of the device's."""
        return {}

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:  # noqa: ARG002
        """The share of each lane."""
        return [{"repeat_share": self._of(one.history.contents)} for one in lanes]

    def _of(self, contents: Sequence[Sequence[object]]) -> float | None:
        read = list(chain.from_iterable(contents[-WINDOW:]))
        if len(read) < self._fewest:
            return None
        return Counter(read).most_common(1)[0][1] / len(read)


def make(watched: Watched) -> Repeats:
    """The signal."""
    return Repeats(watched.cadence.every)
