"""GGUF files as bases: the same weights, the pre-tokenizer that the file declares."""

from __future__ import annotations

import json

import pytest
import torch

from octavo.errors import InputError
from octavo.models import gguf_convert
from octavo.models.gguf_tokenizer import declared_pre_tokenizer, load_gguf_tokenizer
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import resolve_base
from octavo.study import Base
from tests.models.makers import tiny_gguf, tiny_llama, tiny_tokenizer

WANTED = [
    ("a  42", ["a", "ĠĠ", "4", "2"]),
    ("    42", ["ĠĠĠĠ", "4", "2"]),
    ("x = 7\n  8", ["x", "Ġ=", "Ġ", "7", "ĊĠĠ", "8"]),
    ("5\n\n6", ["5", "ĊĊ", "6"]),
    ("abc123", ["abc", "1", "2", "3"]),
    ("<file_sep>", ["<file_sep>"]),
    ("1٣²½", None),  # number characters of every kind stand alone
]
SPLITS = [*(text for text, _ in WANTED), "9\r\n\t0 \n1", "v2.5 is  3x faster", "１２ fullwidth", "Ⅷ\u00a0 8"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """An own cache: no file of a test goes into the user's."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("OCTAVO_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def made(cache, tmp_path_factory):
    path = tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")
    return path, resolve_base(Base(name="tiny", model=path.name), path.parent)


def test_weights_are_the_file_s(made):
    _, source = made
    model, wanted = load_model(source, torch.float32), tiny_llama(len(tiny_tokenizer()))
    for name, weight in wanted.state_dict().items():
        assert torch.equal(model.state_dict()[name], weight), name


def test_converted_once_for_equal_content(made, monkeypatch, tmp_path):
    path, source = made
    monkeypatch.setattr(gguf_convert, "convert_gguf", lambda *_: pytest.fail("converted again"))
    copy = tmp_path / "other-name.gguf"
    copy.write_bytes(path.read_bytes())
    assert resolve_base(Base(name="b", model=str(copy)), tmp_path).folder == source.folder


def test_tokenizer_is_the_one_the_file_was_made_of(made):
    tokenizer, wanted = load_tokenizer(made[1]), tiny_tokenizer()
    assert tokenizer.chat_template == wanted.chat_template
    for text in SPLITS:
        assert tokenizer(text).input_ids == wanted(text).input_ids, text
        assert tokenizer.decode(tokenizer(text).input_ids) == text
    assert (tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.bos_token_id) == (2, 2, 1)


@pytest.mark.parametrize("pre", ["qwen2", "gpt-2", "a-name-of-next-year"])
def test_other_schemes_stay_as_transformers_has_them(tmp_path, pre):
    from transformers import AutoTokenizer

    from octavo.models.quiet import quiet

    path = tiny_gguf(tmp_path / "tiny.gguf", pre)
    assert declared_pre_tokenizer(path) == pre
    with quiet(stderr=True):
        wanted = AutoTokenizer.from_pretrained(tmp_path, gguf_file=path.name)
    ours = load_gguf_tokenizer(path)
    assert ours.backend_tokenizer.to_str() == wanted.backend_tokenizer.to_str()


def test_a_file_that_is_none(cache, tmp_path):
    (tmp_path / "text.gguf").write_text("GG")
    with pytest.raises(InputError, match=r"text\.gguf is no GGUF file"):
        resolve_base(Base(name="b", model="text.gguf"), tmp_path)
    (tmp_path / "torn.gguf").write_bytes(tiny_gguf(tmp_path / "whole.gguf").read_bytes()[:5000])
    with pytest.raises(InputError, match=r"cannot read .*torn\.gguf"):
        resolve_base(Base(name="b", model="torn.gguf"), tmp_path)


@pytest.mark.real
def test_wanted_tokens(embedded):
    tokenizer = load_tokenizer(embedded)
    for text, tokens in WANTED:
        if tokens is not None:
            assert tokenizer.tokenize(text) == tokens, text
        assert tokenizer.decode(tokenizer(text).input_ids) == text


@pytest.mark.real
def test_digits_always_stand_alone(embedded):
    tokenizer = load_tokenizer(embedded)
    for text in SPLITS:
        for token in tokenizer(text).input_ids:
            piece = tokenizer.decode([token])
            assert len(piece) == 1 or not any(c.isnumeric() for c in piece), (text, piece)


@pytest.mark.real
def test_gsm8k_round_trip(embedded, gsm8k):
    tokenizer = load_tokenizer(embedded)
    fields = [value for line in gsm8k.read_text().splitlines() for value in json.loads(line).values()]
    assert len(fields) == 2638
    for field in fields:
        assert tokenizer.decode(tokenizer(field).input_ids) == field
