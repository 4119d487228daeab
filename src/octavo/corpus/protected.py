"""Stretches of a text where no symbol may stand: code, JSON, numbers, tags, formulas and addresses."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from octavo.corpus.strict_json import DECODER

Span = tuple[int, int]

# Whole lines: a symbol at their very end would belong to them, so their edges are protected too.
BLOCKS = [
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # fenced code, closed or not
        r"^[ \t]*(?P<fence>`{3,}|~{3,})(?s:.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
        r"^(?: {4}|\t).*$",  # indented code
        r"^[ \t]*#{1,6} .*$",  # headings, and the line "#### 18" that ends a worked answer
        r"^[ \t]*\|.*$",  # rows of a table
    )
]
# Inside a line: a symbol may follow, never stand within.
PIECES = [
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n\n)(?s:.))+?(?<!`)(?P=ticks)(?!`)",  # inline code
        r"<<[^<>\n]*>>",  # GSM8K's calculator notes
        r"<[!/]?[A-Za-z|][^<>\n]*>",  # tags, and text that looks like a control token
        r"\$\$(?s:.+?)\$\$|\\\[(?s:.+?)\\\]|\\\(.+?\\\)",  # formulas
        r"\\[A-Za-z]+(?:\{[^{}\n]*\})*",  # TeX commands
        r"\b(?:https?://|www\.)\S+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",  # addresses
        r"[-+]?(?:\d[\d,.:/]*\d|\d)(?!\uFE0F?\u20E3)%?",  # numbers, times, dates, ratios; key caps are emoji
        r"(?<![\d,.])\d[\d,.]*(?:\s*[-+*/×÷=]\s*[$€£]?\(?\d[\d,.]*\)?%?)+",  # sums
    )
]
OPENER = re.compile(r"[{\[]")


def protected_spans(text: str) -> list[Span]:
    """Disjoint spans [start, end) of code, JSON, numbers, tags and the like, ordered."""
    found = [match.span() for pattern in (*BLOCKS, *PIECES) for match in pattern.finditer(text)]
    return _joined([*found, *_json_spans(text)])


class Protected:
    """The protected spans of one text, to be asked about offsets."""

    def __init__(self, text: str):
        pieces = [match.span() for pattern in PIECES for match in pattern.finditer(text)]
        blocks = [match.span() for pattern in BLOCKS for match in pattern.finditer(text)]
        # An offset is forbidden if it lies strictly inside a span; a block is widened by its edges.
        self.spans = _joined([*pieces, *_json_spans(text), *((start - 1, end + 1) for start, end in blocks)])

    def forbids(self, offset: int) -> bool:
        """May no symbol stand at this offset?"""
        i = bisect_left(self.spans, (offset, offset)) - 1  # the last span that starts before the offset
        return i >= 0 and offset < self.spans[i][1]


def touched(cut: Span, spans: list[Span]) -> bool:
    """Does `cut` overlap one of the disjoint, ordered spans?"""
    i = bisect_left(spans, (cut[1], cut[1])) - 1
    return i >= 0 and cut[0] < spans[i][1]


def _json_spans(text: str) -> Iterator[Span]:
    """Objects and lists of JSON that stand in the text."""
    position = 0
    while match := OPENER.search(text, position):
        position = match.end()
        try:
            _, end = DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        yield match.start(), end
        position = end


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif end > start:
            joined.append((start, end))
    return joined
