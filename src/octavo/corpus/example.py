"""One example of a corpus, and the data line it is written as.

A data line is one JSON object:
`{"id", "family", "kind", "seen", "messages", "tools", "steps", "answer", "sites"}`; `sites` are the symbols
that a recipe put into the text, as offsets (in characters) of the final text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from octavo.corpus.messages import canonical_messages, canonical_tools
from octavo.errors import InputError

Message = dict[str, Any]
Site = dict[str, Any]


@dataclass
class Example:
    """One conversation with what is known about it.

    Arguments:
        id: unique within a corpus; recipes draw their random numbers from it.
        family: the template or topic that it comes from ("" for files).
        kind: the kind of task ("reasoning", "conversation", ...; "" for files).
        seen: is the family trained on? False for families kept for the held-out set.
        messages: turns in the canonical form of `octavo.corpus.messages`. A text without turns is a single
            message of the role "text": all of it is learned.
        tools: JSON schemas of the tools on offer, or None.
        steps: the worked steps that lead to the answer, or None.
        answer: a value that a program can check, or None.
        sites: inserted symbols, `{"message", "start", "text", "role"}`, ordered by message and start;
            `messages[message]["content"][start:start + len(text)] == text`.
        origin: file and line it was read from, for messages to people; not part of the data line.
    """

    id: str
    family: str
    kind: str
    seen: bool
    messages: list[Message]
    tools: list[dict[str, Any]] | None = None
    steps: list[str] | None = None
    answer: Any = None
    sites: list[Site] = field(default_factory=list)
    origin: str = field(default="", compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The data line as an object, keys always in the same order."""
        return {
            "id": self.id,
            "family": self.family,
            "kind": self.kind,
            "seen": self.seen,
            "messages": self.messages,
            "tools": self.tools,
            "steps": self.steps,
            "answer": self.answer,
            "sites": self.sites,
        }

    @classmethod
    def from_json(cls, row: Any, where: str = "", fallback_id: str = "") -> Example:
        """An example from a data line; keys other than `messages` may be missing.

        Arguments:
            row: the object of the line.
            where: file and line, named in errors.
            fallback_id: the id of a line that has none.

        Raises:
            InputError: the line has not the shape of a data line; says where and what to do.
        """
        if not isinstance(row, dict):
            raise InputError(f"{where}: a row must be a JSON object with `messages`, not {_shape(row)}")
        if "messages" not in row:
            raise InputError(
                f"{where}: the row has no `messages`; it has {', '.join(map(repr, row)) or 'no keys'}"
            )
        messages = canonical_messages(row["messages"], where)
        example = cls(
            id=_id(row.get("id"), fallback_id, where),
            family=_text(row, "family", where),
            kind=_text(row, "kind", where),
            seen=_flag(row, "seen", where),
            messages=messages,
            tools=canonical_tools(row.get("tools"), where),
            steps=_steps(row.get("steps"), where),
            answer=row.get("answer"),
            origin=where,
        )
        example.sites = _sites(row.get("sites"), messages, where)
        return example

    def with_content(self, contents: dict[int, str], sites: list[Site] | None = None) -> Example:
        """A copy with the content of some messages (by index) replaced; nothing is shared that changes."""
        messages = [dict(m, content=contents[i]) if i in contents else m for i, m in enumerate(self.messages)]
        return replace(self, messages=messages, sites=self.sites if sites is None else sites)

    def text_key(self) -> str:
        """The conversation itself as text: equal for examples whose turns are equal."""
        return json.dumps(self.messages, ensure_ascii=False, sort_keys=True)


def dump_line(example: Example) -> str:
    """The data line as text, ending in a newline; the same bytes for the same example."""
    return json.dumps(example.to_json(), ensure_ascii=False, allow_nan=False) + "\n"


def dump_lines(examples: Iterable[Example]) -> str:
    """Data lines of examples in their order."""
    return "".join(map(dump_line, examples))


def load_examples(path: Path | str) -> list[Example]:
    """The examples of a data file that `octavo data` wrote (or of any JSONL file of data lines).

    Raises:
        InputError: the file cannot be read or a line is no data line; names file and line.
    """
    from octavo.corpus.sources.jsonl import read_jsonl_rows

    return [Example.from_json(row, where, where) for row, where in read_jsonl_rows(Path(path))]


def _shape(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _id(value: Any, fallback: str, where: str) -> str:
    if value is None:
        return fallback
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{where}: `id` must be a text or a whole number, not {value!r}")


def _text(row: dict[str, Any], key: str, where: str) -> str:
    value = row.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: `{key}` must be a text, not {_shape(value)}")
    return value


def _flag(row: dict[str, Any], key: str, where: str) -> bool:
    value = row.get(key)
    if value is None:
        return True
    if not isinstance(value, bool):
        raise InputError(f"{where}: `{key}` must be true or false, not {_shape(value)}")
    return value


def _steps(value: Any, where: str) -> list[str] | None:
    if value is None or value == []:
        return None
    if not isinstance(value, list) or not all(isinstance(step, str) for step in value):
        raise InputError(f"{where}: `steps` must be a list of texts or null")
    return value


def _sites(value: Any, messages: list[Message], where: str) -> list[Site]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{where}: `sites` must be a list, not {_shape(value)}")
    return check_sites(value, messages, where)


def check_sites(sites: list[Any], messages: list[Message], where: str) -> list[Site]:
    """The sites, ordered, if each names text that stands where it says and none overlap.

    Raises:
        InputError: a site does not fit its message.
    """
    ordered: list[Site] = []
    end_of: dict[int, int] = {}
    try:
        for site in sorted(sites, key=lambda s: (s["message"], s["start"])):
            index, start, text = site["message"], site["start"], site["text"]
            fits = index >= 0 and start >= end_of.get(index, 0)
            if not (fits and text and messages[index]["content"][start : start + len(text)] == text):
                raise ValueError
            end_of[index] = start + len(text)
            ordered.append({"message": index, "start": start, "text": text, "role": str(site["role"])})
    except (KeyError, TypeError, ValueError, IndexError):
        raise InputError(
            f"{where}: `sites` do not fit the text: each needs message, start, text and role, and the text "
            "must stand in that message at that offset; leave `sites` out if the text was edited"
        ) from None
    return ordered
