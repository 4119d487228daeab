"""Rules that compare a text with what was wanted: exact, final answer, contains, regex."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from octavo.evaluation.suite import ChanceFacts, Chances, Item, Response, Score

_EDGES = " \t\n\r.,;:!?\"'“”‘’`*_"
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?")
_CANDIDATES = 200  # constant answers that are tried for the best one, the most frequent first


def normal(text: str) -> str:
    """Lower case, one space between words, no punctuation at the ends, composed Unicode."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_EDGES)


def exact(text: str, wanted: Sequence[str]) -> bool:
    """Is the whole text one of `wanted`, but for case, spacing and punctuation at the ends?"""
    return normal(text) in {normal(one) for one in wanted}


def contains(text: str, wanted: Sequence[str], unwanted: Sequence[str] = ()) -> bool:
    """Does one of `wanted` stand in the text, as whole words, and none of `unwanted`?"""
    return any(stands_in(one, text) for one in wanted) and not any(stands_in(one, text) for one in unwanted)


def stands_in(piece: str, text: str) -> bool:
    """Does `piece` stand in the text as whole words or numbers ("4" does not stand in "14" or "4.5")?"""
    found = normal(piece)
    pattern = rf"(?<![\w.,-])(?<!\d-){re.escape(found)}(?![\w-])(?![.,:]\d)"
    return bool(found) and re.search(pattern, f" {normal(text)} ".replace("−", "-")) is not None


def last_sentence(text: str) -> str:
    """The text after the last end of a sentence or line that something follows."""
    parts = [part for part in _SENTENCE.split(text.strip()) if part and part.strip(_EDGES)]
    return parts[-1] if parts else ""


def final_answer(text: str, wanted: str, most_numbers: int = 4) -> bool:
    """Is `wanted` told in the last sentence of a worked answer?

    A sentence with more than `most_numbers` numbers is a list, not an answer.
    """
    sentence = last_sentence(text)
    if len(_NUMBER.findall(sentence)) > max(most_numbers, len(_NUMBER.findall(wanted)) + 1):
        return False
    return stands_in(wanted, sentence)


def constant_texts(answers: Sequence[str]) -> list[str]:
    """Texts that a model which knows nothing might say to every item: each answer, the most frequent first, and all
    of the frequent ones in a row."""
    frequent = [text for text, _ in Counter(answers).most_common(_CANDIDATES)]
    return [*frequent, ", ".join(frequent[:20])] if len(frequent) > 1 else frequent


def text_chance(
    score: Callable[[Item, Response], Score], told: Callable[[Item], Sequence[str]], metric: str = "score"
) -> Callable[[Sequence[Item], ChanceFacts], Chances]:
    """Chance of a suite of written answers: the best score that one text said to every item gets.

    Arguments:
        told: texts that would be right answers to an item.
    """

    def chance(items: Sequence[Item], _facts: ChanceFacts) -> Chances:
        texts = constant_texts([text for item in items for text in told(item)])
        empty = _mean(items, score, "")
        best = max((_mean(items, score, text) for text in texts), default=0.0)
        return {metric: {"best constant text": max(best, empty), "empty text": empty}}

    return chance


def _mean(items: Sequence[Item], score: Callable[[Item, Response], Score], text: str) -> float:
    return sum(score(item, Response(text=text)).value or 0.0 for item in items) / len(items)
