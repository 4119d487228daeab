"""The verdict on a run from its readings: healthy, watch, diverging, collapsed or dead, and why, in a sentence.

Non-finite values are a verdict alone, and so is the relative update in the first 20 steps, where nothing healthy comes
near its threshold. After that two signals must agree: each of them has a harmless reason to rise now and then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from octavo.vitals.thresholds import EARLY, Thresholds, number, probe_base

HEALTHY, WATCH, DIVERGING, COLLAPSED, DEAD = "healthy", "watch", "diverging", "collapsed", "dead"
# from the harmless to the worst
ORDER = (HEALTHY, WATCH, DIVERGING, COLLAPSED, DEAD)

# readings that verdicts are drawn from
WATCHED = (
    "finite", "rho", "rho_module", "grad_z", "loss_mean", "loss_start", "loss_of_ln_v", "probe_nll", "probe_share",
    "half_share", "loss_z", "repeat_share",
)  # fmt: skip

PRECISION, REPEATS = "precision", "repeats"
_HALF = 0.5  # of numbers: in float32 next to none are bfloat16's or float16's by chance
_REPEATED = 0.5  # of the examples read: one of them in more than half is what the run learns
_SUPPORT = 0.5  # of the threshold of the gradient norm
_Z_HOLDS = 10  # steps for which a leap of the gradient norm still counts beside another signal


@dataclass(frozen=True)
class Raised:
    """A signal that is raised: its name, what it came to in words, and the step of the reading."""

    signal: str
    said: str
    step: int


@dataclass(frozen=True)
class Verdict:
    """What is to be said of a run at a step.

    Attributes:
        health: one of `ORDER`. step: it is of.
        evidence: a sentence. signals: names of those that are raised.
        module: the layer that the relative update was above its threshold in first; null where it was in none.
    """

    health: str
    step: int
    evidence: str
    signals: tuple[str, ...] = ()
    module: str | None = None

    @property
    def trips(self) -> bool:
        """Whether the run is to be stopped or rescued."""
        return ORDER.index(self.health) >= ORDER.index(DIVERGING)


def judge(rows: Sequence[Mapping[str, Any]], thresholds: Thresholds) -> Verdict:
    """The verdict as of the last line.

    Arguments:
        rows: metrics lines of a run, `step` ascending; the one of step 0, if it is there, holds the base's probe.
    """
    if not rows:
        return Verdict(HEALTHY, 0, "nothing has been read yet")
    step = int(rows[-1]["step"])
    if (broken := _nonfinite(rows[-1])) is not None:
        return Verdict(DEAD, step, f"step {step}: {broken}", ("finite",), _module_of(rows[-1]))
    raised = raised_signals(rows, thresholds)
    names = tuple(one.signal for one in raised)
    module = _first_module(rows, thresholds) if "rho" in names else None
    health = _health(raised)
    return Verdict(health, step, _sentence(health, step, raised, module), names, module)


def _health(raised: Sequence[Raised]) -> str:
    names = {one.signal for one in raised}
    # half precision and repeated data are no evidence of harm done: they agree with nothing
    # and the loss, whether by its window or by one step, is one witness
    witnesses = {
        "loss" if name in ("train_loss", "loss_z") else name for name in names - {PRECISION, REPEATS}
    }
    if len(witnesses) > 1:
        return COLLAPSED if "probe" in names else DIVERGING
    if any(one.signal == "rho" and one.step <= EARLY for one in raised):
        return DIVERGING
    return WATCH if names else HEALTHY


def _nonfinite(row: Mapping[str, Any]) -> str | None:
    """What of a line is not finite. Readings that are null were not made; nothing follows from them."""
    vitals = row.get("vitals") or {}
    values = {
        "loss": row.get("loss"),
        "gradient norm": row.get("grad_norm"),
        "relative update": vitals.get("rho"),
        "probe": vitals.get("probe_nll"),
    }
    bad = [
        f"{name} is {value:g}"
        for name, read in values.items()
        if (value := number(read)) is not None and not math.isfinite(value)
    ]
    if not bad and vitals.get("finite") is False:
        bad = ["a parameter of the adapter is not finite"]
    return ", ".join(bad) or None


def _module_of(row: Mapping[str, Any]) -> str | None:
    vitals = row.get("vitals") or {}
    rho = number(vitals.get("rho"))
    return vitals.get("rho_module") if rho is not None and not math.isfinite(rho) else None


def raised_signals(rows: Sequence[Mapping[str, Any]], limits: Thresholds) -> list[Raised]:
    """The signals that are above their thresholds in their latest readings, each once."""
    found = (
        _rho(rows, limits),
        _grad_z(rows, limits),
        _train_loss(rows, limits),
        _probe(rows, limits),
        _loss_leap(rows, limits),
        _precision(rows),
        _repeats(rows),
    )
    raised = [one for one in found if one is not None]
    if len(raised) == 1 and raised[0].signal == "probe" and (heart := _memorised(rows, limits)) is not None:
        raised.append(heart)
    return raised


def _latest(rows: Sequence[Mapping[str, Any]], key: str) -> tuple[int, float] | None:
    """(step, value) of the latest reading of a kind that was made."""
    for row in reversed(rows):
        value = number((row.get("vitals") or {}).get(key))
        if value is not None:
            return int(row["step"]), value
    return None


def _rho(rows: Sequence[Mapping[str, Any]], limits: Thresholds) -> Raised | None:
    read = _latest(rows, "rho")
    # written so that a NaN is raised: nan > x is False
    if read is None or read[1] <= rho_limit(limits, read[0]):
        return None
    step, value = read
    return Raised("rho", f"relative update {value:.3g} (threshold {rho_limit(limits, step):.3g})", step)


def rho_limit(limits: Thresholds, step: int) -> float:
    """The threshold of the relative update at a step: in the early ones an update that grows too fast is enough.

    B starts at zero and grows by about the learning rate a step, so that the size of a first step tells what the
    twentieth will be, before any harm is done.
    """
    return min(limits.rho, limits.rho_step * step) if step <= EARLY else limits.rho


def _grad_z(rows: Sequence[Mapping[str, Any]], limits: Thresholds) -> Raised | None:
    last = int(rows[-1]["step"])
    for row in reversed(rows[-_Z_HOLDS:]):
        value = number((row.get("vitals") or {}).get("grad_z"))
        # what only supports need not be so far out in the step in which the loss leaps
        limit = limits.grad_z * (_SUPPORT if _leap(row, limits) is not None else 1)
        if value is not None and last - int(row["step"]) < _Z_HOLDS and not value <= limit:
            said = f"gradient norm {value:.1f} robust deviations above the run's own at step {row['step']}"
            return Raised("grad_z", said, int(row["step"]))
    return None


def _train_loss(rows: Sequence[Mapping[str, Any]], limits: Thresholds) -> Raised | None:
    read, start = _latest(rows, "loss_mean"), _latest(rows, "loss_start")
    of_ceiling = _latest(rows, "loss_of_ln_v")
    if read is None:
        return None
    step, mean = read
    if start is not None and not mean - start[1] <= limits.loss_rise:
        return Raised("train_loss", f"training loss {mean:.2f}, {mean - start[1]:.2f} above its start", step)
    if of_ceiling is not None and not of_ceiling[1] <= 1:
        return Raised("train_loss", f"training loss {mean:.2f}, above ln V", step)
    return None


def _probe(rows: Sequence[Mapping[str, Any]], limits: Thresholds) -> Raised | None:
    base = probe_base(rows)
    nll, share = _latest(rows, "probe_nll"), _latest(rows, "probe_share")
    if nll is not None and "probe_nll" in base and not nll[1] - base["probe_nll"] <= limits.probe_rise:
        rise = nll[1] - base["probe_nll"]
        return Raised("probe", f"probe {nll[1]:.2f} nats a token, {rise:.2f} above the base model", nll[0])
    if share is None or "probe_share" not in base:
        return None
    if not share[1] >= limits.probe_share * base["probe_share"]:
        said = f"{share[1]:.0%} distinct words in the probe, the base model has {base['probe_share']:.0%}"
        return Raised("probe", said, share[0])
    return None


def _precision(rows: Sequence[Mapping[str, Any]]) -> Raised | None:
    """Numbers kept in half precision: what comes of it is a run that stands still, so that it trips nothing alone."""
    read = _latest(rows, "half_share")
    if read is None or read[1] <= _HALF:
        return None
    return Raised(
        PRECISION,
        f"{read[1]:.0%} of the adapter's numbers are in half precision, where small steps are lost",
        read[0],
    )


def _loss_leap(rows: Sequence[Mapping[str, Any]], limits: Thresholds) -> Raised | None:
    """A loss far above the run's own in the latest step; a hard batch alone does that too."""
    value = _leap(rows[-1], limits)
    if value is None:
        return None
    loss, step = float(rows[-1]["loss"]), int(rows[-1]["step"])
    return Raised(
        "loss_z", f"training loss {loss:.2f}, {value:.1f} robust deviations above the run's own", step
    )


def _leap(row: Mapping[str, Any], limits: Thresholds) -> float | None:
    value = number((row.get("vitals") or {}).get("loss_z"))
    return None if value is None or value <= limits.loss_z else value


def _repeats(rows: Sequence[Mapping[str, Any]]) -> Raised | None:
    """One example in most of what was read: a fact of the data, whatever it does to the run."""
    read = _latest(rows, "repeat_share")
    if read is None or read[1] <= _REPEATED:
        return None
    return Raised(REPEATS, f"one example is {read[1]:.0%} of what was read of late", read[0])


def _memorised(rows: Sequence[Mapping[str, Any]], limits: Thresholds) -> Raised | None:
    """A training loss that has all but gone: harmless alone, and what a risen probe comes from where it is there."""
    read, start = _latest(rows, "loss_mean"), _latest(rows, "loss_start")
    if read is None or start is None or not read[1] <= limits.memorised * start[1]:
        return None
    return Raised("memorised", f"training loss {read[1]:.3g} of {start[1]:.3g} at its start", read[0])


def _first_module(rows: Sequence[Mapping[str, Any]], limits: Thresholds) -> str | None:
    for row in rows:
        vitals = row.get("vitals") or {}
        rho = number(vitals.get("rho"))
        if rho is not None and not rho <= rho_limit(limits, int(row["step"])):
            return vitals.get("rho_module")
    return None


def _sentence(health: str, step: int, raised: Sequence[Raised], module: str | None) -> str:
    if not raised:
        return f"step {step}: no signal is above its threshold"
    said = "; ".join(one.said for one in raised)
    where = f"; first in {module}" if module else ""
    alone = " (one signal alone)" if health == WATCH else ""
    return f"step {step}: {said}{where}{alone}"
