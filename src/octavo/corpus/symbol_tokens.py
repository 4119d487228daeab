"""Which tokens belong to one inserted symbol: a glyph is often several, and each of them gives the others away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octavo.corpus.example import Example
    from octavo.corpus.text_ids import Place


@dataclass(frozen=True)
class Part:
    """The content of a message inside a run: its number, its text as rendered, and the character it begins at."""

    message: int
    text: str
    start: int


@dataclass(frozen=True)
class TextRun:
    """Text that was tokenised as a whole.

    Attributes:
        first: place of its first token. text, place: as the tokenizer got it. parts: contents in it.
    """

    first: int
    text: str
    place: Place
    parts: tuple[Part, ...]


def symbol_units(encoder: Any, example: Example) -> list[int]:
    """For each token of an encoded example the number of the symbol that it is part of, -1 for none.

    A token that holds a part of a symbol and other text besides belongs to the symbol.

    Arguments:
        encoder: an `octavo.corpus.encode.Encoder`.
    """
    encoded = encoder.encode(example.messages, example.tools, where=example.origin)
    units = [-1] * len(encoded.ids)
    for run in encoded.runs:
        spans = list(_spans(run, example))
        if not spans:
            continue
        for place, (begin, end) in enumerate(encoder.offsets(run), start=run.first):
            for number, start, stop in spans:
                if begin < stop and end > start:
                    units[place] = number
    return units


def _spans(run: TextRun, example: Example) -> Iterator[tuple[int, int, int]]:
    """(number, begin, end) of the symbols that lie in a run of text, in characters of the run."""
    for part in run.parts:
        content = example.messages[part.message].get("content") or ""
        # templates strip contents, and tool calls are written behind them
        lead = 0 if part.text.startswith(content) else content.find(part.text)
        if lead < 0:
            continue
        for number, site in enumerate(example.sites):
            if site["message"] == part.message:
                start = part.start + site["start"] - lead
                yield number, start, start + len(site["text"])
