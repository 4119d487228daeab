"""Solvers for questions about rates, units and shapes, from the wording alone."""

from __future__ import annotations

import re
from fractions import Fraction

from octavo.corpus.checker.text import (
    NUMBER,
    as_money,
    clock_of,
    minutes_of,
    moneys,
    plural,
    solver,
    time_in_words,
    value_of,
)

_TIME = re.compile(r"\b\d\d:\d\d\b")
_SIZES = {"km": 100_000, "m": 100, "cm": 1, "kg": 1000, "g": 1, "l": 1000, "ml": 1}
_AMOUNT = re.compile(r"(\d+) (km|kg|m|l)(?: (\d+) (m|cm|g|ml))?\b|(\d+) (cm|g|ml)\b")


def _arrival(q: str) -> str | None:
    start, km, speed = _TIME.search(q), re.search(r"([\d.]+) km\b(?!/h)", q), re.search(r"(\d+) km/h", q)
    if not (start and km and speed):
        return None
    minutes = value_of(km[1]) * 60 / int(speed[1])
    return clock_of(minutes_of(start[0]) + int(minutes)) if minutes.denominator == 1 else None


def _meeting(q: str) -> str | None:
    km, speeds = re.search(r"([\d.]+) km\b(?!/h)", q), re.findall(r"(\d+) km/h", q)
    if not km or len(speeds) != 2:
        return None
    minutes = value_of(km[1]) * 60 / (int(speeds[0]) + int(speeds[1]))
    return time_in_words(int(minutes)) if minutes.denominator == 1 else None


def _together(q: str) -> str | None:
    both = [int(n) for n in re.findall(r"(\d+) minutes", q)]
    if len(both) != 2:
        return None
    minutes = 1 / (Fraction(1, both[0]) + Fraction(1, both[1]))
    return f"{minutes} minutes" if minutes.denominator == 1 else None


def _fuel(q: str) -> str | None:
    use, km = (
        re.search(r"(\d+) litres per 100 km", q),
        re.search(r"(\d+) km(?! and)", q.replace("per 100 km", "")),
    )
    if not (use and km):
        return None
    return as_money(Fraction(int(km[1]) * int(use[1]), 100) * moneys(q)[0], q)


def _reading(q: str) -> str | None:
    forms = (r"of (?P<n>\d+) pages and has read (?P<r>\d+)", r"has (?P<n>\d+) pages, and \w+ has finished "
        r"page (?P<r>\d+)",
             r"has read (?P<r>\d+) of the (?P<n>\d+) pages")  # fmt: skip
    found = next((m for form in forms if (m := re.search(form, q))), None)
    pace = re.search(r"(\d+) pages a day", q)
    if not (found and pace):
        return None
    days, page = 0, int(found["r"])
    while page < int(found["n"]):
        days, page = days + 1, page + int(pace[1])
    return f"day {days}" if "On which day" in q else plural(days, "day")


def _remainder(q: str) -> str | None:
    found = list(_AMOUNT.finditer(q))
    if len(found) != 2 or not found[0][4]:
        return None
    big, small = found[0][2], found[0][4]

    def total(m: re.Match[str]) -> int:
        return sum(int(n) * _SIZES[u] for n, u in ((m[1], m[2]), (m[3], m[4]), (m[5], m[6])) if n)

    rest = total(found[0]) - total(found[1])
    wholes, parts = divmod(rest, _SIZES[big])
    said = ([f"{wholes} {big}"] if wholes else []) + ([f"{parts // _SIZES[small]} {small}"] if parts else [])
    return " ".join(said) if rest > 0 else None


def _temperature(q: str) -> str | None:
    found = re.search(r"(-?\d+) degrees (Celsius|Fahrenheit)", q)
    if not found:
        return None
    given = Fraction(int(found[1]))
    result = given * Fraction(9, 5) + 32 if found[2] == "Celsius" else (given - 32) / Fraction(9, 5)
    return f"{result} degrees {'Fahrenheit' if found[2] == 'Celsius' else 'Celsius'}"


def _fence(q: str) -> str | None:
    sides = re.findall(r"(\d+) m\b", q)
    if len(sides) != 3:
        return None
    long, wide, gate = map(int, sides)
    return as_money((long + long + wide + wide - gate) * moneys(q)[0], q)


def _tiles(q: str) -> str | None:
    floor, side = re.search(rf"({NUMBER}) m by ({NUMBER}) m", q), re.search(r"(\d+) cm", q)
    pack = re.search(r"packs of (\d+)|pack holds (\d+)", q)
    if not (floor and side and pack):
        return None
    area = value_of(floor[1]) * value_of(floor[2]) * 10_000 / int(side[1]) ** 2
    size = int(pack[1] or pack[2])
    return plural(int(-(-area // size)), "pack")


def _parcel(q: str) -> str | None:
    goods, box = re.findall(r"(\d+) [^,.:]+? (?:of|at) (\d+) g each", q), re.search(r"weighs (\d+) g", q)
    if len(goods) != 2 or not box:
        return None
    grams = sum(int(n) * int(g) for n, g in goods) + int(box[1])
    return f"{grams / 1000:g} kg"


SOLVERS = (
    solver("meeting", r"\bmeet\b.*\?", _meeting),
    solver("arrival", r"\barrive\?|on arrival|get there\?", _arrival),
    solver("fuel", r"litres per 100 km", _fuel),
    solver(
        "working together", r"\d minutes.*(?:need together|(?:work|done) together|side by side)", _together
    ),
    solver("reading", r"pages a day", _reading),
    solver("tiles", r"\btiles?\b", _tiles),
    solver("fence", r"metre of fence", _fence),
    solver("parcel", r"\bg each\b", _parcel),
    solver("temperature", r"degrees (?:Celsius|Fahrenheit)", _temperature),
    solver("remainder", r"\d (?:m|km|kg|l) \d+ (?:cm|m|g|ml)\b", _remainder),
)
