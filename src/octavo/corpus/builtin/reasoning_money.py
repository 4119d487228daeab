"""Reasoning about money: change, discounts, best value, saving, sharing a bill."""

from __future__ import annotations

from math import ceil

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, money, number, worked
from octavo.corpus.builtin.words_people import people, person
from octavo.corpus.builtin.words_places import VENUES
from octavo.corpus.builtin.words_things import LARGE, MEDIUM, SMALL

SIGNS = ("$", "$", "£", "€")


def change(dice: Dice) -> Draft:
    """Two kinds of goods are paid for with a round amount: the change."""
    who = person(dice)
    sign = dice.pick(SIGNS)
    first, second = dice.some(SMALL, 2)
    n, m = dice.whole(2, 9), dice.whole(2, 7)
    a, b = dice.whole(first.low, first.high, 5), dice.whole(second.low, second.high, 5)
    total = n * a + m * b
    note = next(v for v in (500, 1000, 2000, 5000, 10000) if v > total)
    question = dice.raw(
        "{At [venue], [p]|[p]|On the way home, [p]|This morning [p]} {buys|picks up|takes} [n] [first] at "
        "[a] each and [m] [second] at [b] each{, and pays with| and hands over|. [p_they2] {pays with|hands "
        "the cashier}} [note]. How much {change does [p] get|change should [p_they] get back|change is "
        "due|money comes back}?",
        **who.slots(), p_they2=who.they.capitalize(), venue=dice.pick(VENUES), n=n, m=m, first=first.many,
        second=second.many, a=money(a, sign), b=money(b, sign), note=money(note, sign),
    )  # fmt: skip
    answer = money(note - total, sign)
    steps = [
        dice.raw(
            "the [x] {cost|come to} [n] × [a] = [s]",
            x=first.many, n=n, a=money(a, sign), s=money(n * a, sign),
        ),
        dice.raw(
            "the [x] {cost|come to|add} [n] × [a] = [s]", x=second.many, n=m, a=money(b, sign), s=money(m * b,
            sign)
        ),
        dice.raw(
            "{together that is|the total is|the sum is} [a] + [b] = [s]",
            a=money(n * a, sign), b=money(m * b, sign), s=money(total, sign),
        ),
        dice.raw(
            "{what is left of the [note] is|the change is|the difference is} [note] - [s] = [left]",
            note=money(note, sign), s=money(total, sign), left=answer,
        ),
    ]  # fmt: skip
    final = dice.raw(
        "{[p] gets [x] back|the change is [x]|[p] should get [x] in change|[x] comes back}",
        p=who.name,
        x=answer,
    )
    return worked(dice, question, steps, final, answer)


def discount(dice: Dice) -> Draft:
    """A percentage is taken off a price: the price paid."""
    who = person(dice)
    sign = dice.pick(SIGNS)
    thing = dice.pick(LARGE + MEDIUM)
    percent = dice.pick((5, 10, 15, 20, 25, 30, 35, 40, 45, 60, 70, 75))
    price = dice.whole(thing.low, thing.high, 20) // 20 * 20
    off = price * percent // 100
    question = dice.raw(
        "{[a:thing] costs [price]|the price of [a:thing] is [price]|[p] wants [a:thing] that {costs|is "
        "priced at} [price]|a shop {sells|offers} [a:thing] for [price]}{, and|. {This week|During the "
        "sale|Today}} {there is [pc]% off|it is reduced by [pc]%|a coupon takes [pc]% off}. {What does it "
        "cost now|What is the new price|How much {does one pay now|is it now}|What would [p] pay}?",
        thing=thing.one, price=money(price, sign), pc=percent, p=who.name,
    )  # fmt: skip
    answer = money(price - off, sign)
    steps = [
        dice.raw(
            "{[pc]% of [price] is|the reduction is [pc]% of [price], which is} [price] × [pc] / 100 = [off]",
            pc=percent, price=money(price, sign), off=money(off, sign),
        ),
        dice.raw(
            "{the new price is|what is left to pay is|taken off, that leaves} [price] - [off] = [x]",
            price=money(price, sign), off=money(off, sign), x=answer,
        ),
    ]  # fmt: skip
    final = dice.raw(
        "the [thing] {now costs|costs|can be had for} [x]{| {after|with} the {discount|reduction}}",
        thing=thing.one,
        x=answer,
    )
    return worked(dice, question, steps, final, answer)


def best_value(dice: Dice) -> Draft:
    """Two pack sizes with prices: the cheaper one a piece."""
    who = person(dice)
    sign = dice.pick(SIGNS)
    thing = dice.pick(SMALL)
    small, large = dice.whole(2, 6), dice.whole(8, 24)
    each_small = dice.whole(thing.low, thing.high, 5)
    each_large = each_small + dice.pick((-15, -10, -5, 5, 10, 15))
    cheaper = small if each_small < each_large else large
    question = dice.raw(
        "{[p] {needs|is looking for} {a lot of |}[x]|[p] compares two packs of [x]|[x] come in two "
        "{packs|sizes}}: {a pack|one pack} of [s] costs [ps]{, and| and|;} {a pack|one} of [l] costs [pl]. "
        "{Which {pack|one} is cheaper per piece|Which {pack|of them} is the better value|Which pack {gives "
        "more for the money|should [p_they] take}}?",
        **who.slots(), x=thing.many, s=small, l=large, ps=money(small * each_small, sign),
        pl=money(large * each_large, sign),
    )  # fmt: skip
    answer = f"the pack of {cheaper}"
    steps = [
        dice.raw(
            "{in|with} the pack of [n] each one costs [total] / [n] = [each]",
            n=n, total=money(n * each, sign), each=money(each, sign),
        )
        for n, each in ((small, each_small), (large, each_large))
    ]  # fmt: skip
    low, high = sorted((each_small, each_large))
    steps.append(
        dice.raw("[low] is {less|lower|cheaper} than [high]", low=money(low, sign), high=money(high, sign))
    )
    final = dice.raw("the pack of [n] is {the better value|cheaper per piece|the better buy}", n=cheaper)
    return worked(dice, question, steps, final, answer)


def saving(dice: Dice) -> Draft:
    """A sum is saved week by week: the weeks until the price is reached."""
    who = person(dice)
    sign = dice.pick(SIGNS)
    thing = dice.pick(LARGE)
    price = dice.whole(thing.low // 100, min(thing.high // 100, 700))
    have, weekly = dice.whole(5, price // 2), dice.whole(6, 45)
    missing = price - have
    weeks = ceil(missing / weekly)
    question = dice.raw(
        "{[p] is saving for|[p] would like to buy|[p] has set [p_their] heart on} [a:thing] that costs "
        "[price]. {[c_they] already has [have] and|So far there is [have] in the jar, and [p_they]|[c_they] "
        "starts with [have] and} {puts aside|saves|adds} [w] {a|each|every} week. {How many weeks {will it "
        "take|does [p] need}|After how many weeks {is there enough|can [p_they] buy it}}?",
        **who.slots(), c_they=who.they.capitalize(), thing=thing.one, price=money(price * 100, sign),
        have=money(have * 100, sign), w=money(weekly * 100, sign),
    )  # fmt: skip
    answer = f"{weeks} week" + ("s" if weeks != 1 else "")
    steps = [
        dice.raw(
            "{what is still missing is|[p] still needs|the gap is} [a] - [b] = [c]",
            p=who.name, a=money(price * 100, sign), b=money(have * 100, sign), c=money(missing * 100, sign),
        ),
    ]  # fmt: skip
    if missing % weekly:
        steps.append(
            dice.raw(
                "{[w1] weeks would give only|after [w1] weeks there is only} [a], and {one "
                "more week|week [w]} {makes it|brings it to} [b]",
                w1=weeks - 1, w=weeks, a=money((weeks - 1) * weekly * 100, sign),
                b=money(weeks * weekly * 100, sign),
            )
            if weeks > 2
            else dice.raw(
                "{one week is not enough|a single week falls short}, because [w] is less than [c]",
                w=money(weekly * 100, sign), c=money(missing * 100, sign),
            )
        )  # fmt: skip
    else:
        steps.append(
            dice.raw(
                "[c] / [w] = [n], {exactly|with nothing left over}",
                c=money(missing * 100, sign), w=money(weekly * 100, sign), n=weeks,
            )
        )  # fmt: skip
    final = dice.raw("{it takes [x]|[p] needs [x]|[p] has enough after [x]}", p=who.name, x=answer)
    return worked(dice, question, steps, final, answer)


def shared_bill(dice: Dice) -> Draft:
    """A bill with a tip is shared equally: what each one pays."""
    sign = dice.pick(SIGNS)
    count = dice.whole(3, 8)
    tip = dice.pick((5, 10, 15, 20))
    each = dice.whole(630, 4200, 21)
    # the bill is built backwards so that the share is a whole number of cents
    bill = each * count * 100 // (100 + tip) // 20 * 20
    total = bill + bill * tip // 100
    total_share, rest = divmod(total, count)
    if rest:
        bill += next(k for k in range(0, 20 * count * 20, 20) if (bill + k) * (100 + tip) // 100 % count == 0)
        total = bill + bill * tip // 100
        total_share = total // count
    who = people(dice, 2)
    answer = money(total_share, sign)
    question = dice.raw(
        "{[p] and [k] friends|[p], [q] and {some|their} friends, [n] people in all,|A {group|party|table} "
        "of [n]} {have|share|enjoy} a {meal|dinner|lunch|long breakfast} {together|in [q]'s favourite "
        "cafe|after a walk}. The bill {is|comes to} [bill], {they add a [tip]% tip|a tip of [tip]% is "
        "added} and {everyone pays the same|they split it evenly}. {What does each person pay|How much is "
        "that {each|a person}|What is one share}?",
        p=who[0].name, q=who[1].name, k=count - 1, n=count, bill=money(bill, sign), tip=tip,
    )  # fmt: skip
    steps = [
        dice.raw(
            "the tip is [b] × [t] / 100 = [x]",
            b=money(bill, sign), t=tip, x=money(total - bill, sign),
        ),
        dice.raw(
            "{with the tip|altogether} {the bill is|that makes|they pay} [b] + [x] = [s]",
            b=money(bill, sign), x=money(total - bill, sign), s=money(total, sign),
        ),
        dice.raw(
            "{shared by|split between|divided among} [n] people, {this is|it comes to} [s] / [n] = [e]",
            n=number(count), s=money(total, sign), e=answer,
        ),
    ]  # fmt: skip
    final = dice.raw("{each person pays|everyone pays|one share is|each of them owes} [x]", x=answer)
    return worked(dice, question, steps, final, answer)


FAMILIES = (
    Family("change", change),
    Family("discount", discount),
    Family("best_value", best_value),
    Family("saving", saving),
    Family("shared_bill", shared_bill),
)
