"""Rows of the usual shapes, turned into examples.

Shapes, in the order in which they are looked for: `messages`; ShareGPT `conversations`; `prompt` and
`completion`; `question` and `answer`; `instruction`, `input` and `output`; `text`. A `text` row becomes one
message of the role "text", which is learned whole. Beside each, `id`, `system`, `tools`, `steps`, `kind` and
`family` are read; of `messages` rows also `seen`, `answer` and `sites`, as in a data line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from octavo.corpus.example import Example
from octavo.corpus.messages import TEXT_ROLE
from octavo.corpus.strict_json import parse_json
from octavo.errors import InputError

Row = dict[str, Any]

SHAPES: dict[str, tuple[str, ...]] = {
    "messages": ("messages",),
    "conversations": ("conversations",),
    "prompt": ("prompt", "completion"),
    "question": ("question", "answer"),
    "instruction": ("instruction", "output"),
    "text": ("text",),
}
BESIDE = ("id", "system", "tools", "steps", "kind", "family")
FIELDS = (*dict.fromkeys(key for keys in SHAPES.values() for key in keys), "input", *BESIDE)
SHAREGPT_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}
# GSM8K ends a worked answer with a line "#### 18".
FINAL_ANSWER = re.compile(r"(?:^|\n)#### *([^\n]+?)\s*\Z")


def example_from_row(row: Any, where: str, fallback_id: str, fields: dict[str, str] | None = None) -> Example:
    """An example from a row of any of the shapes.

    Arguments:
        row: the object that was read.
        where: file and line, named in errors.
        fallback_id: id of a row that has none.
        fields: our name -> the row's name, for files with names of their own; see `check_fields`.

    Raises:
        InputError: no known shape, or a value of the wrong shape.
    """
    if not isinstance(row, dict):
        raise InputError(f"{where}: a row must be an object with named values, not {type(row).__name__}")
    if fields:
        row = _mapped(row, fields, where)
    shape = next((name for name, keys in SHAPES.items() if all(row.get(k) is not None for k in keys)), None)
    if shape is None:
        raise InputError(_no_shape(row, where))
    made = MAKERS[shape](row, where)
    # `seen` and `sites` speak of a data line; in rows of other shapes such names would mean something else.
    beside = {key: row[key] for key in (row if shape == "messages" else BESIDE) if key in row}
    return Example.from_json({**beside, **made}, where, fallback_id)


def check_fields(fields: Mapping[str, str] | None) -> None:
    """Refuse a mapping whose left side is no name that Octavo reads.

    Raises:
        InputError: names the key and the names there are.
    """
    for ours in fields or {}:
        if ours not in FIELDS:
            raise InputError(
                f"corpus.fields: {ours!r} is not read; the left side is one of {', '.join(FIELDS)}"
            )


def _mapped(row: Row, fields: dict[str, str], where: str) -> Row:
    """The mapped values, and of the others only those that stand beside every shape."""
    made = {key: row[key] for key in BESIDE if key in row}
    for ours, theirs in fields.items():
        if theirs not in row:
            raise InputError(
                f"{where}: no column {theirs!r} (corpus.fields); there are {', '.join(map(repr, row))}"
            )
        made[ours] = row[theirs]
    return made


def _no_shape(row: Row, where: str) -> str:
    known = "; ".join(" + ".join(keys) for keys in SHAPES.values())
    empty = [key for keys in SHAPES.values() for key in keys if key in row and row[key] is None]
    if empty:
        return f"{where}: {' and '.join(map(repr, empty))} is empty; fill it or take the row out"
    have = ", ".join(map(repr, row)) or "nothing"
    return f"{where}: the row has {have}; a row has one of: {known}. Name other columns in corpus.fields"


def _string(row: Row, key: str, where: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise InputError(f"{where}: `{key}` must be a text, not {value!r:.60}")
    return value


def _turns(row: Row, user: str, assistant: str) -> Row:
    """A question and its reply as two turns; a worked answer gives steps and a checkable value too."""
    system = [{"role": "system", "content": row["system"]}] if row.get("system") else []
    made: Row = {
        "messages": [*system, {"role": "user", "content": user}, {"role": "assistant", "content": assistant}],
        "answer": None,
    }
    found = FINAL_ANSWER.search(assistant)
    if found:
        made["answer"] = found.group(1).replace(",", "")
        steps = [line for line in assistant[: found.start()].split("\n") if line.strip()]
        made["steps"] = row.get("steps") or steps
    return made


def _conversations(row: Row, where: str) -> Row:
    turns = row["conversations"]
    if not isinstance(turns, list):
        raise InputError(f"{where}: `conversations` must be a list of turns")
    messages = [_sharegpt(turn, f"{where}: turn {i + 1}") for i, turn in enumerate(turns)]
    if row.get("system"):
        messages.insert(0, {"role": "system", "content": row["system"]})
    return {"messages": messages}


def _sharegpt(turn: Any, where: str) -> Row:
    if not isinstance(turn, dict):
        raise InputError(f"{where} must be an object with `from` and `value`")
    if "from" not in turn:
        return turn  # some files name the list `conversations` and its turns role and content
    if turn["from"] == "function_call":
        call = parse_json(_string({"value": None, **turn}, "value", where), f"{where}: `value`")
        calls = call if isinstance(call, list) else [call]
        return {"role": "assistant", "content": "", "tool_calls": calls}
    role = SHAREGPT_ROLES.get(turn["from"])
    if role is None:
        raise InputError(
            f"{where} is from {turn['from']!r}; known are {', '.join(SHAREGPT_ROLES)}, function_call"
        )
    return {"role": role, "content": turn.get("value")}


def _prompt(row: Row, where: str) -> Row:
    if isinstance(row["prompt"], list) and isinstance(row["completion"], list):
        return {"messages": row["prompt"] + row["completion"]}
    return _turns(row, _string(row, "prompt", where), _string(row, "completion", where))


def _question(row: Row, where: str) -> Row:
    return _turns(row, _string(row, "question", where), _string(row, "answer", where))


def _instruction(row: Row, where: str) -> Row:
    user = _string(row, "instruction", where)
    if row.get("input"):
        user = f"{user}\n\n{_string(row, 'input', where)}"
    return _turns(row, user, _string(row, "output", where))


def _text(row: Row, where: str) -> Row:
    return {"messages": [{"role": TEXT_ROLE, "content": _string(row, "text", where)}], "answer": None}


MAKERS: dict[str, Callable[[Row, str], Row]] = {
    "messages": lambda _row, _where: {},
    "conversations": _conversations,
    "prompt": _prompt,
    "question": _question,
    "instruction": _instruction,
    "text": _text,
}
