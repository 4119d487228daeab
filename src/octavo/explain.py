"""Validation errors in words: file, line, key, the bad value, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from octavo.errors import InputError
from octavo.fields import quote_advice
from octavo.yaml_text import Document, Path

_LONGEST_VALUE = 80

_PROBLEMS = {  # by the type of a pydantic error, with its context filled in
    "greater_than": "is not above {gt}; write a number above {gt}",
    "greater_than_equal": "is below {ge}; write {ge} or more",
    "less_than": "is not below {lt}; write a number below {lt}",
    "less_than_equal": "is above {le}; write {le} or less",
    "bool_type": "is neither true nor false; write one of these",
    "list_type": "is not a list; write [...]",
    "model_type": "is not a mapping; write {{key: value}}",
    "dict_type": "is not a mapping; write {{key: value}}",
    "too_short": "is too short; it needs at least {min_length}",
    "too_long": "is too long; it takes at most {max_length}",
    "string_too_short": "is empty; write a text or leave the key out",
}


def dotted(path: Path) -> str:
    """`("variants", 2, "name")` as a person writes it: `variants[2].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the study"


def complain(document: Document, path: Path, problem: str, value: Any = None) -> str:
    """One line: where the value was written, its key, the value as it was written, and the problem."""
    origin = document.origin(path)
    shown = origin.text if origin.text is not None and value is not None else value
    shown = "" if shown is None else f" {_shorten(shown if isinstance(shown, str) else repr(shown))}"
    return f"{origin}: {dotted(path)}:{shown} {problem}"


def explain(
    error: ValidationError, document: Document, keys: Iterable[str], base: Path = (), strip: Path = ()
) -> InputError:
    """All problems of a pydantic error, a line each.

    **Arguments**: `keys`, every dotted key a study may have (for the nearest one); `base` and `strip` say
    where the validated value stands in `document`, as in `moved`.
    """
    known = list(keys)
    places = [(moved(_loc(item), base, strip), item) for item in error.errors()]
    places.sort(key=lambda place: document.origin(place[0]).line or 0)
    lines = [_line(item, document, known, path) for path, item in places]
    return InputError("\n".join(dict.fromkeys(lines)))


def moved(path: Path, base: Path, strip: Path) -> Path:
    """Where `path` of a part of a study stands in the whole: `base` instead of the first keys `strip`."""
    return (*base, *path[len(strip) :]) if path[: len(strip)] == strip else base


def nearest(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The candidate a person most likely meant by `word`, None if none is like it."""
    found = difflib.get_close_matches(word, list(candidates), n=1, cutoff=cutoff)
    return found[0] if found else None


def nearest_key(path: Path, known: list[str]) -> str | None:
    """The known key most like an unknown one: among its siblings first, then by its last word anywhere.

    Known keys hold no list positions: `variants[2].nme` has the siblings of `variants.name`.
    """
    parts = [part for part in path if isinstance(part, str)]
    section, word = ".".join(parts[:-1]), parts[-1]
    prefix = f"{section}." if section else ""
    siblings = {key.removeprefix(prefix): key for key in known if key.startswith(prefix)}
    direct = {name: key for name, key in siblings.items() if "." not in name}
    if match := nearest(word, direct):
        return direct[match]
    word = word.rsplit(".", 1)[-1]
    for group in (siblings.values(), known):
        last = {key.rsplit(".", 1)[-1]: key for key in reversed(list(group))}
        longer = [name for name in last if name.startswith(f"{word}_")]  # warmup: warmup_steps
        if match := nearest(word, last, cutoff=0.8) or next(iter(longer), None):
            return last[match]
    return None


def _loc(item: Mapping[str, Any]) -> Path:
    return tuple(part for part in item["loc"] if part != "[key]")


def _line(item: Mapping[str, Any], document: Document, known: list[str], path: Path) -> str:
    kind, value = item["type"], item.get("input")
    if kind == "extra_forbidden":
        return complain(document, path, _unknown_key(path, known))
    if kind == "missing":
        return complain(document, path, "is missing; write it")
    problem = _problem(kind, item.get("ctx", {}), value, item["msg"])
    if kind == "value_error" and isinstance(value, dict):  # of a whole section: its keys say enough
        return complain(document, path, problem)
    return complain(document, path, problem, "null" if value is None else value)


def _unknown_key(path: Path, known: list[str]) -> str:
    match = nearest_key(path, known)
    return f"unknown key; did you mean {match}?" if match else "unknown key; take it out"


def _problem(kind: str, context: Mapping[str, Any], value: Any, message: str) -> str:
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return _choose(value, context["expected"])
    if kind == "string_type":
        return quote_advice(value)
    template = _PROBLEMS.get(kind)
    return template.format(**context) if template else f"is not valid: {message}"


def _choose(value: Any, expected: str) -> str:
    choices = expected.replace("'", "").replace(" or ", ", ").split(", ")
    match = nearest(value, choices) if isinstance(value, str) else None
    return f"is not one of {', '.join(choices)}" + (f"; did you mean {match}?" if match else "; choose one")


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."
