"""Templates of other families: spaces instead of tokens, stripping, thoughts taken out, tools of their own."""

from __future__ import annotations

import json

import pytest

from octavo.corpus.encode import Encoder
from octavo.errors import InputError
from tests.corpus.test_encode import calls, learned, turns
from tests.models.makers import space_tokenizer, tiny_tokenizer

# In Llama 2's way: no control token between question and answer, a space before the answer, no generation prompt.
BRACKETS = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ bos_token }}[INST] {{ m.content }} [/INST]"
    "{% elif m.role == 'assistant' %} {{ m.content }} {{ eos_token }}"
    "{% else %}{{ raise_exception('only user and assistant turns') }}{% endif %}{% endfor %}"
)
TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
STRIPPING = TURNS + PROMPT
# In Qwen 3's way: thoughts of earlier answers go, the last answer always has a place for them.
THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{% set parts = m.content.split('</think>') %}"
    "{% if loop.last %}<think>\n{{ parts[0].split('<think>')[-1].strip('\n') if parts | length > 1 else '' }}\n"
    "</think>\n\n{% endif %}{{ parts[-1].lstrip('\n') }}"
    "{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}" + PROMPT
)
# In Hermes' way: schemas, calls and results have their own places.
TOOLS = (
    "{% if tools %}<|im_start|>system\n{% for t in tools %}{{ t | tojson + '\n' }}{% endfor %}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}{% if m.content %}{{ '\n' + m.content }}{% endif %}"
    "{% for c in m.tool_calls or [] %}{{ '\n' }}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant{% endif %}"
)
SCHEMA = [{"type": "function", "function": {"name": "get_time", "description": "ends in <|im_end|>"}}]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer()


@pytest.mark.parametrize("scheme", ["first", "always"])
def test_spaces_as_letters(scheme):
    """The ids are those of the whole text: no second `<s>`, no space too many or too few."""
    tokenizer = space_tokenizer(scheme)
    encoder = Encoder(tokenizer, BRACKETS)
    messages = turns(
        ("user", "What is it?"), ("assistant", "It is Paris."), ("user", "Oslo?"), ("assistant", "It is.")
    )
    encoded = encoder.encode(messages)
    rendered = tokenizer.apply_chat_template(messages, chat_template=BRACKETS, tokenize=False)
    assert encoded.ids == tokenizer(rendered, add_special_tokens=False).input_ids
    assert encoded.ids.count(tokenizer.bos_token_id) == 2
    labelled = [i for i, label in zip(encoded.ids, encoded.labels, strict=True) if label]
    assert encoder.decode(labelled).replace(" ", "") == "ItisParis.</s>Itis.</s>"
    assert tokenizer.convert_ids_to_tokens(labelled)[0].startswith("▁")
    assert encoder.prompt(messages[:1]) == encoded.ids[: encoded.labels.index(True)]


def test_own_beginning_token_once():
    tokenizer = space_tokenizer()
    encoded = Encoder(tokenizer, BRACKETS).encode(turns(("text", "It is Paris.")))
    assert encoded.ids == [*tokenizer("It is Paris.").input_ids, tokenizer.eos_token_id]
    assert encoded.ids[0] == tokenizer.bos_token_id
    assert encoded.labels == [False] + [True] * (len(encoded.ids) - 1)


def test_what_a_template_raises_is_said():
    with pytest.raises(
        InputError, match=r"data:2: the chat template refuses .*only user and assistant turns"
    ):
        Encoder(space_tokenizer(), BRACKETS).encode(
            turns(("system", "a"), ("user", "b"), ("assistant", "c")), where="data:2"
        )


def test_schemas_go_to_the_user_where_there_is_no_system_turn():
    encoder = Encoder(space_tokenizer(), BRACKETS)
    text = encoder.decode(encoder.encode(turns(("user", "a"), ("assistant", "b")), SCHEMA).ids)
    assert "[INST] You may call these tools." in text
    assert text.index("get_time") < text.index("[/INST]")


def test_results_go_to_the_user_where_there_is_no_tool_turn():
    encoder = Encoder(space_tokenizer(), BRACKETS)
    call = {"role": "assistant", "tool_calls": calls({})}
    talk = [*turns(("user", "a")), call, *turns(("tool", "12"), ("assistant", "b"))]
    text = encoder.decode(encoder.encode(talk).ids)
    assert "[INST] <tool_response>" in text


def test_stripped_contents(tokenizer):
    encoder = Encoder(tokenizer, STRIPPING)
    encoded = encoder.encode(
        turns(("user", " a "), ("assistant", "\n b \n"), ("user", "c\t"), ("assistant", "d"))
    )
    assert learned(encoder, encoded) == ["b<|im_end|>", "d<|im_end|>"]
    assert encoder.decode(encoded.ids).startswith("<|im_start|>user\na<|im_end|>\n")
    assert encoder.notes == []


def test_thoughts_of_the_last_answer_are_learned(tokenizer):
    encoder = Encoder(tokenizer, THINKING)
    thought = "<think>\nplan\n</think>\n\n"
    talk = turns(("user", "a"), ("assistant", f"{thought}b"), ("user", "c"), ("assistant", f"{thought}d"))
    assert learned(encoder, encoder.encode(talk)) == ["b<|im_end|>", f"{thought}d<|im_end|>"]
    plain = turns(("user", "a"), ("assistant", "b"))
    assert learned(encoder, encoder.encode(plain)) == ["<think>\n\n</think>\n\nb<|im_end|>"]
    assert len(encoder.notes) == 1
    for messages in (talk, plain):
        prompt = encoder.prompt(messages[:-1])
        assert encoder.encode(messages).ids[: len(prompt)] == prompt
        assert encoder.decode(prompt).endswith("<|im_start|>assistant\n")


def test_rewriting_with_a_control_token_in_it_is_refused(tokenizer):
    encoder = Encoder(tokenizer, THINKING)
    with pytest.raises(InputError, match="changes message 2"):
        encoder.encode(turns(("user", "a"), ("assistant", "<think>x</think>b<|im_start|>")))


@pytest.mark.parametrize("content", ["", "Let me see."])
def test_tools_of_its_own(tokenizer, content):
    encoder = Encoder(tokenizer, TOOLS)
    call = {
        "role": "assistant",
        "content": content,
        "tool_calls": calls({"city": "Oslo <|im_end|>", "day": None}),
    }
    talk = [*turns(("user", "a")), call, *turns(("tool", "14:05"), ("assistant", "b"))]
    encoded = encoder.encode(talk, SCHEMA)
    text = encoder.decode(encoded.ids)
    assert text == tokenizer.apply_chat_template(talk, SCHEMA, chat_template=TOOLS, tokenize=False)
    said = f"\n{content}" if content else ""
    arguments = json.dumps({"city": "Oslo <|im_end|>", "day": None})
    labelled = encoder.decode([i for i, label in zip(encoded.ids, encoded.labels, strict=True) if label])
    assert labelled == f"{said}\n<call>get_time {arguments}</call><|im_end|>\nb<|im_end|>"
    assert sum(i < 17 for i in encoded.ids) == 2 * (len(talk) + 1)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (
            "{% for m in messages if m.role != 'system' %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}",
            "leaves out",
        ),
        ("{% for m in messages %}<|im_start|>{{ m.content }}{{ m.content }}<|im_end|>{% endfor %}", "twice"),
        (
            "{% for m in messages %}<|im_start|>{{ m.content | upper }}<|im_end|>{% endfor %}",
            "changes message",
        ),
        ("{% for m in messages %}{{ m.content.nothing.there }}{% endfor %}", "refuses"),
        ("{% for m in messages %}", "refuses"),
    ],
)
def test_templates_that_cannot_be_followed(tokenizer, template, text):
    encoder = Encoder(tokenizer, template)
    with pytest.raises(InputError, match=text):
        encoder.encode(turns(("system", "s"), ("user", "u"), ("assistant", "a")))


def test_space_that_a_control_token_takes_with_it():
    """Phi 3's way: `<|im_end|>` and `<|im_start|>` swallow the space behind them, as in the whole text."""
    from transformers import AddedToken

    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens(
        {"additional_special_tokens": [AddedToken("<|bot|>", rstrip=True, special=True, normalized=False)]}
    )
    template = (
        "{% for m in messages %}{% if m.role == 'assistant' %}<|bot|>\n{% else %}<|im_start|>\n{% endif %}"
        "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|bot|>\n{% endif %}"
    )
    encoder = Encoder(tokenizer, template)
    messages = turns(("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"))
    whole = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False)
    assert encoder.encode(messages).ids == tokenizer(whole).input_ids
