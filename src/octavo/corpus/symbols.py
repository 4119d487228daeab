"""Symbols in and out: inserting at sites, taking out again, and clearing a source text of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from itertools import groupby
from math import floor
from typing import NamedTuple

from octavo.corpus.draws import draw_int, draw_unit
from octavo.corpus.example import Example, Site
from octavo.corpus.glyphs import SYMBOL
from octavo.corpus.messages import TEXT_ROLE
from octavo.corpus.protected import protected_spans, touched
from octavo.corpus.text_sites import TextSite, text_sites

# In the kind `logic` the glyphs are words of the task: `● ∧ ◑` is what is asked about.
KINDS_OF_SYMBOLS = frozenset({"logic"})


class Insertion(NamedTuple):
    """A symbol to come: in which message, at which offset of its text without symbols, what, and its role."""

    message: int
    offset: int
    text: str
    role: str


class Place(NamedTuple):
    """A site of one message of an example."""

    message: int
    site: TextSite


def strip_symbols(example: Example) -> Example:
    """The example without its inserted symbols: exactly the text that they were put into."""
    contents: dict[int, str] = {}
    for index, sites in _by_message(example.sites).items():
        spans = ((site["start"], site["start"] + len(site["text"])) for site in sites)
        contents[index] = _without(example.messages[index]["content"], spans)
    return example.with_content(contents, sites=[])


def insert_symbols(example: Example, insertions: Iterable[Insertion]) -> Example:
    """The example with symbols put in beside those it has; where two meet, the one already there comes first.

    Arguments:
        example: may hold symbols already.
        insertions: offsets are of the text without symbols, whatever stands in the example now.
    """
    bare = strip_symbols(example)
    every = sorted([*_insertions_of(example), *insertions], key=lambda one: (one.message, one.offset))
    contents: dict[int, str] = {}
    sites: list[Site] = []
    for index, group in groupby(every, key=lambda one: one.message):
        content, pieces, taken, length = bare.messages[index]["content"], [], 0, 0
        for one in group:
            length += one.offset - taken
            sites.append({"message": index, "start": length, "text": one.text, "role": one.role})
            pieces += [content[taken : one.offset], one.text]
            taken, length = one.offset, length + len(one.text)
        contents[index] = "".join([*pieces, content[taken:]])
    return bare.with_content(contents, sites)


def places(example: Example, roles: Collection[str], sentences_only: bool = False) -> list[Place]:
    """The sites of an example's bare text in the turns of `roles`; a lone text counts as assistant."""
    bare = strip_symbols(example)
    wanted = {*roles, TEXT_ROLE} if "assistant" in roles else set(roles)
    return [
        Place(index, site)
        for index, message in enumerate(bare.messages)
        if message["role"] in wanted
        for site in text_sites(message["content"])
        if site.sentence or not sentences_only
    ]


def choose_places(found: list[Place], density: float, *key: object) -> list[Place]:
    """The k = floor(density n + u) of n places that receive a symbol, in the order of the text.

    u in [0, 1) and the order in which places are taken depend on `key` alone, so the places of a lower
    density are among those of a higher one, and k is right on average at every density.
    """
    count = min(len(found), floor(density * len(found) + draw_unit(*key, "u")))
    order = sorted(range(len(found)), key=lambda i: draw_int(*key, "order", i))
    return [found[i] for i in sorted(order[:count])]


def insert_at(
    example: Example, chosen: Iterable[Place], symbol: Callable[[Place], tuple[str, str]]
) -> Example:
    """The example with a space and a symbol at each place; `symbol` says which, and its role."""
    made = []
    for place in chosen:
        text, role = symbol(place)
        made.append(Insertion(place.message, place.site.offset, f" {text}", role))
    return insert_symbols(example, made)


def clear_symbols(example: Example) -> Example:
    """The example free of emoji and glyphs: the control.

    Only the symbols go; the text around them, double spaces included, stays as it is. Left alone are code,
    JSON, tags and the like (a symbol there is part of what they say), what tools say, and the kind `logic`.
    """
    bare = strip_symbols(example)
    if example.kind in KINDS_OF_SYMBOLS:
        return bare
    contents = {
        index: clear_text(message["content"])
        for index, message in enumerate(bare.messages)
        if message["role"] != "tool" and SYMBOL.search(message["content"])
    }
    steps = bare.steps and [clear_text(step) for step in bare.steps]
    return replace(bare.with_content(contents), steps=steps) if contents or steps != bare.steps else bare


def clear_text(text: str) -> str:
    """A text without emoji and glyphs outside its protected stretches."""
    while True:
        spans = protected_spans(text)
        cuts = [m.span() for m in SYMBOL.finditer(text) if not touched(m.span(), spans)]
        if not cuts:
            return text
        text = _without(text, cuts)


def _without(text: str, cuts: Iterable[tuple[int, int]]) -> str:
    """The text without some disjoint spans, given in order."""
    kept, taken = [], 0
    for start, end in cuts:
        kept.append(text[taken:start])
        taken = end
    return "".join([*kept, text[taken:]])


def _by_message(sites: Iterable[Site]) -> dict[int, list[Site]]:
    made: dict[int, list[Site]] = {}
    for site in sites:
        made.setdefault(site["message"], []).append(site)
    return made


def _insertions_of(example: Example) -> list[Insertion]:
    """The symbols that an example holds, at the offsets of its text without them."""
    made: list[Insertion] = []
    for index, sites in _by_message(example.sites).items():
        before = 0
        for site in sites:
            made.append(Insertion(index, site["start"] - before, site["text"], site["role"]))
            before += len(site["text"])
    return made
