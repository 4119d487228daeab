"""A chat template: rendering, what it can show (system turns, tools), text that must not become a token."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from octavo.corpus.tool_text import call_text, result_text, schema_text
from octavo.errors import InputError

Message = dict[str, Any]

# Private-use characters, in an order that no text has: they stand for what is put in after rendering.
CONTENT_MARK = "\ue0f0{}\ue0f1"
_LITERAL_MARK = "\ue0f2{}\ue0f1"
MARKS = re.compile("([\ue0f0\ue0f2])([0-9]+)\ue0f1")
_PROBE = "octavoprobe"
_PROBE_RESULT = "octavoresult"
_PROBE_ID = "octavo000"  # nine letters and digits: the only ids that some templates (Mistral's) let through


class ChatTemplate:
    """The chat template of a tokenizer, or `text` in its place.

    Arguments:
        tokenizer: a fast tokenizer of transformers.
        text: a template that replaces the tokenizer's own.
    """

    def __init__(self, tokenizer: Any, text: str | None = None):
        self._tokenizer = tokenizer
        self._text = text
        self._tokens = {t.content: t for t in tokenizer.added_tokens_decoder.values() if t.special}
        self._controls = list(self._tokens)
        longest_first = sorted(filter(None, self._controls), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    @property
    def exists(self) -> bool:
        """Whether there is a template at all."""
        return bool(self._text or self._tokenizer.chat_template)

    def render(
        self, messages: list[Message], tools: list[Any] | None, where: str, generation: bool = False
    ) -> str:
        """The text of a conversation, with the generation prompt where asked.

        Raises:
            InputError: there is no template, or it refuses these turns.
        """
        if not self.exists:
            raise InputError(
                f"{where}: the base model has no chat template: give one in the study file, "
                f"`chat_template:` of the base, or train on `text` rows"
            )
        try:
            return self._tokenizer.apply_chat_template(
                messages,
                tools=tools,
                chat_template=self._text,
                add_generation_prompt=generation,
                tokenize=False,
            )
        except Exception as error:  # whatever a template of the user's can raise: it is a program
            roles = ", ".join(message["role"] for message in messages)
            raise InputError(f"{where}: the chat template refuses the turns ({roles}): {error}") from error

    def try_render(
        self, messages: list[Message], tools: list[Any] | None = None, generation: bool = False
    ) -> str | None:
        """The text of a conversation, or None where the template refuses it."""
        try:
            return self.render(messages, tools, "", generation)
        except InputError:
            return None

    def conform(
        self, messages: list[Message], tools: list[Any] | None
    ) -> tuple[list[Message], list[Any] | None]:
        """Canonical turns and tools, with what the template would lose written as text.

        Tool calls go into the content of their turn, schemas into the system turn, results into a turn of the
        user. What the template shows by itself is passed on, control tokens in it marked as text.
        """
        turns = [self._conform_turn(message) for message in messages]
        if not tools:
            return turns, None
        if self._shows_tools:
            return turns, self._marked(tools)
        return self._with_instructions(turns, schema_text(tools)), None

    def _conform_turn(self, message: Message) -> Message:
        role, content, calls = message["role"], message["content"], message.get("tool_calls")
        if calls and not self._shows_calls:
            return {
                "role": role,
                "content": f"{content}\n{call_text(calls)}" if content else call_text(calls),
            }
        if calls:
            return {"role": role, "content": content, "tool_calls": self._marked(calls)}
        if role == "tool" and not self._shows_results:
            return {"role": "user", "content": result_text(content)}
        turn = {"role": role, "content": content}
        if role == "tool" and self._shows_calls and "tool_call_id" in message:
            turn["tool_call_id"] = self._marked(message["tool_call_id"])
        return turn

    def _with_instructions(self, turns: list[Message], text: str) -> list[Message]:
        """Put `text` into the system turn, or before the first turn of the user where there can be none."""
        first = turns[0]
        if first["role"] == "system":
            return [first | {"content": f"{first['content']}\n\n{text}".lstrip("\n")}, *turns[1:]]
        if self._shows_system or first["role"] != "user":
            return [{"role": "system", "content": text}, *turns]
        return [first | {"content": f"{text}\n\n{first['content']}"}, *turns[1:]]

    def find_control(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The first control token in `text` from `start` on."""
        return self._pattern.search(text, start)

    def controls_in(self, text: str) -> list[re.Match[str]]:
        """All control tokens in `text`."""
        return list(self._pattern.finditer(text))

    def reach(self, match: re.Match[str]) -> tuple[int, int]:
        """Start and end of a control token in its text with the space that the tokenizer gives to it."""
        token, text, (start, end) = self._tokens[match[0]], match.string, match.span()
        while token.lstrip and start > 0 and text[start - 1].isspace():
            start -= 1
        while token.rstrip and end < len(text) and text[end].isspace():
            end += 1
        return start, end

    def _marked(self, value: Any) -> Any:
        """`value` with control tokens in its texts replaced by marks, which `unmark` puts back as text."""
        if isinstance(value, str):
            return self._pattern.sub(lambda m: _LITERAL_MARK.format(self._controls.index(m[0])), value)
        if isinstance(value, list):
            return [self._marked(item) for item in value]
        if isinstance(value, dict):
            return {self._marked(key): self._marked(item) for key, item in value.items()}
        return value

    def unmark(self, number: int) -> str:
        """The text of a control token that a mark stands for."""
        return self._controls[number]

    @cached_property
    def _shows_system(self) -> bool:
        return self._shows([_turn("system", _PROBE), _turn("user", "a")])

    @cached_property
    def _shows_tools(self) -> bool:
        parameters = {"type": "object", "properties": {}}
        function = {"name": _PROBE, "description": "probe", "parameters": parameters}
        return self._shows([_turn("user", "a")], [{"type": "function", "function": function}])

    @cached_property
    def _shows_calls(self) -> bool:
        return self._shows([_turn("user", "a"), _probe_call()])

    @cached_property
    def _shows_results(self) -> bool:
        caller = _probe_call() if self._shows_calls else _turn("assistant", "b")
        result = _turn("tool", _PROBE_RESULT) | ({"tool_call_id": _PROBE_ID} if self._shows_calls else {})
        text = self.try_render([_turn("user", "a"), caller, result, _turn("assistant", "d")])
        return text is not None and _PROBE_RESULT in text

    def _shows(self, messages: list[Message], tools: list[Any] | None = None) -> bool:
        text = self.try_render(messages, tools)
        return text is not None and _PROBE in text


def _turn(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _probe_call() -> Message:
    call = {"id": _PROBE_ID, "type": "function", "function": {"name": _PROBE, "arguments": {}}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}
