"""Conversation about texts: details taken out, lists, mistakes of grammar, questions on a passage."""

from __future__ import annotations

from octavo.corpus.builtin.concepts import AMBIGUOUS
from octavo.corpus.builtin.dice import Dice, upper_first
from octavo.corpus.builtin.draft import Draft, Family, listed, turns
from octavo.corpus.builtin.words_events import EVENTS
from octavo.corpus.builtin.words_people import JOBS, RELATIONS, SURNAMES, people, person
from octavo.corpus.builtin.words_places import STREETS, TOWNS, VENUES
from octavo.corpus.builtin.words_things import ACTIVITIES, ANIMALS, COLLECTIBLES, COLOURS, LARGE, MEDIUM
from octavo.corpus.builtin.words_time import WEEKDAYS


def extract_details(dice: Dice) -> Draft:
    """Name, street, day and telephone number out of a message, as a list."""
    who = person(dice)
    facts = {
        "name": f"{who.name} {dice.pick(SURNAMES)}",
        "address": f"{dice.whole(1, 180)} {dice.pick(STREETS)}",
        "day": dice.pick(WEEKDAYS),
        "phone": f"0{dice.whole(100, 999)} {dice.whole(100000, 999999)}",
    }
    thing = dice.pick(LARGE + MEDIUM).one
    message = dice.say(
        """{hello,|good morning,|hi,} {this is [name]|my name is [name]|[name] here}. {i ordered [a:t]|the
        [t] that i ordered has not come|i would like to return [a:t]}. {please come to [address]|the address
        is [address]|i live at [address]}, {[day] suits me|best on [day]|i am at home on [day]}. {my number
        is [phone]|call me on [phone]|you reach me on [phone]}.""",
        t=thing, **facts,
    )  # fmt: skip
    keys = dice.some(list(facts), dice.pick((3, 4)))
    label = {"name": "Name", "address": "Address", "day": "Day", "phone": "Phone"}
    wanted = listed([key if key != "phone" else "phone number" for key in keys])
    ask = dice.say(
        """{from this message, please list|take from this message|find in this message|what are, in this
        message,} the [w]{, one per line|, line by line}:""",
        w=wanted,
    )
    reply = "\n".join(f"{label[key]}: {facts[key]}" for key in keys)
    plan = [dice.say("{the [n] lines are|what is asked for}: [w].", n=len(keys), w=wanted)]
    return Draft(turns(f"{ask}\n\n{message}", reply), [facts[key] for key in keys], plan)


def to_bullets(dice: Dice) -> Draft:
    """A sentence about who brings or does what, turned into a list with a line a person."""
    count = dice.whole(3, 5)
    who = [p.name for p in people(dice, count)]
    tasks = dice.some(
        ("buys the drinks", "brings the chairs", "books the room", "writes the invitations",
        "sets the tables", "makes a cake",
         "takes the photographs", "tunes the piano", "prints the posters", "hangs up the lamps",
         "collects the money", "welcomes the guests",
         "prepares a quiz", "cleans up afterwards", "drives the van", "looks after the coats",
         "cuts the bread", "plays the guitar"), count
    )  # fmt: skip
    event = dice.pick(EVENTS)
    sentence = listed([f"{p} {t}" for p, t in zip(who, tasks, strict=True)])
    ask = dice.say(
        """{can you turn this into a list|please make a list of this|make {a list of this, please|this a
        list|this into a list}|i need {this as a list|a list of this}|write this as a list}{: one line per
        person|, {with|giving} {everyone|each person} a line|, a row for {everybody|each name}|}: for the
        [e]{ on [d]|}, [s].""",
        e=event, d=dice.pick(WEEKDAYS), s=sentence,
    )  # fmt: skip
    rows = "\n".join(f"- {p}: {t}" for p, t in zip(who, tasks, strict=True))
    reply = (
        dice.say(
            "{tasks for the [e]|who does what at the [e]|the list for the [e]|here is the list}:", e=event
        )
        + "\n"
        + rows
    )
    plan = [dice.say("{there are [n] people|the list has [n] lines}: [w].", n=count, w=listed(who))]
    return Draft(turns(ask, reply), [x for pair in zip(who, tasks, strict=True) for x in pair], plan)


# (right, wrong, why); [p] a name, [q] another, [t] a thing, [ts] its plural, [n] a number from 2
_SLIPS = (
    ("[p] doesn't have [a:t]", "[p] don't have [a:t]", 'after "[p]" the verb needs an s: "doesn\'t"'),
    ("there are [n] [ts] on the table", "there is [n] [ts] on the table",
    '"[ts]" is plural, so it must be "are"'),
    ("[p] and [q] were late", "[p] and [q] was late", 'two people need the plural "were"'),
    ("[p] has bought [n] [ts]", "[p] has buyed [n] [ts]", 'the past participle of "buy" is "bought"'),
    ("[p] went to [v] yesterday", "[p] goed to [v] yesterday", 'the past of "go" is "went"'),
    ("this [t] is heavier than that one", "this [t] is more heavy than that one",
    'the comparative of "heavy" is "heavier"'),
    ("[p] gave the [t] to [q] and me", "[p] gave the [t] to [q] and I", 'after "to" it must be "me"'),
    ("[p] bought fewer [ts] than [q]", "[p] bought less [ts] than [q]",
    '"[ts]" can be counted, so it is "fewer"'),
    ("it's [p]'s [t]", "its [p]'s [t]", '"it is" is shortened to "it\'s"'),
    ("the [t] lost its colour", "the [t] lost it's colour", 'the possessive "its" has no apostrophe'),
    ("[p] should have brought [a:t]", "[p] should of brought [a:t]", 'after "should" it must be "have"'),
    ("[p] and [q] forgot their [ts]", "[p] and [q] forgot there [ts]", '"their" shows who owns something'),
    ("[p] speaks well", "[p] speaks good", 'a verb takes the adverb "well"'),
    ("each of the [ts] has a label", "each of the [ts] have a label", '"each" is singular, so it must be '
        '"has"'),
    ("[p] saw [q] at [v]", "[p] seen [q] at [v]", 'the past of "see" is "saw"'),
    ("[p] is taller than [q]", "[p] is taller then [q]", 'comparisons take "than"'),
    ("i have known [p] for [n] years", "i know [p] since [n] years", 'a span of time takes "for" and the '
        'present perfect'),
    ("[p] has lived near [v] since spring", "[p] lives near [v] since spring",
    '"since" needs the present perfect "has lived"'),
)  # fmt: skip


def fix_grammar(dice: Dice) -> Draft:
    """A sentence with one slip: the sentence put right, and why."""
    first, second = people(dice, 2)
    right, wrong, why = dice.pick(_SLIPS)
    thing = dice.pick([t for t in MEDIUM if " of " not in t.one])
    slots = {
        "p": first.name,
        "q": second.name,
        "t": thing.one,
        "ts": thing.many,
        "n": dice.whole(2, 19),
        "v": dice.pick(VENUES),
    }
    bad, good, reason = dice.say(wrong + ".", **slots), dice.say(right + ".", **slots), dice.raw(why, **slots)
    ask = dice.say(
        """{is this sentence right|is there a mistake in this sentence|can you correct this sentence|what is
        wrong with this sentence|my [who] wrote this. can you check it|i am learning English. is this
        correct}?""",
        who=dice.pick(RELATIONS)[0],
    )
    lead = dice.say("{the correct sentence is|it should be|better|write}:")
    ruling = f"Here, {reason}" if reason.startswith('"') else upper_first(reason)
    reply = f'{lead} "{good}" {ruling}.'

    plan = [dice.say("{the rule is|what matters}: [r].", r=reason)]
    return Draft(turns(f'{ask} "{bad}"', reply), good, plan)


_KEPT = tuple(
    a
    for a in ANIMALS
    if a[0] in {"hen", "duck", "goat", "sheep", "rabbit", "goose", "pony", "alpaca", "donkey"}
)


def ask_passage(dice: Dice) -> Draft:
    """A question about a short text: what it says, or that it does not say it."""
    who, other = people(dice, 2)
    animal = dice.pick(_KEPT)
    facts = {
        "job": dice.pick(JOBS), "town": dice.pick(TOWNS), "year": str(dice.whole(1990, 2023)),
            "hobby": dice.pick(ACTIVITIES),
        "count": f"{dice.whole(2, 30)} {animal[1]}", "colour": dice.pick(COLOURS),
            "collects": dice.pick(COLLECTIBLES),
    }  # fmt: skip
    slots = dict(facts, p=who.name, they=who.they, their=who.their, q=other.name)
    told = {
        "job": "{[they] works as [a:job]|[they] is [a:job]}", "town": "[p] {lives in|comes from|has a small "
            "house in} [town]",
        "year": "[they] {arrived there|moved there} in [year]", "hobby": "[their] hobby is [hobby]",
        "count": "[they] keeps [count] {with [q]|}", "colour": "the front door is [colour]",
            "collects": "[they] collects [collects]",
    }  # fmt: skip
    chosen = ["town", *dice.some([k for k in told if k != "town"], 4)]
    passage = dice.say(". ".join(told[k] for k in chosen) + ".", **slots)
    asks = {
        "job": "what is [p]'s job", "town": "which town is named", "year": "which year is given",
            "hobby": "what is [p]'s hobby",
        "count": "how many animals does [p] keep", "colour": "what colour is the front door",
            "collects": "what does [p] collect",
    }  # fmt: skip
    missing = dice.chance(0.3)
    key = dice.pick([k for k in told if (k not in chosen) == missing])
    lead = dice.say("{read this|here is a short text|a question about this text|from a letter}:")
    ask = f"{lead} {passage} " + dice.say(
        "{according to the text, [w]|[w], according to the text}?", w=dice.raw(asks[key], **slots)
    )
    if missing:
        reply = dice.say(
            "{the text does not say|that is not stated in the text|the text gives no answer to that}{. it "
            "only mentions other things|}{.|, so i cannot tell.}",
            **slots,
        )

        plan = [dice.say("{none of the sentences says it|no sentence is about it}.")]
        return Draft(turns(ask, reply), "not stated", plan)
    reply = dice.say(
        {
            "job": "{[p] is [a:job]|[p] works as [a:job]}", "town": "{it is [town]|the text names [town]}",
                "year": "{it is [year]|the text gives [year]}",
            "hobby": "{[p]'s hobby is [hobby]|it is [hobby]}", "count": "{[p] keeps [count]|there are "
                "[count]}",
            "colour": "{the front door is [colour]|it is [colour]}", "collects": "{[p]|[they]} "
                "collects [collects]",
        }[key]
        + "{.|, as the text says.|; that is stated in the text.}",
        **slots,
    )  # fmt: skip
    plan = [
        dice.say("{the sentence that answers it|the text says}: [s].", s=dice.raw(told[key], **slots).strip())
    ]
    return Draft(turns(ask, reply), facts[key], plan)


def ask_meaning(dice: Dice) -> Draft:
    """A request with two readings: the question back that names both."""
    request, first, second = dice.pick(AMBIGUOUS)
    one, two = dice.shuffled([first, second])
    day = dice.pick(WEEKDAYS)
    slots = {
        "r": request,
        "a": one,
        "b": two,
        "who": dice.pick(RELATIONS)[0],
        "d": day,
        "job": dice.pick(JOBS),
        "v": dice.pick(VENUES),
        "mark": dice.raw("{.|, please.}" if request.startswith("tell") else "{?|, please?|, by any chance?}"),
    }
    ask = dice.say(
        """{{quick question|one thing|my [who] asked me this|[a:job] wanted to know|we talked about this at
        [v]|this came up on [d]}: |}[r][mark]""",
        **slots,
    )
    reply = dice.say(
        """{that depends on what you mean|i want to be sure that i understand|the word has two meanings|that
        could mean two things|happy to help, but i need to know more}: {do you mean [a] or [b]|is it about
        [a], or about [b]|are you thinking of [a] or of [b]}?""",
        **slots,
    )
    plan = [dice.say("{it can mean|two readings are possible}: [a] or [b]{, so i ask|}.", **slots)]
    return Draft(turns(ask, reply), sorted([first, second]), plan)


FAMILIES = (
    Family("extract_details", extract_details),
    Family("to_bullets", to_bullets),
    Family("fix_grammar", fix_grammar),
    Family("ask_passage", ask_passage),
    Family("ask_meaning", ask_meaning),
)
