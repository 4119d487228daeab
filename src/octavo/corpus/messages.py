"""The canonical form of a conversation: every spelling of the same turns becomes the same list.

A message is `{"role", "content"}` with `content` always a text. An assistant turn may carry
`"tool_calls": [{"id"?, "type": "function", "function": {"name", "arguments": {...}}}]`, a tool turn a
`"tool_call_id"`. Roles are system, user, assistant and tool; a text without turns is one message of the role
"text". Keys other than these are not carried over.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from octavo.corpus.strict_json import parse_json
from octavo.errors import InputError

ROLES = ("system", "user", "assistant", "tool")
TEXT_ROLE = "text"


def canonical_messages(value: Any, where: str) -> list[dict[str, Any]]:
    """The turns of `value` in canonical form.

    Arguments:
        value: a list of message objects, as chat APIs and data sets spell them: content as text or as a list
            of text parts (joined without a separator), null or missing beside tool calls; arguments of calls
            as an object or as JSON text.
        where: file and line, named in errors.

    Raises:
        InputError: a shape that cannot be meant, a role that is none, an empty turn, a tool result without a
            call, or nothing that a model could learn to say.
    """
    if not isinstance(value, list):
        hint = ": write the list itself, not as text" if isinstance(value, str) else ""
        raise InputError(f"{where}: `messages` must be a list of {{role, content}} objects{hint}")
    if not value:
        raise InputError(f"{where}: `messages` is empty; take the row out")
    turns = [_message(message, f"{where}: message {i + 1}") for i, message in enumerate(value)]
    if any(turn["role"] == TEXT_ROLE for turn in turns) and len(turns) > 1:
        raise InputError(f"{where}: a `{TEXT_ROLE}` message stands alone; give turns the roles {_roles()}")
    _check_results(turns, where)
    if not any(turn["role"] in ("assistant", TEXT_ROLE) for turn in turns):
        raise InputError(
            f"{where}: no assistant turn, so nothing to learn; add the answer or take the row out"
        )
    return turns


def canonical_tools(value: Any, where: str) -> list[dict[str, Any]] | None:
    """Tool schemas as a list of objects; null, an empty list and JSON text of either are understood.

    Raises:
        InputError: not a list of objects.
    """
    if isinstance(value, str):
        value = parse_json(value, f"{where}: `tools`") if value.strip() else None
    if value is None or value == []:
        return None
    if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
        raise InputError(f"{where}: `tools` must be a list of JSON schemas (objects) or null")
    return value


def _message(message: Any, where: str) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise InputError(f"{where} must be an object with `role` and `content`, not {message!r:.60}")
    role = message.get("role")
    if role not in (*ROLES, TEXT_ROLE):
        raise InputError(f"{where} has the role {role!r}; roles are {_roles()}")
    if message.get("function_call") is not None:
        raise InputError(f"{where} has `function_call`, an old form; write it as `tool_calls`")
    calls = _calls(message.get("tool_calls"), role, where)
    turn: dict[str, Any] = {
        "role": role,
        "content": _content(message.get("content"), role, bool(calls), where),
    }
    if calls:
        turn["tool_calls"] = calls
    if role == "tool" and message.get("tool_call_id") is not None:
        turn["tool_call_id"] = str(message["tool_call_id"])
    return turn


def _content(content: Any, role: str, has_calls: bool, where: str) -> str:
    if isinstance(content, list):
        content = "".join(_part(part, where) for part in content) if content else None
    if content is None:
        if has_calls:
            return ""
        raise InputError(f"{where} ({role}) has no content; write its text or take the row out")
    if not isinstance(content, str):
        raise InputError(
            f"{where} ({role}): content must be a text or a list of text parts, not {content!r:.60}"
        )
    # A tool may answer nothing and a system turn may be emptied on purpose; anyone else has to say something.
    if not content.strip() and not has_calls and role not in ("tool", "system"):
        raise InputError(f"{where} ({role}) is empty; write its text or take the row out")
    return content


def _part(part: Any, where: str) -> str:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return part["text"]
    kind = part.get("type") if isinstance(part, dict) else type(part).__name__
    raise InputError(f'{where}: content parts must be {{"type": "text", "text": ...}}; this one is {kind!r}')


def _calls(calls: Any, role: str, where: str) -> list[dict[str, Any]]:
    if calls is None or calls == []:
        return []
    if role != "assistant":
        raise InputError(f"{where}: only the assistant makes tool calls, not {role!r}")
    if not isinstance(calls, list):
        raise InputError(f"{where}: `tool_calls` must be a list of calls")
    return [_call(call, f"{where}, tool call {i + 1}") for i, call in enumerate(calls)]


def _call(call: Any, where: str) -> dict[str, Any]:
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise InputError(f'{where} must be {{"function": {{"name": ..., "arguments": ...}}}}')
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        arguments = parse_json(arguments, f"{where}: `arguments`")
    if not isinstance(arguments, dict):
        raise InputError(f"{where}: `arguments` must be an object (or its JSON text), not {arguments!r:.60}")
    made: dict[str, Any] = {} if call.get("id") is None else {"id": str(call["id"])}
    made["type"] = "function"
    made["function"] = {"name": function["name"], "arguments": arguments}
    return made


def _check_results(turns: list[dict[str, Any]], where: str) -> None:
    """Every tool turn answers a call of the assistant turn before it that is not answered yet."""
    waiting: list[str | None] = []
    for i, turn in enumerate(turns):
        if turn["role"] != "tool":
            waiting = [call.get("id") for call in turn.get("tool_calls", [])]
            continue
        wanted = turn.get("tool_call_id")
        if not waiting:
            _no_call(where, i, wanted)
        if wanted is None or all(call is None for call in waiting):
            waiting.pop(0)
        elif wanted in waiting:
            waiting.remove(wanted)
        else:
            _no_call(where, i, wanted)


def _no_call(where: str, index: int, wanted: str | None) -> NoReturn:
    name = f" ({json.dumps(wanted, ensure_ascii=False)})" if wanted else ""
    raise InputError(f"{where}: message {index + 1} is the result of a tool call{name} that nobody made")


def _roles() -> str:
    return ", ".join(ROLES[:-1]) + f" and {ROLES[-1]}"
