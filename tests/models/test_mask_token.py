"""The token that hides others: where it is found, what is refused, and a row for it that changes nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from octavo.errors import InputError
from octavo.models.load import load_model, load_tokenizer, skeleton
from octavo.models.resolve import BaseSource, resolve_base
from octavo.settings import Base
from tests.models.makers import space_tokenizer, tiny_base, tiny_llama, tiny_tokenizer


def resolve(folder: Path, **keys) -> BaseSource:
    keys = {"objective": "masked_diffusion", "attention": "full"} | keys
    return resolve_base(Base(name="b", model=str(folder), **keys), folder)


@pytest.fixture
def without_spares(tmp_path: Path) -> Path:
    """A base whose tokenizer has no control token to spare."""
    folder = tmp_path / "base"
    tokenizer = space_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    tiny_llama(len(tokenizer), tied=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_control_token_that_nobody_uses_is_taken(tiny: BaseSource) -> None:
    mask = resolve(tiny.folder).mask
    tokenizer = tiny_tokenizer()
    assert mask is not None
    assert mask.text == "<empty_output>"
    assert mask.id == tokenizer.convert_tokens_to_ids(mask.text)
    assert "the chat template does not use" in mask.said
    assert resolve(tiny.folder, objective="causal", attention="causal").mask is None


def test_the_tokenizers_own_mask_token_comes_first(tiny: BaseSource, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny.folder, tmp_path / "base")
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"mask_token": "<repo_name>"})
    tokenizer.save_pretrained(folder)
    mask = resolve(folder).mask
    assert (mask.text, mask.origin) == ("<repo_name>", "the base's own mask token")


def test_so_does_one_of_its_config(without_spares: Path) -> None:
    path = without_spares / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mask_token_id": 7}))
    assert resolve(without_spares).mask.id == 7


def test_a_token_may_be_named(tiny: BaseSource) -> None:
    assert resolve(tiny.folder, mask_token="<gh_stars>").mask.origin == "named by the study"
    with pytest.raises(InputError, match="base b: `mask_token: <nowhere>` is no token of its tokenizer"):
        resolve(tiny.folder, mask_token="<nowhere>")
    with pytest.raises(InputError, match="ends or pads texts, which has to be learned"):
        resolve(tiny.folder, mask_token="<|im_end|>")
    with pytest.raises(InputError, match="ends or pads texts"):
        resolve(tiny.folder, mask_token="<repo_name>", eos="<repo_name>")


def test_a_row_without_a_token_is_taken_before_one_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    tokenizer = space_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    tiny_llama(len(tokenizer) + 5).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    mask = resolve(folder).mask
    assert (mask.id, mask.text) == (len(tokenizer), None)
    assert load_model(resolve(folder), torch.float32).get_input_embeddings().weight.shape[0] == mask.id + 5


@pytest.mark.parametrize("tied", [True, False])
def test_a_new_row_is_the_mean_of_the_others_and_leaves_them_alone(tmp_path: Path, tied: bool) -> None:
    folder = tiny_base(tmp_path / "base", tied)
    tokenizer = load_tokenizer(BaseSource("b", folder))
    used = "".join(t.content for t in tokenizer.added_tokens_decoder.values())
    (folder / "chat_template.jinja").write_text(used + tokenizer.chat_template)
    source = resolve(folder)
    rows = len(tokenizer)
    assert (source.mask.id, source.mask.text) == (rows, None)
    before = load_model(BaseSource("b", folder), torch.float32)
    after = load_model(source, torch.float32)
    assert skeleton(source).get_input_embeddings().weight.shape[0] == rows + 1
    assert after.config.vocab_size == rows + 1
    for old, new in (
        (before.get_input_embeddings(), after.get_input_embeddings()),
        (before.get_output_embeddings(), after.get_output_embeddings()),
    ):
        assert torch.equal(new.weight[:rows], old.weight)
        assert torch.allclose(new.weight[rows], old.weight.mean(0), atol=1e-6)
    assert (after.get_input_embeddings().weight is after.get_output_embeddings().weight) == tied
    ids = torch.randint(0, rows, (1, 9), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(
            after(input_ids=ids).logits[..., :rows], before(input_ids=ids).logits, atol=1e-5
        )


def test_the_model_is_told_who_sees_whom(tiny: BaseSource) -> None:
    model = load_model(resolve(tiny.folder, attention="block", block_size=8), torch.float32)
    assert (model.config.attention_mode, model.config.block_size) == ("block", 8)
    plain = load_model(BaseSource("b", tiny.folder), torch.float32)
    assert not hasattr(plain.config, "attention_mode")
