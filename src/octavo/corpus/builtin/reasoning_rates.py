"""Reasoning about rates: travel, meeting, working together, fuel, pages a day."""

from __future__ import annotations

from functools import cache
from math import ceil

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, money, number, worked
from octavo.corpus.builtin.words_people import people, person
from octavo.corpus.builtin.words_places import VILLAGES
from octavo.corpus.builtin.words_time import clock, counted, span


def arrival(dice: Dice) -> Draft:
    """Start, distance and speed: when it arrives."""
    who = person(dice)
    verb, low, high = dice.pick(
        (("walks", 4, 6), ("cycles", 12, 24), ("drives", 40, 100), ("paddles", 3, 8), ("runs", 8, 14))
    )
    speed = dice.whole(low, high)
    minutes = dice.whole(20, 260)
    distance = speed * minutes / 60
    if abs(distance * 2 - round(distance * 2)) > 1e-9 or minutes % 5:
        return arrival(dice)
    start = dice.whole(5 * 60, 16 * 60, 5)
    km = f"{distance:g}"
    slots = {
        "p": who.name,
        "v": verb,
        "km": km,
        "s": speed,
        "t": clock(start),
        "d": dice.pick(VILLAGES),
        "m": span(minutes),
    }
    slots |= {"n": minutes, "x": clock(start + minutes), "they": who.they}
    question = dice.raw(
        """{[p] leaves at [t] and [v] [km] km {to [d]|to a lake near [d]} at {a steady |}[s] km/h|at [t], [p]
        sets out for [d]. it is [km] km, and [they] [v] at [s] km/h|[p] [v] at [s] km/h, starts at [t] and
        has [km] km to go {to [d]|before [d]}}. {when does [p] arrive|what time is it on arrival|at what time
        does [they] get there}?""",
        **slots,
    )
    steps = [
        dice.raw("{the trip takes|the time needed is} [km] / [s] hours, {which is|that is|or} [m]", **slots),
        dice.raw("[m] {after|later than} [t] is [x]", **slots),
    ]
    final = dice.raw("{[p] arrives at [x]|it is [x] on arrival|the arrival is at [x]}", **slots)
    return worked(dice, question, steps, final, slots["x"])


def meeting(dice: Dice) -> Draft:
    """Two people start towards each other: after how long they meet."""
    first, second = people(dice, 2)
    here, there = dice.some(VILLAGES, 2)
    a, b = dice.whole(4, 28), dice.whole(4, 28)
    minutes = dice.whole(15, 300, 15)
    if (a + b) * minutes % 60:
        return meeting(dice)
    km = (a + b) * minutes // 60
    slots = {
        "p": first.name,
        "q": second.name,
        "a": a,
        "b": b,
        "km": km,
        "x": span(minutes),
        "s": a + b,
        "h": here,
        "e": there,
    }
    question = dice.raw(
        """{[p] in [h] and [q] in [e] are [km] km apart|[h] and [e] are [km] km apart. [p] is in [h] and [q]
        in [e]|the path from [h], where [p] lives, to [e], where [q] lives, is [km] km long}. {they set off
        towards each other at the same time|both start at once and go towards each other}, [p] at [a] km/h
        and [q] at [b] km/h. {after how long do they meet|how long does it take until they meet|how much time
        passes before they meet}?""",
        **slots,
    )
    steps = [
        dice.raw("{together they cover|the gap closes by} [a] + [b] = [s] km {each|every|an} hour", **slots),
        dice.raw(
            "{for [km] km they need|closing [km] km takes|that makes} [km] / [s] hours, {which is|that "
            "is|or} [x]",
            **slots,
        ),
    ]
    final = dice.raw("{they meet after [x]|it takes [x] until they meet|the two meet after [x]}", **slots)
    return worked(dice, question, steps, final, slots["x"])


_JOBS = (
    ("paint the fence", "the fence"), ("clear the attic", "the attic"), ("pick the cherries", "the cherries"),
    ("fold the leaflets", "the leaflets"), ("stack the firewood", "the firewood"), ("clean the hall",
    "the hall"),
    ("sort the letters", "the letters"), ("plant the seedlings", "the seedlings"), ("wash the windows",
    "the windows"),
    ("sweep the yard", "the yard"), ("peel the potatoes", "the potatoes"), ("label the jars", "the jars"),
)  # fmt: skip


@cache
def _pairs_of_minutes() -> tuple[tuple[int, int], ...]:
    """Two different times whose common time, ab / (a + b), is a whole number of minutes."""
    return tuple((a, b) for a in range(10, 241) for b in range(a + 1, 241) if a * b % (a + b) == 0)


def together(dice: Dice) -> Draft:
    """Two people with different speeds do one job together: the minutes."""
    first, second = people(dice, 2)
    job, _ = dice.pick(_JOBS)
    a, b = dice.pick(_pairs_of_minutes())
    factor = dice.pick((1, 1, 1, 2, 3)) if b <= 80 else 1
    a, b = dice.shuffled([a * factor, b * factor])
    x = a * b // (a + b)
    slots = {
        "p": first.name,
        "q": second.name,
        "a": a,
        "b": b,
        "j": job,
        "x": x,
        "m": number(a * b),
        "s": a + b,
    }
    question = dice.raw(
        """{[p] can [j] in [a] minutes, [q] in [b] minutes|alone, [p] needs [a] minutes to [j]; [q] needs [b]
        minutes|to [j] takes [p] [a] minutes and [q] [b] minutes}. {how {long|many minutes} do they need
        together|how long does it take if both work {together| side by side}|in how many minutes are they
        done together}?""",
        **slots,
    )
    steps = [
        dice.raw("{in one minute|each minute} [p] does 1/[a] of the {job|work} and [q] does 1/[b]", **slots),
        dice.raw(
            "{together that is|the sum is} 1/[a] + 1/[b] = 1/[x] {of the {job|work} a minute|of it a minute}",
            **slots,
        ),
    ]
    final = dice.raw(
        "{together they need|working together takes|both together need|the {job|work} is done in} [x] "
        "minutes",
        **slots,
    )
    return worked(dice, question, steps, final, f"{x} minutes")


def fuel(dice: Dice) -> Draft:
    """Distance, use per 100 km and price of a litre: what the trip costs."""
    who = person(dice)
    here, there = dice.some(VILLAGES, 2)
    use = dice.whole(4, 9)
    km = dice.whole(100, 900, 50)
    price = dice.whole(130, 210, 2)
    litres = use * km / 100
    sign = dice.pick(("$", "£", "€"))
    cost = round(litres * price)
    slots = {
        "p": who.name,
        "h": here,
        "t": there,
        "u": use,
        "km": km,
        "c": money(price, sign),
        "l": f"{litres:g}",
    }
    slots["x"] = money(cost, sign)
    question = dice.raw(
        """{[p] drives [km] km from [h] to [t]|the drive from [h] to [t] is [km] km long|a trip of [km] km
        takes [p] from [h] to [t]}. {the car {uses|needs|burns} [u] litres per 100 km, and a litre of
        {petrol|fuel} costs [c]|with [u] litres per 100 km and a price of [c] a litre, the fuel has to be
        paid}. {what does the fuel cost|how much {is|must be paid for} the fuel|what is the fuel bill}?""",
        **slots,
    )
    steps = [
        dice.raw("{the trip needs|the car burns} [km] × [u] / 100 = [l] litres", **slots),
        dice.raw("{at [c] a litre that is|these cost} [l] × [c] = [x]", **slots),
    ]
    final = dice.raw("{the fuel costs [x]|the fuel bill is [x]|[x] must be paid for the fuel}", **slots)
    return worked(dice, question, steps, final, slots["x"])


def reading(dice: Dice) -> Draft:
    """A book, pages read, pages a day: the days that are left."""
    who = person(dice)
    pages, per_day = dice.whole(120, 680), dice.whole(9, 48)
    read = dice.whole(10, pages // 2)
    left = pages - read
    days = ceil(left / per_day)
    over = days * per_day - left
    slots = {
        "p": who.name,
        "they": who.they,
        "n": pages,
        "r": read,
        "d": per_day,
        "l": left,
        "x": counted(days, "day"),
    }
    slots |= {"k": days, "g": days * per_day, "k1": counted(days - 1, "day"), "g1": (days - 1) * per_day}
    question = dice.raw(
        """{[p] is reading a {novel|biography|book of essays|travel book} of [n] pages and has read [r]{| of
        them}|a {novel|book} has [n] pages, and [p] has finished page [r]|[p] has read [r] of the [n] pages
        of a {novel|book|thriller}}. {from now on [they] reads|[they] {will read|reads}|the plan is
        to read} [d] pages a day. {how many days {are left|will it take} until the book is finished|on which
        day from now is the last page read, counting the first as day 1|how many more days does [p]
        need}?""",
        **slots,
    )
    steps = [dice.raw("{still to read are|there are still} [n] - [r] = [l] pages{| to go}", **slots)]
    if over:
        steps.append(
            dice.raw("[k1] {give|cover} only [g1] pages, {while|but} [k] days {give|cover} [g]", **slots)
            if days > 2
            else dice.raw(
                "[d] pages {are not enough for|do not finish it in} one day, but [g] in two days are", **slots
            )
        )
    else:
        steps.append(dice.raw("[l] / [d] = [k]{, with nothing left over|}", **slots))
    final = dice.raw("{it takes [x]{| more}|[p] needs [x]|the book is finished after [x]}", **slots)
    if "on which day" in question:
        return worked(
            dice, question, steps, dice.raw("the last page is read on day [k]", **slots), f"day {days}"
        )
    return worked(dice, question, steps, final, slots["x"])


FAMILIES = (
    Family("arrival", arrival),
    Family("meeting", meeting),
    Family("together", together),
    Family("fuel", fuel),
    Family("reading", reading),
)
