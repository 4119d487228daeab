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
        "n": boxes, "k": pieces, "box": box, "boxes": many, "thing": dice.pick(COLLECTIBLES), "claim": number(claim), "true": number(true),
        "tens": boxes // 10 * 10, "ones": boxes % 10, "a": number(boxes // 10 * 10 * pieces), "b": number(boxes % 10 * pieces),
    }  # fmt: skip
    ask = dice.say(
        "{we have|there are|i counted} [n] [boxes] with [k] [thing] {each|in each [box]}. "
        + _source(dice)
        + " that {makes|gives|is} [claim] {in total|altogether|in all}. {is that right|can that be|do you agree|would you "
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
        + " that {[claim] is the capital of [country]|the capital of [country] is [claim]}. {is that right|is it true|can you "
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


FAMILIES = (Family("correct_product", correct_product), Family("correct_capital", correct_capital))
