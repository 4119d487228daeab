"""Three-valued logic, every task in two forms: in words (true, false, unknown) and in glyphs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, listed, worked
from octavo.corpus.builtin.formulas import (
    FALSE,
    GLYPHS,
    TRUE,
    UNKNOWN,
    WORDS,
    Formula,
    agree,
    draw_formula,
    letters_of,
    value,
    working,
    written,
)
from octavo.corpus.builtin.words_people import people
from octavo.corpus.builtin.words_places import VENUES

_LETTERS = ("A", "B", "C", "D", "K", "L", "M", "P", "Q", "R", "S", "U", "W", "X", "Y", "Z")
_THREE = (
    "{||in three-valued logic, |with the values true, false and unknown, |in Kleene's logic, |where unknown "
    "is a value too, }"
)


def _legend(dice: Dice, glyphs: bool) -> str:
    """Now and then what the glyphs stand for, or which logic is meant."""
    if not glyphs:
        return dice.raw(_THREE)
    if dice.chance(0.6):
        return dice.raw("{||in three-valued logic, |in the glyph notation, |in Kleene's logic, }")
    how = dice.pick(("[g] for [w]", "[g] as [w]", "[g] meaning [w]", "[w] written [g]", "[w] as [g]"))
    pairs = [dice.raw(how, g=g, w=w) for g, w in zip(GLYPHS, WORDS, strict=True)]
    return dice.raw("{with|taking|given|using} [p], ", p=listed(dice.shuffled(pairs)))


def _given(dice: Dice, letters: list[str], glyphs: bool) -> tuple[dict[str, int], str]:
    """Values for the letters and a phrase that states them."""
    values = {letter: dice.pick((FALSE, UNKNOWN, TRUE)) for letter in letters}
    order = dice.shuffled(letters)
    if glyphs:
        return values, listed([f"{x} = {GLYPHS[values[x]]}" for x in order])
    return values, listed([f"{x} is {WORDS[values[x]]}" for x in order])


def evaluate(glyphs: bool, dice: Dice) -> Draft:
    """A formula and the values of its letters: its value."""
    letters = sorted(dice.some(_LETTERS, dice.pick((2, 3, 3, 4))))
    formula = draw_formula(dice, dice.shuffled(letters))
    if len(working(dice, formula, dict.fromkeys(letters, TRUE), glyphs)) > 5:
        return evaluate(glyphs, dice)
    given, phrase = _given(dice, letters, glyphs)
    text = written(formula, glyphs)
    names = GLYPHS if glyphs else WORDS
    answer = names[value(formula, given)]
    slots = {
        "f": text if glyphs else f'"{text}"',
        "g": phrase,
        "x": answer,
        "legend": _legend(dice, glyphs),
    }
    question = dice.raw(
        """{[legend]{suppose that [g]|assume that [g]|take it that [g]}. {what is [f]|what value does [f]
        have|find the value of [f], please|evaluate [f] for me}|[legend]{what is the value of [f]|which value
        does [f] take|what does [f] come to} {if|when|given that} [g]}{?|}""",
        **slots,
    )
    question = question.rstrip("?") + ("." if "please" in question or "for me" in question else "?")
    final = dice.raw("{the value of [f] is [x]|[f] is [x]|the answer is [x]}", **slots)
    return worked(dice, question, working(dice, formula, given, glyphs), final, answer)


def solve(glyphs: bool, dice: Dice) -> Draft:
    """A formula, its value and all letters but one: which values the last letter can have."""
    names = GLYPHS if glyphs else WORDS
    letters = sorted(dice.some(_LETTERS, dice.pick((2, 2, 3))))
    formula = draw_formula(dice, dice.shuffled(letters))
    missing = dice.pick(letters)
    given, phrase = _given(dice, [x for x in letters if x != missing], glyphs)
    results = {v: value(formula, {**given, missing: v}) for v in (TRUE, UNKNOWN, FALSE)}
    target = dice.pick(sorted(set(results.values())))
    fitting = [names[v] for v in (TRUE, UNKNOWN, FALSE) if results[v] == target]
    if len(fitting) == 3:
        return solve(glyphs, dice)
    answer = listed(fitting, "or")
    text = written(formula, glyphs)
    slots = {"f": text if glyphs else f'"{text}"', "g": phrase, "t": names[target], "m": missing, "x": answer}
    slots["legend"] = _legend(dice, glyphs)
    question = dice.raw(
        """[legend]{[g], and [f] {is|comes out as} [t]|it is known that [f] is [t], and that [g]|[f] is [t]
        while [g]}. {which value can [m] have|what can [m] be|what is possible for [m]}{| then}?""",
        **slots,
    )
    gives = dice.pick(("gives", "makes it", "leads to")) if glyphs else "is"
    tried = dice.shuffled([TRUE, UNKNOWN, FALSE])
    clause = dice.pick(
        ("[m] = [a] [gives] [r]", "with [m] = [a] it is [r]")
        if glyphs
        else ("if [m] is [a], it is [r]", "with [a] for [m] it is [r]")
    )
    tries = [dice.raw(clause, m=missing, a=names[v], r=names[results[v]], gives=gives) for v in tried]
    steps = [
        dice.raw(
            "{try every value of [m]|go through the values of [m]|check the three values of [m]} in [f]",
            **slots,
        ),
        dice.raw("[a], {and |}[b]{, while|; and|,} [c]", a=tries[0], b=tries[1], c=tries[2]),
    ]
    final = dice.raw("{[m] is [x]|[m] can be [x]|[m] must be [x]}", **slots)
    return worked(dice, question, steps, final, answer)


_LAWS: tuple[Callable[[Formula, Formula, Formula], tuple[Formula, Formula]], ...] = (
    lambda a, b, _: (("not", ("and", a, b)), ("or", ("not", a), ("not", b))),
    lambda a, b, _: (("not", ("or", a, b)), ("and", ("not", a), ("not", b))),
    lambda a, b, _: (("if", a, b), ("if", ("not", b), ("not", a))),
    lambda a, b, _: (("if", a, b), ("or", ("not", a), b)),
    lambda a, b, c: (("and", a, ("or", b, c)), ("or", ("and", a, b), ("and", a, c))),
    lambda a, b, c: (("or", a, ("and", b, c)), ("and", ("or", a, b), ("or", a, c))),
    lambda a, b, c: (("if", ("and", a, b), c), ("if", a, ("if", b, c))),
    lambda a, b, _: (("if", a, b), ("if", b, a)),
    lambda a, b, _: (("not", ("and", a, b)), ("and", ("not", a), ("not", b))),
    lambda a, b, _: (("not", ("if", a, b)), ("if", ("not", a), ("not", b))),
    lambda a, b, c: (("and", a, ("or", b, c)), ("or", ("and", a, b), c)),
    lambda a, b, c: (("if", a, ("or", b, c)), ("and", ("if", a, b), ("if", a, c))),
    lambda a, b, _: (("or", a, ("and", a, b)), a),
    lambda a, b, _: (("and", a, ("if", a, b)), ("and", a, b)),
    lambda a, b, _: (("or", a, ("and", ("not", a), b)), ("or", a, b)),
)


def equal(glyphs: bool, dice: Dice) -> Draft:
    """Do two formulas have the same value whatever their letters are?"""
    names = GLYPHS if glyphs else WORDS
    leaves: list[Formula] = []
    for letter in dice.some(_LETTERS, 3):
        leaves.append(("not", (letter,)) if dice.chance(0.2) else (letter,))
    first, second = dice.shuffled(list(dice.pick(_LAWS)(leaves[0], leaves[1], leaves[2])))
    differ = agree(first, second)
    f, g = written(first, glyphs), written(second, glyphs)
    quote = "" if glyphs else '"'
    slots = {
        "f": f"{quote}{f}{quote}",
        "g": f"{quote}{g}{quote}",
        "legend": _legend(dice, glyphs),
    }
    question = dice.raw(
        """[legend]{do [f] and [g] always have the same value|is [f] the same as [g] {in every case|for all
        values}|are [f] and [g] equivalent|can [f] be replaced by [g] {without changing any value|in every
        case}}?""",
        **slots,
    )
    slots |= {"n": 3 ** len({*letters_of(first), *letters_of(second)}), "is": "=" if glyphs else "is"}
    if differ is None:
        steps = [dice.raw(_ALL_CASES, **slots), dice.raw(_NO_DIFFERENCE, **slots)]
        final = dice.raw(
            "yes, {they {are equivalent|always agree|cannot differ}|[f] and [g] always have the same "
            "value|one can stand for the other}",
            **slots,
        )
        return worked(dice, question, steps, final, "yes")
    slots |= {"a": names[value(first, differ)], "b": names[value(second, differ)]}
    case = listed([f"{x} {slots['is']} {names[v]}" for x, v in differ.items()])
    steps = [
        dice.raw(
            "{take the case where|consider the case where|suppose that|look at the case in which} [c]", c=case
        ),
        dice.raw("{there|in that case} [f] [is] [a], but [g] [is] [b]", **slots),
    ]
    final = dice.raw(
        """no, {they {are not equivalent|differ|do not always agree|can differ}|the values are not always
        {the same|equal}|[f] and [g] can come out differently|one cannot stand for the other}""",
        **slots,
    )
    return worked(dice, question, steps, final, "no")


_ALL_CASES = (
    "{there are [n] ways to fill in the letters|the letters {allow|give} [n] cases|[n] cases have to be "
    "compared|the table of values has [n] rows|one can go through the [n] cases}"
)
_NO_DIFFERENCE = (
    "{both sides {come out the same|agree} in {each|every one|all} of them|the two sides never differ|no "
    "case tells the two apart|{both|the two} sides {always|each time} have one value|[f] has the value of "
    "[g] each time|nowhere do the two come apart}"
)


def reports(glyphs: bool, dice: Dice) -> Draft:
    """Several reports, each with a value: are all true, is any true?"""
    names = GLYPHS if glyphs else WORDS
    count = dice.whole(3, 6)
    who = people(dice, count)
    pool = dice.pick(
        ((TRUE, TRUE, TRUE, UNKNOWN), (FALSE, FALSE, FALSE, UNKNOWN), (TRUE, UNKNOWN, FALSE), (TRUE, UNKNOWN))
    )
    values = [dice.pick(pool) for _ in who]
    every = dice.chance(0.5)
    result = min(values) if every else max(values)
    told = [
        f"{p.name}: {names[v]}" if glyphs else f"{p.name}'s is {names[v]}"
        for p, v in zip(who, values, strict=True)
    ]
    slots = {
        "n": count,
        "r": ", ".join(told) if glyphs else listed(told),
        "v": dice.pick(VENUES),
        "q": "all" if every else "any",
    }
    slots |= {
        "legend": _legend(dice, True) if glyphs else "",
        "x": names[result],
        "rule": "smallest" if every else "largest",
    }
    slots["s"] = dice.raw(
        "{{all|all of} the reports are true|every report is true|each of these reports is true|all of these "
        "people are right|everyone is right|not one of the reports is wrong}"
        if every
        else "{at least one of the reports is true|some report is true|one of these people is right|there is "
        "a true report among them|someone is right|one report or more is true}"
    )
    slots["st"] = dice.raw("{the statement|the claim|the sentence|the summary|this conclusion:}")
    question = dice.raw(
        """{[n] reports about [v] have been checked: [r]|[n] people reported on [v]. their reports: [r]|about
        [v] there are [n] reports: [r]|these are the [n] reports on [v]: [r]}. [legend]{what is the value of
        [st] "[s]"|which value has [st] "[s]"|how does [st] "[s]" come out|what value does [st] "[s]" get|is
        [st] "[s]" true, false or unknown|how should one value [st] "[s]"}?""",
        **slots,
    )
    found = sorted({*values})
    steps = [
        dice.raw(
            "{the statement joins the reports with [c]|[c] joins the reports here|this {is|makes} a chain "
            "of reports with [c] between them|put [c] between the reports}",
            c=("∧" if glyphs else '"and"') if every else ("∨" if glyphs else '"or"'),
        ),
        dice.raw(
            "{the values that occur are [v]|there are the values [v]|among the reports we find [v]|[v] are "
            "the values here}{, and the [rule] of {them|these} counts|, of which the [rule] counts|; what "
            "counts is the [rule]}",
            v=listed([names[v] for v in dice.shuffled(found)]),
            rule=slots["rule"],
        )
        if len(found) > 1
        else dice.raw("{all reports have the value [v]|only the value [v] occurs}", v=names[found[0]]),
    ]
    final = dice.raw("{the statement is [x]|its value is [x]|the value is [x]}", **slots)
    return worked(dice, question, steps, final, names[result])


def translate(glyphs: bool, dice: Dice) -> Draft:
    """A formula from words into glyphs, or the other way (`glyphs` False gives words as the answer)."""
    letters = dice.some(_LETTERS, dice.pick((2, 3, 3, 4)))
    formula = draw_formula(dice, letters)
    if len(formula) == 2 and len(letters) == 2:
        formula = formula[1]
    source, answer = written(formula, not glyphs), written(formula, glyphs)
    slots = {"s": source if not glyphs else f'"{source}"', "x": answer if glyphs else f'"{answer}"'}
    if glyphs:
        ask = """{how is [s] written in glyphs|how do you write [s] in glyphs|write [s] in glyph form{,
        please| for me|}|what is the glyph form of [s]| turn [s] into glyphs{, please| for me|}}"""
    else:
        ask = """{what does [s] say in words|{how is|how do you read} [s] in words|write [s] in words{,
        please| for me|}|read out [s] for me in words|put the formula [s] into plain words{, please|}}"""
    question = dice.raw(ask, **slots)
    question += "?" if question.startswith(("how", "what")) else "."
    used = _heads(formula)
    table = {"and": "∧", "or": "∨", "if": "→", "not": "¬"}
    pairs = [
        f'{table[h]} {"stands for" if not glyphs else "for"} "{h}"'
        for h in ("not", "and", "or", "if")
        if h in used
    ]
    steps = [listed(pairs) if not glyphs else dice.raw("{write|use|take} [p]", p=listed(pairs))]
    if "(" in answer:
        steps.append(
            dice.raw(
                "{the brackets stay where they are|brackets are kept|nothing changes about the brackets}"
            )
        )
    final = dice.raw("{the answer is [x]|it is [x]|that gives [x]}", **slots)
    return worked(dice, question, steps, final, answer)


def _heads(formula: Formula) -> set[str]:
    return set() if len(formula) == 1 else {formula[0]}.union(*(_heads(part) for part in formula[1:]))


_TASKS: tuple[tuple[str, Callable[[bool, Dice], Draft], bool], ...] = (
    ("evaluate", evaluate, True),
    ("solve", solve, True),
    ("equal", equal, True),
    ("reports", reports, True),
)
WORD_FAMILIES = tuple(Family(f"{name}_words", partial(task, False), seen) for name, task, seen in _TASKS)
GLYPH_FAMILIES = (
    *tuple(Family(f"{name}_glyphs", partial(task, True), seen) for name, task, seen in _TASKS),
    Family("to_glyphs", partial(translate, True)),
    Family("from_glyphs", partial(translate, False), seen=False),
)
