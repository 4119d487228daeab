"""Symbols in and out: exact in both directions, nested by density, placed outside everything protected."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.corpus.example import Example, check_sites
from octavo.corpus.glyphs import EMOJI, GLYPHS, NEUTRAL, ROLE_WEIGHTS, SYMBOL, pick_glyph
from octavo.corpus.protected import protected_spans
from octavo.corpus.recipes import build_chain
from octavo.corpus.symbols import (
    Insertion,
    choose_places,
    clear_symbols,
    clear_text,
    insert_symbols,
    places,
    strip_symbols,
)
from tests.corpus.conftest import conversation
from tests.corpus.test_text_sites import TEXTS

ARMS = [
    ("control", {}),
    ("think", {}),
    ("spore", {}),
    ("glyphs", {"density": 0.10}),
    ("glyphs", {"density": 0.25}),
    ("glyphs", {"density": 0.50}),
    ("glyphs", {"density": 1.00}),
    (["glyphs", "spore"], {"density": 1.00}),
    ("placebo-neutral", {}),
    ("placebo-shuffled", {}),
    (["think", "glyphs"], {"density": 0.5}),
    (["glyphs", "think", "spore"], {"roles": ["assistant", "user", "system"]}),
]


def chains(seed=0):
    return [build_chain(names, options, seed) for names, options in ARMS]


def test_symbols_out_gives_the_control_back_in_every_arm(corpus):
    for chain in chains():
        for example in corpus:
            made = chain.apply(example)
            check_sites(made.sites, made.messages, example.id)
            assert chain.undo(made).messages == clear_symbols(example).messages


def test_what_no_symbol_may_touch_stays_in_every_arm(corpus):
    for chain in chains()[:-1]:
        for example in corpus:
            made = chain.apply(example)
            for before, after in zip(example.messages, made.messages, strict=True):
                if before["role"] != "assistant":
                    assert after == before
                    continue
                for start, end in protected_spans(before["content"]):
                    assert before["content"][start:end] in after["content"]
                numbers = re.findall(r"\d[\d,.]*", before["content"])
                found = re.findall(r"\d[\d,.]*", after["content"])
                assert found[len(found) - len(numbers) :] == numbers  # a plan before the answer has its own


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, st.integers(0, 5), st.sampled_from(ARMS))
def test_symbols_out_gives_any_text_back(asked, said, seed, arm):
    example = conversation(asked or "?", said or "!", steps=[said, asked])
    chain = build_chain(*arm, seed)
    made = chain.apply(example)
    check_sites(made.sites, made.messages, "f")
    assert chain.undo(made).messages == clear_symbols(example).messages
    assert chain.apply(example) == made


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_clearing_any_text_once_is_enough_and_takes_symbols_only(text):
    cleared = clear_text(text)
    assert clear_text(cleared) == cleared
    protected = protected_spans(cleared)
    for match in SYMBOL.finditer(cleared):
        assert any(start < match.end() and match.start() < end for start, end in protected)
    rest = iter(text)
    assert all(character in rest for character in cleared)  # what is left stands in the text in this order


@pytest.mark.parametrize(
    ("text", "cleared"),
    [
        ("Great 😀!", "Great !"),
        ("a 👩‍👩‍👧 b 👍🏽 c 🇳🇴 d ❤️ e 1️⃣ f", "a  b  c  d  e  f"),
        ("It → that ∴ so ●", "It  that  so "),
        ("⊥⊥⊥ a ⊥ b", " a  b"),
        ("φ is 1.6, φίλος is a friend", " is 1.6, φίλος is a friend"),
        ("© 2020 ™ 3 # 4 * 5", "© 2020 ™ 3 # 4 * 5"),
        ("`a → b` and c → d", "`a → b` and c  d"),
        ('{"mood": "😀"} 😀', '{"mood": "😀"} '),
        ("plain", "plain"),
        ("é ü 漢字 ✓ • – … “q”", "é ü 漢字 ✓ • – … “q”"),
    ],
)
def test_what_is_cleared(text, cleared):
    assert clear_text(text) == cleared


def test_clearing_leaves_tools_and_symbol_logic_alone():
    messages = [
        {"role": "user", "content": "a → b 😀"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "→", "arguments": {"a": "😀"}}}],
        },
        {"role": "tool", "content": "→ 😀"},
        {"role": "assistant", "content": "so ∴"},
    ]
    example = Example("a", "", "", True, messages, steps=["x → y"])
    cleared = clear_symbols(example)
    assert [m["content"] for m in cleared.messages] == ["a  b ", "", "→ 😀", "so "]
    assert cleared.messages[1] == messages[1]
    assert cleared.steps == ["x  y"]
    logic = Example("a", "", "logic", True, messages)
    assert clear_symbols(logic).messages == messages


def test_symbols_that_were_there_are_no_part_of_the_control():
    example = conversation(answer="It is so ●. Yes.")
    for chain in chains():
        assert strip_symbols(chain.apply(example)).messages[1]["content"].endswith("It is so . Yes.")


def test_insertions_beside_those_there_are():
    once = insert_symbols(conversation(answer="ab"), [Insertion(1, 1, "X", "x"), Insertion(1, 2, "Z", "z")])
    twice = insert_symbols(once, [Insertion(1, 1, "Y", "y"), Insertion(0, 0, "Q", "q")])
    assert twice.messages[1]["content"] == "aXYbZ"
    assert twice.messages[0]["content"].startswith("QWhat")
    assert [(s["message"], s["start"], s["text"]) for s in twice.sites] == [
        (0, 0, "Q"),
        (1, 1, "X"),
        (1, 2, "Y"),
        (1, 4, "Z"),
    ]
    assert strip_symbols(twice).messages == conversation(answer="ab").messages


def test_levels_are_nested_and_right_on_average(corpus):
    total = sum(len(places(example, ["assistant"])) for example in corpus)
    before = [set() for _ in corpus]
    for density in (0.0, 0.1, 0.25, 0.5, 0.9, 1.0):
        chosen = [
            {(p.message, p.site.offset) for p in choose_places(places(e, ["assistant"]), density, 0, e.id)}
            for e in corpus
        ]
        assert all(small <= large for small, large in zip(before, chosen, strict=True))
        measured = sum(map(len, chosen)) / total
        assert abs(measured - density) <= 1.5 * len(corpus) ** 0.5 / total
        before = chosen


def test_an_examples_symbols_depend_on_its_id_and_the_seed_alone(corpus):
    chain = build_chain(["glyphs", "spore"], {"density": 0.5}, 3)
    forwards = {example.id: chain.apply(example) for example in corpus}
    backwards = {example.id: chain.apply(example) for example in reversed(corpus)}
    assert forwards == backwards
    other = build_chain(["glyphs", "spore"], {"density": 0.5}, 4)
    assert any(other.apply(example) != forwards[example.id] for example in corpus)


def test_chained_symbols_stand_where_each_recipe_alone_puts_them(corpus):
    glyphs, spore, both = (
        build_chain(names, {"density": 0.5}, 0) for names in ("glyphs", "spore", ["glyphs", "spore"])
    )

    def bare_sites(example):
        before, found = {}, []
        for site in example.sites:
            shift = before.get(site["message"], 0)
            found.append((site["message"], site["start"] - shift, site["text"]))
            before[site["message"]] = shift + len(site["text"])
        return found

    for example in corpus:
        alone = bare_sites(glyphs.apply(example)) + bare_sites(spore.apply(example))
        assert sorted(alone) == sorted(bare_sites(both.apply(example)))


def test_placebos_stand_at_the_sites_of_the_glyphs(corpus):
    glyphs, neutral, shuffled = (
        build_chain(n, {"density": 0.5}, 0) for n in ("glyphs", "placebo_neutral", "placebo_shuffled")
    )
    for example in corpus:
        ours, theirs, drawn = glyphs.apply(example), neutral.apply(example), shuffled.apply(example)
        assert [(s["message"], s["role"]) for s in ours.sites] == [
            (s["message"], s["role"]) for s in theirs.sites
        ]
        assert len(drawn.sites) == len(ours.sites)
        for site, other in zip(ours.sites, theirs.sites, strict=True):
            assert other["text"] == f" {NEUTRAL[site['role']]}"


def test_shuffled_glyphs_do_not_follow_the_roles(corpus):
    chain = build_chain("placebo_shuffled", {}, 0)
    drawn, wanted = [], []
    for example in corpus:
        drawn += [site["role"] for site in chain.apply(example).sites]
        wanted += [place.site.role for place in places(example, ["assistant"])]
    at_anchors = [d for d, w in zip(drawn, wanted, strict=True) if w == "anchor"]
    share = at_anchors.count("anchor") / len(at_anchors)
    weight = ROLE_WEIGHTS["anchor"] / sum(ROLE_WEIGHTS.values())
    assert abs(share - weight) < 4 * (weight * (1 - weight) / len(at_anchors)) ** 0.5


def test_tables_of_symbols():
    assert set(GLYPHS) == set(NEUTRAL) == set(ROLE_WEIGHTS)
    assert len(set(NEUTRAL.values())) == len(NEUTRAL)
    assert not set(NEUTRAL.values()) & set(GLYPHS.values())
    assert all(SYMBOL.fullmatch(symbol) for symbol in [*EMOJI, *"".join(GLYPHS.values())])
    assert not any(SYMBOL.search(symbol) for symbol in NEUTRAL.values())
    assert {pick_glyph(i / 1000) for i in range(1000)} == set(GLYPHS)
    assert pick_glyph(1 - 2**-53) in GLYPHS


@pytest.mark.real
def test_neutral_symbols_are_as_long_as_glyphs_in_the_embedded_tokenizer(embedded):
    from octavo.models.load import load_tokenizer

    tokenizer = load_tokenizer(embedded)

    def tokens(symbol):
        alone = len(tokenizer.encode(f" {symbol}", add_special_tokens=False))
        inside = len(tokenizer.encode(f"It is so. {symbol} We go.", add_special_tokens=False))
        return alone, inside - len(tokenizer.encode("It is so. We go.", add_special_tokens=False))

    for role, glyph in GLYPHS.items():
        assert tokens(NEUTRAL[role]) == tokens(glyph), role
    assert tokens("⊥⊥⊥") == (9, 9)
    assert tokens("●") == (2, 2)
    assert {tokens(emoji) for emoji in EMOJI} == {(3, 3)}


@pytest.mark.parametrize(
    "text",
    [
        "It is so, because it is. " * 8000,
        "a" * 200_000,
        "7" * 200_000,
        "1, 2, " * 30_000,
        "` " * 50_000,
        "<" * 100_000,
        "$$ " * 5_000,
        "[" * 20_000,
        "●" * 50_000,
    ],
    ids=lambda text: text[:6],
)
def test_long_texts_take_time_in_proportion(text):
    example = conversation(answer=text)
    start = time.perf_counter()
    made = build_chain("glyphs", {}, 0).apply(example)
    assert strip_symbols(made).messages == clear_symbols(example).messages
    assert time.perf_counter() - start < 20
