"""What the traces come to: the bench's figures, and the rules of others on the same runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harm.judged import Judged, collapse_latency, late, lead, nonfinite_latency, probe_passes
from harm.record import Trace
from harm.rivals import RIVALS, Rule

LEADS = ("rate-1e-2", "rate-3e-2")  # whose lead is counted
NONFINITE = "dead"
OURS = "Octavo"


def figures(
    found: Sequence[Judged], expected: Mapping[str, Mapping[str, Any]], vocabulary: int
) -> dict[str, Any]:
    """The JSON line, `rescued` aside.

    Arguments:
        expected: {fault: {verdict, cause, rescuable}}.
    """
    ill = [one for one in found if one.trace.fault is not None]
    well = [one for one in found if one.trace.fault is None]
    right = [one.cause == expected[str(one.trace.fault)]["cause"] for one in ill]
    verdicts = [one.said.health == expected[str(one.trace.fault)]["verdict"] for one in ill]
    leads = [lead(one, vocabulary) for one in ill if one.trace.fault in LEADS]
    # no alarm at all is no lead
    counted = [value if value is not None else -1 for value in leads]
    return {
        "corrupted_updates": sum(one.trace.corrupted for one in found),
        "nonfinite_latency_steps": _most([nonfinite_latency(one) for one in ill]),
        "causes_right": f"{sum(right)}/{len(right)}",
        "verdicts_right": f"{sum(verdicts)}/{len(verdicts)}",
        "divergence_lead_steps_min": min(counted, default=None),
        "alarms_after_harm": sum(late(one) for one in found),
        "collapse_latency_steps": _most([collapse_latency(one) for one in found]),
        "healthy_runs": len(well),
        "false_trips": sum(one.trip is not None for one in well),
    }


def _most(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known, default=None)


def good(line: Mapping[str, Any], quick: bool) -> bool:
    """Whether the figures are those that are called for."""

    def whole(text: str | None) -> bool:
        return text is not None and len(set(text.split("/"))) == 1

    return (
        line["corrupted_updates"] == 0
        and line["nonfinite_latency_steps"] is not None
        and line["nonfinite_latency_steps"] <= 1
        and whole(line["causes_right"])
        and line["divergence_lead_steps_min"] is not None
        and line["divergence_lead_steps_min"] >= 5
        and line["alarms_after_harm"] == 0
        and (line["collapse_latency_steps"] is None or line["collapse_latency_steps"] <= 10)
        and (quick or line["healthy_runs"] >= 50)
        and line["false_trips"] <= 1
        and whole(line.get("rescued"))
    )


def run_table(found: Sequence[Judged], expected: Mapping[str, Mapping[str, Any]]) -> str:
    """A line a harmed run: what was expected and what was said."""
    lines = [
        "| run | fault at | harm at | alarm at | verdict | cause | as expected |",
        "|---|---:|---:|---:|---|---|---|",
    ]
    for one in found:
        if one.trace.fault is None:
            continue
        hope = expected[one.trace.fault]
        as_hoped = (one.said.health, one.cause) == (hope["verdict"], hope["cause"])
        harm = probe_passes(one.trace, nats=1.0)
        alarm = one.trip.step if one.trip else None
        cells = [
            one.trace.name,
            one.trace.step or "all",
            _dash(harm),
            _dash(alarm),
            one.said.health,
            one.cause,
        ]
        lines.append("| " + " | ".join(str(cell) for cell in [*cells, "yes" if as_hoped else "NO"]) + " |")
    return "\n".join(lines)


def _dash(value: int | None) -> str:
    return "–" if value is None else str(value)


def comparison(found: Sequence[Judged], expected: Mapping[str, Mapping[str, Any]], vocabulary: int) -> str:
    """The rules of others and ours on the same runs, as a table."""
    lines = [
        "| | non-finite faults stopped in their step | divergences seen before harm | least lead (steps) | "
        "bad data seen | healthy runs alarmed | causes named |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, rule in {**RIVALS, OURS: None}.items():
        alarms = {one.trace.name: _alarm(one, rule) for one in found}
        named = sum(one.cause == expected[str(one.trace.fault)]["cause"] for one in found if one.trace.fault)
        ill = sum(one.trace.fault is not None for one in found)
        cells = [*_row(found, alarms, expected, vocabulary), f"{named if rule is None else 0} of {ill}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _alarm(one: Judged, rule: Rule | None) -> int | None:
    if rule is None:
        return one.trip.step if one.trip else None
    return rule(one.trace.losses, one.trace.norms)


def _row(
    found: Sequence[Judged],
    alarms: Mapping[str, int | None],
    expected: Mapping[str, Mapping[str, Any]],
    vocabulary: int,
) -> list[str]:
    """Counts of one rule; an alarm before the fault is none of it."""
    dead = [
        one.trace for one in found if one.trace.fault and expected[one.trace.fault]["verdict"] == NONFINITE
    ]
    rates = [one for one in found if one.trace.fault and one.trace.fault.startswith("rate-")]
    data = [one.trace for one in found if one.trace.fault and expected[one.trace.fault]["cause"] == "data"]
    well = [one.trace for one in found if one.trace.fault is None]
    stopped = sum(alarms[t.name] is not None and alarms[t.name] in (t.step, t.step + 1) for t in dead)
    early, leads = 0, []
    for one in rates:
        alarm, harm = alarms[one.trace.name], probe_passes(one.trace, nats=1.0)
        early += alarm is not None and (harm is None or alarm <= harm)
        if one.trace.fault in LEADS:
            leads.append(_lead_of(one.trace, alarm, vocabulary))
    seen = sum(_after(t, alarms[t.name]) for t in data)
    false = sum(alarms[t.name] is not None for t in well)
    known = [value for value in leads if value is not None]
    least = "none" if len(known) < len(leads) else _dash(min(known, default=None))
    return [
        f"{stopped} of {len(dead)}",
        f"{early} of {len(rates)}",
        least,
        f"{seen} of {len(data)}",
        f"{false} of {len(well)}",
    ]


def _lead_of(trace: Trace, alarm: int | None, vocabulary: int) -> int | None:
    import math

    if alarm is None:
        return None
    passes = probe_passes(trace, ceiling=math.log(vocabulary))
    return (passes if passes is not None else int(trace.rows[-1]["step"]) + 1) - alarm


def _after(trace: Trace, alarm: int | None) -> bool:
    return alarm is not None and alarm >= trace.step
