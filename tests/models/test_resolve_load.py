"""Bases by name, loaded frozen, whole and finite; what is said when they are not."""

from __future__ import annotations

import json
import shutil
import threading

import pytest
import torch
from safetensors.torch import load_file, save_file

from octavo.errors import InputError
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import BaseSource, resolve_base
from octavo.study import Base
from tests.models.makers import CHATML, tiny_base, tiny_llama, tiny_tokenizer


@pytest.fixture
def folder(tiny, tmp_path):
    """A copy of the tiny base that may be changed."""
    return shutil.copytree(tiny.folder, tmp_path / "base")


def change_weights(folder, change):
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, metadata={"format": "pt"})


def resolve(folder, **keys):
    return resolve_base(Base(name="b", model=str(folder), **keys), folder.parent)


def test_relative_to_the_study(folder):
    source = resolve_base(Base(name="b", model="base"), folder.parent)
    assert source == BaseSource("b", folder)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("./nowhere", "there is no .*nowhere"),
        ("nowhere.gguf", r"there is no .*nowhere\.gguf"),
        ("/nowhere/at/all", "there is no /nowhere/at/all"),
        ("no such name", "there is no .*a folder, a .gguf file or a hub id"),
    ],
)
def test_what_is_not_there(tmp_path, model, text):
    with pytest.raises(InputError, match=text):
        resolve_base(Base(name="b", model=model), tmp_path)


def test_folders_that_are_no_base(folder):
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="holds an adapter, not a base"):
        resolve(folder)
    (folder / "adapter_config.json").unlink()

    (folder / "tokenizer.json").rename(folder / "away.json")
    with pytest.raises(InputError, match="has no tokenizer"):
        resolve(folder)
    (folder / "away.json").rename(folder / "tokenizer.json")

    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"has no \*\.safetensors"):
        resolve(folder)
    assert resolve(folder, init="random").init == "random"

    (folder / "config.json").unlink()
    (folder / "some.gguf").write_bytes(b"GGUF")
    with pytest.raises(InputError, match=r"no config\.json.*some\.gguf"):
        resolve(folder)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt", "model.pth", "last.ckpt", "w.pkl"])
def test_pickles_are_refused(folder, name):
    """They can run code when read; one beside safetensors does no harm."""
    torch.save({"a": torch.zeros(1)}, folder / name)
    assert resolve(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=f"only as {name}.*can run code"):
        resolve(folder)


def test_code_of_a_folder_needs_a_word(folder):
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "their_own",
        "auto_map": {"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(InputError, match="trust_remote_code: true"):
        load_model(resolve(folder), torch.float32)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loaded_frozen_and_right(tmp_path, tied, dtype):
    source = BaseSource("b", tiny_base(tmp_path / "base", tied))
    model, wanted = load_model(source, dtype), tiny_llama(len(tiny_tokenizer()), tied)
    assert not model.training
    assert not any(weight.requires_grad for weight in model.parameters())
    assert (model.lm_head.weight is model.model.embed_tokens.weight) == tied
    for name, weight in wanted.state_dict().items():
        assert torch.equal(model.state_dict()[name], weight.to(dtype)), name
    assert model.model.rotary_emb.inv_freq.dtype == torch.float32


def test_attention_is_passed_on(tiny):
    assert load_model(tiny, torch.float32, "eager").config._attn_implementation == "eager"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_base_that_is_not_finite(folder, value):
    def spoil(weights):
        weights["model.layers.1.mlp.down_proj.weight"][3, 4] = value

    change_weights(folder, spoil)
    with pytest.raises(InputError, match=r"model\.layers\.1\.mlp\.down_proj\.weight .* has 1 values"):
        load_model(resolve(folder), torch.float32)


def test_missing_weights_are_no_random_numbers(folder):
    change_weights(folder, lambda weights: weights.pop("model.layers.0.self_attn.q_proj.weight"))
    with pytest.raises(InputError, match=r"lacks 1 weights .*model\.layers\.0\.self_attn\.q_proj\.weight"):
        load_model(resolve(folder), torch.float32)


def test_weights_of_other_shapes(folder):
    def cut(weights):
        weights["model.norm.weight"] = weights["model.norm.weight"][:-1].clone()

    change_weights(folder, cut)
    with pytest.raises(InputError, match="cannot read the model"):
        load_model(resolve(folder), torch.float32)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_torn_files(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match="base b: transformers cannot read"):
        load_tokenizer(resolve(folder)), load_model(resolve(folder), torch.float32)


def test_tokenizer_of_another_model(folder):
    config = json.loads((folder / "config.json").read_text()) | {"vocab_size": 100}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"has the token .* only 100 rows"):
        load_tokenizer(resolve(folder))


def test_random_weights_are_seeded_and_disturb_nobody(tiny):
    source = BaseSource("b", tiny.folder, init="random")
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, second = load_model(source, torch.float32), load_model(source, torch.bfloat16)
    assert torch.equal(torch.get_rng_state(), before)
    for name, weight in first.named_parameters():
        assert torch.equal(second.get_parameter(name), weight.to(torch.bfloat16)), name
    assert first.lm_head.weight is first.model.embed_tokens.weight
    assert second.model.rotary_emb.inv_freq.dtype == torch.float32
    assert not torch.equal(
        first.model.embed_tokens.weight, load_model(tiny, torch.float32).model.embed_tokens.weight
    )


def test_template_as_text_or_file(folder):
    text = "{% for m in messages %}{{ m.content }}{% endfor %}"
    (folder.parent / "own.jinja").write_text(text)
    for given in (text, "own.jinja"):
        source = resolve(folder, chat_template=given)
        assert load_tokenizer(source).chat_template == text
    assert load_tokenizer(resolve(folder)).chat_template == CHATML
    with pytest.raises(InputError, match="neither a Jinja template nor a file"):
        resolve(folder, chat_template="missing.jinja")


def test_threads_load_one_after_the_other(tiny):
    models, wanted = [], tiny_llama(len(tiny_tokenizer())).state_dict()
    threads = [
        threading.Thread(target=lambda: models.append(load_model(tiny, torch.float32))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(models) == 4
    for model in models:
        assert all(torch.equal(weight, wanted[name]) for name, weight in model.state_dict().items())


def test_nothing_is_said(tiny, capfd):
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load_model(tiny, torch.float32)
    load_tokenizer(tiny)
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def test_hub_brings_nothing_that_runs(folder, monkeypatch):
    asked = {}

    def snapshot_download(model, **options):
        asked.update(options, model=model)
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    source = resolve_base(Base(name="b", model="ann/model", revision="v1"), folder.parent)
    assert source.folder == folder
    assert (asked["model"], asked["revision"]) == ("ann/model", "v1")
    assert "*.safetensors" in asked["allow_patterns"]
    assert not {"*.py", "*.bin", "*"} & set(asked["allow_patterns"])
    resolve_base(Base(name="b", model="ann/model", init="random", trust_remote_code=True), folder.parent)
    assert "*.safetensors" not in asked["allow_patterns"]
    assert "*.py" in asked["allow_patterns"]


def test_hub_without_network(tmp_path, monkeypatch):
    from huggingface_hub.errors import LocalEntryNotFoundError

    def snapshot_download(model, **options):
        raise LocalEntryNotFoundError("Cannot find the requested files in the cache.\nMore.")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    with pytest.raises(
        InputError, match=r"'ann/model' at revision v1 is no folder here .*Cannot find.*\)\. Check"
    ):
        resolve_base(Base(name="b", model="ann/model", revision="v1"), tmp_path)
