"""The study file's keys as a table: types, ranges and defaults from the models, meanings from `study_keys.yaml`."""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import yaml
from pydantic import BaseModel, BeforeValidator, PlainValidator
from pydantic.fields import FieldInfo
from rich.table import Table
from rich.text import Text

from octavo import fields as f
from octavo.errors import InputError
from octavo.unbuilt import ANYTHING, UNBUILT, AllBut

# readers that take more than the annotation says
_BY_READER = {
    f.read_name: "name",
    f.read_names: "name or list of names",
    f.read_targets: "`attention`, `all-linear` or list of names",
    f.read_seeds: "list of numbers, or a number",
    f.read_strategy: "`auto`, `full`, `batched`, `safe` or a number",
    f.read_memory: '`auto`, a size ("12GiB") or a share',
}
_PLAIN = {bool: "true or false", str: "text", int: "whole number", float: "number"}
_LIMITS = {
    annotated_types.Ge: "ge",
    annotated_types.Gt: "gt",
    annotated_types.Le: "le",
    annotated_types.Lt: "lt",
}
_HEADER = ("| key | takes | default | meaning |", "| --- | --- | --- | --- |")
_SIGNS = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}


@dataclass(frozen=True)
class Key:
    """One key of the study file.

    Attributes:
        name: dotted. values: what it takes, in words. default: as in JSON; empty where it must be given.
        meaning: in words. missing: values that this version refuses; `...` alone where it refuses the key.
    """

    name: str
    values: str
    default: str
    meaning: str
    missing: tuple[str, ...] = ()


def study_keys() -> list[Key]:
    """Every key that holds a value, in the file's order."""
    from octavo.study import Study

    meanings = yaml.safe_load((files("octavo") / "study_keys.yaml").read_text(encoding="utf-8"))
    return [
        Key(name, _words(field.annotation, field.metadata), _default(field), meanings[name], missing)
        for name, dashed, field in _leaves(Study, "", "")
        for missing in [_missing(dashed)]
    ]


def _leaves(model: type[BaseModel], prefix: str, dashed: str) -> Iterator[tuple[str, str, FieldInfo]]:
    """(dotted name, the same with `[]` where a list is, field)."""
    for name, field in model.model_fields.items():
        key = field.alias or name
        inner = _model_in(field.annotation)
        if inner is None:
            yield f"{prefix}{key}", f"{dashed}{key}", field
        else:
            mark = "[]" if _holds_a_list(field.annotation) else ""
            yield from _leaves(inner, f"{prefix}{key}.", f"{dashed}{key}{mark}.")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _holds_a_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(_holds_a_list(part) for part in get_args(annotation))


def _words(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """What a field takes."""
    for rule in metadata:
        if isinstance(rule, BeforeValidator | PlainValidator) and rule.func in _BY_READER:
            return _BY_READER[rule.func]
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(parts[0], parts[1:])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in parts)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys("null" if p is type(None) else _words(p, metadata) for p in parts))
    if origin is list:
        return f"list of: {_words(parts[0])}"
    return _PLAIN.get(annotation, "mapping") + _range(metadata)


def _range(metadata: Sequence[Any]) -> str:
    found: dict[str, float] = {}
    for rule in metadata:
        for one in [rule, *getattr(rule, "metadata", [])]:
            found |= {name: getattr(one, name) for kind, name in _LIMITS.items() if isinstance(one, kind)}
    return "".join(f" {_SIGNS[name]} {value}" for name, value in found.items() if abs(value) < f.MAX_SEED)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    return json.dumps(value, ensure_ascii=False, default=str)


def _missing(dashed: str) -> tuple[str, ...]:
    """Values that this version refuses, or `...` where it refuses the whole key."""
    for key, refused in UNBUILT.items():
        if refused is ANYTHING and (dashed == key or dashed.startswith((f"{key}.", f"{key}[]."))):
            return ("...",)
        if key in (dashed, f"{dashed}[]") and isinstance(refused, tuple):
            return tuple(json.dumps(value) if not isinstance(value, str) else value for value in refused)
        if dashed == f"{key}.name" and isinstance(refused, AllBut):
            return (f"all but {', '.join(refused.names)}",)
    return ()


def _meaning(key: Key) -> str:
    if not key.missing:
        return key.meaning
    values = "" if key.missing == ("...",) else f": {', '.join(key.missing)}"
    return f"{key.meaning} (not available yet{values})"


def reference_text() -> str:
    """`docs/study-file.md`: a table a section."""
    lines = [
        "# The study file, key by key",
        "",
        "Made from the models by `octavo keys --markdown`. A key that is left out has its default; an unknown key is",
        "an error that names the nearest known one; `--set KEY=VALUE` changes one for a command. Items of a list",
        "(`bases`, `variants`, ...) have the keys below its name.",
    ]
    section = None
    for key in study_keys():
        own = key.name.split(".")[0] if "." in key.name else ""
        if own != section:
            section = own
            lines += ["", f"## {section or 'The study'}", "", *_HEADER]
        default = f"`{key.default}`" if key.default else "must be given"
        cells = [f"`{key.name}`", key.values, default, _meaning(key)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def keys_below(prefix: str) -> list[Key]:
    """The keys that a dotted prefix means: itself, and those below it.

    Raises:
        InputError: there is none; names the nearest.
    """
    known = study_keys()
    found = [key for key in known if not prefix or key.name == prefix or key.name.startswith(f"{prefix}.")]
    if not found:
        names = {".".join(key.name.split(".")[:n]) for key in known for n in range(1, 4)}
        near = difflib.get_close_matches(prefix, sorted(names), 3)
        raise InputError(
            f"{prefix}: is no key of a study file{'; near it: ' + ', '.join(near) if near else ''}"
        )
    return found


def keys_table(keys: Sequence[Key]) -> Table:
    """The same for a terminal."""
    table = Table("key", "takes", "default", "meaning")
    for key in keys:
        table.add_row(
            *(Text(cell) for cell in (key.name, key.values.replace("`", ""), key.default, _meaning(key)))
        )
    return table
