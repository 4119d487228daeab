"""Counts by weight, and train and held-out parts that share no conversation."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.corpus.sources import apportion, open_shares, read_source
from octavo.corpus.sources.split import Sides, conversation_key, file_candidates
from octavo.errors import InputError
from tests.corpus.conftest import conversation


def named(count, start=0):
    return [conversation(f"What is {i}?", f"It is {i}.", f"e{i}") for i in range(start, start + count)]


def split(examples, heldout, seed=0):
    sides = Sides()
    taken = list(itertools.islice(file_candidates(examples, "heldout", seed, sides), heldout))
    for example in taken:
        sides.take(example, "heldout")
    return list(file_candidates(examples, "train", seed, sides)), taken


def test_a_file_is_split_by_seed_whatever_the_order_of_its_rows():
    train, heldout = split(named(50), 10)
    assert (len(train), len(heldout)) == (40, 10)
    assert split(named(50)[::-1], 10) == (train, heldout)
    assert split(named(50), 10, seed=1)[1] != heldout
    assert split(named(50), 20)[1][:10] == heldout


def test_duplicates_never_straddle_and_cost_no_training_rows():
    examples = named(20) + [conversation(f" what IS {i}?  ", f"It is {i}. 😀", f"d{i}") for i in range(10)]
    train, heldout = split(examples, 10)
    assert (len(train), len(heldout)) == (20, 10)
    assert not {conversation_key(e) for e in train} & {conversation_key(e) for e in heldout}
    train, heldout = split(examples, 15)
    assert len(heldout) == 15
    assert not {conversation_key(e) for e in train} & {conversation_key(e) for e in heldout}


def test_a_key_tells_conversations_apart():
    keys = {
        conversation_key(e)
        for e in [
            conversation(),
            conversation("a"),
            conversation(answer="a"),
            conversation("It is 4.", "What is 2 + 2?"),
        ]
    }
    assert len(keys) == 4
    assert conversation_key(conversation(answer="It  is 4. ")) == conversation_key(conversation(name="other"))


def test_fixed_ids_decide_side_and_order():
    sides = Sides()
    sides.fix_ids(named(5, 10)[::-1], named(3))
    examples = named(20)
    train = [e.id for e in file_candidates(examples, "train", 0, sides)]
    assert train[:5] == ["e14", "e13", "e12", "e11", "e10"]
    assert not {"e0", "e1", "e2"} & set(train)
    assert [e.id for e in file_candidates(examples, "heldout", 0, sides)][:3] == ["e0", "e1", "e2"]


@given(st.integers(0, 5000), st.lists(st.floats(0.01, 100), min_size=1, max_size=6))
def test_parts_add_up_and_are_within_one_of_exact(total, weights):
    parts = apportion(total, weights)
    assert sum(parts) == total
    assert all(abs(p - total * w / sum(weights)) < 1 + 1e-6 for p, w in zip(parts, weights, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), max_size=40), st.integers(0, 8), st.integers(0, 3))
def test_no_conversation_is_on_both_sides_of_any_file(values, heldout, seed):
    examples = [conversation(f"What is {value}?", "x", f"e{i}") for i, value in enumerate(values)]
    train, held = split(examples, heldout, seed)
    assert not {conversation_key(e) for e in train} & {conversation_key(e) for e in held}
    assert len(held) == min(heldout, len(set(values)))
    counts = Counter(values)
    assert len(train) == len(values) - sum(counts[int(e.messages[0]["content"][8:-1])] for e in held)


def test_sources_are_read_once_and_counted_by_weight(write_rows):
    one = write_rows([e.to_json() for e in named(30)], "one.jsonl")
    two = write_rows([e.to_json() for e in named(30, 100)], "two.jsonl")
    shares = open_shares(
        [(str(one), 3), (str(two), 1), ("builtin", 1)], {"reasoning": 1}, {"train": 11, "heldout": 4}, 0
    )
    assert [dict(share.counts) for share in shares] == [
        {"train": 7, "heldout": 2},
        {"train": 2, "heldout": 1},
        {"train": 2, "heldout": 1},
    ]
    assert [share.size for share in shares] == [30, 30, None]
    drawn = list(itertools.islice(shares[2].candidates("train", Sides()), 40))
    assert len({e.id for e in drawn}) == 40


def test_a_source_of_no_known_kind():
    with pytest.raises(InputError, match="builtin"):
        read_source("my-data")
