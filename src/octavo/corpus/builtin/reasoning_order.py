"""Reasoning about order and place: who is tallest, queues, schedules, seats."""

from __future__ import annotations

import itertools

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, listed, worked
from octavo.corpus.builtin.words_people import people
from octavo.corpus.builtin.words_places import VENUES
from octavo.corpus.builtin.words_things import COLOURS

_SCALES = (
    ("taller", "shorter", "tallest", "shortest"),
    ("older", "younger", "oldest", "youngest"),
    ("faster", "slower", "fastest", "slowest"),
    ("heavier", "lighter", "heaviest", "lightest"),
    ("louder", "quieter", "loudest", "quietest"),
)


def ranking(dice: Dice) -> Draft:
    """Four or five people compared in pairs, as few pairs as fix the order: who stands where."""
    more, less, most, least = dice.pick(_SCALES)
    names = [p.name for p in people(dice, dice.pick((4, 4, 5)))]
    pairs = list(itertools.pairwise(names))  # the first is the most
    clues = [
        dice.raw("[a] is [m] than [b]", a=a, b=b, m=more)
        if dice.chance(0.5)
        else dice.raw("[b] is [l] than [a]", a=a, b=b, l=less)
        for a, b in dice.shuffled(pairs)
    ]
    target = dice.pick(("most", "least", "second"))
    answer = {"most": names[0], "least": names[-1], "second": names[1]}[target]
    word = {"most": most, "least": least, "second": f"second {most}"}[target]
    slots = {"m": more, "w": word, "x": answer, "all": listed(names)}
    question = dice.raw(
        "[c]. {who is the [w]|which of them is the [w]|who {comes out as|must be} the [w]{| of them}}?",
        c=dice.pick((listed(clues), "; ".join(clues), ". ".join(clues))), **slots,
    )  # fmt: skip
    chain = ", ".join(names)
    steps = [
        dice.raw(
            "{put in order|lined up} from the [most] to the [least], {they are|it goes} [chain]",
            most=most,
            least=least,
            chain=chain,
        ),
    ]
    if target == "second":
        steps.append(dice.raw("only [a] is [m] than [b]", a=names[0], b=names[1], m=more))
    else:
        steps.append(
            dice.raw(
                "{nobody is|no one is} [c] than [x]",
                c=more if target == "most" else less,
                x=answer,
            )
        )
    final = dice.raw("{the [w] is [x]|[x] is the [w]}", **slots)
    return worked(dice, question, steps, final, answer)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def queue(dice: Dice) -> Draft:
    """Place in a queue from the front and people behind: how long the queue is, or who is between."""
    who, other = people(dice, 2)
    front = dice.whole(3, 40)
    behind = dice.whole(2, 60)
    gap = dice.whole(2, 25)
    slots = {
        "p": who.name,
        "q": other.name,
        "v": dice.pick(VENUES),
        "f": front,
        "b": behind,
        "g": gap,
        "n": front + behind + 1,
    }
    if dice.chance(0.5):
        question = dice.raw(
            """{[p] is waiting in a queue at [v]|[p] stands in a queue at [v]|at [v], [p] joins a queue and
            time passes}. {there are [f] people in front of [p] and [b] behind|[f] people are ahead of [p],
            [b] are behind}. {how many people are in the queue|how long is the queue in people|how many are
            waiting in all}?""",
            **slots,
        )
        steps = [
            dice.raw(
                "{[p] counts too, so it is|the queue is} {those in front, [p] and those behind|the people "
                "ahead, [p] and the people behind}",
                **slots,
            ),
            dice.raw("[f] + 1 + [b] = [n]", **slots),
        ]  # fmt: skip
        final = dice.raw("{there are [n] people in the queue|[n] people are waiting}", **slots)
        return worked(dice, question, steps, final, str(front + behind + 1))
    late = front + gap + 1
    slots |= {"l": late}
    question = dice.raw(
        """{in a queue at [v], [p] is number [f] and [q] is number [l]|[p] has number [f] and [q] number [l]
        in the queue at [v]|the queue at [v] has numbers: [p] holds number [f], [q] number [l]}. {how many
        people are between them|how many people stand between [p] and [q]}?""",
        **slots,
    )
    steps = [
        dice.raw(
            "{from number [f] to number [l] it is|the numbers differ by} [l] - [f] = [d]",
            d=late - front,
            **slots,
        ),
        dice.raw(
            "{[q] is one of these|the last of these is [q]}, {which leaves|so there are} [d] - 1 = [g] in "
            "between",
            d=late - front,
            **slots,
        ),
    ]
    final = dice.raw("{there are [g] people between them|[g] people are between them}", **slots)
    return worked(dice, question, steps, final, str(gap))


def houses(dice: Dice) -> Draft:
    """Coloured houses in a row with clues: the colour of one of them."""
    colours = dice.some(COLOURS, 4)  # from left to right
    a, b, c, d = colours
    slots = {"a": a, "b": b, "c": c, "d": d}
    clues, spots = dice.pick(
        (
            (["the [a] {house|one} is at the left end", "the [c] {house|one} is next to the [b] one, on its "
                "right",
             "the [d] {house|one} is at the right end"], (1, 2)),
            (["the [b] {house|one} is directly to the right of the [a] one",
            "the [d] {house|one} is at the right end",
             "the [a] {house|one} is not next to the [c] one"], (0, 1, 2)),
            (["the [d] {house|one} is directly to the right of the [c] one",
            "the [a] {house|one} is at the left end",
             "the [b] {house|one} is directly to the left of the [c] one"], (1, 2, 3)),
        )
    )  # fmt: skip
    spot = dice.pick(spots)
    place = ("at the left end", "second from the left", "third from the left", "at the right end")[spot]
    x = colours[spot]
    question = dice.raw(
        "{four houses stand side by side|there are four houses in a row|a street has four houses in a row}: "
        "[ks]. [c]. {which house is [place]|what colour is the house [place]}?",
        ks=listed(dice.shuffled(list(colours))), place=place,
        c=". ".join(dice.raw(clue, **slots) for clue in dice.shuffled(clues)),
    )  # fmt: skip
    steps = [
        dice.raw(
            "{only one order fits|the clues leave one order}: [a], [b], [c], [d] from left to right", **slots
        ),
        dice.raw("[place] {stands|is} the [x] one", place=place, x=x),
    ]
    final = dice.raw("{the house [place] is [x]|it is the [x] house}", place=place, x=x)
    return worked(dice, question, steps, final, x)


FAMILIES = (
    Family("ranking", ranking),
    Family("queue", queue, seen=False),
    Family("houses", houses),
)
