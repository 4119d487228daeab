"""Readings of vitals as single figures that can be drawn over steps: means over layers and modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from octavo.vitals.thresholds import number

# of the readings, those that are figures already
_PLAIN = ("rho", "probe_nll", "probe_share", "grad_z", "loss_z", "half_share", "repeat_share")
# figures made of readings by layer, by the reading they are made of
_MADE = {
    "update_ranks": ("update_stable_rank", "update_effective_rank"),
    "attention": ("attention_entropy", "attention_rank", "attention_second"),
    "hidden_rank": ("hidden_rank",),
}
KEYS = (*_PLAIN, *(name for names in _MADE.values() for name in names))


def figures_of(vitals: Mapping[str, Any]) -> dict[str, float | None]:
    """The figures of a line's readings; a reading that was made and has no value is None, one not made is not there.

    Returns:
        {name: figure}, names of `KEYS`:
        update_stable_rank, update_effective_rank: means over the modules whose B A is not zero.
        attention_entropy, attention_rank: means over the observed layers, each over its largest possible value.
        attention_second: the second singular value (eigenvalue where attention looks ahead) over the first.
        hidden_rank: mean effective rank of what the observed layers put out.
    """
    found = {key: number(vitals[key]) for key in _PLAIN if key in vitals}
    for reading, names in _MADE.items():
        if reading in vitals:
            layers = vitals[reading] or {}
            found |= dict.fromkeys(names) | _MAKERS[reading](layers)
    return found


def _of_updates(layers: Mapping[str, Any]) -> dict[str, float | None]:
    pairs = [pair for pair in layers.values() if pair is not None]
    return {
        "update_stable_rank": _mean(pair[0] for pair in pairs),
        "update_effective_rank": _mean(pair[1] for pair in pairs),
    }


def _of_attention(layers: Mapping[str, Any]) -> dict[str, float | None]:
    spectra = [one.get("singular_values") or one.get("eigenvalues") or [] for one in layers.values()]
    return {
        "attention_entropy": _mean(one["entropy"] for one in layers.values()),
        "attention_rank": _mean(one["rank"] for one in layers.values()),
        "attention_second": _mean(values[1] if len(values) > 1 else None for values in spectra),
    }


def _of_hidden(layers: Mapping[str, Any]) -> dict[str, float | None]:
    return {"hidden_rank": _mean(layers.values())}


_MAKERS = {"update_ranks": _of_updates, "attention": _of_attention, "hidden_rank": _of_hidden}


def _mean(values: Iterable[Any]) -> float | None:
    """Of those that are there; not finite where one of them is not."""
    known = [value for one in values if (value := number(one)) is not None]
    return sum(known) / len(known) if known else None


def curves_of(metrics: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[Any]]]:
    """{figure: {step, value}} of metrics lines: the steps in which it was read, None where it has no value."""
    found: dict[str, dict[str, list[Any]]] = {}
    for row in metrics:
        for key, value in figures_of(row.get("vitals") or {}).items():
            curve = found.setdefault(key, {"step": [], "value": []})
            curve["step"].append(row["step"])
            curve["value"].append(value)
    return {key: curve for key, curve in found.items() if any(v is not None for v in curve["value"])}
