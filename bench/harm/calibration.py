"""How far healthy runs and harmed ones go in each signal: what thresholds are set by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harm.record import Trace
from octavo.vitals.thresholds import EARLY, calibrate, number, probe_base


def heights(trace: Trace) -> dict[str, float]:
    """The largest a run came to in each signal that is compared by its height, and the smallest share."""
    base = probe_base(trace.rows)
    found: dict[str, list[float]] = {}
    for row in trace.rows[1:]:
        vitals = row["vitals"] or {}
        pairs: Mapping[str, float | None] = {
            "rho": number(vitals.get("rho")),
            "rho_step": _ratio(number(vitals.get("rho")), float(row["step"]))
            if row["step"] <= EARLY
            else None,
            "grad_z": number(vitals.get("grad_z")),
            "loss_z": number(vitals.get("loss_z")),
            "repeat_share": number(vitals.get("repeat_share")),
            "half_share": number(vitals.get("half_share")),
            "loss_rise": _difference(number(vitals.get("loss_mean")), number(vitals.get("loss_start"))),
            "probe_rise": _difference(number(vitals.get("probe_nll")), base.get("probe_nll")),
            "loss_of_start": _ratio(number(vitals.get("loss_mean")), number(vitals.get("loss_start"))),
            "share_of_base": _ratio(number(vitals.get("probe_share")), base.get("probe_share")),
        }
        for key, value in pairs.items():
            if value is not None:
                found.setdefault(key, []).append(value)
    lowest = ("loss_of_start", "share_of_base")
    return {key: min(values) if key in lowest else max(values) for key, values in found.items()}


def _difference(value: float | None, start: float | None) -> float | None:
    return None if value is None or start is None else value - start


def _ratio(value: float | None, start: float | None) -> float | None:
    return None if value is None or not start else value / start


def calibration(traces: Sequence[Trace]) -> dict[str, Any]:
    """Extremes of healthy runs by rate and of each harmed run, and the thresholds that `calibrate` makes of them."""
    well = [one for one in traces if one.fault is None]
    rates: dict[str, dict[str, float]] = {}
    for trace in well:
        entry = rates.setdefault(f"{trace.rate:g}", {})
        for key, value in heights(trace).items():
            pick = min if key in ("loss_of_start", "share_of_base") else max
            entry[key] = pick(entry.get(key, value), value)
    limits = calibrate({one.name: one.rows for one in well})
    return {
        "healthy_runs": len(well),
        "healthy": {rate: _short(entry) for rate, entry in rates.items()},
        "harmed": {one.name: _short(heights(one)) for one in traces if one.fault is not None},
        "thresholds": limits.to_json() | {"origin": "healthy runs of this file"},
    }


def _short(values: Mapping[str, float]) -> dict[str, float]:
    return {key: float(f"{value:.4g}") for key, value in values.items()}
