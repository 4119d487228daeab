"""Greedy generation over lanes against transformers' own."""

from __future__ import annotations

import copy

import torch

from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.generate import generate
from octavo.lanes.targets import resolve_targets
from tests.lanes.tiny import tiny_llama

PROMPTS = [[5, 9, 11], [3], [7, 7, 8, 20, 31, 2]]


def by_transformers(model, ids: list[int], new: int) -> list[int]:
    out = model.generate(
        torch.tensor([ids]),
        attention_mask=torch.ones(1, len(ids)),
        max_new_tokens=new,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
    )
    return out[0, len(ids) :].tolist()


def test_the_base_lane_says_what_transformers_says():
    model = tiny_llama(seed=4)
    wanted = [by_transformers(copy.deepcopy(model), ids, 12) for ids in PROMPTS]
    base = BaseModel(model)
    assert generate(base, [(0, ids) for ids in PROMPTS], set(), 12) == wanted


def test_every_lane_answers_with_its_own_adapter_and_stops():
    base = BaseModel(tiny_llama(seed=4))
    targets = resolve_targets(base.model, "all-linear")
    spec = AdapterSpec(4, 16, 0.0, tuple(targets))
    bank = AdapterBank(base.model, [spec], 3, trainable=False)
    for lane in range(2):
        bank.occupy(lane, spec)
        bank.initialise(lane, lane)
        draw = torch.Generator().manual_seed(lane)
        matrices = {n: (a, torch.randn(b.shape, generator=draw)) for n, (a, b) in bank.read(lane).items()}
        bank.write(lane, matrices)
    together = generate(base, [(lane, ids) for ids in PROMPTS for lane in (0, 1, 2)], set(), 10)
    alone = [generate(base, [(lane, ids)], set(), 10)[0] for ids in PROMPTS for lane in (0, 1, 2)]
    assert together == alone
    assert len({tuple(t) for t in together[:3]}) == 3
    stop = together[0][4]
    stopped = generate(base, [(0, PROMPTS[0])], {stop}, 10)[0]
    assert stopped == together[0][: together[0].index(stop)]


def test_a_dead_lane_gives_none():
    base = BaseModel(tiny_llama())
    targets = resolve_targets(base.model, "attention")
    spec = AdapterSpec(4, 16, 0.0, tuple(targets))
    bank = AdapterBank(base.model, [spec], 2, trainable=False)
    bank.occupy(0, spec)
    bank.flat_KP[0] = torch.nan
    answers = generate(base, [(0, [1, 2]), (1, [1, 2])], set(), 3)
    assert answers[0] is None
    assert len(answers[1]) == 3
