"""Items of one's own: a JSONL file, a rule a line, no code.

A line is `{"prompt": text | "messages": [...] | "context": text to be continued, "rule", "answer"}`, with what its
rule takes: `exact` (answer: a text or several), `contains` (also `unwanted`: texts that must not stand there), `regex`
(answer: a pattern that is searched for), `choice` (options; answer: the number of the right one from 0, or its text).
`id`, `cluster`, `group`, `tools` and `max_new_tokens` may stand beside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from octavo.corpus.messages import TEXT_ROLE, canonical_messages, canonical_tools
from octavo.corpus.sources.jsonl import read_jsonl_rows
from octavo.errors import InputError
from octavo.evaluation.choices import (
    LengthRule,
    best_constant,
    chance_by,
    length_rule,
    scored_by,
    share_of_best,
)
from octavo.evaluation.rules import contains, exact, text_chance
from octavo.evaluation.suite import (
    ChanceFacts,
    Chances,
    Choose,
    Item,
    Request,
    Response,
    Score,
    Suite,
    Write,
    refuse_same_ids,
    take,
)

RULES = ("exact", "regex", "choice", "contains")
_KEYS = {
    "id", "prompt", "messages", "context", "rule", "answer", "options", "unwanted", "cluster", "group", "tools",
    "max_new_tokens", "note",
}  # fmt: skip


def load(request: Request) -> list[Item]:
    """The items of a JSONL file.

    Raises:
        InputError: a line is no item; names file and line.
    """
    assert request.file is not None
    items = [
        _item(row, where, str(number)) for number, (row, where) in enumerate(read_jsonl_rows(request.file), 1)
    ]
    if not items:
        raise InputError(f"{request.file}: holds no items")
    return take(refuse_same_ids(items, str(request.file)), request.limit)


def _item(row: Any, where: str, number: str) -> Item:
    if not isinstance(row, dict):
        raise InputError(f"{where}: an item must be a JSON object")
    if unknown := sorted(set(row) - _KEYS):
        raise InputError(
            f"{where}: `{unknown[0]}` is no key of an item; there are {', '.join(sorted(_KEYS))}"
        )
    rule = row.get("rule", "choice" if "options" in row else None)
    if rule not in RULES:
        raise InputError(f"{where}: `rule` must be one of {', '.join(RULES)}, not {rule!r}")
    messages = _messages(row, where)
    if rule == "choice":
        question: Choose | Write = Choose(messages, _options(row, where))
        key = {"rule": rule, "right": _right(row, where)}
    else:
        question = Write(messages, canonical_tools(row.get("tools"), where), _most(row, where))
        key = {
            "rule": rule,
            "wanted": _texts(row, "answer", where),
            "unwanted": _texts(row, "unwanted", where) if row.get("unwanted") else [],
        }
        if rule == "regex":
            _check_patterns(key["wanted"], where)
    return Item(
        id=str(row.get("id", number)),
        content={name: value for name, value in row.items() if name != "note"},
        question=question,
        key=key,
        cluster=str(row.get("cluster") or ""),
        group=str(row.get("group") or ""),
    )


def _messages(row: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    given = [name for name in ("prompt", "messages", "context") if name in row]
    if len(given) != 1:
        raise InputError(f"{where}: an item has one of `prompt`, `messages` and `context`, not {len(given)}")
    value = row[given[0]]
    if given[0] == "messages":
        messages = canonical_messages(value, where)
        if messages[-1]["role"] == "assistant":
            raise InputError(f"{where}: `messages` must end before the assistant speaks")
        return messages
    if not isinstance(value, str) or (given[0] == "prompt" and not value.strip()):
        raise InputError(f"{where}: `{given[0]}` must be a text, not {value!r}")
    return [{"role": TEXT_ROLE if given[0] == "context" else "user", "content": value}]


def _options(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    options = row.get("options")
    if not isinstance(options, list) or len(options) < 2 or not all(isinstance(o, str) for o in options):
        raise InputError(f"{where}: `options` must be a list of two or more texts")
    for number, option in enumerate(options):
        if not option.strip():
            raise InputError(f"{where}: option {number} is empty; every option needs text of its own")
    if len(set(options)) < len(options):
        raise InputError(f"{where}: two options are the same text")
    return tuple(options)


def _right(row: Mapping[str, Any], where: str) -> int:
    options, answer = row["options"], row.get("answer")
    if isinstance(answer, str) and answer in options:
        return int(options.index(answer))
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(options):
        return answer
    raise InputError(f"{where}: `answer` must be an option or its number from 0 to {len(options) - 1}")


def _texts(row: Mapping[str, Any], name: str, where: str) -> list[str]:
    value = row.get(name)
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InputError(f"{where}: `{name}` must be a text or a list of texts, none of them empty")
    return [str(text) for text in texts]


def _most(row: Mapping[str, Any], where: str) -> int:
    value = row.get("max_new_tokens", 128)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{where}: `max_new_tokens` must be a whole number from 1")
    return value


def _check_patterns(patterns: Sequence[str], where: str) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise InputError(f"{where}: the pattern {pattern!r} cannot be read: {error}") from None


def judge(item: Item, values: Sequence[float]) -> Score:
    """Is the right option the likeliest?"""
    return Score(share_of_best(values, item.key["right"]))


def score_text(item: Item, response: Response) -> Score:
    """Does the text keep the item's rule?"""
    if response.text is None:
        return Score(None, {"refused": "the logits are not finite"})
    wanted, text = item.key["wanted"], response.text
    if item.key["rule"] == "exact":
        good = exact(text, wanted)
    elif item.key["rule"] == "regex":
        good = any(re.search(pattern, text) for pattern in wanted)
    else:
        good = contains(text, wanted, item.key["unwanted"])
    return Score(float(good))


def make(options: Mapping[str, Any]) -> Suite:
    """The suite with the length rule of `options` for its choices."""
    rule = length_rule(options.get("length", "sum"), "items: options.length")
    by_likelihood = scored_by(rule, judge)

    def score(item: Item, response: Response) -> Score:
        return (by_likelihood if isinstance(item.question, Choose) else score_text)(item, response)

    return Suite(
        name="items",
        version=1,
        rule=f"each item's own; choices by length rule {rule.label}",
        says="share of the items whose rule the answer keeps",
        load=load,
        score=score,
        chance=lambda items, facts: _chance(items, facts, rule),
        settings=("length",),
        configure=make,
        file="JSONL file of items",
        needs_file=True,
        named_by_file=True,
    )


def _chance(items: Sequence[Item], facts: ChanceFacts, rule: LengthRule) -> Chances:
    """The best constant answer to the choices and the best constant text for the rest, weighted by their numbers."""
    chosen = [item for item in items if isinstance(item.question, Choose)]
    written = [item for item in items if isinstance(item.question, Write)]
    lines: dict[str, float] = {}
    total = 0.0
    if chosen:
        lines |= chance_by(rule, judge, "score")(chosen, facts)["score"]
        total += len(chosen) * best_constant(lines)
    if written:
        found = text_chance(score_text, lambda item: item.key["wanted"])(written, facts)["score"]
        total += len(written) * best_constant(found)
        lines |= found
    if chosen and written:
        return {"score": {"best constant answer": total / len(items)}}
    return {"score": lines}


SUITES = (make({}),)
