"""Seeded choices and phrasing: the one source of chance of the procedural corpus.

Everything is derived from `random.Random.random()`, the only method whose sequence Python promises to keep from
version to version, so the same seed gives the same bytes on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

T = TypeVar("T")
Part = str | tuple[str, str] | list["Template"]
Template = list[Part]

_MARK = re.compile(r"[{}|]|\[(?:a:)?[a-z][a-z_0-9]*\]")
_SENTENCE_START = re.compile(r"(^|[.!?][\"')]?\s+|\n(?:[-*] |\d+\. )?)([a-z])")
_ABBREVIATION = re.compile(r"(?:\b[ap]\.m|\be\.g|\bi\.e|\bvs|\betc)\.\s+$")
_LETTERS_SAID_WITH_VOWEL = re.compile(r"(?:8|11\b|18\b|hour|honest|heir)")
_VOWELS_SAID_AS_CONSONANT = re.compile(r"(?:uni[^nm]|unit|use|usual|euro|one\b|once|ukulele|utensil)")


def article(phrase: str) -> str:
    """The phrase with its indefinite article: "a tin", "an hour", "an 8-day ticket"."""
    low = phrase.lower()
    vowel = low[0] in "aeiou" and not _VOWELS_SAID_AS_CONSONANT.match(low)
    return ("an " if vowel or _LETTERS_SAID_WITH_VOWEL.match(low) else "a ") + phrase


def upper_first(text: str) -> str:
    """The text with its first letter made a capital, the rest untouched."""
    return text[:1].upper() + text[1:]


def sentences(text: str) -> str:
    """Single spaces and a capital at every sentence start, whichever alternatives a template took."""
    text = re.sub(r" {2,}", " ", text)
    text = re.sub(r"\bi\b(?=[ ,'?])", "I", text)
    text = re.sub(r" +([,.;:?!])(?=\s|$)", r"\1", text)
    text = re.sub(r" *\n *", "\n", text).strip()

    def capital(match: re.Match[str]) -> str:
        if _ABBREVIATION.search(text, 0, match.start(2)):
            return match.group(0)
        return match.group(1) + match.group(2).upper()

    return _SENTENCE_START.sub(capital, text)


@cache
def _compile(template: str) -> Template:
    """Parse `{a|b}` alternatives (nested) and `[slot]`, `[a:slot]` (with article); line breaks are spaces."""
    template = re.sub(r"\s*\n\s*", " ", template).strip(" ") if "\n" in template else template
    stack: list[list[Template]] = [[[]]]
    position = 0
    for mark in _MARK.finditer(template):
        stack[-1][-1].append(template[position : mark.start()])
        position = mark.end()
        token = mark.group()
        if token == "{":
            stack.append([[]])
        elif token == "|" and len(stack) > 1:
            stack[-1].append([])
        elif token == "}":
            alternatives = stack.pop()
            stack[-1][-1].append(alternatives)
        elif token == "|":
            raise ValueError(f"a bar outside braces in {template!r}")
        else:
            how, _, name = token[1:-1].rpartition(":")
            stack[-1][-1].append((how, name))
    if len(stack) != 1:
        raise ValueError(f"unbalanced braces in {template!r}")
    stack[0][0].append(template[position:])
    return stack[0][0]


def pool(text: str, between: str | None = None) -> tuple[str, ...]:
    """The members of a pool written as one text: words, or phrases between commas (line breaks are spaces)."""
    return tuple(" ".join(member.split()) for member in text.split(between))


class Dice:
    """Seeded draws: numbers, members of pools, and texts from templates."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # a str seed goes through SHA-512, the same everywhere
        self._next = self._random.random

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._next() < probability

    def whole(self, low: int, high: int, step: int = 1) -> int:
        """A whole number from low to high, both included, in the given step from low."""
        return low + step * int(self._next() * ((high - low) // step + 1))

    def pick(self, pool: Sequence[T]) -> T:
        """One member of the pool."""
        return pool[int(self._next() * len(pool))]

    def some(self, pool: Sequence[T], count: int) -> list[T]:
        """`count` different members (by position) of the pool, in random order."""
        positions: list[int] = []
        while len(positions) < count:
            position = int(self._next() * len(pool))
            if position not in positions:
                positions.append(position)
        return [pool[p] for p in positions]

    def shuffled(self, pool: Sequence[T]) -> list[T]:
        """The pool in a random order (Fisher-Yates)."""
        order = list(pool)
        for last in range(len(order) - 1, 0, -1):
            other = int(self._next() * (last + 1))
            order[last], order[other] = order[other], order[last]
        return order

    def raw(self, template: str, **slots: object) -> str:
        """A text from the template, alternatives drawn and slots filled, with its case as written."""
        out: list[str] = []
        self._fill(_compile(template), slots, out)
        return "".join(out)

    def say(self, template: str, **slots: object) -> str:
        """As `raw`, with sentence starts capitalised and spaces tidied."""
        return sentences(self.raw(template, **slots))

    def _fill(self, parts: Template, slots: dict[str, object], out: list[str]) -> None:
        for part in parts:
            if isinstance(part, str):
                out.append(part)
            elif isinstance(part, tuple):
                text = str(slots[part[1]])
                out.append(article(text) if part[0] == "a" else text)
            else:
                self._fill(part[int(self._next() * len(part))], slots, out)
