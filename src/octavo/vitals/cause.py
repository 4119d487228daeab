"""Why a run went wrong, by the signature of its loss and gradient and by what the replay of its batch found.

Signatures: a NaN loss with a gradient of zero has no labels; a NaN loss with a NaN gradient is 0/0 or comes from bad
activations; a finite loss with a gradient that is not is the backward pass, or half precision.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from octavo.lanes.trace import Fault
from octavo.vitals.verdict import PRECISION, Verdict

NO_LABELS = "no labels"
ZERO_OVER_ZERO = "0/0"
ACTIVATIONS = "activations"
BACKWARD = "backward"
HALF_PRECISION = "half precision"
PARAMETERS = "parameters"
LEARNING_RATE = "learning rate"
DATA = "data"
UNKNOWN = "unknown"

_REPEATED = 0.5  # of the examples read: one content in more than half of them is what the run learns
_SHOWN = 8  # ids of examples in a sentence


@dataclass(frozen=True)
class Cause:
    """Why.

    Attributes:
        kind: one of the names above.
        evidence: a sentence with the batch's examples and the first bad tensor.
    """

    kind: str
    evidence: str


def cause_of_nonfinite(
    loss: float,
    grad_norm: float,
    targets: int,
    fault: Fault,
    dtype: torch.dtype,
    ids: Sequence[str],
) -> Cause:
    """Why a window was not finite.

    Arguments:
        loss, grad_norm: of the window. targets: labelled tokens of it.
        fault: what the replay found (`octavo.lanes.trace.find_fault`).
        dtype: that adapters are trained in. ids: of the batch's examples.
    """
    kind = _kind(loss, grad_norm, targets, fault, dtype)
    shown = ", ".join(ids[:_SHOWN]) + (f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else "")
    said = f"{kind}: loss {loss:g}, gradient norm {grad_norm:g}; first non-finite tensor: {fault.said}"
    return Cause(kind, f"{said}; examples of the batch: {shown}")


def _kind(loss: float, grad_norm: float, targets: int, fault: Fault, dtype: torch.dtype) -> str:
    half = dtype in (torch.float16, torch.bfloat16)
    if fault.kind == "parameter":
        return HALF_PRECISION if half else PARAMETERS
    if targets == 0 or fault.kind == "no target" or (math.isnan(loss) and grad_norm == 0):
        return NO_LABELS
    if math.isfinite(loss) and not math.isfinite(grad_norm):
        return HALF_PRECISION if half else BACKWARD
    return UNKNOWN if math.isfinite(loss) else _of_forward(fault, dtype)


def _of_forward(fault: Fault, dtype: torch.dtype) -> str:
    """A loss that is not finite although there are labels and good parameters."""
    if fault.kind == "overflow":
        return HALF_PRECISION if dtype == torch.float16 else ACTIVATIONS
    if fault.kind in ("undefined", "loss"):
        return ZERO_OVER_ZERO
    return UNKNOWN


def cause_of_finite(verdict: Verdict, contents: Sequence[object], rate: float) -> Cause:
    """Why a run whose values are finite diverges or has collapsed.

    An update out of all proportion comes from the learning rate. Where the update stays in proportion and what the
    model says goes wrong all the same, it has learned what it was given.

    Arguments:
        verdict: one that trips. contents: of each example that the run has read of late, anything that can be compared.
        rate: learning rate of the step.
    """
    if "rho" in verdict.signals:
        return Cause(LEARNING_RATE, f"{LEARNING_RATE} {rate:g}: {verdict.evidence}")
    if PRECISION in verdict.signals:
        return Cause(HALF_PRECISION, f"{HALF_PRECISION}: {verdict.evidence}")
    if contents:
        content, count = Counter(contents).most_common(1)[0]
        if count > 1 and count / len(contents) > _REPEATED:
            said = f"one example is {count} of the last {len(contents)} read ({str(content)[:60]})"
            return Cause(DATA, f"{DATA}: {said}; {verdict.evidence}")
    if {"probe", "train_loss", "loss_z"} & set(verdict.signals):
        return Cause(DATA, f"{DATA}: the update is in proportion, what is learned is not; {verdict.evidence}")
    return Cause(UNKNOWN, f"{UNKNOWN}: {verdict.evidence}")
