"""How a value is written: a missing one is a dash and a non-finite one is its name, neither is ever 0."""

from __future__ import annotations

import math
from typing import Any

DASH = "–"
MINUS = "\u2212"
NOT_FINITE = {
    "nan": math.nan,
    "inf": math.inf,
    "+inf": math.inf,
    "-inf": -math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-infinity": -math.inf,
}


def as_float(value: Any) -> float | None:
    """Read a JSON value as a number.

    Returns None for what is no number (null, text, true and false); the strings "nan", "inf" and "-inf",
    in any case and also spelled out, are the floats they name. An integer past a double's range is infinite.
    """
    if isinstance(value, str):
        return NOT_FINITE.get(value.strip().lower())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_finite(value: Any) -> float | None:
    """The number if it is a finite one, else None."""
    number = as_float(value)
    return number if number is not None and math.isfinite(number) else None


def canonical(value: Any) -> float | str | None:
    """The form numbers have in our JSON files: a finite float, "nan", "inf" or "-inf", or None."""
    number = as_float(value)
    if number is None or math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else ("inf" if number > 0 else "-inf")


def fixed(value: Any, digits: int = 3, sign: bool = False) -> str:
    """Write with `digits` decimals and grouped thousands; `sign` puts a plus before positive numbers."""
    number = as_float(value)
    if number is None:
        return DASH
    if not math.isfinite(number):
        return str(canonical(number)).replace("-", MINUS)
    if number and abs(number) >= 1e7:
        text = f"{number:{'+' if sign else ''}.{digits}e}"
    else:
        text = f"{number:{'+' if sign else ''},.{digits}f}"
    return text.replace("-", MINUS)


def count(value: Any) -> str:
    """Write a whole number with grouped thousands."""
    return fixed(value, 0) if not isinstance(value, int) or isinstance(value, bool) else f"{value:,}"


def general(value: Any) -> str:
    """Write any scalar found in a card or a settings table, numbers with four significant digits."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    if isinstance(value, float):
        if not math.isfinite(value):
            return fixed(value)
        text = f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"
        return text.replace("-", MINUS)
    return str(value)


def size(value: Any) -> str:
    """Write bytes in binary units: GiB from 1 GiB on, else MiB."""
    number = as_finite(value)
    if number is None:
        return fixed(value)
    return f"{number / 2**30:,.2f} GiB" if abs(number) >= 2**30 else f"{number / 2**20:,.1f} MiB"


def seconds(value: Any) -> str:
    """Write a duration in seconds, with a decimal below 100."""
    number = as_finite(value)
    return fixed(value, 0 if number is None or number >= 100 else 1)


def listed(names: list[str], limit: int = 4) -> str:
    """Join names as a sentence does; past `limit` the rest is counted."""
    shown = names if len(names) <= limit else [*names[: limit - 1], f"{len(names) - limit + 1} more"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1] if shown else ""
