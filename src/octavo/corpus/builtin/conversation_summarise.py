"""Conversation: a notice made short, and a title for it."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice, sentences
from octavo.corpus.builtin.draft import Draft, Family, turns
from octavo.corpus.builtin.words_events import BRING, EVENTS
from octavo.corpus.builtin.words_people import SURNAMES, person
from octavo.corpus.builtin.words_places import TOWNS, VENUES
from octavo.corpus.builtin.words_time import WEEKDAYS, clock

_EXTRAS = (
    "{we have|there are} {only |about |}[seats] {seats|places}, {so come early|so please sign up soon|first "
    "come, first served}.",
    "please bring [thing]{ with you|}.",
    "{[name] is looking forward to seeing you|[name] will {show newcomers around|welcome you at the door}}.",
    "{there is no parking nearby, so take the bus|the entrance is at the back of the building|dogs are "
    "welcome}.",
    "{last year we had more guests than chairs|it has become a small tradition in [town]|many of you asked "
    "for it}.",
    "{tea and cake are provided|coffee will be served in the break|there will be {warm soup|music|cold "
    "drinks}}.",
)


def _notice(dice: Dice) -> tuple[str, dict[str, str]]:
    """A notice of four to six sentences and the facts in it that matter."""
    who = person(dice)
    facts = {
        "event": dice.pick(EVENTS),
        "venue": dice.pick(VENUES),
        "day": dice.pick(WEEKDAYS),
        "time": clock(dice.whole(9 * 60, 20 * 60, 15)),
        "price": f"{dice.pick(('$', '£', '€'))}{dice.whole(2, 28)}",
    }
    slots = dict(
        facts, seats=dice.whole(12, 80), thing=dice.pick(BRING), name=f"{who.name} {dice.pick(SURNAMES)}",
        town=dice.pick(TOWNS),
    )  # fmt: skip
    first = dice.raw(
        "{{dear neighbours,|hello everyone,|good news:} {on [day]|this [day]} {we are holding|there will "
        "be} [a:event] at [venue]|[venue] is hosting [a:event] {on|this coming} [day]|the next [event] "
        "takes place on [day] at [venue]}.",
        **slots,
    )
    middle = [
        dice.raw("{doors open|we start|it starts|it begins|the start is} at [time]{ sharp|}.", **slots),
        dice.raw(
            "{tickets are|entry is|a ticket costs|the price is} [price]{ at the door|, cash only| a "
            "person|}.",
            **slots,
        ),
    ]
    middle += [dice.raw(extra, **slots) for extra in dice.some(_EXTRAS, dice.whole(1, 3))]
    return sentences(" ".join([first, *dice.shuffled(middle)])), facts


def summarise_notice(dice: Dice) -> Draft:
    """A notice in one sentence: what, where, when, how much."""
    notice, facts = _notice(dice)
    ask = dice.say(
        "{{can|could|would} you {summarise|sum up|shorten} {this|the} {notice|text|announcement} in one "
        "sentence?|please {give me|write} a one-sentence summary of this {notice|text}{ for my calendar| "
        "for a friend|}.|i need the {essentials|key facts} of this {notice|announcement} in one "
        "sentence.|what does this {notice|announcement} say, in one sentence?}"
    )
    answer = list(facts.values())
    reply = dice.say(
        "{{of course: |sure: |here it is: |in short: ||||}{there is [a:event] at [venue]|[venue] is hosting "
        "[a:event]|[a:event] {takes place|is being held} at [venue]}  on [day] {at|from} [time]{ for "
        "[price]|, and entry {is|costs} [price]|, and a ticket {costs|is} [price]| at a price of "
        "[price]}.|{on [day] at [time]|this [day] from [time]}{, there is|, you can go to} [a:event] at "
        "[venue]{ for [price]|, with entry at [price]|; {it|entry} costs [price]|, price [price]}.|[day], "
        "[time], [venue]: [event]{, [price]|, {tickets|entry} [price]}.}",
        **facts,
    )
    return Draft(turns(f"{ask}\n\n{notice}", reply), answer, _plan(dice, facts))


def _plan(dice: Dice, facts: dict[str, str]) -> list[str]:
    what = dice.say("{what matters is|the event is|it is about} [a:event] at [venue].", **facts)
    when = dice.say("{the day is [day] and the time is [time]|it is on [day] at [time]}.", **facts)
    price = dice.say("{it costs [price]|the price is [price]}, and the {other details|rest} can go.", **facts)
    return [what, when, price]


def notice_title(dice: Dice) -> Draft:
    """A short title for a notice: the event and the day."""
    notice, facts = _notice(dice)
    words = dice.whole(6, 9)
    ask = dice.say(
        """{{give|suggest|write} {me |}a {title|headline} of at most [n] words for this
        {notice|text|announcement}, {with|naming} the {event and the day|day and the event}|{find|i need} a
        {short |good |}{title|headline} ({no more than|at most} [n] words){, with both the event and the day|
        that names event and day| in which the event and the day occur|; the day and the event should be in
        it}|this {notice|text} needs a {title|headline}: [n] words at most, {event and day|both what it is
        and on which day|with the name of the event and the day}}{.|, please.}""",
        n=words,
    )
    reply = dice.say(
        "{{join us for |come to }[a:event] on [day]|[day]: [event]|[a:event] {this|on} [day]|[event] on "
        "[day]}",
        **facts,
    )
    if len(reply.split()) > words:
        return notice_title(dice)
    plan = [
        dice.say("{the event is|it is about} [a:event] and the day is [day].", **facts),
        dice.say("{a title of at most [n] words has room for both|that fits into [n] words}.", n=words),
    ]
    return Draft(turns(f"{ask}\n\n{notice}", reply), [facts["event"], facts["day"]], plan)


FAMILIES = (Family("summarise_notice", summarise_notice), Family("notice_title", notice_title))
