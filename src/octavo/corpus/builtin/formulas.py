"""Formulas of Kleene's strong three-valued logic: drawing, evaluating, writing in words or glyphs.

Values are ordered false < unknown < true; and is the smaller, or the larger, not turns the order round,
"if a then b" is the larger of not a and b (S. C. Kleene, Introduction to Metamathematics, 1952, section 64).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from octavo.corpus.builtin.dice import Dice

FALSE, UNKNOWN, TRUE = 0, 1, 2
WORDS = ("false", "unknown", "true")
GLYPHS = ("⊥", "◑", "●")
Formula = tuple  # ("A",) or ("not", f) or ("and" | "or" | "if", f, g)


def draw_formula(dice: Dice, letters: list[str]) -> Formula:
    """A formula in which every letter stands once, with some negations."""
    if len(letters) == 1:
        leaf: Formula = (letters[0],)
        return ("not", leaf) if dice.chance(0.3) else leaf
    cut = dice.whole(1, len(letters) - 1)
    sides = draw_formula(dice, letters[:cut]), draw_formula(dice, letters[cut:])
    whole: Formula = (dice.pick(("and", "or", "if")), *sides)
    return ("not", whole) if dice.chance(0.12) else whole


def value(formula: Formula, given: Mapping[str, int]) -> int:
    """The value (0 false, 1 unknown, 2 true) of a formula for given letters."""
    head = formula[0]
    if len(formula) == 1:
        return given[head]
    if head == "not":
        return TRUE - value(formula[1], given)
    left, right = value(formula[1], given), value(formula[2], given)
    if head == "and":
        return min(left, right)
    return max(left, right) if head == "or" else max(TRUE - left, right)


def letters_of(formula: Formula) -> list[str]:
    """Its letters, from left to right."""
    return [formula[0]] if len(formula) == 1 else [x for part in formula[1:] for x in letters_of(part)]


def written(formula: Formula, glyphs: bool, inner: bool = False) -> str:
    """The formula as text: "A and (not B)" or "A ∧ ¬B"."""
    head = formula[0]
    if len(formula) == 1:
        return head
    if head == "not":
        return ("¬" if glyphs else "not ") + written(formula[1], glyphs, True)
    left, right = written(formula[1], glyphs, True), written(formula[2], glyphs, True)
    if glyphs:
        text = f"{left} {_SIGN[head]} {right}"
    else:
        text = f"if {left} then {right}" if head == "if" else f"{left} {head} {right}"
    return f"({text})" if inner else text


_SIGN = {"and": "∧", "or": "∨", "if": "→"}


def working(dice: Dice, formula: Formula, given: Mapping[str, int], glyphs: bool) -> list[str]:
    """One clause for every connective, from the inside out; each states the value that it gives."""
    if len(formula) == 1:
        return []
    steps = [step for part in formula[1:] for step in working(dice, part, given, glyphs)]
    names = GLYPHS if glyphs else WORDS
    parts = [names[value(part, given)] for part in formula[1:]]
    result = names[value(formula, given)]
    if glyphs:
        with_values = f"¬{parts[0]}" if formula[0] == "not" else f"{parts[0]} {_SIGN[formula[0]]} {parts[1]}"
        return [*steps, f"{written(formula, True)} = {with_values} = {result}"]
    if formula[0] == "not":
        because = f"not {parts[0]} is {result}"
    elif formula[0] == "if":
        because = f"if {parts[0]} then {parts[1]} is {result}"
    else:
        because = f"{parts[0]} {formula[0]} {parts[1]} is {result}"
    text = written(formula, False)
    return [*steps, dice.raw("{[b], so|because [b],} [f] is [r]", b=because, f=f'"{text}"', r=result)]


def agree(first: Formula, second: Formula) -> dict[str, int] | None:
    """None where two formulas have the same value for all values of their letters, else values where they differ."""
    letters = sorted({*letters_of(first), *letters_of(second)})
    for values in product((TRUE, UNKNOWN, FALSE), repeat=len(letters)):
        given = dict(zip(letters, values, strict=True))
        if value(first, given) != value(second, given):
            return given
    return None
