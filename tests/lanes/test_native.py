"""The native decoder against the model's own forward pass, and what it leaves to that."""

import copy
import math

import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM

from octavo.lanes import kernels
from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.pack import Sample
from octavo.lanes.targets import resolve_targets
from octavo.lanes.window import LaneEngine
from tests.lanes.tiny import SIZES, VOCABULARY, tiny_llama

SCALED = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
MODELS = {
    "llama": tiny_llama,
    "llama with biases": lambda: tiny_llama(attention_bias=True, mlp_bias=True),
    "llama with scaled RoPE": lambda: tiny_llama(rope_parameters=SCALED),
    "mistral with a window": lambda: seeded(MistralForCausalLM, MistralConfig(**SIZES, sliding_window=5)),
    "qwen2 with windows": lambda: seeded(
        Qwen2ForCausalLM,
        Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    ),
}
LANES = 3


def seeded(kind, config):
    torch.manual_seed(0)
    return kind(config).eval()


def samples() -> list[Sample]:
    draw = torch.Generator().manual_seed(1)
    made = []
    for number, length in enumerate((17, 9, 24, 16, 21)):
        ids = torch.randint(VOCABULARY, (length,), generator=draw).tolist()
        made.append(Sample(number % LANES, ids, [True] * length, 0.05, key=100 + number))
    return made


def open_engine(base: BaseModel, dropout: float = 0.3) -> LaneEngine:
    spec = AdapterSpec(4, 8.0, dropout, tuple(resolve_targets(base.model, "all-linear")))
    bank = AdapterBank(base.model, [spec], LANES)
    for lane in range(LANES):
        bank.occupy(lane, spec)
        bank.initialise(lane, lane)
        draw = torch.Generator().manual_seed(lane)
        for place in bank.places[lane]:
            place.views(bank.flat_KP[lane])[1].normal_(0, 0.05, generator=draw)
    bank.refresh()
    return LaneEngine(base, bank, LaneOptimizer(bank))


def losses_and_gradients(
    base: BaseModel, chosen: list[Sample] | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    engine = open_engine(base)
    losses_K = engine.accumulate(chosen or samples())
    grad_KP = engine.optimizer.grad_KP.clone()
    engine.bank.remove()
    return losses_K, grad_KP


def distance(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found.double() - wanted.double()).norm() / wanted.double().norm())


@pytest.mark.parametrize("name", MODELS)
def test_losses_and_gradients_are_those_of_the_models_own_pass(name: str):
    base = BaseModel(MODELS[name]())
    assert base.path == "native"
    found = losses_and_gradients(base)
    base.native = None
    assert base.path == "generic"
    wanted = losses_and_gradients(base)
    assert distance(found[0], wanted[0]) < 1e-6
    assert distance(found[1], wanted[1]) < 1e-5


@pytest.mark.parametrize("name", MODELS)
def test_in_bfloat16_it_is_no_further_from_float32_than_the_models_own_pass(name: str):
    model = MODELS[name]()
    exact = losses_and_gradients(BaseModel(copy.deepcopy(model)))[1]
    base = BaseModel(model.to(torch.bfloat16))
    assert base.path == "native"
    native = distance(losses_and_gradients(base)[1], exact)
    base.native = None
    assert native < 1.5 * distance(losses_and_gradients(base)[1], exact)


def test_another_activation_is_left_to_the_model():
    assert BaseModel(tiny_llama(hidden_act="gelu")).path == "generic"


@pytest.mark.parametrize(
    "place", ["model.layers.1", "model.layers.1.mlp", "model.norm", "model.layers.0.self_attn"]
)
def test_a_hook_on_a_module_that_would_not_be_called_is_honoured(place: str):
    base, calls = BaseModel(tiny_llama()), []
    handle = base.model.get_submodule(place).register_forward_hook(lambda *_: calls.append(place))
    losses_and_gradients(base)
    assert calls
    handle.remove()
    calls.clear()
    losses_and_gradients(base)
    assert not calls


def test_a_hook_on_a_linear_layer_runs_within_the_native_pass():
    base, calls = BaseModel(tiny_llama()), []
    base.model.get_submodule("model.layers.0.mlp.up_proj").register_forward_hook(lambda *_: calls.append(1))
    assert base.native is not None
    assert not base.native.hooked
    losses_and_gradients(base)
    assert calls


def test_a_nan_in_one_lane_leaves_every_bit_of_the_others():
    base = BaseModel(tiny_llama())
    healthy = losses_and_gradients(base)
    rows = sum(len(s.ids) for s in samples() if s.lane == 0)

    def poison(_module, _inputs, output):
        first = torch.arange(output.shape[-2]) < rows  # lane 0 comes first in a pack
        return output.masked_fill(first[:, None], math.nan)

    base.model.get_submodule("model.layers.0.self_attn.o_proj").register_forward_hook(poison)
    losses, grads = losses_and_gradients(base)
    assert math.isnan(float(losses[0]))
    assert not bool(torch.isfinite(grads[0]).all())
    assert torch.equal(losses[1:], healthy[0][1:])
    assert torch.equal(grads[1:], healthy[1][1:])


def test_a_lane_alone_gets_the_bits_that_it_gets_among_others():
    base = BaseModel(tiny_llama())
    losses, grads = losses_and_gradients(base)
    for lane in range(LANES):
        alone = losses_and_gradients(base, [s for s in samples() if s.lane == lane])
        assert torch.equal(alone[0][lane], losses[lane])
        assert torch.equal(alone[1][lane], grads[lane])


def test_a_wide_model_is_left_to_itself_where_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(kernels.SWITCH, "0")
    assert BaseModel(tiny_llama(hidden_size=kernels.NARROWEST)).path == "generic"


def test_a_compiler_that_fails_costs_speed_and_nothing_else(monkeypatch: pytest.MonkeyPatch):
    def broken(*_arguments, **_options):
        def fail(*_):
            raise RuntimeError("no compiler here")

        return fail

    model = tiny_llama(hidden_size=kernels.NARROWEST)
    monkeypatch.setenv(kernels.SWITCH, "0")
    wanted = losses_and_gradients(BaseModel(copy.deepcopy(model)))
    monkeypatch.setenv(kernels.SWITCH, "1")
    monkeypatch.setattr(kernels, "COMPILED", kernels.Kernels(True))
    monkeypatch.setattr(kernels, "FAILURES", {})
    monkeypatch.setattr("octavo.lanes.base.FAILURES", kernels.FAILURES)
    monkeypatch.setattr(torch, "compile", broken)
    base = BaseModel(model)
    assert base.path == "generic"
    assert any("no compiler here" in note for note in base.notes)
    found = losses_and_gradients(base)
    assert distance(found[1], wanted[1]) < 1e-5
