"""Attention that looks ahead, all of a sequence or block by block: each row sees what it should and no more."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from transformers import Gemma2Config, Gemma2ForCausalLM, MistralConfig, MistralForCausalLM

from octavo.errors import InputError
from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.generate import generate
from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.pack import Sample, Targets, build_pack
from octavo.lanes.pattern import Pattern, additive, pattern_of
from octavo.lanes.targets import resolve_targets
from octavo.lanes.window import LaneEngine
from tests.lanes.tiny import SIZES, tiny_llama

TEXTS = [[5, 9, 11, 2, 7, 3, 30], [8, 1, 1, 40, 6], [90, 2, 13, 14, 15, 16, 17, 18, 19, 20]]
BLOCK = 4


def looking(kind: str, model=None, **changes):
    model = model or tiny_llama(**changes)
    model.config.attention_mode, model.config.block_size = kind, BLOCK
    return model


def by_mask(model, ids, seen) -> torch.Tensor:
    """Logits of one sequence by the model's own attention under a mask of our making."""
    own = copy.deepcopy(model)
    own.set_attn_implementation("sdpa")
    with torch.no_grad():
        return own(
            input_ids=torch.tensor([ids]), attention_mask=additive(seen, torch.float32)[None, None]
        ).logits[0]


def seen_in_blocks(length: int) -> torch.Tensor:
    return torch.tensor([[j // BLOCK <= i // BLOCK for j in range(length)] for i in range(length)])


def packed_logits(base: BaseModel, samples) -> list[torch.Tensor]:
    with torch.no_grad():
        logits = base.head(base.hidden(build_pack(samples, "cpu")))
    return list(logits.split([len(s.ids) for s in samples]))


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("kind", ["full", "block"])
def test_packs_give_each_text_what_it_has_alone(kind: str, native: bool):
    base = BaseModel(looking(kind))
    assert base.path == "native"
    if not native:
        base.native = None
    samples = [Sample(0, ids, [True] * len(ids)) for ids in TEXTS]
    for ids, logits in zip(TEXTS, packed_logits(base, samples), strict=True):
        rows = len(ids)
        seen = torch.ones(rows, rows, dtype=torch.bool) if kind == "full" else seen_in_blocks(rows)
        assert torch.allclose(logits, by_mask(base.model, ids, seen), atol=1e-5)
        assert not torch.allclose(
            logits[0], by_mask(base.model, ids, torch.ones(rows, rows).tril().bool())[0], atol=1e-3
        )


def test_a_model_with_caps_looks_ahead_too():
    torch.manual_seed(0)
    sizes = SIZES | {"head_dim": 8, "sliding_window": 64, "layer_types": ["full_attention"] * 2}
    model = Gemma2ForCausalLM(Gemma2Config(**sizes)).eval()
    own = copy.deepcopy(model)
    base = BaseModel(looking("full", model))
    assert base.path == "generic"
    own.set_attn_implementation("eager")
    (logits,) = packed_logits(base, [Sample(0, TEXTS[0], [True] * 7)])
    with torch.no_grad():
        wanted = own(input_ids=torch.tensor([TEXTS[0]]), attention_mask=torch.zeros(1, 1, 7, 7)).logits[0]
    assert torch.allclose(logits, wanted, atol=1e-5)


@pytest.mark.parametrize("native", [True, False])
def test_a_noisy_block_sees_the_clean_text_before_it(native: bool):
    """Each noisy block of a sequence in two parts gets the logits of that block behind the clean text, read alone."""
    base = BaseModel(looking("block"))
    if not native:
        base.native = None
    clean = TEXTS[2]
    noisy = [96 if i % 2 else token for i, token in enumerate(clean)]
    first, last = 4, 8  # blocks 1 and 2 are noisy; the clean part need not hold the last of them
    ids = noisy[first:] + clean[:last]
    places = [*range(first, len(clean)), *range(last)]
    two_parts = Sample(0, ids, [False] * len(ids), places=places, noisy=len(clean) - first)
    neighbour = Sample(0, TEXTS[1], [True] * 5)
    _, logits = packed_logits(base, [neighbour, two_parts])
    for start, stop in ((4, 8), (8, 10)):
        alone = clean[:start] + noisy[start:stop]
        wanted = by_mask(base.model, alone, seen_in_blocks(stop))[start:]
        assert torch.allclose(logits[start - first : stop - first], wanted, atol=1e-5)
    wanted = by_mask(base.model, clean[:last], seen_in_blocks(last))
    assert torch.allclose(logits[len(clean) - first :], wanted, atol=1e-5)


def test_a_nan_stays_in_its_sequence():
    base = BaseModel(looking("full"))
    with torch.no_grad():
        base.model.model.embed_tokens.weight[96] = math.nan
    bad, good = packed_logits(base, [Sample(0, [1, 96, 3], [True] * 3), Sample(0, TEXTS[0], [True] * 7)])
    assert torch.isnan(bad).all()
    assert torch.isfinite(good[:, :96]).all()  # the column of 96 is its NaN row, as the head is tied


def gradients(base: BaseModel, samples) -> torch.Tensor:
    targets = tuple(resolve_targets(base.model, "all-linear"))
    spec = AdapterSpec(4, 8, 0.0, targets)
    bank = AdapterBank(base.model, [spec], 1)
    bank.occupy(0, spec)
    bank.initialise(0, 1)
    bank.flat_KP.add_(torch.randn(bank.flat_KP.shape, generator=torch.Generator().manual_seed(3)) * 0.02)
    bank.refresh()
    LaneEngine(base, bank, LaneOptimizer(bank)).accumulate(samples)
    bank.remove()
    return bank.grad_KP.clone()


@pytest.mark.parametrize("kind", ["full", "block"])
def test_the_native_backward_pass_is_that_of_the_model(kind: str):
    samples = [
        Sample(0, ids, [True] * len(ids), given=Targets([0, 3], ids[2:4], [0.5, 2.0])) for ids in TEXTS
    ]
    if kind == "block":
        samples.append(Sample(0, [1, 2, 3, 4, 5, 6], [True] * 6, places=[4, 5, 0, 1, 2, 3], noisy=2))
    base = BaseModel(looking(kind))
    found = gradients(base, samples)
    base.native = None
    wanted = gradients(base, samples)
    assert wanted.abs().max() > 1e-3
    assert torch.allclose(found, wanted, atol=1e-6)


def test_targets_that_are_given_are_those_that_count():
    base = BaseModel(looking("full"))
    ids, clean = [5, 96, 96, 7], [5, 9, 11, 7]
    sample = Sample(0, ids, [False, True, True, False], 0.25, given=Targets([1, 2], clean[1:3], [3.0, 0.5]))
    log_p = torch.log_softmax(by_mask(base.model, ids, torch.ones(4, 4).bool()), -1)
    wanted = -3.0 * log_p[1, 9] - 0.5 * log_p[2, 11]
    (loss,), (count,) = base.score([sample])
    assert loss == pytest.approx(float(wanted), rel=1e-5)
    assert count == 2
    spec = AdapterSpec(4, 8, 0.0, tuple(resolve_targets(base.model, "attention")))
    bank = AdapterBank(base.model, [spec], 1)
    bank.occupy(0, spec)
    engine = LaneEngine(base, bank, LaneOptimizer(bank))
    assert engine.accumulate([sample]).tolist() == pytest.approx([0.25 * float(wanted)], rel=1e-5)


def test_a_window_in_which_nothing_happens_to_be_masked_is_a_step_with_loss_zero():
    base = BaseModel(looking("full"))
    spec = AdapterSpec(4, 8, 0.0, tuple(resolve_targets(base.model, "attention")))
    bank = AdapterBank(base.model, [spec], 1)
    bank.occupy(0, spec)
    optimizer = LaneOptimizer(bank)
    from octavo.lanes.optimizer import OptimizerSpec

    optimizer.occupy(0, OptimizerSpec())
    engine = LaneEngine(base, bank, optimizer)
    nothing = Sample(0, [1, 2, 3], [False, True, True], given=Targets([], [], []))
    result = engine.run([[nothing]], [1e-2], [True])
    assert result.losses == [0.0]
    assert result.stepped == [True]


def test_what_cannot_look_ahead_is_refused():
    windowed = MistralForCausalLM(MistralConfig(**SIZES, sliding_window=4)).eval()
    with pytest.raises(InputError, match="sliding window, so attention: full cannot be had of it"):
        BaseModel(looking("full", windowed))
    model = tiny_llama()
    own = copy.deepcopy(model.config)
    own._attn_implementation = "eager"
    model.model.layers[0].self_attn.config = own
    with pytest.raises(InputError, match=r"attention: full cannot be had of it\. Choose another base"):
        BaseModel(looking("full", copy.deepcopy(model)))
    with pytest.raises(InputError, match="It may be rounding: take dtype: float32"):
        BaseModel(looking("full", model.to(torch.bfloat16)))
    with pytest.raises(ValueError, match="none of causal, full, block"):
        pattern_of(looking("sideways").config)
    with pytest.raises(ValueError, match="does not write a token after the other"):
        generate(BaseModel(looking("full")), [(0, [1, 2])], set(), 3)


def test_patterns_by_definition():
    five = torch.arange(5)
    assert Pattern("full").visible(five) is None
    assert torch.equal(Pattern("causal").visible(five), torch.ones(5, 5).tril().bool())
    assert torch.equal(Pattern("block", 2).visible(five)[2], torch.tensor([1, 1, 1, 1, 0]).bool())
    # rows: noisy 2 3 4, clean 0 1 2 3; a noisy row 4 sees itself and the clean rows 0..3
    seen = Pattern("block", 2).visible(torch.tensor([2, 3, 4, 0, 1, 2, 3]), 3)
    assert seen[2].tolist() == [False, False, True, True, True, True, True]
    assert seen[0].tolist() == [True, True, False, True, True, False, False]
    assert seen[3].tolist() == [False, False, False, True, True, False, False]
