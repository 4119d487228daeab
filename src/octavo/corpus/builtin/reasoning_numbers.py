"""Reasoning about numbers: common rhythms, divisors, sequences, digits, unknowns."""

from __future__ import annotations

from math import lcm

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, listed, number, worked
from octavo.corpus.builtin.words_people import people, person
from octavo.corpus.builtin.words_places import VILLAGES
from octavo.corpus.builtin.words_things import COLLECTIBLES
from octavo.corpus.builtin.words_time import clock


def rhythm(dice: Dice) -> Draft:
    """Two lines start together at different intervals: when they do so again."""
    here, there = dice.some(VILLAGES, 2)
    a, b = dice.some((4, 6, 8, 9, 10, 12, 14, 15, 16, 18, 20, 21, 24, 25, 28, 30, 35, 36, 40, 45), 2)
    common = lcm(a, b)
    if common > 360 or common in (a, b):
        return rhythm(dice)
    start = dice.whole(5 * 60, 15 * 60, 5)
    vehicle = dice.pick(("bus", "tram", "ferry", "shuttle"))
    slots = {
        "a": a,
        "b": b,
        "c": common,
        "h": here,
        "e": there,
        "t": clock(start),
        "v": vehicle,
        "x": clock(start + common),
    }
    slots |= {"m": common // a, "n": common // b}
    question = dice.raw(
        """{the [v] to [h] leaves every [a] minutes, the one to [e] every [b] minutes|every [a] minutes a [v]
        leaves for [h], every [b] minutes one for [e]|a [v] goes to [h] every [a] minutes and another to [e]
        every [b] minutes}. {at [t] both leave {together|at once}|both leave at [t]}. {when do they next
        leave at the same time|at what time do both leave together again}?""",
        **slots,
    )
    steps = [
        dice.raw(
            "{what is needed is|we look for} the {smallest|least} common multiple of [a] and [b]", **slots
        ),
        dice.raw("[m] × [a] = [c] and [n] × [b] = [c]{, and no smaller number works|}", **slots),
        dice.raw("[c] minutes {after|later than} [t] is [x]", **slots),
    ]
    final = dice.raw("{they next leave together at [x]|both leave together again at [x]}", **slots)
    return worked(dice, question, steps, final, slots["x"])


def sequence(dice: Dice) -> Draft:
    """A sequence with a constant step, a constant factor or a growing step: the next member."""
    who = person(dice)
    kind = dice.pick(("add", "subtract", "double", "grow"))
    start, step = dice.whole(2, 60), dice.whole(3, 17)
    if kind == "add":
        row = [start + step * k for k in range(6)]
        rule = f"each number is {step} more than the one before"
        last = f"{row[4]} + {step} = {row[5]}"
    elif kind == "subtract":
        start += 6 * step
        row = [start - step * k for k in range(6)]
        rule = f"each number is {step} less than the one before"
        last = f"{row[4]} - {step} = {row[5]}"
    elif kind == "double":
        factor = dice.pick((2, 3))
        row = [dice.whole(2, 12)]
        for _ in range(5):
            row.append(row[-1] * factor)
        rule = f"each number is {('twice', 'three times')[factor - 2]} the one before"
        last = f"{number(row[4])} × {factor} = {number(row[5])}"
    else:
        row = [start]
        for k in range(5):
            row.append(row[-1] + step + k)
        steps_so_far = listed([str(step + k) for k in range(4)])
        rule = f"the steps are {steps_so_far}, so they grow by 1 and the next step is {step + 4}"
        last = f"{row[4]} + {step + 4} = {row[5]}"
    slots = {"p": who.name, "r": ", ".join(number(v) for v in row[:5]), "x": number(row[5])}
    question = dice.raw(
        """{[p] writes {down |}the numbers [r]|the numbers [r] follow a rule|a row of numbers
        {begins|starts}: [r]|on the {fence|doors|boxes} [p] sees the numbers [r]}. {which number comes
        next|what is the next number{| in the row}|how does it go on}?""",
        **slots,
    )
    final = dice.raw("{the next number is|next comes|it goes on with} [x]", **slots)
    return worked(dice, question, [rule, last], final, number(row[5]))


def unknown_number(dice: Dice) -> Draft:
    """Someone thinks of a number and says what becomes of it: the number."""
    who, other = people(dice, 2)
    x, factor, add = dice.whole(3, 60), dice.whole(2, 9), dice.whole(4, 80)
    plus = dice.chance(0.5)
    result = x * factor + (add if plus else -add)
    if result <= 0:
        return unknown_number(dice)
    slots = {
        "p": who.name,
        "q": other.name,
        "f": factor,
        "a": add,
        "r": number(result),
        "x": x,
        "m": number(x * factor),
    }
    slots |= {"do": "adds" if plus else "subtracts", "they": who.they}
    question = dice.raw(
        """{[p] thinks of a number, multiplies it by [f] and [do] [a]. {the result is|that gives|[they] gets}
        [r]|[p] {tells|says to} [q]: "i multiply my number by [f], then i [d2] [a], and get [r]"|a number is
        multiplied by [f]; then [p] [do] [a] and has [r]}. {what is the number|which number is it|what number
        was it at the start}?""",
        d2="add" if plus else "subtract", **slots,
    )  # fmt: skip
    undo = "[r] - [a] = [m]" if plus else "[r] + [a] = [m]"
    steps = [
        dice.raw("{go back from the end|work backwards|undo the last step first}: " + undo, **slots),
        dice.raw(
            "{undoing the multiplication|dividing by [f]}: [m] / [f] = [x]",
            **slots,
        ),
    ]
    final = dice.raw("{the number is|it is|[p]'s number is} [x]", **slots)
    return worked(dice, question, steps, final, str(x))


def divisors(dice: Dice) -> Draft:
    """Things laid out in equal rows: in how many ways, or whether a number is prime."""
    who = person(dice)
    n = dice.whole(12, 240)
    found = [d for d in range(1, n + 1) if n % d == 0]
    if not 4 <= len(found) <= 12:
        return divisors(dice)
    pairs = [f"{d} × {n // d}" for d in found if d * d <= n]
    slots = {
        "p": who.name,
        "n": n,
        "t": dice.pick(COLLECTIBLES),
        "k": len(found),
        "ds": listed([str(d) for d in found]),
    }
    slots["ps"] = listed(pairs)
    question = dice.raw(
        """{[p] lays out [n] [t] in equal rows, with nothing left over|[n] [t] are to stand in equal rows,
        none left over}. {how many different row lengths are possible|how many lengths can a row have}{, from
        1 to [n]|, counting 1 and [n]}?""",
        **slots,
    )
    steps = [
        dice.raw("{a row length must divide [n]|the length of a row is a divisor of [n]}", **slots),
        dice.raw("{[n] can be written as|the products that give [n] are} [ps]", **slots),
        dice.raw("{the divisors are|the lengths are|that gives} [ds]", **slots),
    ]
    final = dice.raw("{there are [k] {possible |}row lengths|[k] row lengths are possible}", **slots)
    return worked(dice, question, steps, final, str(len(found)))


def digits(dice: Dice) -> Draft:
    """The digit sum of a code, or its largest digit order."""
    who = person(dice)
    code = str(dice.whole(10_000, 999_999))
    total = sum(map(int, code))
    slots = {"p": who.name, "c": code, "e": " + ".join(code), "n": total}
    question = dice.raw(
        """{the code of [p]'s {locker|bicycle lock|suitcase} is [c]|[p]'s {ticket|raffle ticket|library card}
        has the number [c]|on [p]'s {parcel|badge} stands the number [c]}. {what is the sum of its
        digits|what do its digits add up to|what do you get when you add its digits}?""",
        **slots,
    )
    half = len(code) // 2
    left, right = sum(map(int, code[:half])), sum(map(int, code[half:]))
    steps = [
        dice.raw("{the digits are|digit by digit it is} [d]", d=listed(list(code))),
        dice.raw(
            "[a] = [l] and [b] = [r]", a=" + ".join(code[:half]), l=left, b=" + ".join(code[half:]), r=right
        ),
        dice.raw("[l] + [r] = [n]", l=left, r=right, n=total),
    ]
    final = dice.raw("{the sum of the digits is|the digits add up to} [n]", **slots)
    return worked(dice, question, steps, final, str(total))


FAMILIES = (
    Family("rhythm", rhythm),
    Family("sequence", sequence),
    Family("unknown_number", unknown_number),
    Family("divisors", divisors),
    Family("digits", digits),
)
