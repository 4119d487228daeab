"""Reasoning about units and shapes: lengths, temperatures, fences, tiles, packages."""

from __future__ import annotations

from math import ceil

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, money, number, worked
from octavo.corpus.builtin.words_people import person
from octavo.corpus.builtin.words_places import TOWNS
from octavo.corpus.builtin.words_things import SMALL
from octavo.corpus.builtin.words_time import WEEKDAYS, counted

_UNITS = (
    ("m", "cm", 100, ("ribbon", "rope", "garden hose", "cable", "wire", "cloth"), (2, 30)),
    ("km", "m", 1000, ("hiking path", "cycle path", "nature trail", "towpath", "bridleway"), (1, 12)),
    ("kg", "g", 1000, ("flour", "sugar", "sand", "seed", "clay", "wool"), (1, 15)),
    ("l", "ml", 1000, ("juice", "milk", "paint", "syrup", "vinegar", "soup"), (1, 12)),
)


def remainder(dice: Dice) -> Draft:
    """An amount in two units less another one: the rest, in two units."""
    who = person(dice)
    big, small, factor, stuffs, (low, high) = dice.pick(_UNITS)
    grain = factor // 100 * 5 if factor > 100 else 1
    have = dice.whole(low, high) * factor + dice.whole(0, factor - grain, grain)
    used = dice.whole(grain, max(grain, have - grain), grain)
    rest = have - used
    if not rest > 0 or have % factor == 0 or used < factor // 10:
        return remainder(dice)

    def split(amount: int) -> str:
        whole, part = divmod(amount, factor)
        return " ".join(
            ([f"{whole} {big}"] if whole else []) + ([f"{part} {small}"] if part or not whole else [])
        )

    slots = {
        "p": who.name,
        "h": split(have),
        "u": split(used),
        "x": split(rest),
        "s": dice.pick(stuffs),
        "sm": small,
    }
    slots |= {"hs": number(have), "us": number(used), "xs": number(rest)}
    if big == "km":
        ask = """{the [s] is [h] long, and [p] has {covered|done} [u] of it|[p] wants to follow a [s] of [h]
        and has {covered|done} [u]}. {how much is left|what distance is left|how far is it still}?"""
    else:
        ask = """{[p] has [h] of [s] and {uses|needs|gives away} [u]|there are [h] of [s] in the storeroom;
        [p] takes [u]|from [h] of [s], [p] {takes|uses} [u]}. {how much is left|how much [s] {remains|is
        left}|what is left over}?"""
    question = dice.raw(ask, **slots)
    steps = [dice.raw("{in [sm], that is|written in [sm], it is} [hs] [sm] less [us] [sm]", **slots),
             dice.raw("[hs] - [us] = [xs], {so the rest is [xs] [sm]|in [sm]}", **slots)]  # fmt: skip
    if rest >= factor:
        steps.append(dice.raw("[xs] [sm] {are|make} [x]", **slots))
    final = dice.raw("{[x] is left|what is left is [x]|there is [x] left}", **slots)
    return worked(dice, question, steps, final, slots["x"])


def temperature(dice: Dice) -> Draft:
    """Degrees from Celsius to Fahrenheit or back, whole on both sides."""
    celsius = dice.whole(-8, 44) * 5
    fahrenheit = celsius * 9 // 5 + 32
    slots = {"c": celsius, "f": fahrenheit, "t": dice.pick(TOWNS), "d": dice.pick(WEEKDAYS)}
    slots |= {
        "e": dice.pick(("an oven", "a kiln", "a bread oven", "a pottery kiln")),
        "n": celsius * 9,
        "m": fahrenheit - 32,
    }
    slots |= {"n5": celsius * 9 // 5, "m5": (fahrenheit - 32) * 5}
    to_f = dice.chance(0.5)
    slots["v"], slots["from"], slots["to"] = (
        (celsius, "Celsius", "Fahrenheit") if to_f else (fahrenheit, "Fahrenheit", "Celsius")
    )
    place = (
        "on [d] it was [v] degrees [from] in [t]"
        if -25 <= celsius <= 40
        else "[e] {is set to|has reached} [v] degrees [from]"
    )
    place = place if celsius >= -25 else "a freezer in [t] is kept at [v] degrees [from]"
    question = dice.raw(
        place + ". {how many degrees [to] is that|what is that in [to]|can you convert that to [to]}?",
        **slots,
    )
    if to_f:
        steps = [
            dice.raw("{multiply by 9 and divide by 5|nine fifths of it}: [c] × 9 / 5 = [n5]", **slots),
            dice.raw("{add 32|adding 32}: [n5] + 32 = [f]", **slots),
        ]
    else:
        steps = [
            dice.raw("{take away 32|subtract 32}: [f] - 32 = [m]", **slots),
            dice.raw("{multiply by 5 and divide by 9|five ninths of that}: [m] × 5 / 9 = [c]", **slots),
        ]
    x = f"{fahrenheit if to_f else celsius} degrees {slots['to']}"
    final = dice.raw("{it is|that is|this equals} [x]", x=x)
    return worked(dice, question, steps, final, x)


def fence(dice: Dice) -> Draft:
    """A rectangle with a gap is fenced: the cost."""
    who = person(dice)
    long, wide, gate = dice.whole(8, 60), dice.whole(5, 45), dice.whole(1, 4)
    sign = dice.pick(("$", "£", "€"))
    price = dice.whole(6, 48)
    around = 2 * (long + wide)
    cost = (around - gate) * price
    slots = {
        "p": who.name,
        "a": long,
        "b": wide,
        "g": gate,
        "c": money(price * 100, sign),
        "r": around,
        "s": long + wide,
    }
    slots |= {
        "k": around - gate,
        "x": money(cost * 100, sign),
        "o": dice.pick(("garden", "meadow", "yard", "hen run", "orchard")),
    }
    question = dice.raw(
        """{[p]'s [o] is [a] m long and [b] m wide|[p] has a rectangular [o] of [a] m by [b] m|a rectangular
        [o] measures [a] m by [b] m}. {it gets a fence all around|a fence is to go around it}, with {a
        gap of [g] m for the gate|a gate of [g] m that needs no fence}. {a|one} metre of fence costs [c].
        {what does the fence cost|how much will the fence cost}?""",
        **slots,
    )  # fmt: skip
    steps = [
        dice.raw("{all around it is|the way around is|its perimeter is} 2 × ([a] + [b]) = [r] m", **slots),
        dice.raw("{without the gate|less the gate} {that leaves|there are} [r] - [g] = [k] m", **slots),
        dice.raw("{[k] m cost|at [c] a metre that is} [k] × [c] = [x]", **slots),
    ]
    final = dice.raw("{the fence costs [x]|it will cost [x]|the price of the fence is [x]}", **slots)
    return worked(dice, question, steps, final, slots["x"])


def tiles(dice: Dice) -> Draft:
    """A floor is laid with square tiles that come in packs: the packs."""
    who = person(dice)
    side = dice.pick((20, 25, 30, 40, 50))
    across, along = dice.whole(6, 24), dice.whole(5, 20)
    pack = dice.whole(6, 20)
    count = across * along
    packs = ceil(count / pack)
    slots = {
        "p": who.name,
        "s": side,
        "a": f"{across * side / 100:g}",
        "b": f"{along * side / 100:g}",
        "n": across,
        "m": along,
    }
    slots |= {
        "c": count,
        "k": pack,
        "y": packs,
        "x": counted(packs, "pack"),
        "l": across * side,
        "w": along * side,
    }
    slots |= {
        "z": packs * pack,
        "o": dice.pick(("bathroom", "kitchen", "hall", "terrace", "laundry room", "pantry")),
    }
    question = dice.raw(
        """{the floor of [p]'s [o] is [a] m by [b] m|[p] tiles {a|the} [o] of [a] m by [b] m}. {the square
        tiles {measure|are} [s] cm on {a|each} side and come in packs of [k]|each tile is a square of [s] cm,
        and a pack holds [k] of them}. {how many packs {does [p] need|are needed|must be bought}}?""",
        **slots,
    )
    steps = [
        dice.raw(
            "{one side takes|along one side there are} [l] / [s] = [n] tiles, {the other|along the other} "
            "[w] / [s] = [m]",
            **slots,
        ),
        dice.raw("{the whole floor needs|altogether that is} [n] × [m] = [c] tiles", **slots),
        dice.raw(
            "{[y] packs {hold|contain} [y] × [k] = [z] tiles, {which is enough|enough for the floor}|with "
            "packs of [k], [y] × [k] = [z] tiles are {enough|needed}}{, and one pack fewer is not|}",
            **slots,
        ),
    ]
    if packs == 1:
        return tiles(dice)
    final = dice.raw("{[p] needs [x]|[x] are needed|[x] must be bought}", **slots)
    return worked(dice, question, steps, final, slots["x"])


def parcel(dice: Dice) -> Draft:
    """Several kinds of goods in a parcel: its weight, or what still fits."""
    who = person(dice)
    first, second = dice.some(SMALL, 2)
    n, m = dice.whole(2, 12), dice.whole(2, 9)
    a, b = dice.whole(30, 480, 10), dice.whole(40, 620, 10)
    box = dice.whole(120, 600, 20)
    total = n * a + m * b + box
    slots = {
        "p": who.name,
        "n": n,
        "m": m,
        "f": first.many,
        "s": second.many,
        "a": a,
        "b": b,
        "e": box,
        "t": number(total),
    }
    slots |= {"na": number(n * a), "mb": number(m * b), "k": f"{total / 1000:g}", "y": dice.pick(TOWNS)}
    question = dice.raw(
        """{[p] sends a parcel to [y]|a parcel for [y] is being packed|[p] packs a parcel}: [n] [f] {of [a] g
        each|at [a] g each} and [m] [s] {of [b] g each|at [b] g each}{. the empty box weighs [e] g|, in a box
        that weighs [e] g}. {how many kilograms is the parcel| what does the whole parcel weigh in kg|how
        heavy is it all together, in kg}?""",
        **slots,
    )
    steps = [
        dice.raw("{the [f] weigh|[n] [f] make} [n] × [a] = [na] g", **slots),
        dice.raw("{the [s] weigh|[m] [s] make} [m] × [b] = [mb] g", **slots),
        dice.raw("{with the box it is|adding the box gives} [na] + [mb] + [e] = [t] g", **slots),
    ]
    x = f"{slots['k']} kg"
    final = dice.raw("{the parcel weighs [x]|its weight is [x]|the whole parcel is [x]}", x=x)
    return worked(dice, question, steps, final, x)


FAMILIES = (
    Family("remainder", remainder),
    Family("temperature", temperature),
    Family("fence", fence),
    Family("tiles", tiles, seen=False),
    Family("parcel", parcel),
)
