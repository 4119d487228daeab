"""Drawing examples: which kinds and families, distinct by question, train and held-out apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from math import isfinite

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family
from octavo.corpus.builtin.registry import KINDS
from octavo.corpus.example import Example
from octavo.errors import InputError

SPLITS = ("train", "heldout")
HELDOUT_BUCKETS = 8  # one question in eight belongs to the held-out part, by its hash, whatever the seed
UNSEEN_SHARE = 0.25  # of the held-out part: families that are never trained on
MOST_TRIES = 2000  # a family that gives nothing new after so many draws is used up


def generate(
    kinds: Mapping[str, float], examples: int, heldout: int, seed: int
) -> tuple[list[Example], list[Example]]:
    """Draw a corpus.

    Arguments: kinds maps `reasoning`, `conversation`, `tool_use`, `logic` (also `logic_words`, `logic_glyphs`) to
    weights; examples and heldout are exact counts; equal arguments give equal bytes on every machine.
    Returns: train and held-out examples, all with different questions, the two parts disjoint.
    Raises: InputError for an unknown kind, a weight that is no positive number, or a negative count.
    """
    for name, count in (("examples", examples), ("heldout", heldout)):
        if count < 0:
            raise InputError(f"corpus.{name} is {count}: give a count of 0 or more")
    return (
        list(islice(stream(kinds, seed, "train"), examples)),
        list(islice(stream(kinds, seed, "heldout"), heldout)),
    )


def stream(kinds: Mapping[str, float], seed: int, split: str) -> Iterator[Example]:
    """Endless distinct examples of one part ("train" or "heldout"); the first n are those of `generate`.

    Kinds come in the proportion of their weights at every length; families take turns within a kind.
    """
    weights = _checked(kinds)
    if split not in SPLITS:
        raise InputError(f"corpus part {split!r}: choose train or heldout")
    sources = {kind: _kind_stream(kind, seed, split) for kind in weights}
    return _mixed(weights, sources)


def _checked(kinds: Mapping[str, float]) -> dict[str, float]:
    for kind, weight in kinds.items():
        if kind not in KINDS:
            near = get_close_matches(str(kind), list(KINDS), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"corpus.kinds: unknown kind {kind!r}; there are {', '.join(KINDS)}{hint}")
        if (
            isinstance(weight, bool)
            or not isinstance(weight, int | float)
            or not isfinite(weight)
            or weight < 0
        ):
            raise InputError(f"corpus.kinds.{kind} is {weight!r}: give a weight of 0 or more")
    weights = {kind: float(weight) for kind, weight in kinds.items() if weight > 0}
    if not weights:
        raise InputError(
            "corpus.kinds has no kind with a weight above 0: name at least one, e.g. {reasoning: 1}"
        )
    return weights


def _mixed(weights: Mapping[str, float], sources: Mapping[str, Iterator[Example]]) -> Iterator[Example]:
    total = sum(weights.values())
    given = dict.fromkeys(weights, 0)
    questions: set[bytes] = set()
    for drawn in _counting():
        kind = max(weights, key=lambda k: weights[k] / total * (drawn + 1) - given[k])
        given[kind] += 1
        while True:  # kinds share families (logic in words), so a question may come twice
            example = next(sources[kind])
            key = _question_key(example.messages)
            if key not in questions:
                break
        questions.add(key)
        yield example


def _counting() -> Iterator[int]:
    count = 0
    while True:
        yield count
        count += 1


def _question_key(messages: list[dict]) -> bytes:
    """Sixteen bytes that stand for all that is asked: what two distinct examples differ in."""
    asked = [m["content"] for m in messages if m["role"] == "user"]
    return hashlib.sha256(json.dumps(asked, ensure_ascii=False).encode()).digest()[:16]


def _is_heldout(key: bytes) -> bool:
    return key[0] % HELDOUT_BUCKETS == 0


def _kind_stream(kind: str, seed: int, split: str) -> Iterator[Example]:
    dice = Dice(f"octavo-corpus/{seed}/{split}/{kind}")
    seen = [f for f in KINDS[kind] if f.seen]
    unseen = [f for f in KINDS[kind] if not f.seen] if split == "heldout" else []
    turns_seen, turns_unseen = _in_turn(dice, seen), _in_turn(dice, unseen)
    unseen_given = 0
    questions: set[bytes] = set()
    for drawn in _counting():
        if unseen and unseen_given < UNSEEN_SHARE * (drawn + 1):
            family = next(turns_unseen)
            unseen_given += 1
        else:
            family = next(turns_seen)
        yield _new_example(dice, kind, family, split, questions)


def _in_turn(dice: Dice, families: list[Family]) -> Iterator[Family]:
    """Every family once, in random order, then all again."""
    while families:
        yield from dice.shuffled(families)


def _new_example(dice: Dice, kind: str, family: Family, split: str, questions: set[bytes]) -> Example:
    for _ in range(MOST_TRIES):
        draft = family.draw(dice)
        key = _question_key(draft.messages)
        if key in questions or (family.seen and _is_heldout(key) != (split == "heldout")):
            continue
        questions.add(key)
        return _finished(draft, kind, family, key)
    raise InputError(
        f"corpus: family {family.name!r} of {kind} has no more new questions after {len(questions)} "
        f"examples: "
        "ask for fewer examples or for more kinds"
    )


def _finished(draft: Draft, kind: str, family: Family, key: bytes) -> Example:
    plain_kind = "logic" if kind.startswith("logic") else kind
    return Example(
        id=f"{family.name}-{key.hex()[:16]}",
        family=family.name,
        kind=plain_kind,
        seen=family.seen,
        messages=draft.messages,
        tools=draft.tools,
        steps=draft.steps,
        answer=draft.answer,
        sites=[],
    )
