"""Conversation: things explained, two words told apart, steps put in order."""

from __future__ import annotations

from octavo.corpus.builtin.concepts import CONCEPTS, PAIRS, PROCESSES
from octavo.corpus.builtin.dice import Dice, sentences, upper_first
from octavo.corpus.builtin.draft import Draft, Family, money, turns
from octavo.corpus.builtin.words_people import JOBS, RELATIONS, person


def _listener(dice: Dice) -> str:
    return dice.raw(
        "{my [who]|[a:age]-year-old|a friend|someone {new to it|from another field}|[a:job]|a school class}",
        who=dice.pick(RELATIONS)[0], age=dice.whole(7, 15), job=dice.pick(JOBS),
    )  # fmt: skip


def explain_term(dice: Dice) -> Draft:
    """What a thing is, with an example, in two or three sentences."""
    term, (meanings, examples) = dice.pick(list(CONCEPTS.items()))
    count = dice.pick((2, 3))
    number = {2: "two", 3: "three"}[count]
    meaning = dice.pick(meanings)
    first, second = dice.shuffled(examples)
    slots = {"t": term, "who": _listener(dice), "n": number, "m": meaning, "e": first, "f": second}
    ask = dice.say(
        """{{can|could} you explain {what [t] is|[t]} to [who] in [n] sentences, with an example?|i have to
        explain [t] to [who]. how would you put it in [n] sentences with an example?|what is [t]? {please
        keep it to [n] sentences|[n] sentences are enough}, with an example {that [who] understands|for
        [who]}.|explain [t] in [n] simple sentences {for [who]|so that [who] gets it} and give an example.}""",
        **slots,
    )
    told = (
        "[t] is [m]"
        if _is_noun_phrase(meaning)
        else (
            "{{put simply, |in short, |}[t] means that [m]|{we speak of|people call it} [t] when [m]|the "
            "idea of [t] is that [m]}"
        )
    )
    parts = [dice.say(told + ".", **slots)]
    parts.append(
        dice.say(
            "{for example, [e]|one example: [e]|that is why [e]|think of how [e]|you can see it when [e]}.",
            **slots,
        )
    )
    if count == 3:
        parts.append(
            dice.say(
                "{another example: [f]|it is the same when [f]|in the same way, [f]|or think of this: [f]}.",
                **slots,
            )
        )
    plan = [
        dice.say("{say first what [t] is|begin with what [t] means}: [m].", **slots),
        dice.say("{then|next,} give {an example|an everyday case}: [e].", **slots),
    ]
    return Draft(
        turns(ask, sentences(" ".join(parts))), [term.removeprefix("a ").removeprefix("an "), number], plan
    )


def _is_noun_phrase(meaning: str) -> bool:
    """Does the meaning say what a thing is ("a plan of ...") and not what happens ("a gas cools down ...")?"""
    return meaning.startswith(
        (
            "a plan", "a list", "an idea", "a possible", "living things", "plants, animals", "a move",
            "a figure", "a comparison",
            "plant waste", "dark, rich", "a device", "a switch", "a fixed", "a program", "a locked",
            "a second", "a spare",
            "a harmless", "something", "sound that", "a sound", "a force", "a row", "the remains",
            "a plant or", "a loan to",
            "money lent", "a layer", "material that", "an action", "the latest", "the last",
        )
    )  # fmt: skip


def tell_apart(dice: Dice) -> Draft:
    """The difference between two words."""
    first, second = dice.shuffled(list(dice.pick(PAIRS)))
    slots = {"a": first[0], "am": first[1], "b": second[0], "bm": second[1], "who": _listener(dice)}
    ask = dice.say(
        """{what is the difference between [a] and [b]|how do i tell [a] from [b]|[who] asked me how [a] and
        [b] differ. what should i say|i always mix up [a] and [b]. how do they differ|in what way do [a] and
        [b] differ}?""",
        **slots,
    )
    reply = dice.say(
        """{the difference is this: |yes, they differ. |it helps to remember this: |in short: ||}[a] [am]{,
        while|, but|, whereas|;} [b] [bm]{.|. {that is the main point|this is the easiest way to tell them
        apart|the rest follows from that}.}""",
        **slots,
    )
    plan = [dice.say("[x] [m].", x=x, m=m) for x, m in (first, second)]
    return Draft(
        turns(ask, reply),
        sorted(x.removeprefix("a ").removeprefix("an ") for x in (first[0], second[0])),
        plan,
    )


def order_steps(dice: Dice) -> Draft:
    """Mixed-up steps of an everyday task in their right order."""
    task, steps = dice.pick(PROCESSES)
    who = person(dice)
    order = list(steps)
    mixed = dice.shuffled(order)
    if mixed == order:
        return order_steps(dice)
    slots = {"t": task, "p": who.name, "n": len(order)}
    ask = dice.say(
        """{[p] wrote down the steps for [t], but the {notes|cards} got mixed up|these steps for [t] are in
        the wrong order|my {notes|cards} about [t] fell on the floor|i am writing a {guide|note} on [t] for
        [p], but my list is a mess}: [s]. {what is the right order|can you {sort them|put them in
        order}|please put them in order|in which order do they belong}""",
        s="; ".join(mixed), **slots,
    )  # fmt: skip
    ask += (
        "." if "lease put" in ask.rsplit(". ", 1)[-1] or ask.rsplit(". ", 1)[-1].startswith("Please") else "?"
    )
    if dice.chance(0.5):
        rows = "\n".join(f"{k}. {upper_first(step)}" for k, step in enumerate(order, 1))
        reply = (
            dice.say("{here is the order|the right order for [t]|this works|sorted, it reads}:", **slots)
            + "\n"
            + rows
        )
    else:
        words = ["first", *(dice.pick(("then", "next", "after that")) for _ in order[2:]), "finally"]
        told = (
            ", ".join(f"{w} {s}" for w, s in zip(words[:-1], order[:-1], strict=True))
            + f", and {words[-1]} {order[-1]}"
        )
        reply = dice.say("{for [t], |here you go: |sure: |}[told].", told=told, **slots)
    plan = [
        dice.say("{it starts with|the first step is}: [a].", a=order[0]),
        dice.say("{it ends with|the last step is}: [z].", z=order[-1]),
    ]
    return Draft(turns(ask, reply), order, plan)


def explain_fee(dice: Dice) -> Draft:
    """A rule about a fee explained by one case: the amount."""
    sign = dice.pick(("$", "£", "€"))
    free, per_day, cap = dice.whole(2, 14), dice.whole(1, 9) * 50, dice.whole(20, 60) * 100
    late = dice.pick([d for d in range(2, 31) if d - free != 1])
    charged = max(0, late - free)
    fee = min(cap, charged * per_day)
    thing = dice.pick(
        (
            "book",
            "film",
            "drill",
            "costume",
            "cello",
            "tent",
            "projector",
            "board game",
            "ladder",
            "camera",
            "sewing machine",
        )
    )
    place = dice.pick(
        (
            "library",
            "library of things",
            "tool library",
            "rental shop",
            "community centre",
            "neighbourhood shop",
        )
    )
    slots = {
        "f": free,
        "d": money(per_day, sign),
        "c": money(cap, sign),
        "l": late,
        "t": thing,
        "pl": place,
        "k": charged,
    }
    slots |= {"x": money(fee, sign), "raw": money(charged * per_day, sign), "who": dice.pick(RELATIONS)[0]}
    ask = dice.say(
        """{our [pl] has this rule|the rule of the [pl] says|at the [pl] it works like this}: {the first [f]
        days of delay are free, then {each day costs [d]|it is [d] a day}, {up to|at most} [c]|no fee for the
        first [f] days of delay, after that [d] a day, {but never|and never} more than [c]|each day of delay
        costs [d], {but|only} the first [f] days are free, and [c] is the {limit|most one pays}}. {i kept
        [a:t] [l] days too long|my [who] brought [a:t] back [l] days late}. {what is the fee, and why|can you
        explain what the fee is|how much is it, and {how does the rule work|why|how is it worked out}|what
        has to be paid, and for what reason}?""",
        **slots,
    )
    if not charged:
        why = "{[l] days of delay are within the free [f]|the first [f] days are free, and it was only [l]}"
    elif charged * per_day <= cap:
        why = """{the first [f] days {cost nothing|are free}, so [k] days {count|are charged}|of the [l]
        days, [f] are free and [k] are charged}, {at [d] each|and each of them costs [d]}"""
    else:
        why = """{after the free [f] days there are [k] more, which would {make|be} [raw]|[k] days are
        charged, which would {make|be} [raw]}, but {the limit is [x]|no more than [x] is asked}"""
    reply = dice.say("{the fee is|you have to pay|it comes to} [x]{. |: }" + why + ".", **slots)
    plan = [
        dice.say("the first [f] days do not count, so [k] {remain|are charged}.", **slots),
        dice.say("{the fee is|that comes to} [x].", **slots),
    ]
    return Draft(turns(ask, reply), money(fee, sign), plan)


FAMILIES = (
    Family("explain_term", explain_term),
    Family("tell_apart", tell_apart),
    Family("order_steps", order_steps),
    Family("explain_fee", explain_fee),
)
