"""The fused step against the plain ways of doing the same: PEFT + torch AdamW, each run alone, other cuts."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from octavo.lanes.difference import relative_difference, same_bits
from octavo.lanes.pack import Sample
from octavo.lanes.window import split_micro_steps
from tests.lanes.tiny import TinyRun, tiny_llama, train_fused, train_peft

MODEL = tiny_llama()
MIXED = [
    TinyRun(0, rank=8, rate=1e-2),
    TinyRun(1, rank=2, rate=3e-3, weight_decay=0.3),
    TinyRun(2, rank=4, rate=1e-2, targets="all-linear", max_grad_norm=None),
    TinyRun(3, rank=4, rate=1e-2, targets=["q_proj", "down_proj"], ratio_b=4.0),
    TinyRun(4, rank=8, rate=2e-2, betas=(0.8, 0.95), eps=1e-6, max_grad_norm=0.1),
]


def test_mixed_runs_match_padded_peft_with_torch_adamw():
    fused = train_fused(MIXED, MODEL)
    gaps = [relative_difference(fused[i], train_peft(run, MODEL)) for i, run in enumerate(MIXED)]
    assert max(gaps) < 1e-3


def test_fused_equals_alone_bit_for_bit_with_dropout():
    runs = [
        TinyRun(seed, rank=rank, dropout=0.3, targets="all-linear") for seed, rank in ((0, 4), (1, 4), (2, 4))
    ]
    fused = train_fused(runs, MODEL)
    for run, found in zip(runs, fused, strict=True):
        assert same_bits(found, train_fused([run], MODEL)[0])


def test_a_neighbour_of_another_rank_and_other_layers_changes_no_bit():
    small = TinyRun(1, rank=1)
    large = TinyRun(0, rank=16, targets="all-linear")
    assert same_bits(train_fused([large, small], MODEL)[1], train_fused([small], MODEL)[0])


@pytest.mark.parametrize("budget", [1, 40, 120])
def test_another_cut_is_the_same_run_dropout_included(budget: int):
    runs = [TinyRun(seed, dropout=0.2) for seed in range(3)]
    whole = train_fused(runs, MODEL)
    for a, b in zip(train_fused(runs, MODEL, budget=budget), whole, strict=True):
        assert relative_difference(a, b) < 1e-3


def test_a_nan_in_one_lane_leaves_the_others_bit_for_bit():
    runs = [TinyRun(seed, dropout=0.1) for seed in range(4)]
    clean = train_fused(runs, MODEL)
    poisoned = train_fused(runs, MODEL, poison=(1, 2))
    for lane in (0, 2, 3):
        assert same_bits(poisoned[lane], clean[lane])
    assert not all(bool(torch.isfinite(m).all()) for pair in poisoned[1].values() for m in pair)


def make_engine(lanes: int, dropout: float = 0.0):
    from octavo.lanes.adapters import AdapterBank, AdapterSpec
    from octavo.lanes.base import BaseModel
    from octavo.lanes.optimizer import LaneOptimizer
    from octavo.lanes.targets import resolve_targets
    from octavo.lanes.window import LaneEngine

    base = BaseModel(tiny_llama(), check=False)
    targets = resolve_targets(base.model, "attention")
    spec = AdapterSpec(4, 8, dropout, tuple(targets))
    bank = AdapterBank(base.model, [spec], lanes)
    for lane in range(lanes):
        bank.occupy(lane, spec)
        bank.initialise(lane, lane)
    return LaneEngine(base, bank, LaneOptimizer(bank))


def test_a_nan_is_kept_out_of_the_step():
    engine = make_engine(2)
    bank = engine.bank
    before = bank.flat_KP.clone()
    weights = [1.0, math.inf]  # a loss divided by zero labels
    samples = [Sample(lane, [1, 2, 3], [True] * 3, weights[lane]) for lane in range(2)]
    result = engine.run([samples], [1e-2, 1e-2], [True, True])
    assert result.stepped == [True, False]
    assert torch.equal(bank.flat_KP[1], before[1])
    assert not torch.equal(bank.flat_KP[0], before[0])


def test_a_lane_without_a_target_does_not_step():
    engine = make_engine(3)
    before = engine.bank.flat_KP.clone()
    masked = Sample(
        1, [1, 2, 3], [True, False, False], math.nan
    )  # nothing precedes the first: it is no target
    some = [Sample(2, [4, 5], [False] * 2, 0.5), Sample(2, [6, 7], [True] * 2, 0.5)]
    result = engine.run([[Sample(0, [1, 2, 3], [True] * 3, 0.5), masked], some], [1e-2] * 3, [True] * 3)
    assert result.stepped == [True, False, True]
    assert math.isnan(result.losses[1])
    assert result.grad_norms[1] == 0
    assert torch.equal(engine.bank.flat_KP[1], before[1])


class Waits(TorchDispatchMode):
    """Counts what makes a host wait for a GPU: single values, and results whose size depends on values."""

    NAMES = ("_local_scalar_dense", "is_nonzero", "nonzero", "masked_select", "equal", "unique", "bincount")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        masks = args[1] if name == "index" else ()
        if name in self.NAMES or any(m is not None and m.dtype == torch.bool for m in masks):
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


def test_a_window_asks_for_no_single_value_of_a_tensor():
    engine = make_engine(3, dropout=0.2)
    steps = [[Sample(lane, [1, 2, 3, 4], [True] * 4, 0.3) for lane in range(3)]] * 2
    with Waits() as waits:
        engine.run(steps, [1e-2] * 3, [True] * 3)
    assert waits.seen == []
    with Waits() as waits:
        float(engine.bank.flat_KP.sum())
        engine.bank.flat_KP[engine.bank.flat_KP > 0]
    assert waits.seen == ["_local_scalar_dense", "index"]


def test_cut_keeps_order_and_budget():
    lanes = [[[Sample(k, [1] * n, [True] * n) for n in sizes] for sizes in ((5, 5), (3,))] for k in range(3)]
    cut = split_micro_steps(lanes, 20)
    assert [sum(len(s.ids) for s in step) for step in cut] == [13, 13, 13]
    assert [s.lane for step in cut for s in step] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [sum(len(s.ids) for s in step) for step in split_micro_steps(lanes, 9)] == [5, 8, 5, 8, 5, 8]
    alone = split_micro_steps(lanes, 1)
    assert [len(step) for step in alone] == [1] * 9
