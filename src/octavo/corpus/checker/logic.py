"""Solver for three-valued logic, in words and in glyphs: its own parser and truth tables written out."""

from __future__ import annotations

import re
from itertools import product

from octavo.corpus.checker.text import Solution, solver

_WORDS = {"true": "T", "unknown": "U", "false": "F"}
_GLYPHS = {"●": "T", "◑": "U", "⊥": "F"}
_NAMES = {True: {v: k for k, v in _GLYPHS.items()}, False: {v: k for k, v in _WORDS.items()}}
_NOT = {"T": "F", "U": "U", "F": "T"}
_AND = dict(zip(product("TUF", repeat=2), "TUFUUFFFF", strict=True))
_OR = dict(zip(product("TUF", repeat=2), "TTTTUUTUF", strict=True))
_IF = dict(zip(product("TUF", repeat=2), "TUFTUUTTT", strict=True))
_TABLES = {"∧": _AND, "and": _AND, "∨": _OR, "or": _OR, "→": _IF, "then": _IF}
_SIGN = {"and": "∧", "or": "∨", "then": "→", "not": "¬"}
_SIDE = "([A-Z¬(][A-Z¬()∧∨→ ]*?)"
_PAIR = re.compile(
    rf"(?i:do) {_SIDE} and {_SIDE} always|(?i:is) {_SIDE} the same as {_SIDE} (?:in|for)|(?i:are) {_SIDE} "
    rf"and {_SIDE} equivalent|"
    rf"(?i:can) {_SIDE} be replaced by {_SIDE} (?:without|in)"
)
Tree = tuple


def _tokens(text: str) -> list[str]:
    return re.findall(r"[A-Z]\b|[()¬∧∨→]|not|and|or|if|then", text)


def parse(text: str) -> Tree | None:
    """The tree of a formula in words or glyphs, None if it is none."""
    tokens = _tokens(text)
    tree, rest = _parse(tokens)
    return tree if tree is not None and not rest else None


def _parse(tokens: list[str]) -> tuple[Tree | None, list[str]]:
    if tokens[:1] == ["if"]:
        left, rest = _operand(tokens[1:])
        if rest[:1] != ["then"]:
            return None, rest
        right, rest = _operand(rest[1:])
        return (("then", left, right) if left and right else None), rest
    left, rest = _operand(tokens)
    if rest and rest[0] in ("and", "or", "∧", "∨", "→"):
        right, after = _operand(rest[1:])
        return ((rest[0], left, right) if left and right else None), after
    return left, rest


def _operand(tokens: list[str]) -> tuple[Tree | None, list[str]]:
    if not tokens:
        return None, tokens
    head, rest = tokens[0], tokens[1:]
    if head in ("not", "¬"):
        inner, rest = _operand(rest)
        return (("not", inner) if inner else None), rest
    if head == "(":
        inner, rest = _parse(rest)
        return (inner, rest[1:]) if inner and rest[:1] == [")"] else (None, rest)
    return ((head,), rest) if len(head) == 1 and head.isalpha() else (None, rest)


def _value(tree: Tree, given: dict[str, str]) -> str:
    if len(tree) == 1:
        return given[tree[0]]
    if tree[0] == "not":
        return _NOT[_value(tree[1], given)]
    return _TABLES[tree[0]][_value(tree[1], given), _value(tree[2], given)]


def _letters(tree: Tree) -> set[str]:
    return {tree[0]} if len(tree) == 1 else set().union(*(_letters(part) for part in tree[1:]))


def _glyph_form(text: str) -> bool:
    return any(ch in text for ch in "¬∧∨→●◑⊥")


def _given(q: str, glyphs: bool) -> dict[str, str]:
    found = re.findall(r"\b([A-Z]) = ([●◑⊥])" if glyphs else r"\b([A-Z]) is (true|false|unknown)", q)
    return {letter: (_GLYPHS if glyphs else _WORDS)[name] for letter, name in found}


def _formulas(q: str, glyphs: bool) -> list[str]:
    if not glyphs:
        return re.findall(r'"([^"]+)"', q)
    plain = re.sub(r"\b[A-Z] = [●◑⊥]", " ; ", q)
    parts = re.findall(r"(?:[A-Z]\b|[¬(])(?:[A-Z]\b|[¬()∧∨→ ])*", plain)
    return [p.strip() for p in parts if re.search(r"[¬∧∨→]", p)]


def _evaluate(q: str) -> Solution | None:
    glyphs = _glyph_form(q)
    trees = [t for f in _formulas(q, glyphs) if (t := parse(f))]
    given = _given(q, glyphs)
    if len(trees) != 1 or not given:
        return None
    tree, names = trees[0], _NAMES[glyphs]
    missing = sorted(_letters(tree) - set(given))
    if not missing:
        answer = names[_value(tree, given)]
        return Solution(answer, tuple(n for n in names.values() if n != answer))
    target = re.search(
        r"[A-Z)] (?:is|comes out as) ([●◑⊥])" if glyphs else r'" (?:is|comes out as) (true|false|unknown)', q
    )
    if len(missing) != 1 or not target:
        return None
    wanted = (_GLYPHS if glyphs else _WORDS)[target[1]]
    fits = [names[v] for v in "TUF" if _value(tree, {**given, missing[0]: v}) == wanted]
    if not fits:
        return None
    return Solution(" or ".join(fits), tuple(n for n in names.values() if n not in fits))


def _equal(q: str) -> Solution | None:
    sides = re.findall(r'"([^"]+)"', q)
    if _glyph_form(q):
        frame = _PAIR.search(q)
        sides = [side for side in frame.groups() if side] if frame else []
    trees = [t for side in sides if (t := parse(side))]
    if len(trees) != 2:
        return None
    letters = sorted(_letters(trees[0]) | _letters(trees[1]))
    same = True
    for values in product("TUF", repeat=len(letters)):
        given = dict(zip(letters, values, strict=True))
        same = same and _value(trees[0], given) == _value(trees[1], given)
    return Solution("yes", ("no",)) if same else Solution("no", ("yes",))


def _reports(q: str) -> Solution | None:
    glyphs = any(ch in q.partition("report")[2].partition('"')[0] for ch in _GLYPHS)
    told = re.findall(r"[A-Z]\w+: ([●◑⊥])" if glyphs else r"'s is (true|false|unknown)", q)
    if not told:
        return None
    values = [(_GLYPHS if glyphs else _WORDS)[name] for name in told]
    table = (
        _OR
        if re.search(
            r"at least one|some report|one of these|there is a true|someone is right|one report or more", q
        )
        else _AND
    )
    result = values[0]
    for v in values[1:]:
        result = table[result, v]
    answer = _NAMES[glyphs][result]
    return Solution(answer, tuple(n for n in _NAMES[glyphs].values() if n != answer))


def _shown(tree: Tree, glyphs: bool, inner: bool = False) -> str:
    if len(tree) == 1:
        return tree[0]
    if tree[0] == "not":
        return ("¬" if glyphs else "not ") + _shown(tree[1], glyphs, True)
    sign = _SIGN.get(tree[0], tree[0])
    left, right = _shown(tree[1], glyphs, True), _shown(tree[2], glyphs, True)
    word = {"∧": "and", "∨": "or"}.get(sign)
    text = (
        f"{left} {sign} {right}"
        if glyphs
        else f"{left} {word} {right}"
        if word
        else f"if {left} then {right}"
    )
    return f"({text})" if inner else text


def _translate(q: str) -> str | None:
    to_glyphs = "glyph" in q
    found = _formulas(q, not to_glyphs)
    trees = [t for f in found if (t := parse(f))]
    return _shown(trees[0], to_glyphs) if len(trees) == 1 else None


SOLVERS = (
    solver(
        "reports",
        r"report(?:s|ed).*(?:the (?:statement|claim|sentence|summary)|this conclusion:) \"",
        _reports,
    ),
    solver(
        "translation", r"in glyphs|glyph form of|in glyph form|into glyphs|in words|plain words", _translate
    ),
    solver("equivalence", r"always have the same|the same as|equivalent\?|be replaced by", _equal),
    solver("formula", r'"[^"]*\b(?:if|not|and|or)\b[^"]*"|[¬∧∨→]', _evaluate),
)
