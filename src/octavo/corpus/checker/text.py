"""Reading numbers, amounts, equations and sentences out of plain text, for the checker alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
MONEY = re.compile(rf"([$£€])({NUMBER})")
_TERM = rf"\(*(?:{NUMBER})\)*"
_SIDE = rf"(?:(?<![\d)] )-)?{_TERM}(?: ?[-+×/] ?{_TERM})*"
_CHAIN = re.compile(rf"{_SIDE}(?: = {_SIDE})+")
_TOKEN = re.compile(rf"{NUMBER}|[-+×/()]")
_ROW_NUMBER = re.compile(r"^\d+\. ", re.MULTILINE)


@dataclass(frozen=True)
class Solution:
    """What a question's answer must be, and the other candidates that the closing sentence must not name."""

    answer: str
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Solver:
    """A recogniser of one sort of question: `solve` gives None for a question of another sort."""

    name: str
    cue: re.Pattern[str]
    solve: Callable[[str], Solution | str | None]


def solver(name: str, cue: str, solve: Callable[[str], Solution | str | None]) -> Solver:
    """A solver whose cue is a case-blind pattern that the question must hold somewhere."""
    return Solver(name, re.compile(cue, re.IGNORECASE | re.DOTALL), solve)


def value_of(text: str) -> Fraction:
    """The number in a text such as "1,250" or "4.50"."""
    return Fraction(text.replace(",", ""))


def whole(text: str) -> int:
    """As `value_of`, for whole numbers."""
    return int(text.replace(",", ""))


def moneys(text: str) -> list[Fraction]:
    """All amounts of money in their order."""
    return [value_of(m[2]) for m in MONEY.finditer(text)]


def as_money(amount: Fraction, like: str) -> str | None:
    """The amount written with the sign of the text; None if it is no whole number of cents."""
    sign = MONEY.search(like)
    if sign is None or (amount * 100).denominator != 1:
        return None
    digits = f"{int(amount):,}" if amount.denominator == 1 else f"{float(amount):,.2f}"
    return sign[1] + digits


def grouped(amount: int) -> str:
    """A whole number with commas between thousands."""
    return f"{amount:,}"


def plural(count: int, noun: str) -> str:
    """ "1 week", "2 weeks"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def minutes_of(clock: str) -> int:
    """Minutes after midnight of "14:05"."""
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def clock_of(minutes: int) -> str:
    """ "14:05" of minutes after midnight, of any day."""
    minutes %= 1440
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def time_in_words(minutes: int) -> str:
    """ "2 hours 5 minutes"; parts that are zero are left out."""
    parts = [plural(minutes // 60, "hour")] if minutes >= 60 else []
    if minutes % 60 or not parts:
        parts.append(plural(minutes % 60, "minute"))
    return " ".join(parts)


def last_sentence(text: str) -> str:
    """The closing sentence."""
    return re.split(r"(?<=[.?!])\s+|\n", text.strip())[-1]


def bare_numbers(text: str) -> set[str]:
    """Every number, time, fraction and ratio in a text as it is written."""
    return set(re.findall(r"\d(?:[\d,.:/]*\d)?", text))


def holds(text: str, phrase: str) -> bool:
    """Does the phrase stand in the text as whole words, case aside?"""
    return re.search(rf"(?<![\w.,-]){re.escape(phrase)}(?![\w]|[.,:/]\d)", text, re.IGNORECASE) is not None


_NAME = re.compile(r"(?<=[a-z0-9,;%] )[A-Z][a-z]{2,}\b|(?<=\()[A-Z][a-z]{2,}\b")


def strange_names(text: str, *sources: str) -> set[str]:
    """Capitalised words inside sentences that none of the sources has."""
    known = " ".join(sources)
    return {name for name in _NAME.findall(text) if not re.search(rf"\b{name}\b", known)}


def wrong_equation(text: str) -> str | None:
    """The first chain of equal sides (numbers, + - × /, brackets, money signs) that is not equal."""
    plain = re.sub(r"[$£€]", "", _ROW_NUMBER.sub("", text))
    for chain in _CHAIN.finditer(plain):
        sides = [_calculate(side) for side in chain.group().split(" = ")]
        if any(side is None or side != sides[0] for side in sides):
            return chain.group()
    return None


def _calculate(expression: str) -> Fraction | None:
    """The exact value of an expression, None where brackets do not close."""
    tokens = iter([*_TOKEN.findall(expression), "end"])
    try:
        value, end = _sum(tokens)
    except (ValueError, ZeroDivisionError):
        return None
    return value if end == "end" else None


def _sum(tokens: Iterator[str]) -> tuple[Fraction, str]:
    total, sign = _product(tokens)
    while sign in "+-":
        part, following = _product(tokens)
        total = total + part if sign == "+" else total - part
        sign = following
    return total, sign


def _product(tokens: Iterator[str]) -> tuple[Fraction, str]:
    total = _factor(tokens)
    sign = next(tokens)
    while sign in "×/":
        part = _factor(tokens)
        total = total * part if sign == "×" else total / part
        sign = next(tokens)
    return total, sign


def _factor(tokens: Iterator[str]) -> Fraction:
    token = next(tokens)
    if token == "-":
        return -_factor(tokens)
    if token != "(":
        return value_of(token)
    total, closing = _sum(tokens)
    if closing != ")":
        raise ValueError("a bracket is not closed")
    return total
