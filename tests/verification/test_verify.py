"""`octavo verify` finds what it is there to find."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

import pytest
import torch

from octavo.corpus.encode import Encoder
from octavo.lanes import linear
from octavo.lanes.base import BaseModel
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import resolve_base
from octavo.objectives.masked_diffusion import MaskedDiffusion
from octavo.objectives.objective import make_objective
from octavo.settings import Base, Train
from octavo.training.tasks import Task
from octavo.verification.command import under
from octavo.verification.verify import holds, verify

STEPS = 8


@pytest.fixture(scope="module")
def model_and_encoder(tiny):
    return load_model(tiny, torch.float32), Encoder(load_tokenizer(tiny))


def run(model_and_encoder, fault=contextlib.nullcontext):
    model, encoder = model_and_encoder
    return verify(model, encoder, STEPS, fault=fault)


@contextlib.contextmanager
def swapped(owner: object, name: str, value: object) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value)
        yield


def mask_ignored_in_backward():
    """The well-known mistake of hand-written LoRA backwards: dA is off by a third."""
    plain = linear.LaneDelta.backward

    def backward(ctx, *grads):
        with swapped(linear, "only_kept", lambda x, _keep: x):
            return plain(ctx, *grads)

    return swapped(linear.LaneDelta, "backward", staticmethod(backward))


def neighbours_scale():
    plain = linear.LaneLinear.forward

    def forward(self, x):
        slots = [slot for slot in self.site.slots if slot is not None]
        for slot in slots:
            slot.scale = slots[0].scale
        return plain(self, x)

    return swapped(linear.LaneLinear, "forward", forward)


def rate_of_the_step_before():
    plain = Task.learning_rate
    return swapped(Task, "learning_rate", lambda self, step: plain(self, max(0, step - 1)))


def test_lanes_hold_on_a_tiny_model(model_and_encoder):
    found = run(model_and_encoder)
    assert holds(found)
    assert found["runs"] == 8
    assert found["bitwise"] is True


def test_a_model_that_ignores_packs_is_verified_as_it_is_trained(model_and_encoder):
    """One of its layers keeps its own attention, so a study reads it a sequence at a time."""
    model, encoder = copy.deepcopy(model_and_encoder[0]), model_and_encoder[1]
    own = copy.deepcopy(model.config)
    own._attn_implementation = "eager"
    model.model.layers[0].self_attn.config = own
    assert not BaseModel(copy.deepcopy(model)).packed
    assert holds(verify(model, encoder, STEPS))


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (mask_ignored_in_backward, ["max_relative_difference", "max_relative_difference_split"]),
        (
            neighbours_scale,
            ["max_relative_difference", "max_relative_difference_split", "max_relative_difference_peft"],
        ),
        (
            rate_of_the_step_before,
            ["max_relative_difference", "max_relative_difference_split", "max_relative_difference_peft"],
        ),
    ],
)
def test_a_planted_fault_is_seen(model_and_encoder, fault, seen: list[str]):
    found = run(model_and_encoder, fault)
    assert not holds(found)
    assert not found["bitwise"]
    for figure in seen:
        assert found[figure] > 1e-2, figure


@pytest.mark.parametrize(
    ("attention", "prediction"), [("full", "next"), ("block", "same"), ("block", "next"), ("causal", "next")]
)
def test_masked_diffusion_holds_whoever_sees_whom(tiny, model_and_encoder, attention: str, prediction: str):
    base = Base(
        name="tiny",
        model=str(tiny.folder),
        objective="masked_diffusion",
        attention=attention,
        prediction=prediction,
        block_size=8,
    )
    source = resolve_base(base, tiny.folder)
    objective = make_objective(base, source, Train())
    found = verify(load_model(source, torch.float32), model_and_encoder[1], STEPS, objective=objective)
    assert holds(found), found
    assert found["bitwise"] is True


def hidden_tokens_are_shown():
    """The mask forgotten: the loss is there, and every token can be read off."""
    plain = MaskedDiffusion._made

    def made(self, lane, ids, labels, row, hidden, *rest):
        places = [*range(len(ids))] if len(rest) < 4 or rest[3] is None else rest[3]
        return plain(self, lane, [row.ids[p] for p in places], labels, row, hidden, *rest)

    return swapped(MaskedDiffusion, "_made", made)


def losses_of_hidden_tokens_unweighted():
    return swapped(
        MaskedDiffusion,
        "sample",
        lambda self, row, hidden, *rest, plain=MaskedDiffusion.sample, **key: plain(
            self, row, dict.fromkeys(hidden, 1.0), *rest, **key
        ),
    )


@pytest.mark.parametrize("fault", [hidden_tokens_are_shown, losses_of_hidden_tokens_unweighted])
def test_a_fault_of_masked_diffusion_is_seen(tiny, model_and_encoder, fault):
    base = Base(name="tiny", model=str(tiny.folder), objective="masked_diffusion", attention="full")
    source = resolve_base(base, tiny.folder)
    objective = make_objective(base, source, Train())
    found = verify(
        load_model(source, torch.float32), model_and_encoder[1], STEPS, fault=fault, objective=objective
    )
    assert found["max_relative_difference_peft"] > 1e-2
    assert found["max_relative_difference"] > 1e-2


def test_a_base_may_be_made_to_learn_another_objective():
    one = Base(name="a", model="b", dtype="float32")
    other = under(one, "masked_diffusion")
    assert (other.objective, other.attention, other.prediction) == ("masked_diffusion", "full", "next")
    assert other.dtype == "float32"
    assert under(other, None) is other
    assert under(other, "causal") == one
