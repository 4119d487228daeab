"""From where on a signal counts as raised, and how that is set from runs known to be healthy.

Defaults: the relative update of healthy runs of SmolLM2-135M-Instruct stayed below 0.02 at learning rates up to 1e-3,
and passed 0.1 at step 11 with 1e-2 and at step 5 with 3e-2, 19 and 7 steps before their loss passed ln V; the probe's
share of distinct words fell from 0.33 to 0 in a collapse (measured on a 2-core x86 CPU). The others are set by
convention: |z| of 6 is far outside of what 50 norms of a healthy run hold, one nat is a perplexity e times as large.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from octavo.artifacts import write_text_atomic
from octavo.errors import InputError

# above the healthy maximum by this factor the relative update trips
RHO_MARGIN = 5.0
# what the healthy maximum of a signal that is compared by its height is multiplied with
_MARGIN = 1.5
_FEWEST_RUNS = 3
EARLY = 20  # steps in which the relative update trips alone
_RAISED = ("grad_z", "loss_z", "loss_rise", "probe_rise")


@dataclass(frozen=True)
class Thresholds:
    """A signal is raised above (share: below) its value.

    Attributes:
        rho: largest relative update. rho_step: the same over the step, in the early ones.
        grad_z, loss_z: robust z of the log gradient norm and of the log loss.
        loss_rise: nats of the training loss's window over its start.
        probe_rise: nats of the probe over the base model's.
        probe_share: share of distinct words in the probe, as a part of the base model's.
        memorised: training loss as a part of its start, at which a probe that has risen tells of a run that learned
            its examples by heart.
        origin: where each value is from, by name.
    """

    rho: float = 0.1
    rho_step: float = 0.0145
    grad_z: float = 6.0
    loss_z: float = 6.0
    loss_rise: float = 1.0
    probe_rise: float = 1.0
    probe_share: float = 1 / 3
    memorised: float = 0.05
    origin: Mapping[str, str] = field(default_factory=dict)

    def with_values(self, values: Mapping[str, float]) -> Thresholds:
        """With the user's own values in the place of some.

        Raises:
            InputError: no such signal, or not a positive number.
        """
        for name, value in values.items():
            if name not in NAMES:
                raise InputError(
                    f"vitals.thresholds: there is no '{name}'; a threshold is one of {', '.join(NAMES)}"
                )
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"vitals.thresholds.{name}: {value} is not a positive number")
        origin = {**self.origin, **dict.fromkeys(values, "the study")}
        return replace(self, **values, origin=origin)

    def to_json(self) -> dict[str, Any]:
        """As `save` writes it."""
        return asdict(self) | {
            "origin": {name: self.origin.get(name, "default of this version") for name in NAMES}
        }


NAMES = tuple(f.name for f in fields(Thresholds) if f.name != "origin")


def calibrate(runs: Mapping[str, Sequence[Mapping[str, Any]]], start: Thresholds | None = None) -> Thresholds:
    """Thresholds above whatever healthy runs came to.

    The relative update trips at five times their maximum. The others are only ever raised, to 1.5 times the maximum of
    the healthy runs where that is more: a few healthy runs cannot show that a smaller rise would be harmless.

    Arguments:
        runs: metrics lines of each run, other ones than those to be judged; the probe's start is the reading at step 0.
        start: what to begin from; the defaults.

    Raises:
        InputError: fewer than three runs, or one that was not finite throughout.
    """
    if len(runs) < _FEWEST_RUNS:
        raise InputError(f"thresholds need at least {_FEWEST_RUNS} healthy runs, there are {len(runs)}")
    start = start or Thresholds()
    said = f"{len(runs)} healthy runs: {', '.join(runs)}"
    largest = dict.fromkeys(("rho", "rho_step", *_RAISED), -math.inf)
    for name, rows in runs.items():
        for key, value in _heights(rows):
            if not math.isfinite(value):
                raise InputError(f"{name}: {key} is not finite, the run is not healthy; leave it out")
            largest[key] = max(largest[key], value)
    values: dict[str, float] = {}
    for key in ("rho", "rho_step"):
        if largest[key] > 0:
            values[key] = RHO_MARGIN * largest[key]
    for key in _RAISED:
        if _MARGIN * largest[key] > getattr(start, key):
            values[key] = _MARGIN * largest[key]
    return replace(start, **values, origin={**start.origin, **dict.fromkeys(values, said)})


def _heights(rows: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, float]]:
    """(threshold, what a line came to) of all lines of a run."""
    base = probe_base(rows)
    for row in rows:
        vitals = row.get("vitals") or {}
        for key in ("rho", "grad_z", "loss_z"):
            if (value := number(vitals.get(key))) is not None:
                yield key, value
        if (rho := number(vitals.get("rho"))) is not None and 0 < row["step"] <= EARLY:
            yield "rho_step", rho / row["step"]
        pairs = (
            ("loss_rise", number(vitals.get("loss_mean")), number(vitals.get("loss_start"))),
            ("probe_rise", number(vitals.get("probe_nll")), base.get("probe_nll")),
        )
        for key, value, reference in pairs:
            if value is not None and reference is not None:
                yield key, value - reference


def probe_base(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The base model's probe: the reading before the first step, when B is zero; empty where there is none."""
    first = next((row for row in rows if row["step"] == 0), None)
    vitals = (first or {}).get("vitals") or {}
    found = {key: number(vitals.get(key)) for key in ("probe_nll", "probe_share")}
    return {key: value for key, value in found.items() if value is not None}


def number(value: object) -> float | None:
    """A reading as a float: files hold "nan" and "inf" by name; null is null."""
    return None if value is None else float(value)  # type: ignore[arg-type]


def save(thresholds: Thresholds, path: Path) -> None:
    """Write them beside the study, each with its origin."""
    write_text_atomic(path, json.dumps(thresholds.to_json(), indent=2) + "\n")


def load(path: Path) -> Thresholds:
    """Read what `save` wrote.

    Raises:
        InputError: it is something else.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        origin = values.pop("origin")
        return replace(Thresholds().with_values(values), origin=origin)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{path}: not a file of thresholds ({error}); remove it to calibrate anew"
        ) from error
