"""Reasoning about clock times, lengths of time and dates."""

from __future__ import annotations

from datetime import date, timedelta

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, worked
from octavo.corpus.builtin.words_events import EVENTS
from octavo.corpus.builtin.words_people import person
from octavo.corpus.builtin.words_places import TOWNS
from octavo.corpus.builtin.words_time import MONTHS, WEEKDAYS, clock, counted, span


def duration(dice: Dice) -> Draft:
    """From one clock time to a later one: the time between."""
    who = person(dice)
    start = dice.whole(5 * 60, 15 * 60)
    length = dice.whole(47, 8 * 60)
    end = start + length
    question = dice.raw(
        "{the {train|bus|coach|ferry} {to|from} [town] {leaves|sets off} at [s] and {arrives|gets in} at "
        "[e]|[p] {starts|begins} {work|cooking|a walk|painting the fence} at [s] and {stops|finishes} at "
        "[e]|the [event] {runs|lasts} from [s] to [e]}. {how long {is that|does it take|does it last}|how "
        "much time is that|how many hours and minutes are that}?",
        p=who.name, town=dice.pick(TOWNS), event=dice.pick(EVENTS), s=clock(start), e=clock(end),
    )  # fmt: skip
    answer = span(length)
    full = (start + 59) // 60 * 60
    steps = []
    if full > start and end >= full:
        steps.append(
            dice.raw(
                "from [s] to [f] {it is|there are} [m]", s=clock(start), f=clock(full), m=span(full - start)
            )
        )
    if end - full >= 60:
        hours = (end - full) // 60 * 60
        steps.append(
            dice.raw(
                "from [f] to [g] {it is|there are} [h]", f=clock(full), g=clock(full + hours), h=span(hours)
            )
        )
        full += hours
    if end > full >= start:
        steps.append(
            dice.raw("from [g] to [e] {it is|there are} [m]", g=clock(full), e=clock(end), m=span(end - full))
        )
    steps = [s.replace("there are 1 ", "there is 1 ") for s in steps]
    final = dice.raw(
        "{that is [x] {in all|altogether|in total}|the whole time is [x]|it is [x] from start to end}",
        x=answer,
    )
    return worked(dice, question, steps, final, answer)


def weekday_after(dice: Dice) -> Draft:
    """A number of days after a weekday: the weekday."""
    who = person(dice)
    today = dice.whole(0, 6)
    days = dice.whole(8, 120)
    weeks, rest = divmod(days, 7)
    answer = WEEKDAYS[(today + days) % 7]
    question = dice.raw(
        "{today is [d]|it is [d] today}{. | and }{[p]'s [event] is|[p]'s {exam|birthday|trip} is|the "
        "[event] is|the {parcel|library book} {is due|has to be back}} in [n] days. {{what|which} {day of "
        "the week|weekday} {is that|will that be}|on which {weekday|day of the week} does that fall}?",
        d=WEEKDAYS[today], p=who.name, event=dice.pick(EVENTS), n=days,
    )  # fmt: skip
    steps = [
        dice.raw(
            "{[n] days are|[n] days make} [w]" + ("" if rest == 0 else " and [r]"),
            n=days, w=counted(weeks, "full week"), r=counted(rest, "day"),
        ),
        dice.raw("{after full weeks it is [d] again|full weeks lead back to [d]}", d=WEEKDAYS[today]),
    ]  # fmt: skip
    if rest:
        steps.append(
            dice.raw("[r] {after|later than} [d] is [x]", r=counted(rest, "day"), d=WEEKDAYS[today], x=answer)
        )
    final = dice.raw("{it is [x]|it will be [x]|the day is [x]|it falls on a [x]}", x=answer)
    return worked(dice, question, steps, final, answer)


def date_after(dice: Dice) -> Draft:
    """A number of days after a date, ending in the following month: the date."""
    who = person(dice)
    month = dice.pick((3, 4, 5, 6, 7, 8, 9, 10, 11))  # no February in reach, so the year does not matter
    last = (date(2023, month + 1, 1) - timedelta(1)).day
    day, into = dice.whole(3, last - 2), dice.whole(1, 28)
    name, following = MONTHS[month - 1], MONTHS[month]
    slots = {
        "p": who.name,
        "d": f"{day} {name}",
        "m": name,
        "f": following,
        "l": last,
        "s": day,
        "k": last - day,
        "n": last - day + into,
        "r": into,
    }
    question = dice.raw(
        "{[p] {plants|sows} {beans|radishes|lettuce} on [d]{, and the harvest is|; they can be picked} [n] "
        "days later|[p] {orders a {desk|lamp|coat}|sends a parcel} on [d], and {delivery takes|it takes} "
        "[n] days|[a:x] is {bought|issued} on [d] and {runs out|ends} [n] days later}. {on which date is "
        "that|what is the date then|which date is that}?",
        x=dice.pick(("ticket", "permit", "bus pass", "voucher", "parking card")), **slots,
    )  # fmt: skip
    steps = [
        dice.raw("[m] has [l] days", **slots),
        dice.raw("{to the end of [m] there are|that leaves} [l] - [s] = [k] days{| in [m]}", **slots),
        dice.raw("[n] - [k] = [r], {so the rest falls in [f]|which go into [f]}", **slots),
    ]
    answer = f"{into} {following}"
    return worked(dice, question, steps, dice.raw("{the date is|it is|that is} [x]", x=answer), answer)


FAMILIES = (
    Family("duration", duration),
    Family("weekday_after", weekday_after),
    Family("date_after", date_after),
)
