"""JSON as the standard defines it, with errors that name the place.

Python's reader also takes NaN, numbers that overflow, doubled keys and halves of surrogate pairs; each of
them would be lost or changed on the way to the model, so they are refused here.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from octavo.errors import InputError


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text:.20} is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(k for k in keys if keys.count(k) > 1)!r} stands twice in one object")
    return made


DECODER = json.JSONDecoder(parse_constant=_constant, parse_float=_float, object_pairs_hook=_object)


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text.

    Raises:
        InputError: the text is no JSON, or holds what cannot be written back; `where` is named.
    """
    value, end = parse_json_prefix(text.lstrip(" \t\r\n"), where)
    if text.lstrip(" \t\r\n")[end:].strip(" \t\r\n"):
        raise InputError(f"{where} is no JSON: something follows the value")
    return value


def parse_json_prefix(text: str, where: str) -> tuple[Any, int]:
    """The JSON value that `text` starts with, and the offset of what follows it.

    Raises:
        InputError: as `parse_json`.
    """
    try:
        value, end = DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is no JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise InputError(f"{where} is no JSON: {error}") from None
    except RecursionError:
        raise InputError(f"{where} is no JSON: nested too deeply") from None
    if "\\u" in text and not _encodable(value):
        raise InputError(f"{where} holds half of a surrogate pair (\\ud800-\\udfff), which is no character")
    return value, end


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
