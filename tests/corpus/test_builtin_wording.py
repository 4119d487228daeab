"""How the procedural corpus reads: repetition, symbols, lengths, leftovers of templates, articles, steps."""

import json
import re
from collections import Counter
from itertools import islice

import pytest

from octavo.corpus.builtin import stream
from octavo.corpus.builtin.dice import Dice, article, sentences
from octavo.corpus.builtin.registry import KINDS

MAIN = ("reasoning", "conversation", "tool_use", "logic")
NOT_PLAIN = re.compile(r"[^\x20-\x7e\n£€×]")  # letters, digits, marks, two currencies and the times sign


def spoken(example):
    """Every turn but the system's; the arguments of calls too."""
    for message in example.messages:
        if message["role"] != "system":
            yield message["content"]
            yield from (json.dumps(c["function"]["arguments"]) for c in message.get("tool_calls") or ())


@pytest.fixture(scope="module")
def samples():
    return {kind: list(islice(stream({kind: 1}, 0, "train"), 10_000)) for kind in MAIN}


@pytest.mark.parametrize("kind", MAIN)
def test_no_sequence_of_eight_words_is_common(samples, kind):
    counts = Counter()
    for example in samples[kind]:
        found = set()
        for text in spoken(example):
            words = [w for w in (raw.strip(".,;:!?\"'()[]{}") for raw in text.lower().split()) if w]
            found.update(hash(tuple(words[k : k + 8])) for k in range(len(words) - 7))
        counts.update(found)
    assert counts.most_common(1)[0][1] <= 0.02 * len(samples[kind])


@pytest.mark.parametrize("kind", ["reasoning", "conversation", "tool_use"])
def test_no_glyph_and_no_emoji(samples, kind):
    for example in samples[kind]:
        for text in spoken(example):
            assert not NOT_PLAIN.search(text), text
        assert not any(NOT_PLAIN.search(step) for step in example.steps or ())


def test_logic_in_words_has_no_glyph_and_glyph_tasks_have_some(samples):
    for example in samples["logic"]:
        text = " ".join(spoken(example))
        assert bool(NOT_PLAIN.search(text)) == ("glyphs" in example.family), text


@pytest.mark.parametrize("kind", ["reasoning", "conversation"])
def test_texts_are_short(samples, kind):
    lengths = sorted(sum(len(t.split()) for t in spoken(e)) for e in samples[kind])
    assert lengths[0] >= 15
    assert 45 <= lengths[len(lengths) // 2] <= 80
    assert lengths[int(0.99 * len(lengths))] <= 110


@pytest.mark.parametrize("kind", MAIN)
def test_no_leftover_of_a_template(samples, kind):
    for example in samples[kind]:
        for message in example.messages:
            if message["role"] not in ("user", "assistant") or message.get("tool_calls"):
                continue
            text = message["content"]
            assert text == text.strip()
            assert text, example.id
            assert not re.search(
                r"[{}|\[\]]|  | [,.;:?!](?:\s|$)|\.\.|,,|[,;:]\.|\?\.|\.\?|None(?! of)", text
            ), text
            assert not re.search(r"\bi\b(?=[ ,'?])", text), text
            assert text[0].isupper() or not text[0].isalpha(), text
            assert not re.search(r"(?<![ap]\.m)[.!?] [a-z]", text), text


@pytest.mark.parametrize("kind", MAIN)
def test_articles_and_numbers_agree(samples, kind):
    article = re.compile(
        r"\ba (?!one|once|euro|uni)(?:[aeio]\w{2}|(?:8|11|18)\b)|\ban (?!hour|honest|heir)[bcdfgjklmnpqrstvwxz]\w"
    )
    plural = re.compile(
        r"(?<![\d/.,])1 (?:weeks|days|hours|minutes|packs|litres|people|steps|points|parts|tests|times|copies)\b"
    )
    doubled = re.compile(r"\b(?:the the|a a|is is|to to|of of|in in|and and|please please)\b")
    for example in samples[kind]:
        for message in example.messages:
            if message["role"] in ("user", "assistant"):
                for wrong in (article, plural, doubled):
                    assert not wrong.search(message["content"]), message["content"]


def test_reasoning_and_logic_are_worked_out(samples):
    for example in samples["reasoning"] + samples["logic"]:
        assert example.steps
        reply = example.messages[-1]["content"].lower()
        assert all(step.rstrip(".").lower() in reply for step in example.steps)
        assert example.answer.lower() in reply
    assert sum(bool(e.steps) for e in samples["conversation"]) == len(samples["conversation"])


@pytest.mark.parametrize("kind", MAIN)
def test_every_family_can_be_drawn_and_written_as_json(kind):
    dice = Dice("every family")
    for family in KINDS[kind]:
        for _ in range(40):
            draft = family.draw(dice)
            assert json.loads(json.dumps(draft.messages)) == draft.messages
            assert draft.answer is not None
            assert (draft.tools is not None) == (kind == "tool_use")


def test_templates():
    dice = Dice("templates")
    texts = {dice.say("{hi|hello {there|you}} [p]{!|}", p="Ada") for _ in range(200)}
    assert texts == {
        "Hi Ada",
        "Hi Ada!",
        "Hello there Ada",
        "Hello there Ada!",
        "Hello you Ada",
        "Hello you Ada!",
    }
    assert dice.say("[a:thing] and [a:other]", thing="hour", other="unit") == "An hour and a unit"
    for broken in ("{open", "a|b", "{a|{b}"):
        with pytest.raises(ValueError, match=r"braces|bar"):
            dice.raw(broken)


def test_sentences_start_with_a_capital_and_abbreviations_do_not_end_one():
    assert sentences("one. two?  three , e.g. four") == "One. Two? Three, e.g. four"
    assert sentences("a list:\n- first\n- second") == "A list:\n- First\n- Second"
    assert sentences("so i think i'm right") == "So I think I'm right"


@pytest.mark.parametrize(
    ("noun", "said"),
    [
        ("apple", "an apple"),
        ("unit", "a unit"),
        ("hour", "an hour"),
        ("8-day pass", "an 8-day pass"),
        ("umbrella", "an umbrella"),
        ("euro", "a euro"),
        ("uncle", "an uncle"),
        ("11-year-old", "an 11-year-old"),
    ],
)
def test_articles(noun, said):
    assert article(noun) == said


def test_draws_are_even():
    dice = Dice("even")
    counts = Counter(dice.whole(1, 6) for _ in range(6000))
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    assert max(counts.values()) < 1150
    assert {dice.whole(10, 30, 10) for _ in range(100)} == {10, 20, 30}
    assert len(set(dice.some(range(50), 50))) == 50
    assert sorted(dice.shuffled(range(20))) == list(range(20))
