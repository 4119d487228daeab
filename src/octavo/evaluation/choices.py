"""Options by likelihood: which tokens are an option's own, how length counts, and who wins a tie."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from octavo.corpus.encode import Encoder
from octavo.corpus.messages import TEXT_ROLE
from octavo.errors import InputError
from octavo.evaluation.suite import ChanceFacts, Chances, Choose, Item, Response, Score, digest

# Log-likelihoods nearer than this (nats, after the length rule) are one: a model whose logits are constant differs
# between options by rounding only, and must not win or lose by it.
TIE = 1e-4


# (item, values of its options) -> score
Judge = Callable[[Item, Sequence[float]], Score]


@dataclass(frozen=True)
class LengthRule:
    """By what an option's summed log-likelihood is divided: nothing, its tokens, or its characters."""

    name: str
    version: int

    @property
    def label(self) -> str:
        """Name and version as lines have them."""
        return f"{self.name}/{self.version}"

    def value(self, total: float, tokens: int, characters: int) -> float:
        """The option's value, from the sum in nats."""
        return total / {"sum": 1, "token": tokens, "character": max(1, characters)}[self.name]


LENGTH_RULES = {name: LengthRule(name, 1) for name in ("sum", "token", "character")}


def length_rule(name: Any, where: str) -> LengthRule:
    """A rule by its name.

    Raises:
        InputError: there is none of that name.
    """
    if name not in LENGTH_RULES:
        raise InputError(f"{where}: '{name}' is no length rule; there are {', '.join(LENGTH_RULES)}")
    return LENGTH_RULES[name]


@dataclass(frozen=True)
class Sequences:
    """An item's options as sequences: `labels` mark each option's own tokens; `cut` tokens fell off the front."""

    ids: list[list[int]]
    labels: list[list[bool]]
    cut: int


def encode_options(question: Choose, encoder: Encoder, window: int | None, where: str) -> Sequences:
    """Ids of context and option, the option's own tokens marked; every option has at least one.

    In a chat an answer begins where generation would begin it, and the token that ends the turn belongs to it. A text
    and its continuation are tokenised as one, the way the model met text; where a token spans the boundary for some
    option, the part that is scored begins before it for all options alike, so that they are compared over the same
    characters.

    Arguments:
        window: most tokens the base reads; the front of a longer context is cut, the same for all options. None: any.

    Raises:
        InputError: an option is empty, or alone longer than the window.
    """
    for option in question.options:
        if not option:
            raise InputError(f"{where}: an option is empty; every option needs text of its own")
    if question.messages[0]["role"] == TEXT_ROLE:
        ids, start = _continuations(str(question.messages[0]["content"]), question.options, encoder)
    elif not encoder.has_template:
        ids, start = _continuations(plain(question.messages), [f" {o}" for o in question.options], encoder)
    else:
        ids, start = _replies(question, encoder, where)
    cut = 0 if window is None else max(0, max(map(len, ids)) - window)
    if start - cut < 1:
        raise InputError(
            f"{where}: an option is longer than the {window} tokens that the base reads; shorten it or take it out"
        )
    labels = [[i >= start for i in range(len(one))] for one in ids]
    return Sequences([one[cut:] for one in ids], [one[cut:] for one in labels], cut)


def plain(messages: Sequence[Mapping[str, Any]]) -> str:
    """A conversation for a base without a chat template."""
    names = {"user": "Question", "assistant": "Answer", "system": "Instructions"}
    return "".join(f"{names.get(m['role'], m['role'])}: {m['content']}\n" for m in messages) + "Answer:"


def _replies(question: Choose, encoder: Encoder, where: str) -> tuple[list[list[int]], int]:
    prompt = encoder.prompt(list(question.messages), where=where)
    found = []
    for option in question.options:
        turns = [*question.messages, {"role": "assistant", "content": option}]
        encoded = encoder.encode(turns, where=where)
        last = max(i for i, label in enumerate(encoded.labels) if label)
        ids = encoded.ids[: last + 1]
        if ids[: len(prompt)] != prompt or len(ids) <= len(prompt) + 1:
            raise InputError(
                f"{where}: the chat template leaves nothing of the option {option!r}; "
                "write options with text that it keeps"
            )
        found.append(ids)
    return found, len(prompt)


def _continuations(context: str, options: Sequence[str], encoder: Encoder) -> tuple[list[list[int]], int]:
    """Ids of each whole text, and where the scored part begins: before the first token that differs from the
    context's own."""
    first = [encoder.text_start]
    alone = encoder.text_ids(context) if context else []
    whole = [encoder.text_ids(context + option) for option in options]
    shared = min(_common(alone, ids) for ids in whole)
    # the tokens of one option may all be the context's (never with text of its own, but a tokenizer may drop a space)
    shared = min(shared, min(len(ids) for ids in whole) - 1)
    return [[*first, *ids] for ids in whole], shared + 1


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def values(item: Item, response: Response, rule: LengthRule) -> list[float] | None:
    """The options' log-likelihoods after the length rule; None where one is not finite."""
    assert isinstance(item.question, Choose)
    if not response.losses or not all(map(math.isfinite, response.losses)):
        return None
    rows = zip(response.losses, response.tokens, item.question.options, strict=True)
    return [rule.value(-loss, tokens, len(option)) for loss, tokens, option in rows]


def share_of_best(found: Sequence[float], right: int) -> float:
    """1 where option `right` is best alone, 1/n where it is one of n that tie, else 0."""
    best = max(found)
    tied = [i for i, value in enumerate(found) if best - value <= TIE]
    return 1 / len(tied) if right in tied else 0.0


def mass(found: Sequence[float], right: Sequence[int]) -> float:
    """The share of the options' total probability that falls on the right ones."""
    best = max(found)
    weights = [math.exp(value - best) for value in found]
    return sum(weights[i] for i in right) / sum(weights)


def ignorant_values(
    item: Item, tokens: Sequence[int], vocabulary: int, rule: LengthRule
) -> dict[str, list[float]]:
    """What contestants without knowledge would say of an item's options, each by name: all alike; constant logits, of
    which the length rule may make a preference for few tokens; the shortest and the longest text; noise."""
    assert isinstance(item.question, Choose)
    lengths = [len(option) for option in item.question.options]
    noise = [int(digest(f"{item.id}/noise/{i}")[:12], 16) / 16**12 for i in range(len(lengths))]
    dead = Response(losses=tuple(n * math.log(vocabulary) for n in tokens), tokens=tuple(tokens))
    return {
        "uniform": [0.0] * len(lengths),
        "constant logits": values(item, dead, rule) or [],
        "shortest": [-10.0 * length for length in lengths],
        "longest": [10.0 * length for length in lengths],
        "noise": [10 * value for value in noise],
    }


def scored_by(rule: LengthRule, judge: Judge) -> Callable[[Item, Response], Score]:
    """The scoring function of a suite of options; nothing that is not finite gets a score."""

    def score(item: Item, response: Response) -> Score:
        found = values(item, response, rule)
        if found is None:
            return Score(None, {"refused": "a likelihood is not finite"})
        judged = judge(item, found)
        detail = {"values": [round(value, 6) for value in found], "rule": rule.label}
        return Score(judged.value, {**detail, **judged.detail}, judged.others)

    return score


def chance_by(
    rule: LengthRule, judge: Judge, metric: str
) -> Callable[[Sequence[Item], ChanceFacts], Chances]:
    """Chance of a suite of options: means of what `judge` gives to contestants that know nothing."""

    def chance(items: Sequence[Item], facts: ChanceFacts) -> Chances:
        sums: Chances = {}
        for item in items:
            for name, found in ignorant_values(item, facts.tokens[item.id], facts.vocabulary, rule).items():
                score = judge(item, found)
                for key, value in {metric: score.value, **score.others}.items():
                    into = sums.setdefault(key, {})
                    into[name] = into.get(name, 0.0) + (value or 0.0) / len(items)
        return sums

    return chance


def best_constant(lines: Mapping[str, float]) -> float:
    """The chance level: the best of the answers that know nothing. Noise is no constant answer."""
    return max(value for name, value in lines.items() if name != "noise")
