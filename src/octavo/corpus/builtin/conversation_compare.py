"""Conversation: two or three offers are set side by side for what the person cares about."""

from __future__ import annotations

from typing import Any

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, turns
from octavo.corpus.builtin.words_people import SURNAMES
from octavo.corpus.builtin.words_things import LARGE

_CARES = {
    "price": (
        "{i have to watch my {money|budget}|the price matters most to me|i want to spend as little as "
        "possible}"
    ),
    "weight": "{i have to carry it {upstairs|a lot}|a low weight matters most to me|i want the lightest one}",
    "warranty": (
        "{i want a long warranty|the warranty matters most to me|i worry about {repairs|defects}, so "
        "warranty first}"
    ),
}
_REASON = {
    "price": (
        "{it costs only [x], while the other is [y]|at [x] it is cheaper than the other at [y]|it is [x] "
        "instead of [y]}"
    ),
    "weight": "{it weighs [x] kg, the other one [y] kg|at [x] kg it is lighter than the other at [y] kg}",
    "warranty": (
        "{its warranty runs for [x] years, the other only for [y]|it comes with [x] years of warranty "
        "instead of [y]}"
    ),
}
_LESS = {
    "price": "it costs more ([x] against [y])",
    "weight": "it is heavier ([x] kg against [y] kg)",
    "warranty": "its warranty is shorter ([x] years against [y])",
}


def compare_two(dice: Dice) -> Draft:
    """Two models with price, weight and warranty: the better one for the stated wish."""
    first, second = dice.some(SURNAMES, 2)
    thing = dice.pick(LARGE)
    price = dice.some(range(thing.low // 100, thing.high // 100 + 1), 2)
    weight = dice.some(range(2, 31), 2)
    warranty = dice.some(range(2, 9), 2)
    care = dice.pick(list(_CARES))
    best = {"price": price, "weight": weight}.get(care, [-w for w in warranty])
    win = 0 if best[0] < best[1] else 1
    names = (first, second)
    values: dict[str, list[Any]] = {"price": [f"${p}" for p in price], "weight": weight, "warranty": warranty}
    offers = [
        dice.raw(
            "the [name] {costs [p]|is [p]}, weighs [w] kg and {has|comes with} [y] years of warranty",
            name=names[i], p=values["price"][i], w=weight[i], y=warranty[i],
        )
        for i in (0, 1)
    ]  # fmt: skip
    ask = dice.say(
        "{{i am choosing between two [things]|i can't decide between two [things]|two [things] are on my "
        "list}{.|:}|which of these two [things] {is better for me|should i take}?} [one]{; |. }[two]. "
        + _CARES[care]
        + ". {what do you advise|which one would you take|what would you say}?",
        things=thing.many, one=offers[0], two=offers[1],
    )  # fmt: skip
    slots = {k: v[win] for k, v in values.items()}
    reason = dice.raw(_REASON[care], x=slots[care], y=values[care][1 - win])
    worse = [
        k for k, v in values.items() if k != care and ((v[win] < v[1 - win]) if k == "warranty" else False)
    ]
    numbers = {"price": price, "weight": weight}
    worse += [k for k in numbers if k != care and numbers[k][win] > numbers[k][1 - win]]
    tail = ""
    if worse:
        drawback = dice.pick(worse)
        tail = dice.raw("{mind that |the drawback: |on the other hand, |note that }" + _LESS[drawback] + ".",
                        x=values[drawback][win], y=values[drawback][1 - win])  # fmt: skip
    else:
        tail = dice.raw(
            "{it is no worse in the other points|you lose nothing elsewhere|the rest speaks for it too}."
        )
    reply = dice.say(
        "{i would take the [n]|the [n] suits you better|go for the [n]|for your purpose, the [n] is the "
        "better choice}{, because|, since|:} [r]. [tail]",
        n=names[win], r=reason, tail=tail,
    )  # fmt: skip
    plan = [
        dice.say("{what counts here is|the wish is about} the [care].", care=care),
        dice.say(
            "the [n] {wins there|is better there}: "
            + str(values[care][win])
            + " against "
            + str(values[care][1 - win])
            + ".",
            n=names[win],
        ),
    ]
    return Draft(turns(ask, reply), names[win], plan)


FAMILIES = (Family("compare_two", compare_two),)
