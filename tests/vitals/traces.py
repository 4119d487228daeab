"""Written-out runs: their metrics lines as the loop and the signals would make them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from octavo.vitals.signals.grad_z import robust_z
from octavo.vitals.signals.train_loss import TrainLoss

VOCABULARY = 49_152
BASE_NLL, BASE_SHARE = 2.5, 0.33
LAYER = "model.layers.3.self_attn.v_proj"
Curve = Callable[[int], float]


def ripple(step: int) -> float:
    """What batches differ by: deterministic, between -1 and 1."""
    return math.sin(2.4 * step)


def trace(
    steps: int,
    loss: Curve,
    rho: Curve,
    norm: Curve | None = None,
    probe: Curve | None = None,
    share: Curve | None = None,
) -> list[dict[str, Any]]:
    """Lines 0 to `steps`; rho at every early step, then every 5, the probe every 10, the rest at each."""
    norm = norm or (lambda step: math.exp(0.3 * ripple(step)))
    probe = probe or (lambda step: BASE_NLL)
    share = share or (lambda step: BASE_SHARE)
    losses: list[float] = []
    norms: list[float] = []
    rows: list[dict[str, Any]] = [
        {"step": 0, "loss": None, "vitals": {"probe_nll": BASE_NLL, "probe_share": BASE_SHARE}}
    ]
    for step in range(1, steps + 1):
        losses.append(loss(step))
        norms.append(norm(step))
        finite = math.isfinite(losses[-1]) and math.isfinite(norms[-1])
        vitals: dict[str, Any] = {"finite": finite, "grad_z": robust_z(norms)}
        vitals |= TrainLoss(VOCABULARY)._of(losses)
        if step <= 20 or step % 5 == 0:
            vitals |= {"rho": rho(step), "rho_module": LAYER}
        if step % 10 == 0:
            vitals |= {"probe_nll": probe(step), "probe_share": share(step)}
        rows.append({"step": step, "loss": losses[-1], "grad_norm": norms[-1], "vitals": vitals})
    return rows


def healthy(steps: int = 60) -> list[dict[str, Any]]:
    return trace(
        steps,
        loss=lambda s: 1.2 + 0.8 * math.exp(-s / 20) + 0.3 * ripple(s),
        rho=lambda s: 0.02 * (1 - math.exp(-s / 15)),
        probe=lambda s: BASE_NLL - 0.1,
    )


def too_fast(tenth: int, above_ln_v: int, steps: int = 60) -> list[dict[str, Any]]:
    """A learning rate that destroys: rho is 0.1 at step `tenth`, the loss passes ln V at `above_ln_v`."""
    ceiling = math.log(VOCABULARY)
    return trace(
        steps,
        loss=lambda s: min(2.0 + (ceiling - 2.0) * (s / above_ln_v) ** 4, 14.0) + 0.2 * ripple(s),
        rho=lambda s: 0.1001 * (s / tenth) ** 1.5,
        probe=lambda s: min(BASE_NLL + (ceiling - BASE_NLL) * (s / above_ln_v) ** 4, 14.0),
        share=lambda s: BASE_SHARE if s < above_ln_v else 0.0,
    )


def verdicts(rows: Sequence[dict[str, Any]], judge: Callable[..., Any], limits: Any) -> list[Any]:
    """The verdict after each step from 1 on."""
    return [judge(rows[: n + 1], limits) for n in range(1, len(rows))]
