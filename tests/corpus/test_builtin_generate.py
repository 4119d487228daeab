"""Drawing the procedural corpus: counts, order, sameness, what is held out, what is refused."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from octavo.corpus.builtin import generate, stream
from octavo.corpus.builtin.registry import KINDS
from octavo.errors import InputError

MIXTURE = {"reasoning": 0.4, "conversation": 0.3, "tool_use": 0.2, "logic": 0.1}


@pytest.fixture(scope="module")
def drawn():
    return generate(MIXTURE, 3000, 600, 0)


def question(example):
    return tuple(m["content"] for m in example.messages if m["role"] == "user")


def test_counts_are_exact_and_kinds_keep_their_share(drawn):
    train, heldout = drawn
    assert (len(train), len(heldout)) == (3000, 600)
    for part in (train[:100], train, heldout):
        counts = Counter(e.kind for e in part)
        for kind, share in MIXTURE.items():
            assert abs(counts[kind] - share * len(part)) <= 1


def test_all_questions_differ_and_none_is_in_both_parts(drawn):
    train, heldout = drawn
    assert len({question(e) for e in train + heldout}) == 3600
    assert len({e.id for e in train + heldout}) == 3600


@pytest.mark.parametrize("seeds", [(0, 1), (3, 9)])
def test_parts_are_disjoint_whatever_the_seeds(seeds):
    train, _ = generate({"reasoning": 1, "conversation": 1}, 800, 0, seeds[0])
    _, heldout = generate({"reasoning": 1, "conversation": 1}, 0, 300, seeds[1])
    seen = {question(e) for e in train}
    assert not any(e.seen and question(e) in seen for e in heldout)


def test_some_families_stand_in_the_heldout_part_alone(drawn):
    train, heldout = drawn
    trained = {e.family for e in train}
    assert all(e.seen for e in train)
    unseen = [e for e in heldout if not e.seen]
    assert 0.2 < len(unseen) / len(heldout) < 0.3
    assert not trained & {e.family for e in unseen}
    assert {e.family for e in heldout if e.seen} <= trained
    assert {e.kind for e in unseen} == set(MIXTURE)


def test_breadth():
    assert len(KINDS["reasoning"]) >= 25
    assert len(KINDS["conversation"]) >= 12
    offered = {t["function"]["name"] for e in generate({"tool_use": 1}, 400, 100, 0)[0] for t in e.tools}
    library = {t["function"]["name"] for e in generate({"tool_use": 1}, 0, 400, 0)[1] for t in e.tools}
    assert len(offered) >= 25
    assert library - offered  # tools that are never trained on
    for kind, families in KINDS.items():
        assert len({f.name for f in families}) == len(families), kind
        assert any(f.seen for f in families)


def test_shorter_corpora_are_the_beginning_of_longer_ones(drawn):
    train, heldout = drawn
    assert [e.to_json() for e in generate(MIXTURE, 50, 20, 0)[0]] == [e.to_json() for e in train[:50]]
    assert next(stream(MIXTURE, 0, "heldout")).to_json() == heldout[0].to_json()


def test_seeds_give_different_corpora():
    first, other = (generate(MIXTURE, 100, 0, seed)[0] for seed in (0, 1))
    assert len({question(e) for e in first} & {question(e) for e in other}) < 5


_DIGEST = """
import hashlib, json
from octavo.corpus.builtin import generate
lines = [json.dumps(e.to_json(), ensure_ascii=False) for part in generate({kinds}, 300, 60, 5) for e in part]
print(hashlib.sha256("\\n".join(lines).encode()).hexdigest())
"""


def test_same_bytes_in_another_process():
    here = [
        json.dumps(e.to_json(), ensure_ascii=False) for part in generate(MIXTURE, 300, 60, 5) for e in part
    ]
    source = Path(__file__).parents[2] / "src"
    for hash_seed in ("1", "2"):
        found = subprocess.run(
            [sys.executable, "-c", _DIGEST.replace("{kinds}", repr(MIXTURE))],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        assert found == hashlib.sha256("\n".join(here).encode()).hexdigest()


def test_logic_comes_in_two_forms():
    words = list(islice(stream({"logic_words": 1}, 0, "train"), 50))
    glyphs = list(islice(stream({"logic_glyphs": 1}, 0, "train"), 50))
    assert {e.kind for e in words + glyphs} == {"logic"}
    assert all(e.family.endswith("_words") for e in words)
    assert all("glyphs" in e.family for e in glyphs)
    both = {e.family.split("_")[-1] for e in islice(stream({"logic": 1}, 0, "train"), 60)}
    assert both == {"words", "glyphs"}


def test_kinds_that_share_families_share_no_example():
    examples = list(islice(stream({"reasoning": 1, "logic_words": 1}, 0, "train"), 2000))
    assert len({question(e) for e in examples}) == 2000


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ({"reasonin": 1.0}, "did you mean 'reasoning'"),
        ({"poetry": 1.0}, "unknown kind 'poetry'"),
        ({"reasoning": -1}, "weight of 0 or more"),
        ({"reasoning": float("nan")}, "weight of 0 or more"),
        ({"reasoning": True}, "weight of 0 or more"),
        ({"reasoning": "much"}, "weight of 0 or more"),
        ({"reasoning": 0}, "at least one"),
        ({}, "at least one"),
    ],
)
def test_wrong_kinds_are_refused(kinds, said):
    with pytest.raises(InputError, match=said):
        generate(kinds, 1, 0, 0)


def test_wrong_counts_and_parts_are_refused():
    with pytest.raises(InputError, match="count of 0 or more"):
        generate({"reasoning": 1}, -1, 0, 0)
    with pytest.raises(InputError, match="train or heldout"):
        stream({"reasoning": 1}, 0, "test")


def test_a_kind_of_weight_nought_is_left_out():
    examples, _ = generate({"reasoning": 1, "logic": 0}, 100, 0, 0)
    assert {e.kind for e in examples} == {"reasoning"}
