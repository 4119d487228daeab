"""Packed attention gives each sequence what it gets alone."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma2Config, LlamaConfig, MistralConfig, Qwen3Config

from octavo.errors import InputError
from octavo.lanes.attention import attend, pack_attention, visible
from octavo.lanes.base import BaseModel
from octavo.lanes.pack import Sample, build_pack, use_pack
from tests.lanes.tiny import SIZES, VOCABULARY

SMALL = {**SIZES, "head_dim": 8, "pad_token_id": 0}
FAMILIES = {
    "llama": LlamaConfig(**SMALL),
    "qwen3": Qwen3Config(**SMALL),
    "mistral with a window of 5": MistralConfig(**SMALL, sliding_window=5),
    "gemma2, softcaps and window": Gemma2Config(**SMALL, sliding_window=5, query_pre_attn_scalar=8),
}


def model_of(family: str):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(FAMILIES[family], attn_implementation="eager").eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_logits_are_those_of_each_sequence_alone(family: str):
    model = model_of(family)
    draw = torch.Generator().manual_seed(3)
    ids = [torch.randint(0, VOCABULARY, (n,), generator=draw) for n in (3, 11, 1, 8)]
    with torch.no_grad():
        alone = [model(input_ids=i[None]).logits[0] for i in ids]
        base = BaseModel(model)
        pack = build_pack([Sample(0, i.tolist(), [True] * len(i)) for i in ids], "cpu")
        packed = base.head(base.hidden(pack)).split([len(i) for i in ids])
    for one, rows in zip(alone, packed, strict=True):
        torch.testing.assert_close(rows, one, rtol=1e-4, atol=1e-5)


def test_a_model_that_ignores_packs_is_read_a_sequence_at_a_time():
    model = model_of("llama")
    model.model.layers[0].self_attn.config = LlamaConfig(**SMALL, attn_implementation="eager")
    base = BaseModel(model)
    assert not base.packed
    assert "packed sequences do not get the logits that each has alone" in base.notes[0]


def test_a_head_that_does_more_than_is_known_is_refused():
    model = model_of("llama")
    plain = model.forward
    model.forward = lambda *args, **kwargs: _doubled(plain(*args, **kwargs))
    with pytest.raises(InputError, match="changes them in a way that is not known"):
        BaseModel(model)


def _doubled(out):
    out.logits = out.logits * 2
    return out


def test_a_nan_stays_in_its_sequence():
    base = BaseModel(model_of("llama"))
    samples = [Sample(0, [5, 6, 7], [True] * 3), Sample(1, [8, 9, 10, 11], [True] * 4)]
    with torch.no_grad():
        clean = base.hidden(build_pack(samples, "cpu"))
        base.model.model.embed_tokens.weight[6] = torch.nan
        dirty = base.hidden(build_pack(samples, "cpu"))
    assert torch.isnan(dirty[1:3]).any()
    assert torch.equal(dirty[3:], clean[3:])


def test_the_window_counts_the_query_itself():
    assert visible(2, 4, 2, torch.device("cpu")).int().tolist() == [[0, 1, 1, 0], [0, 0, 1, 1]]


def test_bfloat16_on_a_cpu_is_computed_in_float32_and_given_back_as_it_came():
    q, k, v = (torch.randn(1, 2, 9, 4).bfloat16() for _ in range(3))
    pack = build_pack([Sample(0, [1] * n, [True] * n) for n in (4, 5)], "cpu")
    with use_pack(pack):
        found, _ = pack_attention(torch.nn.Identity(), q, k, v, None)
    assert found.dtype == torch.bfloat16
    wanted = attend(q[:, :, 4:].float(), k[:, :, 4:].float(), v[:, :, 4:].float(), None)
    torch.testing.assert_close(found[0, 4:], wanted.transpose(1, 2)[0].bfloat16(), rtol=0, atol=0)
