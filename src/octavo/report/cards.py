"""Nested settings and quality cards as flat tables: one row a value, one column a run, variant or file."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from octavo.report.numbers import DASH, general

Line = tuple[str, list[str]]
# What a reader of quality cards looks for first; the rest is folded away. A star is a base or a recipe.
FIRST = (
    "recipe",
    "*.examples",
    "train.tokens.*.labelled",
    "train.tokens.*.longest",
    "train.symbols_per_word",
    "train.tokens.*.symbol_share",
    "train.density.*.asked",
    "train.density.*.measured",
    "train.duplicates",
    "train.near_duplicates",
    "overlap.*",
    "damage.checked",
    "damage.damaged",
    "passed",
)
REMARKS = ("problems", "warnings")


def flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings to dotted keys; lists of scalars are joined, longer or nested ones are counted."""
    flat: dict[str, Any] = {}
    for key, part in value.items():
        name = f"{prefix}{key}"
        if isinstance(part, Mapping) and part:
            flat |= flatten(part, f"{name}.")
        elif isinstance(part, list):
            flat[name] = _list(part)
        else:
            flat[name] = None if isinstance(part, Mapping) else part
    return flat


def _list(values: list[Any]) -> str:
    if not values:
        return "none"
    if len(values) > 8 or any(isinstance(value, (Mapping, list)) for value in values):
        return f"{len(values)} entries"
    return ", ".join(general(value) for value in values)


def side_by_side(cards: Mapping[str, Mapping[str, Any] | None], null: str = DASH) -> list[Line]:
    """Rows (key, one text a card) over the keys of all cards; a missing value is a dash, null is `null`."""
    flat = {name: flatten(card or {}) for name, card in cards.items()}
    keys = dict.fromkeys(key for card in flat.values() for key in card)
    return [(key, [_text(card, key, null) for card in flat.values()]) for key in keys]


def _text(card: Mapping[str, Any], key: str, null: str) -> str:
    return null if key in card and card[key] is None else general(card.get(key))


def first_lines(lines: list[Line]) -> list[Line]:
    """The rows of quality cards to show at once, in the order of FIRST."""
    found = [line for pattern in FIRST for line in lines if fnmatchcase(line[0], pattern)]
    return list({line[0]: line for line in found}.values())


def remarks(cards: Mapping[str, Mapping[str, Any] | None]) -> list[str]:
    """Problems and warnings that cards spell out, each with its variant."""
    return [
        f"{name}: {text}"
        for key in REMARKS
        for name, card in cards.items()
        for text in ((card or {}).get(key) or [])
    ]


def split_common(lines: list[Line]) -> tuple[list[tuple[str, str]], list[Line]]:
    """Rows that say the same of every card as (key, text), and the rows that differ."""
    common = [(key, texts[0]) for key, texts in lines if texts and len(set(texts)) == 1]
    return common, [(key, texts) for key, texts in lines if len(set(texts)) > 1]


def pairs(value: Any) -> list[tuple[str, str]]:
    """A mapping, or a single value, as rows (key, text)."""
    if isinstance(value, Mapping):
        return [(key, general(part)) for key, part in flatten(value).items()]
    return [] if value is None else [("", general(value))]


def readable(key: str) -> str:
    """A key as a label: dots and underscores become spaces."""
    return key.replace("_", " ").replace(".", " · ") or DASH
