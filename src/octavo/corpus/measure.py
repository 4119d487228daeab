"""What one example weighs for one base: its tokens, those learned, those of the template and of symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from octavo.corpus.example import Example
from octavo.errors import InputError


class EncodedLike(Protocol):
    """Token ids of a conversation, and which of them are learned."""

    @property
    def ids(self) -> list[int]:
        """Token ids, not cut."""

    @property
    def labels(self) -> list[bool]:
        """One flag a token: is it a target?"""


class EncoderLike(Protocol):
    """What the data stage needs of an encoder (`octavo.corpus.encode.Encoder` is one)."""

    def encode(
        self,
        example_messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        where: str = "",
    ) -> EncodedLike:
        """Ids and labels of a conversation."""

    def encode_text(self, text: str) -> EncodedLike:
        """Ids of a text without turns, with what begins and ends it."""


@dataclass(frozen=True)
class Limit:
    """The longest text that runs of a variant take on a base, in tokens, and what happens to longer ones."""

    base: str
    max_length: int
    overlong: str


@dataclass(frozen=True)
class Tokens:
    """Counts of one example on one base.

    Arguments:
        total: all tokens, the template's included, before any cut.
        labelled: tokens that are learned.
        template: tokens that the chat template adds to the contents of the turns; None where they cannot be
            told (a base without an end-of-text token).
        symbols: tokens of inserted symbols, or None likewise.
        cut: is it longer than a limit that cuts?
    """

    total: int
    labelled: int
    template: int | None
    symbols: int | None
    cut: bool


class Scale:
    """Weighs examples on the bases that a variant is trained on."""

    def __init__(self, encoders: dict[str, EncoderLike], limits: Iterable[Limit]):
        self._limits: dict[str, list[Limit]] = {}
        for limit in limits:
            self._limits.setdefault(limit.base, []).append(limit)
        self._encoders = {base: encoders[base] for base in self._limits}
        self._count = {base: _counter(encoder) for base, encoder in self._encoders.items()}

    def weigh(self, example: Example) -> dict[str, Tokens]:
        """Base -> counts.

        Raises:
            InputError: the example cannot be encoded, or nothing of it is learned; names file and line.
        """
        return {base: self._weigh(example, base) for base in self._encoders}

    def too_long(self, weighed: dict[str, Tokens]) -> str | None:
        """Why the example is dropped, or None."""
        for base, limits in self._limits.items():
            for limit in limits:
                if limit.overlong == "drop" and weighed[base].total > limit.max_length:
                    return f"over {limit.max_length} tokens on {base}"
        return None

    def _weigh(self, example: Example, base: str) -> Tokens:
        where = example.origin or f"example {example.id}"
        encoded = self._encoders[base].encode(example.messages, example.tools, where)
        limits = [limit.max_length for limit in self._limits[base] if limit.overlong == "cut"]
        shortest = min(limits, default=len(encoded.ids))
        # Neither a row that teaches nothing nor one whose answer is cut off may reach the loss: 0/0 there.
        if not any(encoded.labels[:shortest]):
            raise InputError(_nothing_learned(where, base, any(encoded.labels), shortest))
        count = self._count[base]
        contents = count(message["content"] for message in example.messages)
        return Tokens(
            total=len(encoded.ids),
            labelled=sum(encoded.labels),
            template=None if contents is None else len(encoded.ids) - contents,
            symbols=count(site["text"] for site in example.sites),
            cut=len(encoded.ids) > shortest,
        )


def _counter(encoder: EncoderLike) -> Callable[[Iterable[str]], int | None]:
    """Counts the tokens of texts without what begins and ends a text."""

    @lru_cache(maxsize=4096)
    def count(text: str) -> int:
        return len(encoder.encode_text(text).ids)

    def total(texts: Iterable[str]) -> int | None:
        try:
            return sum(count(text) - count("") for text in texts if text)
        except InputError:
            return None

    return total


def _nothing_learned(where: str, base: str, before_cut: bool, length: int) -> str:
    if before_cut:
        return (
            f"{where}: cut to {length} tokens, nothing that is learned is left (base {base}); "
            "raise train.max_length, set train.overlong to drop, or take the row out"
        )
    return f"{where}: no token of it is learned (base {base}); give it an answer or take the row out"
