"""Adapters as PEFT folders."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import peft
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from octavo.errors import InputError
from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.difference import same_bits
from octavo.lanes.pack import Sample, build_pack
from octavo.lanes.peft_io import adapter_files, load_adapter, unmoved_layers
from octavo.lanes.targets import resolve_targets
from tests.lanes.tiny import VOCABULARY, tiny_llama

IDS = [5, 3, 8, 60, 7, 1]


def gpt2():
    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    ).eval()


def exported(folder: Path, model, spec_of, seed: int = 1):
    """An adapter with random B on `model`, written to `folder`; returns the lanes' logits of IDS and its matrices."""
    base = BaseModel(model)
    spec = spec_of(base.model)
    larger = replace(spec, rank=spec.rank + 3)
    bank = AdapterBank(base.model, [larger, spec], 1)
    bank.occupy(0, spec)
    bank.initialise(0, seed)
    draw = torch.Generator().manual_seed(seed)
    bank.write(0, {n: (a, torch.randn(b.shape, generator=draw) * 0.2) for n, (a, b) in bank.read(0).items()})
    for name, content in adapter_files(spec, bank.read(0), "tiny", base.model).items():
        (folder / name).write_bytes(content)
    with torch.no_grad():
        logits = base.head(base.hidden(build_pack([Sample(0, IDS, [True] * len(IDS))], "cpu")))
    return logits, bank.read(0), spec


@pytest.mark.parametrize("scaling", ["standard", "sqrt"])
@pytest.mark.parametrize(
    ("make", "targets"),
    [
        (tiny_llama, "attention"),
        (tiny_llama, "all-linear"),
        (tiny_llama, ["0.self_attn.q_proj", "mlp"]),
        (gpt2, "attention"),
        (gpt2, "all-linear"),
    ],
)
def test_plain_peft_gives_our_logits(tmp_path: Path, make, targets, scaling):
    if targets == ["0.self_attn.q_proj", "mlp"]:
        targets = ["0.self_attn.q_proj", "1.mlp.up_proj"]
    logits, _, _ = exported(
        tmp_path, make(), lambda m: AdapterSpec(3, 16, 0.1, tuple(resolve_targets(m, targets)), scaling)
    )
    plain = make()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by a name that will go
        untouched = plain(input_ids=torch.tensor([IDS])).logits[0]
        theirs = (
            peft.PeftModel.from_pretrained(plain, tmp_path).eval()(input_ids=torch.tensor([IDS])).logits[0]
        )
    torch.testing.assert_close(logits, theirs, rtol=1e-4, atol=1e-4)
    assert (logits - untouched).abs().max() > 1e-2


def test_what_was_written_is_read_back(tmp_path: Path):
    _, matrices, spec = exported(
        tmp_path,
        tiny_llama(),
        lambda m: AdapterSpec(3, 16, 0.0, tuple(resolve_targets(m, "attention")), "sqrt"),
    )
    again, found = load_adapter(tmp_path, tiny_llama())
    assert again == spec
    assert same_bits(found, matrices)
    assert unmoved_layers(found) == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "adapter_config.json").unlink(), "adapter_config.json is missing"),
        (lambda f: (f / "adapter_model.safetensors").write_bytes(b"short"), "cannot be read"),
        (lambda f: (f / "adapter_config.json").write_text("{"), "cannot be read"),
        (lambda f: change(f, peft_type="IA3"), "only plain LoRA"),
        (lambda f: change(f, use_dora=True), "use_dora"),
        (lambda f: change(f, r=5), "has shapes"),
    ],
)
def test_wrong_folders_are_refused_with_what_is_wrong(tmp_path: Path, damage, message):
    exported(
        tmp_path, tiny_llama(), lambda m: AdapterSpec(3, 16, 0.0, tuple(resolve_targets(m, "attention")))
    )
    damage(tmp_path)
    with pytest.raises(InputError, match=message):
        load_adapter(tmp_path, tiny_llama())


def test_an_adapter_of_another_model_is_refused(tmp_path: Path):
    exported(tmp_path, gpt2(), lambda m: AdapterSpec(3, 16, 0.0, tuple(resolve_targets(m, "attention"))))
    with pytest.raises(InputError, match="does not have"):
        load_adapter(tmp_path, tiny_llama())


def change(folder: Path, **values: object) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
