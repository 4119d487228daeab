"""Which tokens are one symbol: every byte of it, wherever the template puts the text that it stands in."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.corpus.encode import Encoder
from octavo.corpus.example import Example
from octavo.corpus.symbol_tokens import symbol_units
from octavo.models.load import load_tokenizer
from tests.models.makers import space_tokenizer, tiny_tokenizer

TOOLS = [{"type": "function", "function": {"name": "get_time", "description": "x", "parameters": {}}}]


@pytest.fixture(scope="module", params=["tiny", pytest.param("embedded", marks=pytest.mark.real)])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    if request.param == "tiny":
        return Encoder(tiny_tokenizer())
    return Encoder(load_tokenizer(request.getfixturevalue("embedded")))


def example(*turns: tuple[str, str], symbols: str = "∴●⊥", tools: Any = None) -> Example:
    """Every symbol in a turn is a site."""
    sites = [
        {"message": number, "start": start, "text": char, "role": "x"}
        for number, (_, content) in enumerate(turns)
        for start, char in enumerate(content)
        if char in symbols
    ]
    messages = [{"role": role, "content": content} for role, content in turns]
    return Example.from_json({"id": "e", "messages": messages, "tools": tools, "sites": sites})


def texts_of_units(encoder: Encoder, one: Example) -> dict[int, str]:
    """{symbol: what its tokens say}; tokens of one symbol stand together."""
    ids = encoder.encode(one.messages, one.tools).ids
    units = symbol_units(encoder, one)
    assert len(units) == len(ids)
    found: dict[int, list[int]] = {}
    for place, unit in enumerate(units):
        if unit >= 0:
            found.setdefault(unit, []).append(place)
    assert all(places == list(range(places[0], places[-1] + 1)) for places in found.values())
    return {unit: encoder.decode([ids[p] for p in places]) for unit, places in found.items()}


@pytest.mark.parametrize(
    ("turns", "tools"),
    [
        ([("user", "2 ● 3?"), ("assistant", "It is ∴ 5 ⊥.")], None),
        ([("user", "a"), ("assistant", "●●∴"), ("user", "∴ b"), ("assistant", "c⊥")], None),
        ([("system", "Be ● kind."), ("user", "a"), ("assistant", "∴ b")], None),
        ([("user", "a ●"), ("assistant", "b ∴ c")], TOOLS),
        ([("system", "Be ⊥."), ("user", "a ●"), ("assistant", "b ∴ c")], TOOLS),
    ],
)
def test_each_symbol_has_all_of_its_tokens_and_no_others(
    encoder: Encoder, turns: list[tuple[str, str]], tools: Any
) -> None:
    one = example(*turns, tools=tools)
    found = texts_of_units(encoder, one)
    assert sorted(found) == list(range(len(one.sites)))
    for unit, text in found.items():
        symbol = one.sites[unit]["text"]
        assert text.strip() == symbol, (text, symbol)
    # a symbol of this kind is several tokens: hidden one by one, the rest would give it away
    units = symbol_units(encoder, one)
    assert max(units.count(unit) for unit in found) > 1


def test_text_without_turns_and_without_symbols(encoder: Encoder) -> None:
    text = Example.from_json(
        {
            "id": "t",
            "messages": [{"role": "text", "content": "one ● two"}],
            "sites": [{"message": 0, "start": 4, "text": "●", "role": "x"}],
        }
    )
    assert {unit: said.strip() for unit, said in texts_of_units(encoder, text).items()} == {0: "●"}
    plain = example(("user", "a"), ("assistant", "b"))
    assert set(symbol_units(encoder, plain)) == {-1}


def test_a_template_that_strips_what_is_said() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = tokenizer.chat_template.replace("{{ m.content }}", "{{ m.content | trim }}")
    one = example(("user", "a"), ("assistant", "\n  ● b ∴"))
    found = texts_of_units(Encoder(tokenizer), one)
    assert {unit: text.strip() for unit, text in found.items()} == {0: "●", 1: "∴"}


def test_a_tokenizer_that_writes_spaces_as_letters() -> None:
    tokenizer = space_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m.role }}\n{{ m.content }}</s>\n{% endfor %}"
        "{% if add_generation_prompt %}assistant\n{% endif %}"
    )
    one = example(("user", "a |"), ("assistant", "b [ c"), symbols="|[")  # it knows few symbols
    found = texts_of_units(Encoder(tokenizer), one)
    assert {unit: text.strip() for unit, text in found.items()} == {0: "|", 1: "["}
