"""TruthfulQA (Lin et al. 2022, arXiv:2109.07958) from its CSV: MC1 and MC2 by the likelihood of the answers.

MC1: is the best answer likelier than every false one? MC2: the share of probability on the true answers. As published
a likelihood is the sum over an answer's tokens, so answers of few tokens have an advantage: the chance lines show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from octavo.corpus.sources.csv_rows import read_csv_rows
from octavo.errors import InputError
from octavo.evaluation.choices import chance_by, length_rule, mass, scored_by, share_of_best
from octavo.evaluation.suite import Choose, Item, Request, Score, Suite, shuffled, take

_COLUMNS = ("Question", "Best Answer", "Correct Answers", "Incorrect Answers")


def load(request: Request) -> list[Item]:
    """The questions of a CSV with the columns of TruthfulQA.csv."""
    assert request.file is not None
    items = []
    for number, (row, where) in enumerate(read_csv_rows(request.file)):
        for column in _COLUMNS:
            if not row.get(column):
                raise InputError(f"{where}: `{column}` is missing or empty; this suite reads TruthfulQA.csv")
        items.append(_item(number, row))
    return take(items, request.limit)


def _item(number: int, row: Mapping[str, Any]) -> Item:
    best = _clean(row["Best Answer"])
    right = _distinct([best, *_listed(row["Correct Answers"])], [])
    wrong = _distinct(_listed(row["Incorrect Answers"]), right)
    name = f"{number:03d}"
    options = shuffled([*right, *wrong], f"truthfulqa/{name}/{row['Question']}")
    key = {
        "best": options.index(best),
        "right": sorted(options.index(one) for one in right),
        "wrong": sorted(options.index(one) for one in wrong),
    }
    return Item(
        id=name,
        content={"question": row["Question"], "options": options, **key},
        question=Choose([{"role": "user", "content": row["Question"]}], tuple(options)),
        key=key,
        cluster=str(row.get("Category") or ""),
        group=str(row.get("Type") or ""),
    )


def _listed(text: str) -> list[str]:
    return [_clean(one) for one in text.split(";") if one.strip()]


def _clean(text: str) -> str:
    """As the published script reads an answer: a full stop at the end, no space around."""
    return text.strip().rstrip(".") + "."


def _distinct(texts: Sequence[str], without: Sequence[str]) -> list[str]:
    seen = {one.casefold() for one in without}
    found = []
    for text in texts:
        if text.casefold() not in seen:
            seen.add(text.casefold())
            found.append(text)
    return found


def judge(item: Item, values: Sequence[float]) -> Score:
    """MC1, with MC2 beside it."""
    key = item.key
    few = [key["best"], *key["wrong"]]
    mc1 = share_of_best([values[i] for i in few], 0)
    return Score(mc1, others={"mc2": mass(values, key["right"])})


def make(options: Mapping[str, Any]) -> Suite:
    """The suite with the length rule of `options`; by default the published one."""
    rule = length_rule(options.get("length", "sum"), "truthfulqa: options.length")
    return Suite(
        name="truthfulqa",
        version=1,
        rule=f"likelihood of the answers, length rule {rule.label}",
        says="MC1: the best answer is likelier than every false one. MC2: share of probability on true answers.",
        load=load,
        score=scored_by(rule, judge),
        chance=chance_by(rule, judge, "mc1"),
        metric="mc1",
        settings=("length",),
        configure=make,
        file="TruthfulQA.csv",
        needs_file=True,
    )


SUITES = (make({}),)
