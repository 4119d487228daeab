"""Model families: packed logits, fused training against padded PEFT, export to plain PEFT."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path

import peft
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    GptOssConfig,
    GraniteConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    MixtralConfig,
    OlmoConfig,
    Phi3Config,
    Qwen2MoeConfig,
    Qwen3Config,
)

from octavo.errors import InputError
from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.difference import relative_difference
from octavo.lanes.generate import generate
from octavo.lanes.pack import Sample, build_pack
from octavo.lanes.peft_io import adapter_files, unmoved_layers
from octavo.lanes.targets import linear_layers, resolve_targets
from tests.lanes.tiny import SIZES, VOCABULARY, TinyRun, train_fused, train_peft

SHAPE = {**SIZES, "pad_token_id": 0}
HEADS = {"head_dim": 8}
EXPERTS = {"num_experts_per_tok": 2, "router_jitter_noise": 0.0}
FAMILIES = {
    "llama": LlamaConfig(**SHAPE),
    "llama with a tied head": LlamaConfig(**SHAPE, tie_word_embeddings=True),
    "qwen3": Qwen3Config(**SHAPE, **HEADS),
    "gemma": GemmaConfig(**SHAPE, **HEADS),
    "gemma2": Gemma2Config(**SHAPE, **HEADS, sliding_window=5, query_pre_attn_scalar=8),
    "gemma3": Gemma3TextConfig(**SHAPE, **HEADS, sliding_window=5, query_pre_attn_scalar=8),
    "mistral with a sliding window": MistralConfig(**SHAPE, **HEADS, sliding_window=5),
    "phi3 with fused projections": Phi3Config(**SHAPE),
    "gpt2 with Conv1D": GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=128),
    "gpt-neox with fused projections": GPTNeoXConfig(**SHAPE),
    "olmo": OlmoConfig(**SHAPE),
    "granite with scaled logits": GraniteConfig(**SHAPE, logits_scaling=4.0),
    "mixtral, a mixture of experts": MixtralConfig(**SHAPE, num_local_experts=4, **EXPERTS),
    "qwen2-moe with a shared expert": Qwen2MoeConfig(
        **SHAPE,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=24,
        shared_expert_intermediate_size=24,
    ),
    "gpt-oss with sinks": GptOssConfig(
        **SHAPE, **HEADS, num_local_experts=4, num_experts_per_tok=2, sliding_window=5
    ),
}
# keep their own attention, or have none
ONE_BY_ONE = {
    "bloom with alibi": BloomConfig(
        vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4, pad_token_id=0
    ),
    "mamba without attention": MambaConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4
    ),
}


def make(family: str):
    torch.manual_seed(0)
    config = (FAMILIES | ONE_BY_ONE)[family]
    model = AutoModelForCausalLM.from_config(copy.deepcopy(config)).eval()
    with torch.no_grad():  # some families begin with zeros where a leak could hide
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize("family", [*FAMILIES, *ONE_BY_ONE])
def test_packed_logits_are_those_of_each_sequence_alone(family: str):
    model = make(family)
    draw = torch.Generator().manual_seed(3)
    ids = [torch.randint(1, VOCABULARY, (n,), generator=draw) for n in (9, 3, 14)]
    with torch.no_grad():
        alone = [model(input_ids=i[None]).logits[0] for i in ids]
        base = BaseModel(model)
        assert base.packed is (family in FAMILIES)
        assert bool(base.notes) is (family in ONE_BY_ONE)
        pack = build_pack([Sample(0, i.tolist(), [True] * len(i)) for i in ids], "cpu")
        packed = base.head(base.hidden(pack)).split([len(i) for i in ids])
    for one, rows in zip(alone, packed, strict=True):
        torch.testing.assert_close(rows, one, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", [f for f in FAMILIES if "experts" not in f and "sinks" not in f])
def test_fused_runs_match_padded_peft(family: str):
    model = make(family)
    runs = [TinyRun(seed, rank=seed + 2, targets="all-linear", steps=3) for seed in range(2)]
    fused = train_fused(runs, model)
    for run, found in zip(runs, fused, strict=True):
        assert relative_difference(found, train_peft(run, model)) < 1e-3


@pytest.mark.parametrize("family", [*FAMILIES, *ONE_BY_ONE])
def test_every_family_trains_alike_fused_and_alone(family: str):
    model = make(family)
    runs = [TinyRun(seed, dropout=0.1, targets="all-linear", steps=2) for seed in range(2)]
    fused = train_fused(runs, model)
    for run, found in zip(runs, fused, strict=True):
        alone = train_fused([run], model)[0]
        # this layer's weight is read without the layer being called: no adapter of any kind reaches it
        assert {name.rsplit(".", 1)[-1] for name in unmoved_layers(found)} <= {"dt_proj"}
        assert relative_difference(found, alone) < 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_plain_peft_gives_our_logits(family: str, tmp_path: Path):
    ids = [5, 3, 8, 60, 7, 1, 9, 30]
    plain = make(family)
    base = BaseModel(make(family))
    spec = AdapterSpec(2, 8, 0.0, tuple(resolve_targets(base.model, "all-linear")))
    bank = AdapterBank(base.model, [spec], 1)
    bank.occupy(0, spec)
    bank.initialise(0, 0)
    draw = torch.Generator().manual_seed(0)
    bank.write(0, {n: (a, torch.randn(b.shape, generator=draw) * 0.2) for n, (a, b) in bank.read(0).items()})
    for name, content in adapter_files(spec, bank.read(0), "tiny", base.model).items():
        (tmp_path / name).write_bytes(content)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by a name that will go
        ours = base.head(base.hidden(build_pack([Sample(0, ids, [True] * len(ids))], "cpu")))
        theirs = (
            peft.PeftModel.from_pretrained(plain, tmp_path).eval()(input_ids=torch.tensor([ids])).logits[0]
        )
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "family", ["gpt2 with Conv1D", "gemma3", "mistral with a sliding window", "mamba without attention"]
)
def test_generation_is_that_of_transformers(family: str):
    model, prompts = make(family), [[5, 9, 11, 4, 3, 2, 8], [3, 4]]
    wanted = []
    for ids in prompts:
        mask = torch.ones(1, len(ids))
        out = model.generate(
            torch.tensor([ids]),
            attention_mask=mask,
            max_new_tokens=6,
            do_sample=False,
            pad_token_id=0,
            eos_token_id=None,
        )
        wanted.append(out[0, len(ids) :].tolist())
    assert generate(BaseModel(model), [(0, ids) for ids in prompts], set(), 6) == wanted


@pytest.mark.parametrize(
    ("family", "kinds"),
    [
        ("phi3 with fused projections", {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}),
        ("gpt2 with Conv1D", {"c_attn", "c_proj", "c_fc"}),
    ],
)
def test_fused_projections_are_targets_and_their_parts_are_not(family: str, kinds: set[str]):
    model = make(family)
    assert {name.rsplit(".", 1)[-1] for name in linear_layers(model)} == kinds
    with pytest.raises(InputError, match=r"'q_proj' matches no linear layer.*There are: " + sorted(kinds)[0]):
        resolve_targets(model, ["q_proj"])
