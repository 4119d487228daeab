"""Solvers for rules, classes and truth-tellers: every possible world is tried."""

from __future__ import annotations

import re
from itertools import product

from octavo.corpus.checker.text import Solution, solver

_THREE = ("true", "false", "unknown")


def _three(worlds_say: set[bool]) -> Solution:
    answer = "unknown" if len(worlds_say) == 2 else "true" if worlds_say == {True} else "false"
    return Solution(answer, tuple(v for v in _THREE if v != answer))


def _positive(sentence: str) -> tuple[str, bool]:
    """A sentence without its negation, and whether it was without one already."""
    plain = sentence.strip().rstrip(".").lower()
    for negated, positive in ((r"\b(is|are|has) not\b", r"\1"), (r"\bhas no\b", "has")):
        if re.search(negated, plain):
            return re.sub(negated, positive, plain), False
    found = re.search(r"\bdoes not (\w+)", plain)
    if found:
        return plain.replace(
            found[0], found[1] + ("es" if found[1].endswith(("s", "sh", "ch")) else "s")
        ), False
    return plain, True


def _rules(q: str) -> Solution | None:
    asked = re.search(
        r'(?:unknown that|what about|what follows for) "?(.+?)"?(?:\?|: true)', q, re.IGNORECASE
    )
    if not asked:
        return None
    body = re.sub(
        r"\b(?:Moreover|Besides|Also|Now|Today|And),? (?=\w)", "", q[: asked.start()], flags=re.IGNORECASE
    )
    body = re.sub(r"(?:These rules hold|This is known): ", "", body)
    rules, facts = [], []
    for sentence in re.split(r"[.?] ?", body):
        rule = re.fullmatch(r"(?:if|whenever) (.+?), (?:then )?(.+)", sentence, re.IGNORECASE)
        turned = re.fullmatch(r"(.+?) if (.+)", sentence)
        if rule:
            rules.append((rule[1].lower(), rule[2].lower()))
        elif turned:
            rules.append((turned[2].lower(), turned[1].lower()))
        elif re.match(r"the ", sentence, re.IGNORECASE):
            facts.append(_positive(sentence))
    names = sorted({part for rule in rules for part in rule})
    wanted, wanted_value = _positive(asked[1])
    if not rules or len(facts) != 1 or wanted not in names or facts[0][0] not in names:
        return None
    say = set()
    for values in product((True, False), repeat=len(names)):
        world = dict(zip(names, values, strict=True))
        if all(world[b] or not world[a] for a, b in rules) and world[facts[0][0]] == facts[0][1]:
            say.add(world[wanted] == wanted_value)
    return _three(say)


_STEM = {"owns": "own", "likes": "like", "wears": "wear", "has": "have", "gets": "get", "speaks": "speak",
    "keeps": "keep",
         "plays": "play", "drinks": "drink"}  # fmt: skip


def _stem(action: str) -> str:
    """An action in its plain form: "has no library card" and "have a library card" share one."""
    action = re.sub(r"^(?:does not|do not|cannot|can) ", "", action.strip().rstrip("."))
    action = re.sub(r"^has no ", "have a ", action)
    first, _, rest = action.partition(" ")
    return f"{_STEM.get(first, first)} {rest}".strip()


def _classes(q: str) -> Solution | None:
    forms = (
        (r"there are no (?P<g>.+?) who (?:do not|cannot) (?P<v>.+?)(?:\.| and that|$)", True),
        (
            r"every one of the (?P<g>.+?) (?P<v>(?:owns|likes|wears|has|can|gets|speaks|keeps|plays|drinks) "
            r".+?)(?:\.| and that|$)",
            True,
        ),
        (
            r"\ball (?P<g>.+?) (?P<v>(?:own|like|wear|have|can|get|speak|keep|play|drink) .+?)(?:\.| and "
            r"that|$)",
            True,
        ),
        (r"there are no (?P<g>.+?) who (?P<v>.+?)(?:\.| and that|$)", False),
        (
            r"(?:none of the|\bno) (?P<g>.+?) (?P<v>(?:own|like|wear|have|can|get|speak|keep|play|drink) "
            r".+?)(?:\.| and that|$)",
            False,
        ),
    )
    rule = next(((m, holds) for form, holds in forms if (m := re.search(form, q, re.IGNORECASE))), None)
    asked = re.search(r"(?:follow that|about this:|unknown that) ([A-Z]\w+) (.+?)\?", q)
    if not (rule and asked):
        return None
    found, covers = rule
    group, action, name = found["g"], _stem(found["v"]), asked[1]
    rest = q[: found.start()] + q[found.end() :]
    rest = rest[: rest.index(asked[0])] if asked[0] in rest else rest
    fact = re.search(rf"\b{name} (.+?)(?:\.|$)", rest)
    if not fact:
        return None

    def reads(statement: str) -> tuple[str, bool] | None:
        """("in" the group or "does" the action, positive or not)."""
        statement = statement.strip()
        member = re.match(r"is (not )?(?:a member (of .+)|an? (.+)|(in .+))", statement)
        if member:
            said = member[2] or member[3] or member[4]
            if group in (f"members {said}", f"people {said}", f"{said}s"):
                return "in", not member[1]
            return None
        negative = statement.startswith(("does not", "cannot", "has no "))
        return ("does", not negative) if _stem(statement) == action else None

    given, wanted = reads(fact[1]), reads(asked[2])
    if not (given and wanted):
        return None
    say = set()
    for inside, does in product((True, False), repeat=2):
        world = {"in": inside, "does": does}
        if (not inside or does == covers) and world[given[0]] == given[1]:
            say.add(world[wanted[0]] == wanted[1])
    return _three(say)


def _honest(q: str) -> Solution | None:
    claims = re.findall(
        r'([A-Z]\w+) says: "([A-Z]\w+) (?:always )?(tells the truth|speaks the truth|lies|tells lies)\."', q
    )
    known = re.search(r"know that ([A-Z]\w+) is honest|([A-Z]\w+) is known to be honest", q)
    asked = re.search(r"(?:Is|Which is) ([A-Z]\w+),? honest or lying", q)
    if not (claims and known and asked):
        return None
    names = sorted({name for claim in claims for name in claim[:2]})
    say = set()
    for values in product((True, False), repeat=len(names)):
        honest = dict(zip(names, values, strict=True))
        fits = all((honest[about] == ("truth" in what)) == honest[who] for who, about, what in claims)
        if fits and honest[known[1] or known[2]]:
            say.add(honest[asked[1]])
    if len(say) != 1:
        return None
    return Solution("honest", ("lying",)) if say == {True} else Solution("lying", ("honest",))


SOLVERS = (
    solver("truth-tellers", r"honest or lying", _honest),
    solver(
        "classes",
        r"(?:every one of the|\ball\b|there are no|none of the|\bno\b) .*true, false or unknown|true, false "
        r"or unknown.*(?:every one of the|\ball\b|there are no|none of the|\bno\b)",
        _classes,
    ),
    solver("rules", r"(?:\bif\b|\bwhenever\b).*true, false or unknown", _rules),
)
