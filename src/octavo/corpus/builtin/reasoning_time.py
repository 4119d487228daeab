"""Reasoning about clock times, lengths of time and dates."""

from __future__ import annotations

from datetime import date, timedelta

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, worked
from octavo.corpus.builtin.words_events import EVENTS
from octavo.corpus.builtin.words_people import people, person
from octavo.corpus.builtin.words_places import TOWNS, VILLAGES
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
    if end < full:
        return duration(dice)  # both within one hour: nothing to work out
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


def time_zones(dice: Dice) -> Draft:
    """A call at a local time between two towns some hours apart: the other local time."""
    first, second = people(dice, 2)
    here, there = dice.some(VILLAGES, 2)
    shift = dice.pick((-10, -9, -8, -7, -6, -5, -4, -3, 3, 4, 5, 6, 7, 8, 9, 10))
    start = dice.whole(0, 23 * 60 + 50, 5)
    end = (start + shift * 60) % 1440
    slots = {
        "p": first.name,
        "q": second.name,
        "a": here,
        "b": there,
        "t": clock(start),
        "x": clock(end),
        "n": abs(shift),
    }
    slots |= {"way": "ahead of" if shift > 0 else "behind", "turn": "add" if shift > 0 else "subtract"}
    question = dice.raw(
        """{[p] lives in [a], [q] in [b]|[p] in [a] wants to call [q] in [b]|[p] is in [a] and [q] is in
        [b]}. {the clocks in [b] are [n] hours [way] those in [a]|[b] is [n] hours [way] [a]}. {when it is|if
        it is} [t] in [a], {what time is it in [b]|what does [q]'s clock {show|say}|what time is it for [q]}?""",
        **slots,
    )
    raw = start + shift * 60
    steps = [
        dice.raw("{[b] is [way] [a], so [turn] [n] hours|for the time in [b], [turn] [n] hours}", **slots)
    ]
    if raw == end:
        steps.append(
            dice.raw(
                "[t] {and|plus} [n] hours {is|makes} [x]"
                if shift > 0
                else "[t] {less|minus} [n] hours is [x]",
                **slots,
            )
        )
    else:
        passed = (
            "{this goes past midnight|midnight is passed}, so {the clock|it} {shows|reads} [x] {on the next "
            "day|the day after}"
        )
        back = (
            "{this goes back past midnight|midnight lies between}, so {the clock|it} {shows|reads} [x] {on "
            "the day before|of the day before}"
        )
        steps.append(dice.raw(passed if shift > 0 else back, **slots))
    final = dice.raw("{it is [x] in [b]|in [b] it is [x]|[q]'s clock shows [x]}", **slots)
    return worked(dice, question, steps, final, slots["x"])


def ages(dice: Dice) -> Draft:
    """Ages now and in some years, one being a multiple or a difference of the other: an age."""
    first, second = people(dice, 2)
    young, gap, later = dice.whole(4, 40), dice.whole(2, 30), dice.whole(2, 20)
    old = young + gap
    slots = {
        "p": first.name,
        "q": second.name,
        "a": young,
        "g": gap,
        "n": later,
        "o": old,
        "s": young + later + old + later,
    }
    slots |= {"al": young + later, "ol": old + later}
    question = dice.raw(
        """{[p] is [a] years old{. | and }[q] is [g] years older|[q] is [g] years older than [p], who is
        [a]|[p] is [a], and [q] was born [g] years earlier}. {how old will they be together in [n] years|what
        will their ages add up to in [n] years|in [n] years, what is the sum of their ages}?""",
        **slots,
    )
    steps = [
        dice.raw("{at present|at the moment} [q] is [a] + [g] = [o]", **slots),
        dice.raw("in [n] years [p] {is|will be} [a] + [n] = [al] and [q] [o] + [n] = [ol]", **slots),
        dice.raw("{the sum is|added up, that is} [al] + [ol] = [s]", **slots),
    ]
    final = dice.raw("{together they will be [s]|their ages will add up to [s]|the sum will be [s]}", **slots)
    return worked(dice, question, steps, final, str(slots["s"]))


def days_between(dice: Dice) -> Draft:
    """Two dates of one year, at most three months apart: the days between."""
    who = person(dice)
    month = dice.whole(3, 10)
    span_months = dice.pick((1, 1, 2))
    start = date(2023, month, dice.whole(1, 28))
    end = date(2023, month + span_months, dice.whole(1, 28))
    days = (end - start).days
    last = (date(2023, month + 1, 1) - timedelta(1)).day
    slots = {
        "p": who.name,
        "d": f"{start.day} {MONTHS[month - 1]}",
        "e": f"{end.day} {MONTHS[end.month - 1]}",
        "x": days,
        "l": last,
    }
    slots |= {
        "m": MONTHS[month - 1],
        "s": start.day,
        "k": last - start.day,
        "r": end.day,
        "em": MONTHS[end.month - 1],
    }
    question = dice.raw(
        """{[p] {borrows|rents} {a boat|a bicycle|a cello|a camera} on [d] and {returns it|brings it back} on
        [e]|the exhibition opens on [d] and closes on [e]|[p] {starts|begins} a course on [d]; the exam is on
        [e]|today is [d], and [p]'s holiday starts on [e]}. {how many days are there from the first date to
        the second|how many days {later is that|lie from one date to the other}}?""",
        **slots,
    )
    steps = [
        dice.raw(
            "{[m] has [l] days, so|from [d] to the end of [m]} there are [l] - [s] = [k] {days left in "
            "it|days}",
            **slots,
        )
    ]
    total = [str(last - start.day)]
    if span_months == 2:
        full = (date(2023, month + 2, 1) - date(2023, month + 1, 1)).days
        steps.append(dice.raw("{all of [f] adds [n] days|[f] has [n] days}", f=MONTHS[month], n=full))
        total.append(str(full))
    total.append(str(end.day))
    steps.append(
        dice.raw(
            "{with the [r] days in [em] that is|and [r] {more|days} in [em] make} [t] = [x]",
            t=" + ".join(total),
            **slots,
        )
    )
    steps = [s.replace(" 1 days", " 1 day") for s in steps]
    final = dice.raw(
        "{it is [x] days|there are [x] days from the first to the second|the second date is [x] days later}",
        **slots,
    )
    return worked(dice, question, steps, final.replace(" 1 days", " 1 day"), str(days))


FAMILIES = (
    Family("duration", duration),
    Family("weekday_after", weekday_after),
    Family("date_after", date_after),
    Family("time_zones", time_zones),
    Family("ages", ages),
    Family("days_between", days_between),
)
