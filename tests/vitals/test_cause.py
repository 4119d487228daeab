"""Causes: faults put into a tiny model are replayed and named."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.pack import Sample
from octavo.lanes.trace import Fault, find_fault
from octavo.lanes.window import LaneEngine
from octavo.vitals.cause import Cause, cause_of_finite, cause_of_nonfinite
from octavo.vitals.verdict import COLLAPSED, DIVERGING, Verdict
from tests.lanes.tiny import NanBackward
from tests.vitals.watched import watched

IDS = list(range(1, 21))


def window(prepare: Callable[[LaneEngine], object], labels: bool = True) -> tuple[Cause, Fault]:
    """One window of one lane with a fault in the model, and what is said of it."""
    seen = watched((4,))
    engine = LaneEngine(seen.base, seen.bank, LaneOptimizer(seen.bank))
    prepare(engine)
    sample = Sample(0, IDS, [labels] * len(IDS), 1 / 19 if labels else math.nan)
    result = engine.run([[sample]], [1e-3], [True])
    fault = find_fault(engine, 0, [sample])
    loss = result.losses[0] if labels else math.nan  # 0/0: no target to take the mean over
    found = cause_of_nonfinite(
        loss, result.grad_norms[0], len(sample.targets), fault, seen.bank.flat_KP.dtype, ["ex-7", "ex-9"]
    )
    return found, fault


def alter_output(name: str, value: float) -> Callable[[LaneEngine], object]:
    """Put a value into what a layer puts out, by a hook that stays."""

    def hook(_module: nn.Module, _inputs: object, output: torch.Tensor) -> torch.Tensor:
        changed = output.clone()
        changed.view(-1)[3] = value
        return changed

    return lambda engine: engine.bank.model.get_submodule(name).register_forward_hook(hook)


def test_no_labels() -> None:
    found, fault = window(lambda engine: None, labels=False)
    assert found.kind == "no labels"
    assert fault.kind == "no target"


def test_an_infinite_activation() -> None:
    found, fault = window(alter_output("model.layers.1.mlp.up_proj", math.inf))
    assert found.kind == "activations"
    assert fault.said == "output of layers.1.mlp.up_proj"
    assert "ex-7, ex-9" in found.evidence
    assert fault.said in found.evidence


def test_a_nan_of_finite_values() -> None:
    found, fault = window(alter_output("model.layers.0.mlp.gate_proj", math.nan))
    assert found.kind == "0/0"
    assert fault == Fault("undefined", "output of layers.0.mlp.gate_proj")


def test_what_arises_in_attention_is_named_by_the_layer_that_is_given_it(monkeypatch) -> None:
    import octavo.lanes.attention as attention

    plain = attention.attend

    def masked(*arguments: object) -> torch.Tensor:
        out = plain(*arguments).clone()  # type: ignore[arg-type]
        out[..., 5, :] = math.nan  # a row in which every key is masked
        return out

    def prepare(engine: LaneEngine) -> None:
        engine.base.native = None
        monkeypatch.setattr(attention, "attend", masked)  # after the model has been checked

    found, fault = window(prepare)
    assert found.kind == "0/0"
    assert fault.said == "input of layers.0.self_attn.o_proj"


def test_a_bad_parameter() -> None:
    def prepare(engine: LaneEngine) -> None:
        engine.bank.flat_KP[0, 3] = math.nan

    found, fault = window(prepare)
    assert found.kind == "parameters"
    assert fault.said == "adapter matrix A of model.layers.0.self_attn.q_proj"


def test_a_backward_pass() -> None:
    def prepare(engine: LaneEngine) -> None:
        layer = engine.bank.model.get_submodule("model.layers.1.mlp.down_proj")
        layer.register_forward_hook(lambda _m, _i, out: NanBackward.apply(out))

    found, fault = window(prepare)
    assert found.kind == "backward"
    assert fault.kind == "gradient"


@pytest.mark.parametrize(
    ("loss", "norm", "fault", "dtype", "kind"),
    [
        (2.0, math.nan, "gradient", torch.bfloat16, "half precision"),
        (math.nan, math.nan, "overflow", torch.float16, "half precision"),
        (math.nan, math.nan, "overflow", torch.bfloat16, "activations"),
        (2.0, 1.0, "parameter", torch.bfloat16, "half precision"),
        (math.nan, 0.0, "not found", torch.float32, "no labels"),
        (math.nan, math.nan, "not found", torch.float32, "unknown"),
        (math.inf, math.nan, "loss", torch.float32, "0/0"),
    ],
)
def test_signatures(loss: float, norm: float, fault: str, dtype: torch.dtype, kind: str) -> None:
    found = cause_of_nonfinite(loss, norm, 9, Fault(fault, "it"), dtype, [str(i) for i in range(10)])  # type: ignore[arg-type]
    assert found.kind == kind
    assert "and 2 more" in found.evidence


def test_a_finite_run_is_explained_by_its_update_or_its_data() -> None:
    fast = Verdict(DIVERGING, 11, "step 11: relative update 0.1", ("rho",))
    assert cause_of_finite(fast, ["a"] * 9, 1e-2) == Cause(
        "learning rate", "learning rate 0.01: step 11: relative update 0.1"
    )
    taught = Verdict(COLLAPSED, 70, "step 70: probe", ("probe", "memorised"))
    repeated = cause_of_finite(taught, ["a"] * 9 + ["b"], 1e-4)
    assert repeated.kind == "data"
    assert "9 of the last 10" in repeated.evidence
    assert "9 of" not in cause_of_finite(taught, list("abcdefghij"), 1e-4).evidence
    still = Verdict("watch", 5, "step 5: half", ("precision",))
    assert cause_of_finite(still, [], 1e-4).kind == "half precision"
    leaped = Verdict(DIVERGING, 30, "step 30: loss", ("grad_z", "loss_z"))
    assert cause_of_finite(leaped, list("abc"), 1e-4).kind == "data"
    twice = Verdict("watch", 30, "step 30: repeated", ("repeats",))
    assert cause_of_finite(twice, ["a"] * 9 + ["b"], 1e-4).kind == "data"
    restless = Verdict(DIVERGING, 30, "step 30: gradient norm", ("grad_z",))
    assert cause_of_finite(restless, [], 1e-4).kind == "unknown"
