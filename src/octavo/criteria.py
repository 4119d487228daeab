"""The study's success criteria, each judged with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from octavo.settings import Criteria


def judge(criteria: Criteria, runs: Sequence[dict[str, Any]], memory: dict[str, Any]) -> list[dict[str, Any]]:
    """The criteria that the study asks for: [{name, met, evidence}]; `met` is None where nothing was measured."""
    verdicts = [
        ("nonfinite_parameters", _nonfinite(criteria.nonfinite_parameters, runs)),
        ("max_memory_share", _memory_share(criteria.max_memory_share, memory)),
        ("max_minutes_per_run", _minutes(criteria.max_minutes_per_run, runs)),
        ("loss_falls", _loss_falls(criteria.loss_falls, runs)),
    ]
    return [
        {"name": name, "met": verdict[0], "evidence": verdict[1]}
        for name, verdict in verdicts
        if verdict is not None
    ]


Verdict = tuple[bool | None, str]


def _nonfinite(limit: int | None, runs: Sequence[dict[str, Any]]) -> Verdict | None:
    if limit is None:
        return None
    counts = [run["nonfinite_parameters"] for run in runs if run["nonfinite_parameters"] is not None]
    dead = [run["id"] for run in runs if run["verdict"] == "dead"]
    if not counts and not dead:
        return None, "no run has exported an adapter"
    evidence = f"{sum(counts)} non-finite numbers in {len(counts)} exported adapters"
    if dead:
        evidence += f"; {len(dead)} of {len(runs)} runs died and exported nothing: {', '.join(dead)}"
    return sum(counts) <= limit and not dead, evidence


def _memory_share(limit: float | None, memory: dict[str, Any]) -> Verdict | None:
    if limit is None:
        return None
    if memory["peak_bytes"] is None or not memory["limit_bytes"]:
        return None, "the peak was not measured"
    share = memory["peak_bytes"] / memory["limit_bytes"]
    gib = memory["peak_bytes"] / 2**30, memory["limit_bytes"] / 2**30
    return share <= limit, f"peak {gib[0]:.2f} GiB of {gib[1]:.2f} GiB, {share:.0%} (at most {limit:.0%})"


def _minutes(limit: float | None, runs: Sequence[dict[str, Any]]) -> Verdict | None:
    if limit is None:
        return None
    times = {run["id"]: run["seconds"] / 60 for run in runs if run["seconds"] is not None}
    if not times:
        return None, "no run has been timed"
    slowest = max(times, key=lambda run: times[run])
    return times[slowest] <= limit, f"longest run {times[slowest]:.1f} minutes ({slowest}; at most {limit:g})"


def _loss_falls(wanted: bool | None, runs: Sequence[dict[str, Any]]) -> Verdict | None:
    if not wanted:
        return None
    ends = {run["id"]: run["train_loss"] for run in runs}
    if all(v["first"] is None for v in ends.values()):
        return None, "no run has a training loss"
    known = {
        k: v for k, v in ends.items() if all(isinstance(v[end], int | float) for end in ("first", "last"))
    }
    rising = [run for run, loss in known.items() if loss["last"] >= loss["first"]]
    unknown = len(ends) - len(known)
    if rising or unknown:
        parts = [f"not lower at the end: {', '.join(rising)}"] if rising else []
        parts += [f"{unknown} runs have no finite loss at both ends"] if unknown else []
        return False, "; ".join(parts)
    smallest = min(known, key=lambda run: known[run]["first"] - known[run]["last"])
    loss = known[smallest]
    return (
        True,
        f"lower at the end in all {len(known)} runs; least in {smallest}: {loss['first']:.3f} to {loss['last']:.3f}",
    )
