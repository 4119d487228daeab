"""Reasoning with rules in everyday words: chains of rules, classes, truth-tellers."""

from __future__ import annotations

from itertools import pairwise, product

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, listed, worked
from octavo.corpus.builtin.words_people import JOBS, people, person
from octavo.corpus.builtin.words_things import ACTIVITIES, COLOURS

# (it happens, it does not happen): present tense, each half of a rule
_EVENTS = (
    ("the bakery is open", "the bakery is not open"), ("the bridge is closed", "the bridge is not closed"),
    ("the ferry runs", "the ferry does not run"), ("the heating is on", "the heating is not on"),
    ("the river is high", "the river is not high"), ("the lamp is lit", "the lamp is not lit"),
    ("the gate is locked", "the gate is not locked"), ("the choir rehearses", "the choir does not rehearse"),
    ("the market takes place", "the market does not take place"), ("the band plays",
    "the band does not play"),
    ("the bell rings", "the bell does not ring"), ("the flag is up", "the flag is not up"),
    ("the pool is full", "the pool is not full"), ("the train is late", "the train is not late"),
    ("the library is busy", "the library is not busy"), ("the kettle is warm", "the kettle is not warm"),
    ("the road is wet", "the road is not wet"), ("the dog is outside", "the dog is not outside"),
    ("the shop has bread", "the shop has no bread"), ("the garden is watered", "the garden is not watered"),
    ("the lights are off", "the lights are not off"), ("the tickets are sold out",
    "the tickets are not sold out"),
    ("the office is empty", "the office is not empty"), ("the alarm is set", "the alarm is not set"),
    ("the wind is strong", "the wind is not strong"), ("the lift works", "the lift does not work"),
    ("the mail has come", "the mail has not come"), ("the museum is free", "the museum is not free"),
)  # fmt: skip


def rules(dice: Dice) -> Draft:
    """A chain of if-then rules and one fact: true, false or unknown."""
    length = dice.pick((2, 2, 3))
    events = dice.some(_EVENTS, length + 1)
    links = [
        dice.raw("{if [a], {then |}[b]|[b] if [a]|whenever [a], [b]}", a=a[0], b=b[0])
        for a, b in pairwise(events)
    ]
    kind = dice.pick(("forward", "forward", "back", "back", "stuck", "stuck"))
    first, last = events[0], events[-1]
    fact, asked, answer = {
        "forward": (first[0], last, "true"),
        "back": (last[1], first, "false"),
        "stuck": dice.pick(((first[1], last, "unknown"), (last[0], first, "unknown"))),
    }[kind]
    slots = {"r": ". ".join(dice.shuffled(links)), "f": fact, "q": asked[0], "x": answer}
    question = dice.raw(
        """{[r]. {now |today |}[f]|{these rules hold|this is known}: [r]. {also, |and }[f]|[f].
        {besides|moreover}, [r]}. {is it true, false or unknown that [q]|what about "[q]": true, false or
        unknown|what follows for "[q]": true, false or unknown}?""",
        **slots,
    )
    if kind == "forward":
        steps = [
            dice.raw("{since|because} [a], {it follows that |}[b]", a=a[0], b=b[0])
            for a, b in pairwise(events)
        ]
    elif kind == "back":
        back = events[::-1]
        steps = [
            dice.raw(
                "{since|because|as} [nb], {it cannot be that [c]|it is not the case that [c]}",
                nb=b[1],
                c=c[0],
            )
            for b, c in pairwise(back)
        ]
    elif fact == first[1]:
        steps = [
            dice.raw(
                "{the rule says|we know} what {follows|happens} when [a], {not what happens otherwise|but "
                "not what happens if that fails}",
                a=first[0],
            ),
            dice.raw('{nothing is known about|this leaves open} "[q]"', q=last[0]),
        ]
    else:
        steps = [
            dice.raw("that [l] {could|may} have another {cause|reason} {too|as well}", l=last[0]),
            dice.raw(
                "{a rule cannot be read backwards|the rules only run one way}{, so \"[q]\" stays open|}",
                q=first[0],
            ),
        ]  # fmt: skip
    final = dice.raw("{it is [x]|the answer is [x]|this is [x]|that statement is [x]}", **slots)
    return worked(dice, question, steps, final, answer)


def classes(dice: Dice) -> Draft:
    """All or no members of one group have a property: what follows for someone."""
    who = person(dice)
    group = dice.raw(
        "{[j]s|members of the [a] club|people in the [c] {house|team|boat}}",
        j=dice.pick(JOBS),
        a=dice.pick(ACTIVITIES),
        c=dice.pick(COLOURS),
    )
    member = group.removesuffix("s") if not group.startswith(("members", "people")) else group
    is_member = (
        f"is {('an ' if member[0] in 'aeiou' else 'a ') + member}"
        if not group.startswith(("members", "people"))
        else (
            "is a member" + group.removeprefix("members")
            if group.startswith("members")
            else "is" + group.removeprefix("people")
        )
    )
    plural, single, lacks = dice.pick(
        (
            ("own a bicycle", "owns a bicycle", "does not own a bicycle"), ("like olives", "likes olives",
            "does not like olives"),
            ("wear a badge", "wears a badge", "does not wear a badge"), ("have a library card",
            "has a library card", "has no library card"),
            ("can swim", "can swim", "cannot swim"), ("get up early", "gets up early",
            "does not get up early"),
            ("speak Spanish", "speaks Spanish", "does not speak Spanish"), ("keep a diary", "keeps a diary",
            "does not keep a diary"),
            ("play the flute", "plays the flute", "does not play the flute"), ("drink tea", "drinks tea",
            "does not drink tea"),
        )
    )  # fmt: skip
    form = dice.pick(("all_in", "all_has", "all_lacks", "no_in", "no_has", "all_out"))
    phrasing = (
        "{all [g] [v]|every one of the [g] [s]|there are no [g] who do not [v]}"
        if form.startswith("all")
        else "{no [g] [v]|none of the [g] [v]|there are no [g] who [v]}"
    )
    rule = dice.raw(phrasing, g=group, v=plural, s=single).replace("who do not can", "who cannot")
    not_member = is_member.replace("is ", "is not ", 1)
    fact, asked, answer, why = {
        "all_in": (is_member, single, "true", f"since {who.name} {is_member}, the rule covers {who.them}"),
        "all_has": (
            single,
            is_member,
            "unknown",
            f"others may {plural.removeprefix('can ')} too, so the rule cannot be turned round",
        ),
        "all_lacks": (
            lacks,
            is_member,
            "false",
            f"if {who.name} {is_member.replace('is ', 'were ', 1)}, this could not be so",
        ),
        "no_in": (is_member, single, "false", f"since {who.name} {is_member}, the rule covers {who.them}"),
        "no_has": (
            single,
            is_member,
            "false",
            f"if {who.name} {is_member.replace('is ', 'were ', 1)}, this could not be so",
        ),
        "all_out": (
            not_member,
            single,
            "unknown",
            "the rule says nothing about people who are not in that group",
        ),
    }[form]
    slots = {"p": who.name, "r": rule, "f": fact, "q": asked, "x": answer}
    question = dice.raw(
        """{[r]. {[p] [f]|and [p] [f]|now, [p] [f]}|we know that [r] and that [p] [f]|[p] [f]. {moreover,
        |also, |}[r]}. {does it follow that [p] [q]|what about this: [p] [q]|is it true, false or unknown
        that [p] [q]}? {answer true, false or unknown.|is that true, false or unknown?|}""",
        **slots,
    )
    if "true, false" not in question:
        question += " " + dice.raw("{answer|say} true, false or unknown.")
    if question.count("true, false or unknown") > 1:
        question = (
            question[: question.rindex("?") + 1]
            if question.rstrip().endswith(".")
            else question[: question.index("?") + 1]
        )
    steps = [dice.raw("{the rule is that|it is given that|we know that} [r]", r=rule), why]
    final = dice.raw('{that [p] [q] is [x]|"[p] [q]" is [x]|the answer is [x]}', **slots)
    return worked(dice, question, steps, final, answer)


def honest(dice: Dice) -> Draft:
    """Two or three people, each always honest or always lying, say something: who is honest."""
    who = [p.name for p in people(dice, dice.pick((2, 3)))]
    claims: list[tuple[int, int, bool]] = []  # speaker, about whom, "is honest"
    for speaker in range(len(who)):
        about = dice.pick([k for k in range(len(who)) if k != speaker])
        claims.append((speaker, about, dice.chance(0.4)))
    target = dice.whole(0, len(who) - 1)
    known = dice.pick([k for k in range(len(who)) if k != target])
    fits = [
        world
        for world in product((True, False), repeat=len(who))
        if all((world[a] == says) == world[s] for s, a, says in claims) and world[known]
    ]
    if not fits or len({world[target] for world in fits}) > 1:
        return honest(dice)
    answer = "honest" if fits[0][target] else "lying"
    spoken = [
        dice.raw(
            '[s] says: "[a] {always |}{tells the truth|speaks the truth}."'
            if says
            else '[s] says: "[a] {always |}{lies|tells lies}."',
            s=who[s],
            a=who[a],
        )
        for s, a, says in claims
    ]
    slots = {"w": listed(who), "t": who[target], "k": who[known], "x": answer}
    question = dice.raw(
        """{each of [w] either always tells the truth or always lies|[w] are each either honest all the time
        or lying all the time}. [c] {we know that [k] is honest|[k] is known to be honest}. {is [t] honest or
        lying|which is [t], honest or lying}?""",
        c=" ".join(spoken), **slots,
    )  # fmt: skip
    trail = _trail(dice, who, claims, known, fits[0], target)
    final = dice.raw("{[t] must be [x]|the answer for [t] is: [x]|[t] can only be [x]}", **slots)
    return worked(dice, question, trail, final, answer)


def _trail(
    dice: Dice,
    who: list[str],
    claims: list[tuple[int, int, bool]],
    known: int,
    world: tuple[bool, ...],
    target: int,
) -> list[str]:
    """From the person known to be honest along what is said, until the target is settled."""
    steps, settled = [], {known}
    while target not in settled:
        for speaker, about, says in claims:
            says_what = "tells the truth" if says else "lies"
            kind = "honest" if world[about] else "lying"
            if speaker in settled and about not in settled:
                why = "[s] is honest and says" if world[speaker] else "[s] lies and says"
                steps.append(
                    dice.raw(
                        why + " that [a] [v], so [a] is [k]",
                        s=who[speaker],
                        a=who[about],
                        v=says_what,
                        k=kind,
                    )
                )
                settled.add(about)
                break
            if about in settled and speaker not in settled:
                truth = "which is so" if says == world[about] else "which is not so"
                steps.append(dice.raw("[s] says that [a] [v], [t]; so [s] is [k]", s=who[speaker],
                a=who[about], v=says_what, t=truth,
                                      k="honest" if world[speaker] else "lying"))  # fmt: skip
                settled.add(speaker)
                break
        else:
            break
    return steps


FAMILIES = (Family("rules", rules), Family("classes", classes), Family("honest", honest))
