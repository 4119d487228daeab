"""The card measures what is there, and stops what is not fit."""

import json
import random
from collections import Counter

import pytest
from rich.console import Console

from octavo.corpus.arms import Arm, make
from octavo.corpus.card_table import card_table
from octavo.corpus.fitting import Chosen
from octavo.corpus.measure import Limit, Scale
from octavo.corpus.near_duplicates import (
    ALIKE,
    SHINGLE,
    near_duplicates,
    share_with_common_sequence,
    word_sequences,
)
from octavo.corpus.quality import make_card, refuse_failed
from octavo.corpus.recipes import build_chain
from octavo.errors import InputError
from tests.corpus.conftest import conversation

LONG = " ".join(f"word{i}" for i in range(60))


def card_of(encoder, train, heldout=(), names="glyphs", options=None, dropped=None):
    chain = build_chain(names, options or {}, 0) if names else None
    scale = Scale({"b": encoder}, [Limit("b", 512, "drop")])
    arm = Arm("a", "glyphs", chain, None if names else "own.jsonl", options or {}, scale, [])
    chosen = {
        side: Chosen([{"a": make(arm, example)} for example in examples], Counter(dropped or {}))
        for side, examples in (("train", train), ("heldout", heldout))
    }
    return make_card(arm, chosen, ["builtin"])


def examples(count, start=0):
    return [
        conversation(f"What is {i}?", f"It is {i}. So be it.", f"e{i}") for i in range(start, start + count)
    ]


def test_counts_of_a_card(encoder):
    card = card_of(encoder, examples(20), examples(5, 100), options={"density": 0.5})
    train = card["train"]
    assert (train["examples"], card["heldout"]["examples"]) == (20, 5)
    assert train["words"] == 20 * 6
    assert train["density"]["glyphs"]["sites"] == 60
    assert train["symbols"] == train["density"]["glyphs"]["measured"] * 60
    assert train["symbols_per_word"] == train["symbols"] / 120
    tokens = train["tokens"]["b"]
    assert tokens["template"] == 20 * 2 * 3
    assert tokens["symbols"] > train["symbols"]
    assert tokens["symbol_share"] == tokens["symbols"] / tokens["total"]
    assert tokens["total"] > tokens["labelled"] > 0
    assert card["overlap"] == {"exact": 0, "share_with_common_13_words": 0.0}
    assert card["passed"]
    json.dumps(card, allow_nan=False)


def test_a_held_out_conversation_that_is_trained_on_stops_the_study(encoder):
    card = card_of(encoder, examples(10), [conversation("what is 3?", "It is 3.  So be it.", "x")])
    assert card["overlap"]["exact"] == 1
    with pytest.raises(
        InputError, match="variant a: 1 held-out conversations are trained on; take duplicates out"
    ):
        refuse_failed({"a": card})


def test_symbols_do_not_hide_an_overlap(encoder):
    trained = build_chain("spore", {}, 0).apply(conversation())
    assert card_of(encoder, [trained], [conversation(name="x")], names=None)["overlap"]["exact"] == 1


def test_no_examples_and_no_sites_stop_the_study(encoder):
    assert "no training examples" in card_of(encoder, [])["problems"][0]
    bare = [conversation(answer=f"{i}", name=f"e{i}") for i in range(5)]
    assert "no site for a symbol" in card_of(encoder, bare)["problems"][0]
    assert card_of(encoder, bare, options={"density": 0.0})["passed"]
    assert card_of(encoder, bare, names="control")["passed"]


def test_a_density_that_is_off_stops_the_study(encoder, monkeypatch):
    right = card_of(encoder, examples(50), options={"density": 0.25})
    assert right["passed"]
    monkeypatch.setattr("octavo.corpus.symbols.floor", lambda k: int(k) + 1)
    wrong = card_of(encoder, examples(50), options={"density": 0.25})
    assert "glyphs: 0." in wrong["problems"][0]
    assert "0.250 were asked for" in wrong["problems"][0]


def test_a_recipe_that_changes_nothing_is_told(encoder):
    card = card_of(encoder, examples(4), names="think")
    assert card["train"]["left_as_is"] == {"think: no steps": 4}
    assert card["warnings"] == ["think: no steps in any example: this recipe changes nothing"]
    assert card["passed"]


def test_what_was_cleared_and_dropped_is_counted(encoder):
    card = card_of(
        encoder, [conversation(answer="It is so 😀."), *examples(3)], dropped={"a: over 5 tokens on b": 2}
    )
    assert card["train"]["cleared"] == 1
    assert card["dropped"]["train"] == {"a: over 5 tokens on b": 2}


def test_near_duplicates():
    other = LONG.replace("word7 ", "seven ")
    assert near_duplicates((LONG, other, LONG.upper(), "something else", "a b", "a b")) == 3
    assert near_duplicates((LONG, LONG[: len(LONG) // 2])) == 0
    assert near_duplicates(()) == 0
    assert near_duplicates(("", "")) == 0


def test_near_duplicates_are_those_of_a_plain_comparison():
    rng = random.Random(0)
    texts: list[str] = []
    for _ in range(150):
        words = (
            rng.choice(texts).split()
            if texts and rng.random() < 0.6
            else [f"w{rng.random()}" for _ in range(50)]
        )
        words[rng.randrange(50)] = "other"
        texts.append(" ".join(words))
    kept: list[set[int]] = []
    for sequences in (word_sequences(text, SHINGLE) for text in texts):
        if all(len(sequences & other) / len(sequences | other) < ALIKE for other in kept):
            kept.append(sequences)
    assert near_duplicates(tuple(texts)) == len(texts) - len(kept) > 10


def test_common_sequences():
    words = [f"w{i}" for i in range(13)]
    text = "Before " + " ".join(words) + " after."
    assert share_with_common_sequence((", ".join(words).upper(), "x"), (text,), 13) == 0.5
    assert share_with_common_sequence((" ".join(words[:12]),), (text,), 13) == 0.0
    assert share_with_common_sequence((), (text,), 13) is None
    assert len(word_sequences("a b c d", 2)) == 3
    assert len(word_sequences("a", 2)) == 1


def test_the_table_of_cards(encoder):
    cards = {
        "one": card_of(encoder, examples(4), examples(2, 50)),
        "two": card_of(encoder, examples(4), names="think"),
    }
    console = Console(width=120, record=True, force_terminal=False)
    console.print(card_table(cards))
    text = console.export_text()
    assert "density measured" in text
    assert "100.0 %" in text
    assert "4 think: no steps" in text
    assert card_table({"none": card_of(encoder, [])}).row_count > 0


def test_a_base_that_cannot_count_texts_alone(encoder, monkeypatch):
    def refuse(_text):
        raise InputError("no end token")

    monkeypatch.setattr(encoder, "encode_text", refuse, raising=True)
    monkeypatch.setattr(
        type(encoder), "encode", lambda self, m, tools=None, where="": make_encoded(len(m) * 3)
    )
    tokens = card_of(encoder, examples(2))["train"]["tokens"]["b"]
    assert tokens["symbols"] is tokens["template"] is tokens["symbol_share"] is None


def make_encoded(count):
    from tests.corpus.conftest import Encoded

    return Encoded([1] * count, [False] + [True] * (count - 1))
