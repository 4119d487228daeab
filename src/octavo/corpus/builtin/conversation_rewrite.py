"""Conversation: a text is written again, its facts kept."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice, sentences
from octavo.corpus.builtin.draft import Draft, Family, turns
from octavo.corpus.builtin.words_events import DOCUMENTS
from octavo.corpus.builtin.words_people import person
from octavo.corpus.builtin.words_time import WEEKDAYS, clock


def rewrite_polite(dice: Dice) -> Draft:
    """A blunt message made polite: name, thing and deadline stay."""
    who = person(dice)
    slots = {
        "p": who.name,
        "doc": dice.pick(DOCUMENTS),
        "day": dice.pick(WEEKDAYS),
        "time": clock(dice.whole(480, 1140, 15)),
    }
    blunt = dice.say(
        "[p], {send me|get me|hand over|i want} the [doc] by [day], [time]{. no excuses!|. i won't ask "
        "again.|. you are late as usual|. why does this take so long?|.|!}",
        **slots,
    )
    ask = (
        dice.say(
            "{can you make this {message|note} {friendlier|more polite|kinder}?|please rewrite this "
            "{message|note} politely:|this sounds {too harsh|rude}, {please soften it:|how would you say it "
            "politely?}|i wrote this {in a hurry|when i was cross}. help me say it {nicely|politely}:}"
        )
        + f' "{blunt}"'
    )
    reply = dice.say(
        "{hi|hello|dear} [p], {{could|would} you please send|would you mind sending|may i ask you to send} "
        "me the [doc]? {it would help me a lot to have it|i would need it|if possible, i would like to have "
        "it} by [day] at [time]. {thank you|thanks a lot|many thanks|i appreciate your help|thanks for your "
        "work on it}.",
        **slots,
    )

    plan = [
        dice.say("{the facts to keep are|keep} the [doc], [day] and [time].", **slots),
        dice.say(
            "{leave out the reproach|drop the harsh tone} and {ask instead of demanding|say please and "
            "thank you}."
        ),
    ]
    return Draft(turns(sentences(ask), reply), [who.name, slots["doc"], slots["day"], slots["time"]], plan)


FAMILIES = (Family("rewrite_polite", rewrite_polite),)
