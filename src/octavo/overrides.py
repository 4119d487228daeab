"""Settings by dotted key: `--set train.learning_rate=1e-3`, and `train: {lora.rank: 16}` in a variant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from octavo.errors import InputError
from octavo.yaml_text import Document, Origin, Path, read_yaml, split_dots


def undot(value: Any) -> Any:
    """`{"lora.rank": 16}` as `{"lora": {"rank": 16}}`; anything but a mapping is returned as it is.

    **Raises** `ValueError` when a key is given both ways.
    """
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, item in value.items():
        _merge_new(result, str(key).split("."), undot(item), str(key))
    return result


def _merge_new(into: dict[str, Any], parts: list[str], value: Any, key: str) -> None:
    head, rest = parts[0], parts[1:]
    value = {".".join(rest): value} if rest else value
    if head not in into:
        into[head] = undot(value)
        return
    if not isinstance(into[head], dict) or not isinstance(value, dict):
        raise ValueError(f"sets {key} twice; keep one")
    for inner, item in value.items():
        _merge_new(into[head], inner.split("."), item, key)


def merge(settings: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """`settings` with `overrides` laid over it, mapping by mapping; neither is changed."""
    result = dict(settings)
    for key, value in overrides.items():
        old = result.get(key)
        result[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def lookup(settings: Any, key: str) -> tuple[bool, Any]:
    """Whether a nested mapping has the dotted `key`, and its value."""
    for part in key.split("."):
        if not isinstance(settings, dict) or part not in settings:
            return False, None
        settings = settings[part]
    return True, settings


def apply_overrides(document: Document, overrides: Iterable[str]) -> set[Path]:
    """Put each `key=value` into the document; the value is read as YAML.

    List items are named by position or, in a list of named things, by name (`variants.control.data=...`).

    **Returns** the paths that were set. **Raises** `InputError` for a text without `=`, a path through a
    value that holds no keys, or a list item that is not there.
    """
    touched: set[Path] = set()
    for text in overrides:
        key, equals, value = text.partition("=")
        key, source = key.strip(), f"--set {text}"
        if not equals or not key:
            raise InputError(f"{source}: write it as key=value, for example train.learning_rate=1e-3")
        parsed = read_yaml(value, source)
        if document.value is None:
            document.value = {}
        path = _assign(document, _parts(key), parsed.value, source)
        _forget_other_length(document, path, touched)
        touched.add(split_dots(path))
        _replace_origins(document, path, parsed, source, value)
    return touched


_LENGTHS = {"steps": "epochs", "epochs": "steps"}


def _forget_other_length(document: Document, path: Path, touched: set[Path]) -> None:
    """Whoever sets steps from the shell means no epochs, whatever the file says; setting both stays an error."""
    other = _LENGTHS.get(str(path[-1]))
    if other is None or "train" not in path or (*path[:-1], other) in touched:
        return
    holder: Any = document.value
    for part in path[:-1]:
        holder = holder[part]
    holder.pop(other, None)


def _parts(key: str) -> list[str]:
    """The keys on the way; below `sweep` the rest is one key, for its keys are dotted themselves."""
    parts = key.split(".")
    return ["sweep", ".".join(parts[1:])] if parts[0] == "sweep" and len(parts) > 1 else parts


def _assign(document: Document, parts: list[str], value: Any, source: str) -> Path:
    holder: Any = document.value
    path: list[str | int] = []
    for position, part in enumerate(parts):
        name: Any = _item(holder, part, source) if isinstance(holder, list) else part
        if not isinstance(holder, dict | list):
            raise InputError(f"{source}: {'.'.join(parts[:position])} holds no keys; set it as a whole")
        path.append(name)
        if position == len(parts) - 1:
            holder[name] = value
        elif isinstance(holder, dict) and holder.get(name) is None:
            holder[name] = {}
            document.origins[split_dots(tuple(path))] = Origin(source, None, None)
        holder = holder[name]
    return tuple(path)


def _item(items: list[Any], part: str, source: str) -> int:
    names = [str(item.get("name")) if isinstance(item, dict) else "" for item in items]
    if part in names:
        return names.index(part)
    if part.isdecimal() and int(part) < len(items):
        return int(part)
    raise InputError(f"{source}: there is no item {part!r}; write one of {', '.join(filter(None, names))}")


def _replace_origins(document: Document, path: Path, parsed: Document, source: str, text: str) -> None:
    path = split_dots(path)
    for old in [known for known in document.origins if known[: len(path)] == path]:
        del document.origins[old]
    document.origins[path] = Origin(source, None, text.strip())
    for inner, origin in parsed.origins.items():
        if inner:
            document.origins[(*path, *inner)] = Origin(source, None, origin.text)
