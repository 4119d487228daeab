"""Dhara: counts, both layouts, all naming schemes, convolutions against a loop, no leak, cached decoding, messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from octavo.errors import InputError
from octavo.lanes.base import BaseModel
from octavo.lanes.cache import PackCache
from octavo.lanes.generate import generate
from octavo.lanes.pack import Sample, build_pack
from octavo.models.dhara.builtin import dhara_config
from octavo.models.dhara.canon import Canon, PositionTaps
from octavo.models.dhara.config import DharaArConfig, DharaConfig, LlamaCanonConfig
from octavo.models.dhara.load import load_dhara
from octavo.models.dhara.masks import NoisyAndClean
from octavo.models.dhara.model import MODELS, DharaForCausalLM
from octavo.models.quiet import quiet
from octavo.objectives.masked_diffusion import MaskedDiffusion, answer_of, uniforms
from tests.objectives.rows import Toy

SIZES: dict[str, Any] = {
    "vocab_size": 61,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
IDS = [[3, 7, 11, 5, 2, 40, 9], [8, 1, 60, 22, 17]]


def model_of(config: type[DharaConfig] = DharaConfig, **changes: Any) -> DharaForCausalLM:
    chosen = next(model for model in MODELS if model.config_class is config)
    torch.manual_seed(0)
    model = chosen(config(**(SIZES | {"canon_set": "ABCD"} | changes))).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "canon" in name:
                weight.normal_(std=0.4)
            elif "norm" not in name:
                weight.normal_(std=0.15)
    return model


@torch.no_grad()
def logits(model: Any, ids: list[int], **more: Any) -> Tensor:
    return model(input_ids=torch.tensor([ids]), **more).logits[0]


def parameters(config: DharaConfig) -> tuple[int, int]:
    """(all, those of convolutions)."""
    chosen = next(model for model in MODELS if model.config_class is type(config))
    with torch.device("meta"):
        model = chosen(config)
    model.tie_weights()
    canon = sum(w.numel() for n, w in model.named_parameters() if "canon" in n)
    return sum(w.numel() for w in model.parameters()), canon


def test_the_published_sizes_come_out_exactly() -> None:
    total, canon = parameters(dhara_config("dhara-250m"))
    assert (round(total / 1e6, 1), canon) == (249.2, 638_976)
    assert parameters(dhara_config("dhara-70m")) == (71_344_512, 98_304)


def test_a_convolution_is_the_published_sum() -> None:
    torch.manual_seed(0)
    canon = Canon(5, 4, "x")
    x = torch.randn(2, 9, 5)
    positions = torch.arange(9).expand(2, 9)
    found = canon(x, PositionTaps(positions, 4))
    weight = canon.conv.weight[:, 0]
    expected = x.clone()
    for b in range(2):
        for t in range(9):
            for j in range(4):
                if t - j >= 0:
                    expected[b, t] += weight[:, 3 - j] * x[b, t - j]
    assert torch.allclose(found, expected, atol=1e-6)
    padded = torch.nn.functional.pad(x.transpose(1, 2), (3, 0))
    assert torch.allclose(found, x + canon.conv(padded).transpose(1, 2), atol=1e-6)


def test_without_convolutions_and_extras_it_is_llama() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    model = model_of(canon_set="", attention_mode="causal", tie_word_embeddings=False, rope_theta=10_000.0)
    llama = LlamaForCausalLM(LlamaConfig(**SIZES, rms_norm_eps=1e-6, tie_word_embeddings=False)).eval()
    llama.load_state_dict(model.state_dict())
    assert torch.allclose(logits(model, IDS[0]), logits(llama, IDS[0]), atol=1e-5)


SHAPES: list[tuple[type[DharaConfig], dict[str, Any]]] = [
    (DharaConfig, {}),
    (DharaConfig, {"use_qk_norm": True, "canon_set": "AC"}),
    (DharaArConfig, {"use_qk_norm": True}),
    (LlamaCanonConfig, {"canon_set": "ABCD", "use_qk_norm": True, "canon_bias": True}),
    (LlamaCanonConfig, {"canon_set": "BD", "rope_version": "lingua", "canon_activation": True}),
]
NAMES = {
    "own": lambda name: name,
    "plain convolutions": lambda name: name.replace(".conv.", "."),
    "capitals": lambda name: (
        name if "canon_b_" in name else
        name.replace("canon_a.conv", "canonA").replace("canon_b.conv", "canonB")
        .replace("canon_c.conv", "canonC").replace("canon_d.conv", "canonD")
    ),
}  # fmt: skip


@pytest.mark.parametrize("naming", NAMES)
@pytest.mark.parametrize(
    ("config", "changes"), SHAPES, ids=[f"{c.model_type}-{n}" for n, (c, _) in enumerate(SHAPES)]
)
def test_a_folder_in_each_naming_loads_back(
    config: type[DharaConfig], changes: dict[str, Any], naming: str, tmp_path: Path
) -> None:
    model = model_of(config, **changes)
    with quiet():
        model.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    save_file({NAMES[naming](n): t for n, t in load_file(file).items()}, file, metadata={"format": "pt"})
    again = load_dhara(tmp_path, torch.float32)
    assert torch.equal(logits(again, IDS[0]), logits(model, IDS[0]))
    if naming == "own":
        with quiet():
            auto = AutoModelForCausalLM.from_pretrained(tmp_path)
        assert type(auto) is type(model)
        assert torch.equal(logits(auto, IDS[0]), logits(model, IDS[0]))


def test_frequencies_of_the_checkpoint_win(tmp_path: Path) -> None:
    model = model_of()
    with quiet():
        model.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    own = torch.tensor([1.0, 0.5, 0.2, 0.1])
    for layer in range(2):
        tensors[f"model.layers.{layer}.self_attn.rotary_emb.inv_freq"] = own * (layer + 1)
    save_file(tensors, file, metadata={"format": "pt"})
    found = load_dhara(tmp_path, torch.float32)
    assert torch.allclose(found.model.frequencies(1, torch.device("cpu")), own * 2)
    assert not torch.allclose(logits(found, IDS[0]), logits(model, IDS[0]), atol=1e-3)


def test_wrong_tensors_are_listed_with_the_nearest_known_name(tmp_path: Path) -> None:
    with quiet():
        model_of().save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    tensors["model.layers.0.canon_e.conv.weight"] = tensors.pop("model.layers.0.canon_a.conv.weight")
    tensors["model.norm.weight"] = torch.ones(3)
    save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(InputError) as refused:
        load_dhara(tmp_path, torch.float32)
    message = str(refused.value)
    assert (
        "1 missing: model.layers.0.canon_a.conv.weight (there is model.layers.0.canon_e.conv.weight)"
        in message
    )
    assert (
        "1 not known: model.layers.0.canon_e.conv.weight (known is model.layers.0.canon_a.conv.weight)"
        in message
    )
    assert "model.norm.weight is (3,), the config makes it (32,)" in message
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"canon_set": "AXE"}))
    with pytest.raises(InputError, match="canon_set"):
        load_dhara(tmp_path, torch.float32)


@pytest.mark.parametrize(
    ("config", "changes"), SHAPES, ids=[f"{c.model_type}-{n}" for n, (c, _) in enumerate(SHAPES)]
)
def test_causal_mode_is_a_step_by_step_decode(config: type[DharaConfig], changes: dict[str, Any]) -> None:
    model = model_of(config, **(changes | {"attention_mode": "causal"}))
    whole = logits(model, IDS[0])
    cache, rows = None, []
    with torch.no_grad():
        for token in IDS[0]:
            out = model(input_ids=torch.tensor([[token]]), cache=cache, use_cache=True)
            cache = out.cache
            rows.append(out.logits[0, 0])
    assert torch.allclose(torch.stack(rows), whole, atol=1e-5)
    with quiet(), torch.no_grad():
        made = model.generate(
            input_ids=torch.tensor([IDS[0]]),
            do_sample=False,
            max_new_tokens=6,
            eos_token_id=None,
            pad_token_id=0,
        )[0].tolist()
    assert made == greedy(model, IDS[0], 6)


def greedy(model: Any, ids: list[int], steps: int) -> list[int]:
    """Read anew for each token."""
    found = list(ids)
    for _ in range(steps):
        found.append(int(logits(model, found)[-1].argmax()))
    return found


MODES = [("causal", 32), ("full", 32), ("block", 3)]


@pytest.mark.parametrize(("mode", "block"), MODES)
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_left_padding_changes_nothing(mode: str, block: int, implementation: str) -> None:
    model = model_of(attention_mode=mode, block_size=block)
    model.set_attn_implementation(implementation)
    batch = torch.zeros(2, 9, dtype=torch.long)
    mask = torch.zeros(2, 9, dtype=torch.long)
    for row, ids in enumerate(IDS):
        batch[row, 9 - len(ids) :] = torch.tensor(ids)
        mask[row, 9 - len(ids) :] = 1
    with torch.no_grad():
        found = model(input_ids=batch, attention_mask=mask).logits
    for row, ids in enumerate(IDS):
        assert torch.allclose(found[row, 9 - len(ids) :], logits(model, ids), atol=1e-5)


@pytest.mark.parametrize(("mode", "block"), MODES)
def test_packed_by_positions_each_example_has_the_logits_it_has_alone(mode: str, block: int) -> None:
    model = model_of(attention_mode=mode, block_size=block)
    ids = torch.tensor([IDS[0] + IDS[1]])
    positions = torch.tensor([[*range(len(IDS[0])), *range(len(IDS[1]))]])
    with torch.no_grad():
        found = model(input_ids=ids, position_ids=positions).logits[0]
    assert torch.allclose(found[: len(IDS[0])], logits(model, IDS[0]), atol=1e-5)
    assert torch.allclose(found[len(IDS[0]) :], logits(model, IDS[1]), atol=1e-5)


@pytest.mark.parametrize(("mode", "block"), MODES)
@pytest.mark.parametrize(
    ("config", "changes"), SHAPES, ids=[f"{c.model_type}-{n}" for n, (c, _) in enumerate(SHAPES)]
)
def test_the_lanes_read_packs_without_leaks(
    config: type[DharaConfig], changes: dict[str, Any], mode: str, block: int
) -> None:
    model = model_of(config, **(changes | {"attention_mode": mode, "block_size": block}))
    expected = [logits(model, ids) for ids in IDS]
    base = BaseModel(model)
    assert base.packed, base.notes
    pack = build_pack([Sample(0, ids, [True] * len(ids)) for ids in IDS], "cpu")
    with torch.no_grad():
        found = base.head(base.hidden(pack)).split(pack.lengths)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    # a neighbour that is NaN does not reach over
    with torch.no_grad():
        model.model.embed_tokens.weight[IDS[0][-1]] = torch.nan
        rows = base.hidden(pack).split(pack.lengths)
    assert not torch.isfinite(rows[0]).all()
    assert torch.isfinite(rows[1]).all()


def test_the_lanes_write_what_is_read_anew_each_time() -> None:
    model = model_of(attention_mode="causal")
    expected = [greedy(model, ids, 8)[len(ids) :] for ids in IDS]
    base = BaseModel(model)
    assert generate(base, [(0, ids) for ids in IDS], (), 8) == expected
    assert isinstance(PackCache().inputs("x", 0), type(None))


def test_a_noisy_copy_beside_its_clean_one_gives_each_block_what_it_has_alone() -> None:
    block, ids = 3, IDS[0]
    noisy = [i if n % 2 else 59 for n, i in enumerate(ids)]
    model = model_of(attention_mode="block", block_size=block)
    alone = []
    for start in range(0, len(ids), block):
        whole = ids[:start] + noisy[start : start + block]
        alone.append(logits(model, whole)[start:])
    base = BaseModel(model)
    places = [*range(len(ids)), *range(len(ids))]
    sample = Sample(0, noisy + ids, [True] * (2 * len(ids)), places=places, noisy=len(ids))
    with torch.no_grad():
        found = base.head(base.hidden(build_pack([sample], "cpu")))
    assert torch.allclose(found[: len(ids)], torch.cat(alone), atol=1e-5)
    layout = NoisyAndClean.of(len(ids), block, 4)
    assert layout.before_1RJ.shape == (1, 2 * len(ids), 3)


def test_peft_takes_it(tmp_path: Path) -> None:
    with quiet():
        adapted = get_peft_model(
            model_of(), LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj", "down_proj"])
        )
    loss = adapted(input_ids=torch.tensor([IDS[0]]), labels=torch.tensor([IDS[0]])).loss
    loss.backward()
    assert all(w.grad is not None for n, w in adapted.named_parameters() if "lora_B" in n)


@pytest.mark.parametrize("prediction", ["next", "same"])
def test_the_loss_speaks_of_the_position_that_the_config_says(prediction: str) -> None:
    model = model_of(prediction=prediction)
    ids = torch.tensor([IDS[0]])
    rows = logits(model, IDS[0])
    shifted = (rows[:-1], ids[0, 1:]) if prediction == "next" else (rows, ids[0])
    expected = torch.nn.functional.cross_entropy(*shifted)
    with torch.no_grad():
        assert torch.allclose(model(input_ids=ids, labels=ids).loss, expected)


@pytest.mark.real
def test_the_builtin_model_is_a_base_of_studies() -> None:
    from octavo.models.load import load_model, load_tokenizer
    from octavo.models.resolve import resolve_base
    from octavo.settings import Base

    base = Base.model_validate({"model": "dhara-tiny", "objective": "masked_diffusion", "attention": "full"})
    source = resolve_base(base, Path.cwd())
    tokenizer = load_tokenizer(source)
    assert source.mask is not None
    assert (source.mask.id, source.mask.text) == (tokenizer.mask_token_id, "<|mask|>")
    model = load_model(source, torch.float32)
    assert type(model) is DharaForCausalLM
    again = load_model(source, torch.float32)
    assert torch.equal(model.model.embed_tokens.weight, again.model.embed_tokens.weight)


@pytest.mark.parametrize(("shift", "question", "answer"), [(0, 9, 14), (1, 9, 14), (1, 2, 3), (0, 17, 2)])
def test_a_base_learns_in_blocks_what_each_block_has_behind_clean_text(
    shift: int, question: int, answer: int
) -> None:
    """Only the blocks that hold answers have a noisy copy, and only what stands before the last of them a clean one."""
    block, mask = 5, 59
    model = model_of(attention_mode="block", block_size=block)
    ids = torch.randint(
        0, mask, (question + answer,), generator=torch.Generator().manual_seed(answer)
    ).tolist()
    row = Toy("a", ids, [False] * question + [True] * answer)
    objective = MaskedDiffusion(mask, shift, "block", block)
    ((sample,),) = objective.window([[(0, row)]], 0, 1, 0)
    other = Sample(0, ids[:4], [True] * 4)
    expected = 0.0
    weights = sample.targets.weights
    assert weights is not None
    hidden = [p for p in answer_of(row) if uniforms(len(ids), "mask", 0, 1, 0)[p] * weights[0] < 1]
    assert len(hidden) == len(sample.targets)
    for place in hidden:
        start = place // block * block
        noisy = [mask if i in hidden else ids[i] for i in range(len(ids))]
        read = ids[:start] + noisy[start : start + block]
        with torch.no_grad():
            log_p = model(input_ids=torch.tensor([read])).logits[0].log_softmax(-1)
        expected -= float(log_p[place - shift, ids[place]])
    base = BaseModel(model)
    (_, found), _ = base.score([other, sample])
    assert found == pytest.approx(expected * weights[0], rel=1e-4)
