"""Tokens of one answer turned into text as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_UNFINISHED = "\ufffd"


class TextStream:
    """Collects ids and gives the text that is certain: a character made of several tokens is held back.

    Arguments:
        decode: text of ids.

    Attributes:
        ids: so far. text: certain so far.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self.ids: list[int] = []
        self.text = ""

    def add(self, token: int) -> str:
        """Take a token. **Returns** the text that it made certain, often empty."""
        self.ids.append(token)
        return self._grow(self._decode(self.ids).rstrip(_UNFINISHED))

    def end(self) -> str:
        """What was held back; a character that was never finished is shown as such."""
        return self._grow(self._decode(self.ids)) if self.ids else ""

    def _grow(self, text: str) -> str:
        if len(text) <= len(self.text) or not text.startswith(self.text):
            return ""
        grown, self.text = text[len(self.text) :], text
        return grown
