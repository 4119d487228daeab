"""Conversation: advice from what is offered, and plans that change."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, listed, turns
from octavo.corpus.builtin.words_events import EVENTS
from octavo.corpus.builtin.words_people import RELATIONS, people, person
from octavo.corpus.builtin.words_places import VENUES, VILLAGES
from octavo.corpus.builtin.words_things import ACTIVITIES, FOODS
from octavo.corpus.builtin.words_time import WEEKDAYS, clock

_CONTAINS = ("nuts", "milk", "eggs", "wheat", "fish", "soy", "celery", "mustard", "sesame", "garlic")


def advise_dish(dice: Dice) -> Draft:
    """Guests who must not eat some things, and dishes with what is in them: the one dish for all."""
    first, second = people(dice, 2)
    avoid = dice.some(_CONTAINS, 2)
    others = [x for x in _CONTAINS if x not in avoid]
    dishes = dice.some(FOODS, 3)
    right = dice.whole(0, 2)
    contents = []
    for k in range(3):
        harmless = dice.some(others, dice.whole(1, 2))
        contents.append(harmless if k == right else dice.shuffled([dice.pick(avoid), *harmless[:1]]))
    offered = "; ".join(f"{d} ({listed(c)})" for d, c in zip(dishes, contents, strict=True))
    slots = {
        "p": first.name,
        "q": second.name,
        "a": avoid[0],
        "b": avoid[1],
        "o": offered,
        "x": dishes[right],
    }
    slots |= {"who": dice.pick(RELATIONS)[0], "c": listed(contents[right])}
    ask = dice.say(
        """{i am cooking for [p] and [q]|[p] and [q] are coming to dinner|tonight [p] and [q] eat with {us|my
        [who]}}. [p] {cannot eat|has to avoid|must not have} [a], and [q] {cannot eat|has to avoid|must not
        have} [b]. {i could make|the choice is|my ideas are}: [o]. {which dish suits both|what should i
        cook|which one can both of them eat}?""",
        **slots,
    )
    reply = dice.say(
        """{i would {make|cook}|take|go for|the best choice is} the [x]{. there is only [c] in that dish|,
        because that dish contains only [c]|: that dish has only [c] in it}, {so it suits both|so both can
        eat it|so [p] and [q] are both safe}. {the other two|both of the others} contain [a] or [b].""",
        **slots,
    )
    plan = [
        dice.say("[a] and [b] must {not be in it|be left out}.", **slots),
        dice.say("only the [x] has neither.", **slots),
    ]
    return Draft(turns(ask, reply), dishes[right], plan)


def advise_trip(dice: Dice) -> Draft:
    """Three trips with price and hours, a limit for each: the only one that fits."""
    places = dice.some(VILLAGES, 3)
    sign = dice.pick(("$", "£", "€"))
    money, hours = dice.whole(20, 90), dice.whole(4, 9)
    fits = dice.whole(0, 2)
    offers = []
    flaws = dice.shuffled(["price", "time"])
    for k in range(3):
        flaw = None if k == fits else flaws.pop()
        price = money + dice.whole(4, 40) if flaw == "price" else money - dice.whole(1, 15)
        time = hours + dice.whole(1, 4) if flaw == "time" else hours - dice.whole(0, 2)
        offers.append((places[k], price, time, flaw))
    told = listed([f"{p} ({sign}{c}, {t} hours)" for p, c, t, _ in offers], "or")
    place, price, time, _ = offers[fits]
    dear, long = (next(o for o in offers if o[3] == flaw) for flaw in ("price", "time"))
    slots = {
        "o": told,
        "m": f"{sign}{money}",
        "h": hours,
        "x": place,
        "c": f"{sign}{price}",
        "t": time,
        "who": dice.pick(RELATIONS)[0],
    }
    slots |= {"d": dear[0], "dc": f"{sign}{dear[1]}", "l": long[0], "lt": long[2], "w": dice.pick(WEEKDAYS)}
    ask = dice.say(
        """{my [who] and i|we|some friends and i} {would like to go out on [w]|are planning a trip for
        [w]|want to get away on [w]}. {we can go to|the offers are|there is} [o]. {we have [m] {each|a head}
        and [h] hours|we can spend at most [m] and [h] hours|our limit is [m] and [h] hours}. {where should
        we go|which trip fits|what do you suggest}?""",
        **slots,
    )
    reply = dice.say(
        """{i suggest|take the trip to|go to|the one that fits is} [x]{: it {costs|is} [c] and takes [t]
        hours|, for [c] and [t] hours}. {[d] {costs|is} [dc], which is too much|at [dc], [d] is too
        expensive}, and [l] {takes [lt] hours, which is too long|is too long at [lt] hours}.""",
        **slots,
    )
    plan = [
        dice.say("[d] costs more than [m].", **slots),
        dice.say("[l] takes longer than [h] hours, so [x] {remains|is left}.", **slots),
    ]
    return Draft(turns(ask, reply), place, plan)


def changed_plan(dice: Dice) -> Draft:
    """A plan is noted, one detail changes, the new plan is read back."""
    who = person(dice)
    facts = {
        "event": dice.pick(EVENTS), "venue": dice.pick(VENUES), "day": dice.pick(WEEKDAYS),
            "time": clock(dice.whole(540, 1200, 15)),
    }  # fmt: skip
    changed = dict(facts)
    which = dice.pick(("venue", "day", "time"))
    while changed[which] == facts[which]:
        changed[which] = {
            "venue": dice.pick(VENUES), "day": dice.pick(WEEKDAYS), "time": clock(dice.whole(540, 1200, 15)),
        }[which]  # fmt: skip
    ask = dice.say(
        "{please note|note this down|can you keep this in mind}: {the|our} [event] {is|takes place} on "
        "[day] at [time], at [venue]{. [p] is "
        "coming too|}.",
        p=who.name, **facts,
    )  # fmt: skip
    noted = dice.say(
        "{noted|done|got it|all right}: {[event] on [day] at [time], at [venue]|[day], [time], [event] at "
        "[venue]}.",
        **facts,
    )
    news = {
        "venue": "{we have to move to|it will be at|the new place is} [venue]",
        "day": "{it has been moved to|the new day is|it will be on} [day]",
        "time": "{it starts at|the new time is|we have moved it to} [time]",
    }[which]
    change = dice.say(
        "{small change|sorry, a change|[p] just called}: " + news + ". {what is the plan now|can you repeat "
            "the plan|how does it read now}?",
        p=who.name, **changed,
    )  # fmt: skip
    final = dice.say(
        "{the plan is now|updated|it now reads|here is the new plan}: the [event] {takes place |}on "
        "[day] at [time], at [venue]. {only the [which] is different|everything but the [which] stays as it "
        "was|the rest is unchanged}.",
        which={"venue": "place"}.get(which, which), **changed,
    )  # fmt: skip
    plan = [
        dice.say(
            "only the [w] changes{, so the rest is kept|; all else stays}.",
            w={"venue": "place"}.get(which, which),
        )
    ]
    return Draft(
        turns(ask, noted, change, final), [changed[k] for k in ("event", "venue", "day", "time")], plan
    )


def recall(dice: Dice) -> Draft:
    """The user tells something, talks on, and asks for it later."""
    first, second = people(dice, 2)
    who = dice.pick(RELATIONS)
    facts = {
        "pet": dice.pick(("cat", "dog", "parrot", "rabbit", "tortoise", "pony", "goldfish", "hamster")),
        "hobby": dice.pick(ACTIVITIES), "town": dice.pick(VILLAGES), "name": first.name, "rel": who[0],
            "other": second.name,
    }  # fmt: skip
    ask = dice.say(
        """{hi, i am [name]|my name is [name]|hello, [name] here}. {i live in [town] with my [pet]|my [pet]
        and i have just moved to [town]}, {and [hobby] is my hobby|and i love [hobby]|and my hobby is
        [hobby]}. {any idea for the weekend|do you have a tip for [d]|what could i do on [d]}?""",
        d=dice.pick(WEEKDAYS), **facts,
    )  # fmt: skip
    tip = dice.say(
        """{nice to meet you, [name]|hello [name]|good to hear from you, [name]}. {how about looking for|you
        could look for|why not ask around for} {[a:hobby] group|others who like [hobby]|people to share
        [hobby] with} in [town]? {the [pet] might enjoy the rest|and your [pet] will be glad when you are
        back}.""",
        **facts,
    )
    which, question, reply = dice.pick(
        (
            ("pet", "{which animal did i mention|what pet do i have}",
            "{you have a [pet]|it was a [pet]|you mentioned a [pet]}"),
            ("hobby", "{what did i say my hobby was|what is my hobby}",
            "{your hobby is [hobby]|you said that it is [hobby]|you love [hobby]}"),
            ("town", "{where do i live|in which place do i live}", "{you live in [town]|you told me that you "
                "live in [town]|it is [town]}"),
            ("name", "{what is my name|who am i}", "{your name is [name]|you are [name]|you said that you "
                "are [name]}"),
        )
    )  # fmt: skip
    again = dice.say(
        "{thanks|good idea|i will think about it}. {just to test you|[other] wants to know if you "
        "listened|one more thing|before i go}: " + question + "?",
        **facts,
    )
    final = dice.say(
        "{of course: |that is easy: ||}"
        + reply
        + "{.|. {is there anything else|would you like another tip}?|, as you told me.}",
        **facts,
    )
    plan = [dice.say("{it was said at the start|the first message gives it}: [x].", x=facts[which])]
    return Draft(turns(ask, tip, again, final), facts[which], plan)


def decline(dice: Dice) -> Draft:
    """A polite no to an invitation, with the reason and another day."""
    who = person(dice)
    day, other = dice.some(WEEKDAYS, 2)
    reason = dice.pick(
        ("i have to work", "i have to see the dentist", "i am visiting my parents", "i have choir practice",
        "i am travelling", "i am looking after my niece",
         "i have an exam", "the plumber is coming", "i am moving house", "my car is being repaired")
    )  # fmt: skip
    slots = {"p": who.name, "e": dice.pick(EVENTS), "d": day, "o": other, "r": reason, "v": dice.pick(VENUES)}
    ask = dice.say(
        """{[p] has invited me to [a:e] on [d]|[p] has asked me to come to [a:e] at [v] on [d]|i am invited
        to [a:e] by [p] on [d]}, but [r]. {i could do|i would be free on|what suits me is} [o]. {how do i say
        no politely?|please write a short and friendly no.|help me decline {kindly|nicely}.}""",
        **slots,
    )
    reply = dice.say(
        """{dear|hi|hello} [p], {thank you for|many thanks for|how kind of you to send} {the|your} invitation
        to the [e]. {sadly|unfortunately|i am sorry, but} {i cannot come|i can't make it} on [d] because [r].
        {{would [o] suit you for {a coffee|a walk} instead|could we meet on [o] instead}?|i would be free on
        [o], if you like.} {best wishes|have a lovely time|enjoy the day}!""",
        **slots,
    )
    plan = [
        dice.say(
            "{thank [p]|begin with thanks}, {give the reason|say why [d] is not possible} and {offer|name} "
            "[o].",
            **slots,
        )
    ]
    return Draft(turns(ask, reply), [who.name, slots["e"], day, other], plan)


FAMILIES = (
    Family("advise_dish", advise_dish),
    Family("advise_trip", advise_trip),
    Family("changed_plan", changed_plan),
    Family("recall", recall),
    Family("decline", decline, seen=False),
)
