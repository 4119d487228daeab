"""Reasoning about groups: overlaps, what two lists share, combinations, chances."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, listed, worked
from octavo.corpus.builtin.words_people import people, person
from octavo.corpus.builtin.words_places import VENUES
from octavo.corpus.builtin.words_things import ACTIVITIES, COLOURS, FOODS, SMALL


def overlap(dice: Dice) -> Draft:
    """So many do one thing, so many another, so many both: how many do neither, or just one."""
    first, second = dice.some(ACTIVITIES, 2)
    both, only_a, only_b, none = (dice.whole(3, 30), dice.whole(4, 50), dice.whole(4, 50), dice.whole(2, 40))
    total = both + only_a + only_b + none
    a, b = both + only_a, both + only_b
    group = dice.pick(("children", "guests", "members", "pupils", "students", "neighbours", "colleagues"))
    slots = {
        "n": total,
        "g": group,
        "a": a,
        "b": b,
        "k": both,
        "x": first,
        "y": second,
        "e": a + b - both,
        "o": none,
    }
    slots |= {"oa": only_a, "v": dice.pick(VENUES)}
    asked = dice.pick(("neither", "only"))
    asks = {
        "neither": "{how many like neither{| of the two}|how many [g] like neither [x] nor [y]}",
        "only": "{how many like only [x]|how many [g] like [x] but not [y]}",
    }
    question = dice.raw(
        "{of [n] [g] at [v]|at [v] there are [n] [g]. of these|among the [n] [g] at [v]}, [a] like [x], [b] "
        "like [y] and [k] like both. " + asks[asked] + "?",
        **slots,
    )
    if asked == "neither":
        steps = [
            dice.raw(
                "{those who like both are counted twice, so at least one is liked by|at least one of the "
                "two is liked by} [a] + [b] - [k] = [e]",
                **slots,
            ),
            dice.raw("{the others are|that leaves} [n] - [e] = [o]", **slots),
        ]
        final = dice.raw("{[o] [g] like neither|[o] of them like neither{| of the two}}", **slots)
        return worked(dice, question, steps, final, str(none))
    steps = [
        dice.raw(
            "{of the [a] who like [x], [k] also like [y]|[k] of the [a] who like [x] like [y] too}", **slots
        ),
        dice.raw("{that leaves|without these there are} [a] - [k] = [oa]", **slots),
    ]
    final = dice.raw("{[oa] [g] like only [x]|[oa] of them like [x] but not [y]}", **slots)
    return worked(dice, question, steps, final, str(only_a))


def shared_items(dice: Dice) -> Draft:
    """Two lists: what is on both, or only on one."""
    who, other = people(dice, 2)
    things = dice.some([*FOODS, *(t.many for t in SMALL[:40])], 8)
    shared = dice.whole(1, 3)
    common, mine, theirs = (
        things[:shared],
        things[shared : shared + 3],
        things[5:8] if shared <= 2 else things[6:8],
    )
    list_a, list_b = dice.shuffled(common + mine), dice.shuffled(common + theirs)
    slots = {"p": who.name, "q": other.name, "a": listed(list_a), "b": listed(list_b)}
    asked = dice.pick(("both", "only"))
    ask = {
        "both": "{what is on both lists|what do both of them bring|which things are on both lists}",
        "only": (
            "{what is only on [p]'s list|what does [p] bring that [q] does not|which things are on [p]'s "
            "list alone}"
        ),
    }[asked]
    question = dice.raw(
        "{for the picnic, |for the school fair, |for the party, |to the harvest supper, |}[p] {brings|will "
        "bring|is bringing} [a]. [q] "
        "{brings|will bring|is bringing} [b]. " + ask + "?",
        **slots,
    )
    answer = [t for t in list_a if (t in list_b) == (asked == "both")]
    rest = [t for t in list_a if t not in answer]
    slots |= {"x": listed(answer), "r": listed(rest), "is": "is" if len(rest) == 1 else "are"}
    if asked == "both":
        steps = [
            dice.raw(
                "{go through|i check} [p]'s list and {look for each thing on [q]'s|see what is also on "
                "[q]'s}",
                **slots,
            ),
            dice.raw("{found there|on both}: [x]; {not there|only with [p]}: [r]", **slots),
        ]  # fmt: skip
        final = dice.raw(
            "{both {bring|have}|on both lists {there is|we find}|the two lists share} [x]", **slots
        )
    else:
        steps = [
            dice.raw(
                "{take [p]'s list|i go through [p]'s list} and {leave out|strike out} what [q] {brings|has} "
                "too",
                **slots,
            ),
            dice.raw("{that removes|what goes is} [r]", **slots),
        ]
        final = dice.raw("{only [p] brings|what is left on [p]'s list is|[p] alone brings} [x]", **slots)
    return worked(dice, question, steps, final, listed(answer))


def outfits(dice: Dice) -> Draft:
    """A choice from each of three groups: the number of combinations, some left out."""
    who = person(dice)
    a, b, c = dice.whole(2, 9), dice.whole(2, 8), dice.whole(2, 7)
    groups = dice.pick(
        (
            ("shirts", "pairs of trousers", "hats", "outfits"), ("soups", "main dishes", "desserts", "menus"),
            ("kinds of bread", "fillings", "sauces", "sandwiches"), ("frames", "colours", "bells",
            "bicycles"),
            ("melodies", "rhythms", "instruments", "tunes"), ("covers", "papers", "ribbons", "notebooks"),
        )
    )  # fmt: skip
    slots = {
        "p": who.name,
        "a": a,
        "b": b,
        "c": c,
        "x": groups[0],
        "y": groups[1],
        "z": groups[2],
        "w": groups[3],
    }
    slots |= {"ab": a * b, "n": a * b * c}
    question = dice.raw(
        """{[p] can choose from|there is a choice of|[p] has} [a] [x], [b] [y] and [c] [z]. {how many
        different [w] {are possible|can be put together}|how many [w] with one of each can [p]
        {make|choose}}?""",
        **slots,
    )
    steps = [
        dice.raw(
            "{each of the [a] [x] goes with each of the [b] [y]|for each of the [x] there are [b] [y]}: [a] "
            "× [b] = [ab]",
            **slots,
        ),
        dice.raw("{each of these goes with|these go with each of} [c] [z]: [ab] × [c] = [n]", **slots),
    ]
    final = dice.raw(
        "{there are [n] different [w]|[n] different [w] are possible|the choice is between [n] different "
        "[w]}",
        **slots,
    )
    return worked(dice, question, steps, final, str(a * b * c))


def handshakes(dice: Dice) -> Draft:
    """Everyone meets everyone once: the number of meetings."""
    n = dice.whole(5, 40)
    what, plural = dice.pick(
        (
            ("shakes hands with every other one once", "handshakes"), ("plays every other one once", "games"),
            ("sends one card to every other one", "cards"), ("clinks glasses with every other one once",
            "clinks"),
        )
    )  # fmt: skip
    cards = plural == "cards"
    who = dice.pick(("guests", "players", "members", "friends", "cousins", "neighbours", "delegates"))
    answer = n * (n - 1) // (1 if cards else 2)
    slots = {
        "n": n,
        "w": who,
        "v": dice.pick(VENUES),
        "k": n - 1,
        "h": what,
        "s": plural,
        "m": n * (n - 1),
        "x": answer,
        "r": plural,
    }
    question = dice.raw(
        """{[n] [w] meet at [v]|there are [n] [w] at [v]|at [v], [n] [w] come together}. {each of
        them|everyone} [h]. {how many [s] are there {in all|altogether}|what is the number of [s]}?""",
        **slots,
    )
    steps = [
        dice.raw(
            "each of the [n] [w] {has|counts} [k] {others|partners}, {which gives|so there are} [n] × [k] = "
            "[m]",
            **slots,
        )
    ]
    if not cards:
        steps.append(
            dice.raw(
                "{every one of these is counted from both sides|that counts each one twice}, so [m] / 2 = "
                "[x]",
                **slots,
            )
        )
    final = dice.raw("{there are [x] [s]{| in all}|the number of [s] is [x]}", **slots)
    return worked(dice, question, steps, final, str(answer))


def chance(dice: Dice) -> Draft:
    """One draw from a bag with three colours: the probability as a fraction in lowest terms."""
    who = person(dice)
    colours = dice.some(COLOURS, 3)
    counts = [dice.whole(2, 24) for _ in colours]
    total = sum(counts)
    spot = dice.whole(0, 2)
    negative = dice.chance(0.35)
    good = total - counts[spot] if negative else counts[spot]
    fraction = Fraction(good, total)
    thing = dice.pick(("marbles", "buttons", "beads", "counters", "cards", "tokens"))
    slots = {
        "p": who.name,
        "t": thing,
        "a": counts[0],
        "b": counts[1],
        "c": counts[2],
        "x": colours[0],
        "y": colours[1],
    }
    slots |= {
        "z": colours[2],
        "n": total,
        "w": colours[spot],
        "k": good,
        "f": f"{fraction.numerator}/{fraction.denominator}",
    }
    slots |= {"one": thing[:-1], "not": "not " if negative else "", "d": gcd(good, total)}
    question = dice.raw(
        """{a bag {holds|contains}|in a bag there are|[p]'s bag has} [a] [x], [b] [y] and [c] [z] [t]. {[p]
        takes one|one is drawn} without looking. {what is the {probability|chance} that it is [not][w]|how
        likely is it, as a fraction, that the [one] is [not][w]}?""",
        **slots,
    )
    steps = [dice.raw("{there are|the bag holds} [a] + [b] + [c] = [n] [t]{| in all}", **slots)]
    steps.append(
        dice.raw(
            "{[k] of them are not [w]|all but the [w] ones, that is [n] - [q] = [k], are not [w]}",
            q=counts[spot],
            **slots,
        )
        if negative
        else dice.raw("[k] of them are [w]{|, which is what counts}", **slots)
    )
    if slots["d"] != 1:
        steps.append(dice.raw("[k]/[n] {reduced by|divided above and below by} [d] gives [f]", **slots))
    final = dice.raw("the {probability|chance} is [f]", **slots)
    return worked(dice, question, steps, final, slots["f"])


FAMILIES = (
    Family("overlap", overlap),
    Family("shared_items", shared_items),
    Family("outfits", outfits),
    Family("handshakes", handshakes, seen=False),
    Family("chance", chance),
)
