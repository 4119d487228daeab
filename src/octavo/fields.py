"""Types of single values in a study file: how numbers, texts and lists are read, and their ranges.

Each reader takes what YAML gave and returns the value, or raises `ValueError` with a text that follows the
bad value in a sentence ("-1 is below 0; ..."). Numbers may be written as text ("3", "1e-05"): people quote.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator

from octavo.sizes import SIZE, memory_bytes
from octavo.yaml_text import number

MAX_SEED = 2**63 - 1  # what torch.Generator.manual_seed takes without wrapping

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def read_number(value: Any) -> int | float:
    """An int or float as it was written, text that is a number included."""
    if isinstance(value, str):
        found = number(value)
        if found is None and number(value.replace("_", "")) is not None:
            raise ValueError("is text; write the number without underscores")
        if found is None:
            raise ValueError("is no number; write one like 3 or 1e-5")
        return found
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("is no number; write one like 3 or 1e-5")
    return value


def read_real(value: Any) -> float:
    """A finite float; ints and numeric text too."""
    try:
        found = float(read_number(value))
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ValueError("is not finite; write a finite number")
    return found


def read_integer(value: Any) -> int:
    """An int; also a float or text that stands for a whole number (1e3, "3")."""
    found = read_number(value)
    if isinstance(found, float):
        if not found.is_integer():
            raise ValueError("is not a whole number; write one like 3")
        return int(found)
    return found


def read_name(value: Any) -> str:
    """A name that becomes part of file names: letters, digits, `.`, `_`, `-`; at most 100 characters."""
    if not isinstance(value, str):
        raise ValueError(quote_advice(value))
    if not _NAME.fullmatch(value):
        raise ValueError(
            "cannot be a file name; use at most 100 letters, digits, '.', '_' or '-', a letter or digit first"
        )
    return value


def quote_advice(value: Any) -> str:
    """What to say of a value that should be text but that YAML reads as something else."""
    if isinstance(value, list | dict):
        return "is not text; write one word or a quoted text"
    kind = {bool: "a truth value", type(None): "null"}.get(type(value), "a number")
    return f"is read as {kind}; quote it to make it text"


def read_names(value: Any) -> list[str] | None:
    """One name or a list of names, as a list; null stays null."""
    if value is None:
        return None
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        raise ValueError("is neither a name nor a list of names")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"holds {name!r}, which {quote_advice(name)}")
    return names


def read_targets(value: Any) -> str | list[str]:
    """`attention`, `all-linear`, or a list of module names."""
    if value in ("attention", "all-linear"):
        return value
    if isinstance(value, str) or not isinstance(value, list):
        raise ValueError("is none of attention, all-linear, or a list of module names like [q_proj, v_proj]")
    return read_names(value) or []


def read_seeds(value: Any) -> list[int]:
    """A list of seeds (equal ones once), or a number n for 0..n-1."""
    if not isinstance(value, list):
        count = read_integer(value)
        if not 1 <= count <= 10_000:
            raise ValueError("is no number of seeds from 1 to 10000; write a list for chosen seeds")
        return list(range(count))
    if not value:
        raise ValueError("is empty; write at least one seed")
    return list(dict.fromkeys(_read_seed(item) for item in value))


def _read_seed(value: Any) -> int:
    try:
        seed = read_integer(value)
    except ValueError as error:
        raise ValueError(f"holds {value!r}, which {error}") from None
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"holds {seed}; seeds go from 0 to {MAX_SEED}")
    return seed


def read_strategy(value: Any) -> str | int:
    """`auto`, `full`, `batched`, `safe`, or a number of lanes."""
    if value in ("auto", "full", "batched", "safe"):
        return value
    lanes = number(value) if isinstance(value, str) else value
    if isinstance(lanes, bool) or not isinstance(lanes, int) or lanes < 1:
        raise ValueError("is none of auto, full, batched, safe, or a number of lanes from 1")
    return lanes


def read_memory(value: Any) -> str | float:
    """`auto`, a size with a unit ("12GiB"), or a share of what is free in (0, 1]."""
    if value == "auto":
        return value
    if isinstance(value, str) and SIZE.fullmatch(value):
        if memory_bytes(value) < 1:
            raise ValueError("is no memory at all")
        return value
    share = number(value) if isinstance(value, str) else value
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ValueError('is none of auto, a size like "12GiB", or a share above 0 and at most 1')
    return float(share)


def finite_everywhere(value: Any) -> Any:
    """`value`, unless a nan or infinity hides anywhere in it."""
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise ValueError("holds a number that is not finite")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        finite_everywhere(item)
    return value


Count = Annotated[int, BeforeValidator(read_integer), Field(ge=1)]
Natural = Annotated[int, BeforeValidator(read_integer), Field(ge=0)]
Seed = Annotated[int, BeforeValidator(read_integer), Field(ge=0, le=MAX_SEED)]
Positive = Annotated[float, BeforeValidator(read_real), Field(gt=0)]
NonNegative = Annotated[float, BeforeValidator(read_real), Field(ge=0)]
Fraction = Annotated[float, BeforeValidator(read_real), Field(ge=0, lt=1)]
Level = Annotated[float, BeforeValidator(read_real), Field(gt=0, lt=1)]
Share = Annotated[float, BeforeValidator(read_real), Field(gt=0, le=1)]
Name = Annotated[str, PlainValidator(read_name)]
Text = Annotated[str, Field(min_length=1)]
Names = Annotated[list[str] | None, PlainValidator(read_names)]
Targets = Annotated[str | list[str], PlainValidator(read_targets)]
Seeds = Annotated[list[int], PlainValidator(read_seeds)]
Strategy = Annotated[str | int, PlainValidator(read_strategy)]
Memory = Annotated[str | float, PlainValidator(read_memory)]
Options = Annotated[dict[str, Any], BeforeValidator(finite_everywhere)]
Kind = Literal["tool_use", "reasoning", "conversation", "logic"]
