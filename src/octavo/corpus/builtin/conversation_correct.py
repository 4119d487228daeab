"""Conversation: someone is sure of something that is wrong, or that is right."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, number, turns
from octavo.corpus.builtin.words_people import JOBS, RELATIONS
from octavo.corpus.builtin.words_places import CAPITALS
from octavo.corpus.builtin.words_things import COLLECTIBLES, CONTAINERS

_SOURCE = (
    "{my [who] {told me|says|insists}|my {neighbour|friend|colleague}, [a:job], {says|claims}|{i was told|i "
    "read} {somewhere |yesterday |}|i am {fairly|quite|almost} sure}"
)


def _source(dice: Dice) -> str:
    return dice.raw(_SOURCE, who=dice.pick(RELATIONS)[0], job=dice.pick(JOBS))


def correct_product(dice: Dice) -> Draft:
    """A claimed total of boxes times pieces, right or wrong."""
    boxes, pieces = dice.whole(6, 48), dice.whole(6, 36)
    true = boxes * pieces
    wrong = dice.chance(0.75)
    claim = true + dice.pick((-20, -10, -pieces, pieces, 10, 20, 100)) if wrong else true
    box, many = dice.pick(CONTAINERS)
    slots = {
        "n": boxes, "k": pieces, "box": box, "boxes": many, "thing": dice.pick(COLLECTIBLES),
            "claim": number(claim), "true": number(true),
        "tens": boxes // 10 * 10, "ones": boxes % 10, "a": number(boxes // 10 * 10 * pieces),
            "b": number(boxes % 10 * pieces),
    }  # fmt: skip
    ask = dice.say(
        "{we have|there are|i counted} [n] [boxes] with [k] [thing] {each|in each [box]}. "
        + _source(dice)
        + " that {makes|gives|is} [claim] {in total|altogether|in all}. {is that right|can that be|do you "
        "agree|would you "
        "check that}?",
        **slots,
    )
    split = "[tens] × [k] = [a] and [ones] × [k] = [b], together [true]"
    how = dice.raw(split if boxes > 10 and boxes % 10 else "[n] × [k] = [true]", **slots)
    if wrong:
        reply = dice.say(
            "{not quite|that is not right|almost, but no|i get something else|there is a slip in that}. "
            "{the sum is [how]|[how]}{, so there are [true] [thing]|, which makes [true] [thing]}, not "
            "[claim].",
            how=how, **slots,
        )  # fmt: skip
    else:
        reply = dice.say(
            "{yes, that is right|yes, it is correct|that is correct|yes, i agree}{: [how]|, because "
            "[how]}{. you have [true] [thing]|, so there are [true] [thing]|. the total is [true]}.",
            how=how, **slots,
        )  # fmt: skip
    plan = [
        dice.say("{the true total is|i multiply} [n] × [k] = [true].", **slots),
        dice.say(
            "the claim {was|is} [claim], so it is [verdict].", verdict="wrong" if wrong else "right", **slots
        ),
    ]
    return Draft(turns(ask, reply), number(true), plan)


def correct_capital(dice: Dice) -> Draft:
    """A claimed capital, mostly of another country."""
    (country, true), (other, false) = dice.some(CAPITALS, 2)
    wrong = dice.chance(0.75)
    slots = {"country": country, "true": true, "other": other, "claim": false if wrong else true}
    ask = dice.say(
        _source(dice)
        + " that {[claim] is the capital of [country]|the capital of [country] is [claim]}. {is that "
          "right|is it true|can you "
        "confirm that|did {they|i} get that right|i want to put it on a {poster|quiz card}, so is it "
        "correct}?"
    , **slots)  # fmt: skip
    if wrong:
        reply = dice.say(
            "{no, that is a mix-up|no|not quite|that is a common kind of mistake|i would change that}{: |. "
            "}{the capital of [country] is [true]|[country] has its capital in [true]|[true] is the capital "
            "of [country]}{. [claim] is the capital of [other]|, while [claim] is the capital of [other]|; "
            "[claim] belongs to [other]}.",
            **slots,
        )
    else:
        reply = dice.say(
            "{yes, that is right|that is correct|yes|you can rely on that}: {the capital of [country] is "
            "[true]|[true] is the capital of [country]|[country] has its capital in [true]}.",
            **slots,
        )
    plan = [
        dice.say("the capital of [country] is [true].", **slots),
        dice.say(
            "the claim names [claim], so it is [verdict].", verdict="wrong" if wrong else "right", **slots
        ),
    ]
    return Draft(turns(ask, reply), true, plan)


_MEASURES = (
    ("minutes", "an hour", 60), ("seconds", "a minute", 60), ("hours", "a day", 24), ("days", "a week", 7),
    ("grams", "a kilogram", 1000),
    ("metres", "a kilometre", 1000), ("centimetres", "a metre", 100), ("millimetres", "a centimetre", 10),
    ("millilitres", "a litre", 1000),
    ("months", "a year", 12), ("eggs", "a dozen", 12), ("years", "a century", 100), ("sides", "a hexagon", 6),
    ("degrees", "a right angle", 90),
    ("days", "a leap year", 366), ("players", "a string quartet", 4), ("kilograms", "a tonne", 1000),
    ("degrees", "a full circle", 360),
    ("years", "a decade", 10), ("sides", "an octagon", 8), ("cards", "a suit of playing cards", 13),
    ("strings", "a violin", 4),
)  # fmt: skip


def correct_measure(dice: Dice) -> Draft:
    """A claimed number of parts in a whole, or in several wholes, right or wrong."""
    part, whole, true = dice.pick(_MEASURES)
    wrong = dice.chance(0.75)
    claim = (
        dice.pick(
            [n for n in (true * 10, true // 2, true + 2, true * 2, true - 1, true + 10) if n not in (true, 0)]
        )
        if wrong
        else true
    )
    slots = {"p": part, "w": whole, "x": number(true), "c": number(claim)}
    ask = dice.say(
        _source(dice)
        + " that {[w] has [c] [p]|there are [c] [p] in [w]}. {is that right|is it true|can that be|did i get "
        "that right|should i believe it}?",
        **slots,
    )
    if wrong:
        reply = dice.say(
            """{no|not quite|that is a slip|that can't be right}{: |. }{there are [x] [p] in [w]|[w] has [x]
            [p]}, not [c]{.|. {it is easy to mix up such numbers|such numbers are easily mixed up|now you
            know}.}""",
            **slots,
        )
    else:
        reply = dice.say(
            "{yes, that is right|yes|that is correct|you can believe it}: {there are [x] [p] in [w]|[w] has "
            "[x] [p]}.",
            **slots,
        )
    plan = [
        dice.say("{[w] has [x] [p]|there are [x] [p] in [w]}.", **slots),
        dice.say("the claim {was|is} [c], so it is [v].", v="wrong" if wrong else "right", **slots),
    ]
    return Draft(turns(ask, reply), number(true), plan)


FAMILIES = (
    Family("correct_product", correct_product),
    Family("correct_capital", correct_capital),
    Family("correct_measure", correct_measure, seen=False),
)
