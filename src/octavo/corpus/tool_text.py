"""Tool calls, tool results and tool schemas as plain text, for chat templates that know none of them."""

from __future__ import annotations

import json
from typing import Any

_INTRODUCTION = (
    "You may call these tools. To call one, write a JSON object with its name and arguments between "
    "<tool_call> and </tool_call>."
)


def call_text(calls: list[dict[str, Any]]) -> str:
    """Calls in canonical form as text, one `<tool_call>` block each; nulls inside arguments stay."""
    return "\n".join(f"<tool_call>\n{_json(call['function'])}\n</tool_call>" for call in calls)


def result_text(content: str) -> str:
    """A tool's result for a turn of the user, where the template has no tool turns."""
    return f"<tool_response>\n{content}\n</tool_response>"


def schema_text(tools: list[dict[str, Any]]) -> str:
    """Schemas of the tools on offer, for the system turn."""
    return "\n".join([_INTRODUCTION, "<tools>", *map(_json, tools), "</tools>"])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
