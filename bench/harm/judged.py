"""Verdicts on traces, of what a study would have read by each step, and when harm was really done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harm.record import Trace
from octavo.vitals.cause import cause_of_finite
from octavo.vitals.signal import Cadence
from octavo.vitals.thresholds import Thresholds
from octavo.vitals.verdict import COLLAPSED, DEAD, ORDER, Verdict, judge

# what is read in a run as studies have it; the bench reads the probe of harmed runs at every step
_SEEN = Cadence()
LOST = 1.0  # nats of the probe over the base model's: from there on harm is done
_CONTENTS = 20  # steps whose texts are looked at for a cause


@dataclass(frozen=True)
class Judged:
    """A trace with the verdict after each of its steps, and the cause that was named."""

    trace: Trace
    verdicts: Sequence[Verdict]
    cause: str | None

    @property
    def trip(self) -> Verdict | None:
        """The first verdict that would have stopped the run."""
        return next((one for one in self.verdicts if one.trips), None)

    @property
    def said(self) -> Verdict:
        """The verdict that the run is known by: the one that it trips on, else the last of the worst."""
        return self.trip or max(reversed(self.verdicts), key=lambda one: ORDER.index(one.health))

    def first(self, health: str) -> int | None:
        """The step of the first verdict of a kind."""
        return next((one.step for one in self.verdicts if one.health == health), None)


def as_seen(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line as a study would have it: the probe every tenth step only."""
    vitals = dict(row["vitals"] or {})
    if row["step"] % _SEEN.probe_every:
        vitals = {key: value for key, value in vitals.items() if not key.startswith("probe")}
    return {**row, "vitals": vitals}


def judged(trace: Trace, limits: Thresholds) -> Judged:
    """Judge a trace after each step."""
    seen = [as_seen(row) for row in trace.rows]
    verdicts = [judge(seen[: n + 1], limits) for n in range(1, len(seen))]
    found = Judged(trace, verdicts, None)
    said = found.said
    cause = trace.cause
    if said.health != DEAD:
        cause = None
        if said.signals:
            near = trace.contents[max(0, said.step - _CONTENTS) : said.step]
            cause = cause_of_finite(said, [key for step in near for key in step], trace.rate).kind
    return Judged(trace, verdicts, cause)


def probe_passes(trace: Trace, nats: float | None = None, ceiling: float | None = None) -> int | None:
    """The step in which the probe first passes the base model's by `nats`, or `ceiling`; None: never.

    A reading that is not finite has passed.
    """
    start = _probe(trace.rows[0])
    limit = ceiling if nats is None or start is None else start + nats
    for row in trace.rows[1:]:
        value = _probe(row)
        if value is not None and limit is not None and not value <= limit:
            return int(row["step"])
    return None


def _probe(row: Mapping[str, Any]) -> float | None:
    value = (row["vitals"] or {}).get("probe_nll")
    return None if value is None else float(value)


def lead(found: Judged, vocabulary: int) -> int | None:
    """Steps from the alarm to the one in which the probe passes ln V.

    Where it does not within the run, those to the run's end, which is less than what the lead would have been. None:
    no alarm.
    """
    if found.trip is None:
        return None
    passes = probe_passes(found.trace, ceiling=math.log(vocabulary))
    return (passes if passes is not None else int(found.trace.rows[-1]["step"]) + 1) - found.trip.step


def late(found: Judged) -> bool:
    """Whether harm was done before the alarm: the probe one nat over the base model's."""
    harm = probe_passes(found.trace, nats=LOST)
    return harm is not None and (found.trip is None or found.trip.step > harm)


def collapse_latency(found: Judged) -> int | None:
    """Steps from the probe passing base + 1 nat to the verdict "collapsed"; None where it never passes.

    Where the run ends without that verdict, all the steps that were left, and one.
    """
    harm = probe_passes(found.trace, nats=LOST)
    if harm is None or found.trace.cause is not None:
        return None
    said = found.first(COLLAPSED)
    return max(0, (said if said is not None else int(found.trace.rows[-1]["step"]) + 1) - harm)


def nonfinite_latency(found: Judged) -> int | None:
    """Steps from the fault to the verdict "dead"; None for runs that stay finite."""
    dead = found.first(DEAD)
    return None if dead is None or found.trace.step == 0 else dead - found.trace.step
