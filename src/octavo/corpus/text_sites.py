"""Where a symbol may stand in an English text, and which role it would have there.

A site is an offset just after the end of a clause, of a sentence or of a reasoning connective; a symbol goes
there with a space before it. Its role follows from the words of its clause: `because` asks for the because
glyph, `unclear` for unknown; the first sentence of a text is its anchor and the last one its certain end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from octavo.corpus.protected import Protected

CONNECTIVES = {
    "because": "because|since|due to|given that|as a result of",
    "hence": "so|therefore|thus|hence|consequently|as a result|accordingly|that is why",
    "leads": "then|after that|which means|this means|that means|it follows that|leads to",
    "partial": "but|however|although|though|yet|whereas|on the other hand|even so|unless",
    "unknown": "if|whether|when|perhaps|maybe|possibly",
    "expansion": "also|moreover|furthermore|in addition|besides|in general|and so on",
    "and": "and then|and so|and also",
    "or": "or else|otherwise|instead",
    "mutual": "while|in other words|that is to say|equally|likewise|conversely",
    "not": "rather than|except|without",
}
# Asked of the clause that a site ends, in this order; the first that is found gives the role.
CLAUSE_WORDS = [
    ("unknown", r"\b(?:unknown|unclear|not sure|unsure|not known|cannot tell|can't tell|depends)\b"),
    ("impossible", r"\b(?:impossible|never|cannot|can't|false|none)\b"),
    ("unlikely", r"\b(?:unlikely|rarely|hardly|seldom|doubtful)\b"),
    ("likely", r"\b(?:likely|probably|usually|often|mostly|almost)\b"),
    ("partial", r"\b(?:some|partly|partial|sometimes|may|might|could)\b"),
    ("balance", r"\b(?:best|balance|balanced|equal|equally|average|mean|half|enough|exactly)\b"),
    ("mutual", r"\b(?:each other|both|same|compared|between)\b"),
    ("expansion", r"\b(?:more|many|all|every|always|grows?|whole|total|altogether)\b"),
    ("not", r"\b(?:not|no|isn't|doesn't|don't|won't|wasn't)\b"),
]
SHORT_FORM = re.compile(
    r"(?:mrs?|ms|dr|prof|st|vs|etc|e\.g|i\.e|[ap]\.m|cf|no|fig|approx|inc|ltd|[js]r"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|(?-i:(?:[A-Z]\.)*[A-Z]))",
    re.IGNORECASE,
)
MIN_CLAUSE_WORDS = 3  # a comma after fewer words parts the items of a list, not clauses

ROLE_OF_CONNECTIVE = {word: role for role, words in CONNECTIVES.items() for word in words.split("|")}
_LONGEST_FIRST = "|".join(sorted(ROLE_OF_CONNECTIVE, key=len, reverse=True))
# "so far", "so many" and "if any" are no connectives.
CONNECTIVE = re.compile(
    rf"(?<![\w'’-])(?:{_LONGEST_FIRST}),?(?=[ \t])(?![ \t]+(?:far|much|many|any|on)\b)", re.IGNORECASE
)
SENTENCE_END = re.compile(r"(?:[.!?]+|…)[\"'”’)\]*_]*(?=\s|\Z)")
# A line that ends without a stop ends a sentence too, unless the next goes on in lower case (wrapped prose).
LINE_END = re.compile(r"(?<=[\w)\]%\"”’'])(?=[ \t]*(?:\r?\n(?![ \t]*[a-z](?![.)]))|\Z))")
CLAUSE_END = re.compile(r"[,;:][\"'”’)]*(?=\s)")
WORD = re.compile(r"[^\W\d_]+")
_TOKEN_BEFORE = re.compile(r"[\w.]+\Z")
_CLAUSE_WORDS = [(role, re.compile(pattern, re.IGNORECASE)) for role, pattern in CLAUSE_WORDS]


@dataclass(frozen=True)
class TextSite:
    """An offset where a symbol may stand, the role it has there, and whether a sentence ends there."""

    offset: int
    role: str
    sentence: bool


@lru_cache(maxsize=1024)
def text_sites(text: str) -> tuple[TextSite, ...]:
    """The sites of a text, by offset; the same text always has the same sites.

    Sites stand outside code, JSON, numbers, tags, formulas, tables, headings and addresses.
    """
    sites = {site.offset: site for site in _ends(text)}
    for match in CONNECTIVE.finditer(text):
        sites.setdefault(
            match.end(), TextSite(match.end(), ROLE_OF_CONNECTIVE[match.group().lower().rstrip(",")], False)
        )
    protected = Protected(text) if sites else None
    return tuple(sites[offset] for offset in sorted(sites) if protected and not protected.forbids(offset))


def _ends(text: str) -> list[TextSite]:
    """Ends of clauses and sentences, with roles by the words of their clauses."""
    ends = {match.end(): False for match in CLAUSE_END.finditer(text)}
    ends.update((match.start(), True) for match in LINE_END.finditer(text))
    ends.update((m.end(), True) for m in SENTENCE_END.finditer(text) if _ends_sentence(text, m.start()))
    found: list[TextSite] = []
    start = before = words = 0
    for offset, sentence in sorted(ends.items()):
        words += sum(1 for _ in WORD.finditer(text, before, offset))
        before = offset
        if sentence or (words >= MIN_CLAUSE_WORDS and not _between_numbers(text, offset)):
            if words:
                found.append(TextSite(offset, _role(text[start:offset], sentence), sentence))
            start, words = offset, 0
    return _first_and_last(found)


def _ends_sentence(text: str, stop: int) -> bool:
    """Is the full stop at `stop` more than the end of an abbreviation, an initial or a list number?"""
    if text[stop] != ".":
        return True
    word = _TOKEN_BEFORE.search(text, max(0, stop - 24), stop)
    if word is None:
        return True
    name = word.group()
    opens_line = not text[text.rfind("\n", 0, word.start()) + 1 : word.start()].strip(" \t(")
    if opens_line and (name.isdigit() or len(name) == 1):
        return False
    return not SHORT_FORM.fullmatch(name)


def _between_numbers(text: str, offset: int) -> bool:
    """Does the comma before `offset` part two numbers?"""
    return text[offset - 2 : offset - 1].isdigit() and text[offset : offset + 4].lstrip(" \t")[:1].isdigit()


def _role(clause: str, sentence: bool) -> str:
    if clause.rstrip("\"'”’)]*_").endswith("?"):
        return "unknown"
    found = (role for role, pattern in _CLAUSE_WORDS if pattern.search(clause))
    return next(found, "certain" if sentence else "leads")


def _first_and_last(ends: list[TextSite]) -> list[TextSite]:
    """The first sentence grounds the text, the last is what it comes to; a lone sentence stays as it is."""
    sentences = [i for i, site in enumerate(ends) if site.sentence]
    if len(sentences) > 1:
        for i, role in ((sentences[0], "anchor"), (sentences[-1], "certain")):
            if ends[i].role in ("certain", "leads", "expansion"):
                ends[i] = replace(ends[i], role=role)
    return ends
