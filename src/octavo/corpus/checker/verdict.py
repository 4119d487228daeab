"""What the checker says of an example."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """ok, or not and why; `reason` names the sort of task when it is ok."""

    ok: bool
    reason: str


def fail(reason: str) -> Verdict:
    """A verdict against the example."""
    return Verdict(False, reason)
