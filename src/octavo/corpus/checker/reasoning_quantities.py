"""Solvers for questions about money and amounts, from the wording alone."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import count

from octavo.corpus.checker.text import (
    NUMBER,
    Solution,
    as_money,
    grouped,
    moneys,
    plural,
    solver,
    value_of,
    whole,
)

_LIST = re.compile(r"\d+(?:, \d+)*,? and \d+")


def _change(q: str) -> str | None:
    bought = re.findall(rf"(\d+) [^.,$£€]+? at [$£€]({NUMBER}) each", q)
    if len(bought) != 2:
        return None
    return as_money(moneys(q)[-1] - sum(int(n) * value_of(p) for n, p in bought), q)


def _discount(q: str) -> str | None:
    percent = re.search(r"(\d+)%", q)
    return as_money(moneys(q)[0] * (100 - int(percent[1])) / 100, q) if percent else None


def _best_value(q: str) -> Solution | None:
    packs = re.findall(rf"of (\d+) costs [$£€]({NUMBER})", q)
    if len(packs) != 2:
        return None
    (n, a), (m, b) = packs
    first_wins = value_of(a) * int(m) < value_of(b) * int(n)
    return Solution(f"the pack of {n if first_wins else m}", (f"the pack of {m if first_wins else n}",))


def _saving(q: str) -> str | None:
    amounts = moneys(q)
    if len(amounts) != 3:
        return None
    price, have, weekly = amounts
    return plural(next(n for n in count(1) if have + n * weekly >= price), "week")


def _shared_bill(q: str) -> str | None:
    tip = re.search(r"(\d+)%", q)
    size = re.search(r"(\d+) people in all|(?:group|party|table) of (\d+)", q)
    friends = re.search(r"and (\d+) friends", q)
    if not tip or not (size or friends):
        return None
    persons = int(size[1] or size[2]) if size else int(friends[1]) + 1  # type: ignore[index]
    return as_money(moneys(q)[0] * (100 + int(tip[1])) / 100 / persons, q)


def _stock(q: str) -> str | None:
    start = re.search(r"\d+", q)
    out = re.findall(r"(?:gives (\d+) to|sells (\d+) at|loses (\d+))", q)
    into = re.findall(r"(?:gets (\d+) from|buys (\d+) more|finds another (\d+))", q)
    if not start or len(out) + len(into) != 3:
        return None
    return str(int(start[0]) + sum(int("".join(x)) for x in into) - sum(int("".join(x)) for x in out))


def _packing(q: str) -> str | None:
    forms = (
        rf"packs (?P<n>{NUMBER}) .+? into \w+ of (?P<s>\d+)",
        rf"(?P<n>{NUMBER}) .+? are to be packed in \w+, (?P<s>\d+) to a",
        rf"has (?P<n>{NUMBER}) .+? and puts (?P<s>\d+) into each",
        rf"each \w+ holds (?P<s>\d+) .+?, and \w+ has (?P<n>{NUMBER}) of them",
    )
    found = next((m for form in forms if (m := re.search(form, q, re.IGNORECASE))), None)
    if found is None:
        return None
    full, rest = divmod(whole(found["n"]), int(found["s"]))
    asks_full = re.search(r"how many (?:\w+ can be filled|full \w+ (?:are there|does))", q, re.IGNORECASE)
    return str(full if asks_full else rest)


def _average(q: str) -> str | None:
    values = _LIST.search(q)
    if values is None or re.search(r"average of \d", q):
        return None
    numbers = [int(v) for v in re.findall(r"\d+", values[0])]
    mean = Fraction(sum(numbers), len(numbers))
    return str(mean) if mean.denominator == 1 else None


def _missing_score(q: str) -> str | None:
    values, mean, tests = _LIST.search(q), re.search(r"average of (\d+)", q), re.search(r"(\d+) tests?\b", q)
    if not (values and mean and tests):
        return None
    numbers = [int(v) for v in re.findall(r"\d+", values[0])]
    if len(numbers) != int(tests[1]):
        return None
    return str(int(mean[1]) * (len(numbers) + 1) - sum(numbers))


def _ratio_split(q: str) -> str | None:
    ratio = re.search(r"(\d+):(\d+)", q)
    names = re.search(r"(?:between )?\b([A-Z]\w+) and ([A-Z]\w+)", q)
    asked = re.search(
        r"(?:how much does|what does|what is|how much is) ([A-Z]\w+?)(?:'s| get| receive)", q, re.IGNORECASE
    )
    if not (ratio and names and asked) or asked[1] not in names.groups():
        return None
    parts = [int(ratio[1]), int(ratio[2])]
    return as_money(moneys(q)[0] * parts[names.groups().index(asked[1])] / sum(parts), q)


def _percent_rest(q: str) -> str | None:
    total = re.search(rf"(?:of the|there are) ({NUMBER}) ", q, re.IGNORECASE)
    said = re.search(r"(\d+)% (?:of them )?([^.?]+)\. ", q)
    asked = re.search(r"how many (.+?)\?", q, re.IGNORECASE)
    if not (total and said and asked):
        return None
    share = Fraction(int(said[1]), 100) * whole(total[1])
    same = asked[1].endswith(said[2])
    if not same and not re.search(r"\bnot\b|30 or older|only one language|something other than", asked[1]):
        return None
    if asked[1].endswith("not " + said[2]):
        same = False
    amount = share if same else whole(total[1]) - share
    return grouped(int(amount)) if amount.denominator == 1 else None


def _recipe_scale(q: str) -> str | None:
    people = re.findall(r"(\d+) people", q)
    amount = re.search(rf"({NUMBER}) (g|ml) of", q)
    if len(people) != 2 or not amount:
        return None
    need = value_of(amount[1]) / int(people[0]) * int(people[1])
    return f"{grouped(int(need))} {amount[2]}" if need.denominator == 1 else None


SOLVERS = (
    solver("change", r"\bat [$£€][\d.,]+ each and \d", _change),
    solver("shared bill", r"\btip\b", _shared_bill),
    solver("discount", r"\d% off|reduced by \d+%", _discount),
    solver("best value", r"of \d+ costs [$£€].*of \d+ costs", _best_value),
    solver("saving", r"how many weeks", _saving),
    solver("stock", r"finds another|buys \d+ more", _stock),
    solver(
        "packing", r"can be filled|full \w+ (?:are there|does)|left over\?|do not fit|last full", _packing
    ),
    solver("missing score", r"average of \d+", _missing_score),
    solver("average", r"\b(?:average|mean)\b", _average),
    solver("ratio", r"ratio \d+:\d+|split it \d+:\d+", _ratio_split),
    solver("percent", r"\d% .*how many", _percent_rest),
    solver("recipe", r"\d (?:g|ml) of .*\d people|\d people.*\d (?:g|ml) of", _recipe_scale),
)
