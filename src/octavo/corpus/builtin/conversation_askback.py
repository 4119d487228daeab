"""Conversation: something needed is missing, so the assistant asks before it answers."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, turns
from octavo.corpus.builtin.words_people import SURNAMES, person
from octavo.corpus.builtin.words_places import VENUES
from octavo.corpus.builtin.words_time import WEEKDAYS, clock

_MISSING = {
    "day": ("{which day|what day} {would suit|should it be|do you have in mind}",
        "{on [day]|[day], please|[day] would be best}"),
    "time": ("{what time|which time} {should i put|would suit you|shall i write}",
        "{at [time]|[time], please|let's say [time]}"),
    "people": ("how many {people|guests} {will there be|should i mention|are coming}",
        "{we are [people]|[people] people|[people] of us}"),
    "name": ("{under which name|in whose name} {should it be|shall i write it}",
        "{under [name]|[name], please|the name is [name]}"),
}  # fmt: skip


def ask_booking(dice: Dice) -> Draft:
    """A booking request lacks one of day, time, people and name: ask, then write it."""
    who = person(dice)
    facts = {
        "day": dice.pick(WEEKDAYS),
        "time": clock(dice.whole(11 * 60, 21 * 60, 15)),
        "people": str(dice.whole(3, 14)),
        "name": f"{who.name} {dice.pick(SURNAMES)}",
    }
    missing = dice.pick(list(facts))
    venue = dice.pick(VENUES)
    given = {
        "day": dice.raw("{it is for|the day is|it should be on} [day]", **facts),
        "time": dice.raw("{we would come at|the time is|we want to start at} [time]", **facts),
        "people": dice.raw("{there will be [people] of us|we are [people] people}", **facts),
        "name": dice.raw("{please use the name|the name is|it goes under} [name]", **facts),
    }
    details = dice.shuffled([given[key] for key in facts if key != missing])
    ask = dice.say(
        "{please write|can you write|i need|help me with} a {short|brief} {booking|reservation} "
        "{message|request|note} to [venue]{. |: }[one], [two], and [three].",
        venue=venue, one=details[0], two=details[1], three=details[2],
    )  # fmt: skip
    question, reply = _MISSING[missing]
    back = dice.say(
        "{gladly|sure|with pleasure|of course|happy to}. {one thing is missing|just one question|before i "
        "write it|one detail first}: " + question + "?"
    )
    told = dice.say(reply + ".", **facts)
    final = dice.say(
        "{hello,|good day,|dear team,} {i would like to|i want to|we would like to} {book|reserve} a "
        "{table|room|place} for [people] {people|guests} {on [day] at [time]|at [time] on [day]}{, under "
        "the name|, in the name of|. the name is} [name]. {thank you|many thanks|kind regards|best wishes}.",
        **facts,
    )

    plan = [
        dice.say(
            "{the request gives no [m]|the [m] is missing}, so {ask for it first|i have to ask}.", m=missing
        )
    ]
    return Draft(
        turns(ask, back, told, final), [facts["people"], facts["day"], facts["time"], facts["name"]], plan
    )


FAMILIES = (Family("ask_booking", ask_booking),)
