"""Reasoning about amounts: stocks that change, sharing, averages, ratios, percentages, recipes."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, listed, money, number, worked
from octavo.corpus.builtin.words_people import people, person
from octavo.corpus.builtin.words_places import TOWNS, VENUES
from octavo.corpus.builtin.words_things import ACTIVITIES, COLLECTIBLES, CONTAINERS, FOODS, INGREDIENTS, SMALL
from octavo.corpus.builtin.words_time import counted

PACKS = tuple(
    c for c in CONTAINERS if c[0] in {"box", "crate", "basket", "tray", "carton", "packet", "sack", "hamper"}
)


def stock(dice: Dice) -> Draft:
    """A collection grows and shrinks three times: what is left."""
    who, friend = people(dice, 2)
    start = have = dice.whole(40, 400)
    moves, spoken, steps = dice.shuffled(["gift", "loss", "purchase"]), [], []
    for move in moves:
        before = have
        if move == "loss":
            amount = dice.whole(5, min(before - 5, 90))
            have -= amount
            spoken.append(
                dice.raw("{gives [k] to [q]|sells [k] at the flea market|loses [k]}", k=amount, q=friend.name)
            )
            step = "{taking away [k] leaves|without these [k] there are} [b] - [k] = [h]"
        else:
            amount = dice.whole(4, 120)
            have += amount
            get = "gets [k] from [q]" if move == "gift" else "{buys [k] more|finds another [k]}"
            spoken.append(dice.raw(get, k=amount, q=friend.name))
            step = "{adding [k] gives|with [k] more there are} [b] + [k] = [h]"
        steps.append(dice.raw(step, b=before, k=amount, h=have))
    thing = dice.pick(COLLECTIBLES)
    question = dice.raw(
        """{[p] {has|owns|keeps} [n] [thing]|[p]'s collection {holds|counts} [n] [thing]|there are [n]
        [thing] in [p]'s collection}. {[they]|then [they_low]|over the year, [they_low]} [one], [two] and
        [three]. {how many [thing] {are there|does [p] have} {now|in the end}|how many [thing] {remain|are
        left} {after all that|at the end}}?""",
        p=who.name, they=who.they.capitalize(), they_low=who.they, n=start, thing=thing,
        one=spoken[0], two=spoken[1], three=spoken[2],
    )  # fmt: skip
    final = dice.raw(
        "{[p] {has|is left with}|the collection now holds|there are now} [h] [t]", p=who.name, h=have, t=thing
    )
    return worked(dice, question, steps, final, str(have))


def packing(dice: Dice) -> Draft:
    """Things packed into equal containers: full containers and what is left over."""
    who = person(dice)
    thing = dice.pick(SMALL)
    size, full = dice.whole(6, 36), dice.whole(4, 30)
    rest = dice.whole(1, size - 1)
    total = size * full + rest
    one, many = dice.pick(PACKS)
    slots = {
        "p": who.name,
        "t": thing.many,
        "n": number(total),
        "s": size,
        "f": full,
        "r": rest,
        "box": one,
        "boxes": many,
    }
    slots["left"] = thing.of(rest)
    ask_full = dice.chance(0.5)
    asks = (
        "{how many [boxes] can be filled {completely|to the top}|how many full [boxes] {are there|does that "
        "give}}?"
        if ask_full
        else "{how many [t] are left over|how many [t] do not fit into a full [box]|what is left after the "
        "last full [box]}?"
    )
    question = dice.raw(
        "{[p] packs [n] [t] into [boxes] of [s]|[n] [t] are to be packed in [boxes], [s] to a [box]|[p] has "
        "[n] [t] and puts "
        "[s] into each [box]|each [box] holds [s] [t], and [p] has [n] of them}. " + asks,
        **slots,
    )
    steps = [
        dice.raw("[f] [boxes] {hold|take} [f] × [s] = [x] [t]", x=number(size * full), **slots),
        dice.raw("{what is left is|that leaves|the rest is} [n] - [x] = [r]", x=number(size * full), **slots)
        + dice.raw("{, which is less than [s]|, too few for another [box]|}", **slots),
    ]
    if ask_full:
        final = dice.raw("{[f] [boxes] {are|can be} {filled|full}|there are [f] full [boxes]}", **slots)
        return worked(dice, question, steps, final, str(full))
    verb = "is" if rest == 1 else "are"
    final = dice.raw("{[r] [left] [v] left over|there [v] [r] [left] left over}", v=verb, **slots)
    return worked(dice, question, steps, final, str(rest))


def average(dice: Dice) -> Draft:
    """The mean of four to six results, a whole number."""
    who = person(dice)
    count = dice.whole(4, 6)
    mean = dice.whole(20, 90)
    values = [mean + dice.whole(-15, 15) for _ in range(count - 1)]
    last = mean * count - sum(values)
    if not 2 <= last <= 130:
        return average(dice)
    values = dice.shuffled([*values, last])
    what = dice.pick(ACTIVITIES)
    question = dice.raw(
        """{[p] practises [a] {[n] times|on [n] days} and {notes down|writes down} the minutes:
        [v]|in [n] rounds of [a], [p] {scores|gets} [v] points|the [a] club had [v] visitors on [n]
        evenings}. {what is the {average|mean}|how much is that on average|what {average|mean} does that
        give}?""",
        p=who.name, a=what, n=count, v=listed([str(v) for v in values]),
    )  # fmt: skip
    total = sum(values)
    steps = [
        dice.raw(
            "{the sum is|added up, that is|together that is} [e] = [t]",
            e=" + ".join(map(str, values)),
            t=total,
        ),
        dice.raw(
            "{there are [n] values, and|divided by [n], that is|shared over [n]:} [t] / [n] = [m]",
            n=count,
            t=total,
            m=mean,
        ),
    ]
    final = dice.raw("the {average|mean} is [m]", m=mean)
    return worked(dice, question, steps, final, str(mean))


def ratio_split(dice: Dice) -> Draft:
    """An amount shared in a ratio: one share."""
    first, second = people(dice, 2)
    a, b = dice.pick(
        [
            (x, y)
            for x in range(1, 8)
            for y in range(1, 8)
            if x != y and (x == 1 or y == 1 or (x % y and y % x))
        ]
    )
    while (a % 2 == 0 and b % 2 == 0) or (a % 3 == 0 and b % 3 == 0):
        a, b = a // 2, b + 1
    part = dice.whole(6, 60)
    sign = dice.pick(("$", "£", "€"))
    total = part * (a + b)
    who, times = dice.pick(((first, a), (second, b)))
    slots = {"p": first.name, "q": second.name, "a": a, "b": b, "n": a + b, "t": money(total * 100, sign)}
    slots |= {"u": money(part * 100, sign), "x": money(part * times * 100, sign), "k": times, "w": who.name}
    question = dice.raw(
        """{[p] and [q] {share|split|divide} [t] in the ratio [a]:[b]|[t] is {shared|split} between [p] and
        [q] in the ratio [a]:[b]|[p] and [q] earned [t] together and split it [a]:[b]}{| {because
        of|according to} the hours they worked|, in that order}. {how much {does [w] get|is [w]'s share}|what
        is [w]'s share|what does [w] {get|receive}}?""",
        **slots,
    )
    slots["c"] = counted(times, "part")
    steps = [
        dice.raw("{the ratio has|there are} [a] + [b] = [n] parts{| in all|| together}", **slots),
        dice.raw("{one part is|each part is worth} [t] / [n] = [u]", **slots),
        dice.raw("[w] {gets|has} [c], {which is|that is} [k] × [u] = [x]", **slots),
    ]
    final = dice.raw("{[w] {gets|receives} [x]|[w]'s share is [x]}", **slots)
    return worked(dice, question, steps, final, slots["x"])


def percent_rest(dice: Dice) -> Draft:
    """A share of a group does one thing: how many do, or do not."""
    percent = dice.pick((5, 10, 15, 20, 25, 30, 35, 40, 45, 55, 60, 65, 70, 75, 80, 85, 90, 95))
    total = dice.whole(40, 1200, 20)
    part = total * percent // 100
    group = dice.pick(
        (
            "children",
            "guests",
            "members",
            "pupils",
            "runners",
            "students",
            "visitors",
            "volunteers",
            "workers",
        )
    )
    place = dice.raw("{at [v]|in [t]}", v=dice.pick(VENUES), t=dice.pick(TOWNS))
    does, does_not = dice.pick(
        (
            ("come by bicycle", "do not come by bicycle"),
            ("bring their own lunch", "do not bring their own lunch"),
            ("are under 30", "are 30 or older"),
            ("speak a second language", "speak only one language"),
            (f"have signed up for {(a := dice.pick(ACTIVITIES))}", f"have not signed up for {a}"),
            (f"choose {(f := dice.pick(FOODS))} for lunch", f"choose something other than {f}"),
            ("live nearby", "do not live nearby"),
        )
    )
    negative = dice.chance(0.5)
    answer = total - part if negative else part
    slots = {
        "n": number(total),
        "g": group,
        "pl": place,
        "pc": percent,
        "does": does,
        "asked": does_not if negative else does,
    }
    slots |= {"k": number(part), "x": number(answer)}
    question = dice.raw(
        """{of the [n] [g] [pl], [pc]% [does]|there are [n] [g] [pl], and [pc]% of them [does]|[pl] there are
        [n] [g]; [pc]% of them [does]}. how many {of them |[g] |}[asked]?""",
        **slots,
    )
    steps = [dice.raw("[pc]% of [n] is [n] × [pc] / 100 = [k]{|, and so many [does]}", **slots)]
    if negative:
        steps.append(dice.raw("{the others are|that leaves} [n] - [k] = [x] [g]", **slots))
    final = dice.raw("{[x] [g]|[x] of the [g]|[x] of them} [asked]", **slots)
    return worked(dice, question, steps, final, number(answer))


def recipe_scale(dice: Dice) -> Draft:
    """A recipe for some people made for more: the amount of one ingredient."""
    who = person(dice)
    name, unit, low, high, _ = dice.pick(INGREDIENTS)
    base = dice.pick((2, 3, 4, 5, 6))
    target = dice.whole(base + 1, 16)
    each = dice.whole(max(1, low // base), max(2, high // base))
    have = each * base
    if target % base == 0 and dice.chance(0.5):
        return recipe_scale(dice)
    need = each * target
    slots = {"p": who.name, "i": name, "u": unit, "b": base, "t": target, "h": number(have), "e": each}
    slots["x"] = number(need)
    question = dice.raw(
        """{[p]'s {favourite|family|old} recipe {serves [b] people|is for [b] people} and {takes|needs|uses}
        [h] [u] of [i]|for [b] people, a recipe {from [p]'s cookbook|that [p] likes} {calls for|takes} [h]
        [u] of [i]}. {how much [i] is needed for [t] people|[p] is cooking for [t] people. how much [i] {is
        needed|does [p] need}|what amount of [i] is right for [t] people}?""",
        **slots,
    )
    steps = [
        dice.raw("{for one person that is|one person needs} [h] / [b] = [e] [u]", **slots),
        dice.raw("{for [t] people it is|[t] people need} [t] × [e] = [x] [u]", **slots),
    ]
    final = dice.raw(
        "{[t] people need [x] [u] of [i]|it takes [x] [u] of [i]|[x] [u] of [i] is needed}", **slots
    )
    return worked(dice, question, steps, final, f"{number(need)} {unit}")


def missing_score(dice: Dice) -> Draft:
    """What the last result must be for a wished average."""
    who = person(dice)
    count = dice.whole(3, 6)
    mean = dice.whole(60, 90)
    values = [mean + dice.whole(-14, 10) for _ in range(count - 1)]
    last = mean * count - sum(values)
    if not 20 <= last <= 100:
        return missing_score(dice)
    total = sum(values)
    slots = {
        "p": who.name,
        "they": who.they,
        "v": listed([str(v) for v in values]),
        "m": mean,
        "n": count,
        "x": last,
    }
    slots |= {
        "k": counted(count - 1, "test"),
        "s": total,
        "w": mean * count,
        "e": " + ".join(map(str, values)),
    }
    question = dice.raw(
        """{[p] scored [v] in [k]|[p]'s results in [k] are [v]|after [k], [p] has [v] points}. {what must
        [they] score in the next test|how many points does [they] need in the next one|what is needed in the
        next test} {for an average of [m]|to reach an average of [m]}{| over all [n]}?""",
        **slots,
    )
    steps = [
        dice.raw(
            "{an average of [m] over [n] tests means|[n] tests with an average of [m] need} [n] × [m] = [w] "
            "points",
            **slots,
        ),
        dice.raw("{so far there are|the results so far add up to} [e] = [s]", **slots),
        dice.raw("{still missing are|the gap is} [w] - [s] = [x]", **slots),
    ]
    final = dice.raw("{[p] needs [x] points|the next result must be [x]|[p] must score [x]}", **slots)
    return worked(dice, question, steps, final, str(last))


FAMILIES = (
    Family("stock", stock),
    Family("packing", packing),
    Family("average", average),
    Family("ratio_split", ratio_split),
    Family("percent_rest", percent_rest),
    Family("recipe_scale", recipe_scale),
    Family("missing_score", missing_score, seen=False),
)
