"""YAML as study files use it: YAML 1.2 core scalars, no duplicate keys, and the line of every value.

PyYAML resolves plain scalars as YAML 1.1 does: there `1e-5` is text, `no` is false, `0777` is 511 and
`2026-11-30` is a date. A study file is written by people who mean the number, the word and the name, so
plain scalars follow the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#103-core-schema) and keys
are always the text as written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from octavo.errors import InputError

Path = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"
_MAX_VALUES = 100_000  # aliases can multiply a small file into millions of values

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

_CORE = [
    ("null", _NULL),
    ("bool", _BOOL),
    ("int", _INT),
    ("float", re.compile(f"{_FLOAT.pattern}|{_INFINITE.pattern}")),
]


class _Loader(yaml.SafeLoader):
    """SafeLoader with the core schema instead of YAML 1.1's plain scalars."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (the type that PyYAML gives it)
        None: [(_TAG + name, re.compile(f"(?:{pattern.pattern})\\Z")) for name, pattern in _CORE]
    }


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes every text that either YAML 1.1 or 1.2 would read as something else."""

    yaml_implicit_resolvers = yaml.SafeDumper.yaml_implicit_resolvers | _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Write equal lists out each time; `*id001` helps no reader of a study."""
        return True


@dataclass(frozen=True)
class Origin:
    """Where a value was written: `source` (a file or an option), its line (from 1) and its own text."""

    source: str
    line: int | None
    text: str | None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}, line {self.line}"


@dataclass
class Document:
    """A parsed YAML text: plain Python values, and the origin of each by its path of keys."""

    value: Any
    source: str
    origins: dict[Path, Origin] = field(default_factory=dict)

    def origin(self, path: Path) -> Origin:
        """The origin of the value at `path`, or of the nearest one around it (then without its text)."""
        path = split_dots(path)
        if path in self.origins:
            return self.origins[path]
        while path:
            path = path[:-1]
            if path in self.origins:
                return Origin(self.origins[path].source, self.origins[path].line, None)
        return Origin(self.source, None, None)


def split_dots(path: Path) -> Path:
    """`("train", "lora.rank")` and `("train", "lora", "rank")` are the same place."""
    return tuple(part for item in path for part in (item.split(".") if isinstance(item, str) else [item]))


def number(text: str) -> int | float | None:
    """The number that a plain scalar `text` stands for (`.nan` and `.inf` included), None if it is none."""
    if _INT.fullmatch(text):
        try:
            return int(text, 0 if text[:2] in ("0o", "0x") else 10)
        except ValueError:  # thousands of digits: more than any field takes
            return float(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return float(text.replace(".", "").lower())
    return None


def read_yaml(text: str, source: str) -> Document:
    """Parse one YAML document.

    **Raises** `InputError` with `source` and the line: broken YAML, a duplicate key, a tag outside the core
    schema, a merge key, a value that contains itself.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{source}{line}: not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{source}: not valid YAML: {error}") from error
    except RecursionError as error:
        raise InputError(f"{source}: not valid YAML: nested too deeply") from error
    document = Document(None, source)
    if node is not None:
        document.value = _Builder(document).build(node, (), ())
    return document


def dump_yaml(value: Any) -> str:
    """Write plain Python values as YAML that any YAML reader, 1.1 or 1.2, reads back as the same values."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100
    )


class _Builder:
    """Turns composed nodes into values and notes the origin of each."""

    def __init__(self, document: Document):
        self.document = document
        self.values = 0

    def build(self, node: yaml.Node, path: Path, above: tuple[int, ...]) -> Any:
        if id(node) in above:
            self.refuse(node, "an alias that contains itself")
        self.values += 1
        if self.values > _MAX_VALUES:
            self.refuse(node, f"more than {_MAX_VALUES:,} values once aliases are written out")
        scalar = node.value if isinstance(node, yaml.ScalarNode) else None
        key_line = self.document.origins.get(split_dots(path))
        line = key_line.line if key_line else node.start_mark.line + 1
        self.document.origins[split_dots(path)] = Origin(self.document.source, line, scalar)
        inner = (*above, id(node))
        if scalar is None and node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
            self.refuse_tag(node)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path, inner)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index), inner) for index, item in enumerate(node.value)]
        return self.scalar(node, node.value)

    def mapping(self, node: yaml.MappingNode, path: Path, above: tuple[int, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.refuse(key_node, "a key that is a list or a mapping; write a plain word")
            key, line = key_node.value, key_node.start_mark.line + 1
            if key == "<<":
                self.refuse(key_node, "merge keys (<<) are no part of YAML 1.2; write the keys out")
            if key in lines:
                where = f"the first is in line {lines[key]}"
                self.refuse(key_node, f"the key {key!r} is written twice ({where}); keep one")
            lines[key] = line
            here = (*path, key)
            self.document.origins[split_dots(here)] = Origin(self.document.source, line, None)
            result[key] = self.build(value_node, here, above)
        return result

    def scalar(self, node: yaml.Node, text: str) -> Any:
        tag = node.tag.removeprefix(_TAG)
        if tag == "str":
            return text
        if tag == "null" and _NULL.fullmatch(text):
            return None
        if tag == "bool" and _BOOL.fullmatch(text):
            return text.lower() == "true"
        value = number(text) if tag in ("int", "float") else None
        return self.refuse_tag(node) if value is None else value

    def refuse_tag(self, node: yaml.Node) -> Any:
        self.refuse(node, f"{node.tag} cannot be read; write the value without a tag")

    def refuse(self, node: yaml.Node, problem: str) -> Any:
        raise InputError(f"{self.document.source}, line {node.start_mark.line + 1}: {problem}")
