"""What the study file can already say but this version cannot do yet.

One line a key, by its dotted name (`[]`: each item of a list). ANYTHING: the key and all below it resolve to
null, and setting it is refused. A tuple: only these values are refused. AllBut: only these names are built.
When a part is built, its line goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from octavo.errors import InputError
from octavo.explain import complain, moved
from octavo.yaml_text import Document, Path

ANYTHING = object()


@dataclass(frozen=True)
class AllBut:
    """Every name is refused except these; a name may stand alone or in `{name: ..., ...}`."""

    names: tuple[str, ...]


UNBUILT: dict[str, Any] = {
    "stopping": ANYTHING,
    "evaluate.suites[]": AllBut(("heldout", "truthfulqa", "items")),
    "basins": ANYTHING,
    "report.loggers[]": ("tensorboard", "trackio", "wandb"),
}


def resolve_unbuilt(data: dict[str, Any]) -> list[tuple[Path, Any]]:
    """Set what is not built to null in `data` (changed in place).

    **Returns** the paths and values of what the user set and cannot have yet.
    """
    refused: list[tuple[Path, Any]] = []
    for key, values in UNBUILT.items():
        for path, holder, last in _places(data, key.replace("[]", ".[]").split("."), ()):
            value = holder[last] if isinstance(holder, list) else holder.get(last)
            if values is ANYTHING:
                refused += _what_is_set(path, value)
                holder[last] = None
            elif _is_unbuilt(value, values):
                refused.append((path, value))
    return refused


def refuse_unbuilt(data: dict[str, Any], document: Document, base: Path = (), strip: Path = ()) -> None:
    """Set what is not built to null in `data` and raise `InputError` for what the user set of it.

    `base` and `strip` say where `data` stands in `document`, as in `octavo.explain.moved`.
    """
    lines = [
        complain(document, moved(path, base, strip), "is not available yet; take it out", value)
        for path, value in resolve_unbuilt(data)
    ]
    if lines:
        raise InputError("\n".join(lines))


def _what_is_set(path: Path, value: Any) -> list[tuple[Path, Any]]:
    """The keys set in a section, or the value itself; nothing for null."""
    if isinstance(value, dict):
        return [((*path, key), item) for key, item in value.items()]
    return [] if value is None else [(path, value)]


def _is_unbuilt(value: Any, values: Any) -> bool:
    """Whether `value` is one of the refused (by type too: 1 is not true)."""
    if isinstance(values, AllBut):
        name = value.get("name") if isinstance(value, dict) else value
        return isinstance(name, str) and name not in values.names
    return any(type(value) is type(item) and value == item for item in values)


def _places(data: Any, parts: list[str], path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Every (path, holder, last key) that a dotted key with `[]` stands for; sections the user left out
    are made, so that their unbuilt keys resolve to null as well."""
    head, rest = parts[0], parts[1:]
    keys: list[Any] = [head]
    if head == "[]":
        keys = list(range(len(data))) if isinstance(data, list) else []
    elif not isinstance(data, dict):
        keys = []
    for key in keys:
        if not rest:
            yield (*path, key), data, key
            continue
        if isinstance(data, dict) and data.get(key) is None and rest[0] != "[]":
            data[key] = {}
        inner = data.get(key) if isinstance(data, dict) else data[key]
        yield from _places(inner, rest, (*path, key))
