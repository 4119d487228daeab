"""Which layers an adapter goes on."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from octavo.errors import InputError
from octavo.lanes.adapters import count_parameters
from octavo.lanes.targets import features_of, resolve_targets
from tests.lanes.tiny import tiny_llama

MODEL = tiny_llama()


def test_presets_and_names():
    attention = resolve_targets(MODEL, "attention")
    assert [n.rsplit(".", 1)[-1] for n in attention] == ["q_proj", "k_proj", "v_proj", "o_proj"] * 2
    assert len(resolve_targets(MODEL, "all-linear")) == 14
    assert resolve_targets(MODEL, ["1.mlp.up_proj"]) == ["model.layers.1.mlp.up_proj"]
    assert not any("lm_head" in name for name in resolve_targets(MODEL, "all-linear"))


def test_a_name_that_matches_nothing_lists_what_there_is():
    with pytest.raises(
        InputError, match=r"'q_porj' matches no linear layer.*did you mean 'q_proj'.*down_proj, gate_proj"
    ):
        resolve_targets(MODEL, ["q_porj"])


def test_the_count_is_the_published_one():
    """r=8 on the embedded model's shapes: 921,600 for attention, 2,442,240 for all seven linears of 30 layers."""
    shapes = {
        "q": (576, 576),
        "k": (576, 192),
        "v": (576, 192),
        "o": (576, 576),
        "gate": (576, 1536),
        "up": (576, 1536),
        "down": (1536, 576),
    }
    layers = [(f"{n}.{i}", *shapes[n]) for i in range(30) for n in shapes]
    assert count_parameters(layers, 8) == 2_442_240
    assert count_parameters([layer for layer in layers if layer[0][0] in "qkvo"], 8) == 921_600
    assert features_of(MODEL.model.layers[0].mlp.down_proj) == (48, 32)


def test_features_are_those_that_the_layer_states():
    """A quantised layer holds its numbers packed, in a tensor of another shape."""
    packed = nn.Linear(6, 5)
    packed.weight = nn.Parameter(torch.zeros(15, 1, dtype=torch.uint8), requires_grad=False)
    assert features_of(packed) == (6, 5)
    assert features_of(Conv1D(5, 6)) == (6, 5)
    with pytest.raises(TypeError, match="Embedding does not say"):
        features_of(nn.Embedding(6, 5))
