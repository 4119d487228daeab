"""Solvers for questions about times, dates and ages, from the wording alone."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from octavo.corpus.checker.text import Solution, clock_of, minutes_of, solver, time_in_words

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DATE = re.compile(
    r"\b(\d{1,2}) (January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
_TIME = re.compile(r"\b\d\d:\d\d\b")
_YEAR = 2025  # no question reaches a February, so any year gives the same


def _date(found: tuple[str, str]) -> date:
    return datetime.strptime(f"{found[0]} {found[1]} {_YEAR}", "%d %B %Y").date()


def _written(day: date) -> str:
    return f"{day.day} {day:%B}"


def _duration(q: str) -> str | None:
    times = _TIME.findall(q)
    return time_in_words((minutes_of(times[1]) - minutes_of(times[0])) % 1440) if len(times) == 2 else None


def _weekday_after(q: str) -> Solution | None:
    today = re.search(rf"(?:today is|it is) ({'|'.join(_DAYS)})", q, re.IGNORECASE)
    days = re.search(r"in (\d+) days", q)
    if not (today and days):
        return None
    later = date(2024, 1, 1 + _DAYS.index(today[1])) + timedelta(int(days[1]))  # 1 January 2024 was a Monday
    answer = _DAYS[later.weekday()]
    return Solution(answer, tuple(d for d in _DAYS if d != answer))


def _date_after(q: str) -> str | None:
    start, days = _DATE.findall(q), re.search(r"(\d+) days", q)
    return _written(_date(start[0]) + timedelta(int(days[1]))) if len(start) == 1 and days else None


def _days_between(q: str) -> str | None:
    found = _DATE.findall(q)
    return str((_date(found[1]) - _date(found[0])).days) if len(found) == 2 else None


def _time_zones(q: str) -> str | None:
    shift = re.search(
        r"(?:clocks in )?([A-Z][\w ]+?) (?:is|are) (\d+) hours (ahead of|behind) (?:those in )?([A-Z][\w "
        r"]+?)\.",
        q,
    )
    now = re.search(r"it is (\d\d:\d\d) in ([A-Z][\w ]+?),", q)
    if not (shift and now):
        return None
    there, here = shift[1].removeprefix("The clocks in "), shift[4]
    hours = int(shift[2]) * (1 if shift[3] == "ahead of" else -1)
    if now[2] == there:
        hours = -hours
    elif now[2] != here:
        return None
    return clock_of(minutes_of(now[1]) + 60 * hours)


def _ages(q: str) -> str | None:
    forms = (
        r"is (?P<a>\d+) years old.*?is (?P<g>\d+) years older",
        r"is (?P<g>\d+) years older than \w+, who is (?P<a>\d+)",
        r"is (?P<a>\d+), and \w+ was born (?P<g>\d+) years earlier",
    )
    found = next((m for form in forms if (m := re.search(form, q, re.DOTALL))), None)
    later = re.search(r"in (\d+) years", q, re.IGNORECASE)
    if not (found and later):
        return None
    young = int(found["a"]) + int(later[1])
    return str(young + young + int(found["g"]))


SOLVERS = (
    solver("time zones", r"hours (?:ahead of|behind)", _time_zones),
    solver("ages", r"ages add up|sum of their ages|how old will they be together", _ages),
    solver("weekday", r"day of the week|weekday", _weekday_after),
    solver("days between", r"from the first date|days later is that|from one date", _days_between),
    solver("date", r"on which date is that|what is the date then|which date is that", _date_after),
    solver("duration", r"how long (?:is that|does it)|how much time is that|hours and minutes", _duration),
)
