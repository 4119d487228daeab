"""Signals read by sending prompts through the lanes, against the plain model."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from octavo.lanes.pattern import additive
from octavo.objectives.masked_diffusion import MaskedDiffusion
from octavo.vitals.signal import Watched, read_signals
from octavo.vitals.signals import make_signals, probe, spectrum
from tests.lanes.tiny import VOCABULARY, tiny_llama
from tests.vitals.watched import PROMPTS, moments, watched


def merged(seen: Watched, lane: int) -> torch.nn.Module:
    """The plain model with a lane's adapter added to its weights."""
    model = tiny_llama(num_hidden_layers=seen.base.config.num_hidden_layers)
    spec = seen.bank.specs[lane]
    assert spec is not None
    for name, (a, b) in seen.bank.read(lane).items():
        model.get_submodule(name).weight.data += spec.scale * b @ a
    model.set_attn_implementation("eager")
    return model


def plain_probe(model: torch.nn.Module) -> list[float]:
    nll, entropy, best = [], [], []
    for ids in PROMPTS:
        with torch.no_grad():
            log_p = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0, :-1].double(), -1)
        nll += [-float(row[i]) for row, i in zip(log_p, ids[1:], strict=True)]
        entropy += (-(log_p.exp() * log_p).sum(-1)).tolist()
        best += log_p.argmax(-1).tolist()
    return [sum(nll) / len(nll), sum(entropy) / len(entropy), len(set(best)) / len(best)]


def test_the_probe_is_that_of_each_adapter_alone() -> None:
    seen = watched((4, 4, 2))
    found = read_signals([probe.make(seen)], moments([2, 0, 1], 10))
    for lane in range(3):
        assert list(found[lane].values()) == pytest.approx(plain_probe(merged(seen, lane)), rel=1e-4)


def test_the_probe_before_the_first_step_is_the_base_models() -> None:
    seen = watched((4,), moved=False)
    found = read_signals([probe.make(seen)], moments([0], 0))
    assert list(found[0].values()) == pytest.approx(plain_probe(tiny_llama()), rel=1e-4)


def test_a_model_that_always_says_the_same_has_next_to_no_distinct_words() -> None:
    seen = watched((4,))
    weights = seen.base.model.get_input_embeddings().weight
    weights[:] = weights[:1]
    found = read_signals([probe.make(seen)], moments([0], 10))[0]
    assert found["probe_share"] == 1 / sum(len(ids) - 1 for ids in PROMPTS)
    assert found["probe_nll"] == pytest.approx(math.log(VOCABULARY), rel=1e-5)


def test_a_nan_in_one_lane_is_read_there_alone() -> None:
    seen = watched((4, 4))
    clean = read_signals([probe.make(seen)], moments([0, 1], 10))
    # not in a query: torch's flash kernel for CPUs loses a NaN there in sequences of fewer than 16 tokens
    place = next(p for p in seen.bank.places[1] if p.name.endswith("down_proj"))
    seen.bank.flat_KP[1, place.start] = math.nan
    found = read_signals([probe.make(seen)], moments([0, 1], 10))
    assert found[0] == clean[0]
    assert all(math.isnan(value) for value in found[1].values())


def test_attention_and_hidden_states_are_those_of_the_plain_model() -> None:
    seen = watched((4, 2), layers=5)
    found = read_signals([spectrum.make(seen)], moments([0, 1], 50))
    for lane in range(2):
        model = merged(seen, lane)
        assert set(found[lane]["attention"]) == set(found[lane]["hidden_rank"]) == {"0", "4"}
        for number in (0, 4):
            entropy, ranks, hidden = [], [], []
            for ids in PROMPTS[:2]:
                kept: list[torch.Tensor] = []
                handle = model.model.layers[number].register_forward_hook(
                    lambda _m, _i, out, kept=kept: kept.append(out[0] if isinstance(out, tuple) else out)
                )
                with torch.no_grad():
                    out = model(input_ids=torch.tensor([ids]), output_attentions=True)
                handle.remove()
                weights = out.attentions[number][0].double()
                rows = [
                    -sum(p * math.log(p) for p in row[: i + 1]) / math.log(i + 1)
                    for head in weights.tolist()
                    for i, row in enumerate(head)
                    if i
                ]
                entropy.append(sum(rows) / len(rows))
                s = torch.linalg.svdvals(weights)
                p = s / s.sum(-1, keepdim=True)
                ranks.append(float((-(p * p.log()).sum(-1)).exp().mean()) / len(ids))
                states = kept[0].reshape(len(ids), -1).double()
                s = torch.linalg.svdvals(states - states.mean(0))
                p = (s / s.sum())[s > 1e-9]
                hidden.append(float((-(p * p.log()).sum()).exp()))
            read = found[lane]["attention"][str(number)]
            assert read["entropy"] == pytest.approx(sum(entropy) / 2, rel=1e-3)
            assert read["rank"] == pytest.approx(sum(ranks) / 2, rel=1e-3)
            assert read["singular_values"][0] == 1.0
            assert read["singular_values"][-1] is None  # a prompt of five tokens has five of them
            assert found[lane]["hidden_rank"][str(number)] == pytest.approx(sum(hidden) / 2, rel=1e-3)


def test_attention_that_cannot_be_observed_is_null() -> None:
    seen = watched((4,))
    seen.base.packed = False
    seen.base.native = None
    seen.base.model.set_attn_implementation("eager")
    found = read_signals([spectrum.make(seen)], moments([0], 50))[0]
    assert found["attention"] is None
    assert found["hidden_rank"] is None
    assert found["update_ranks"]


class Waits(TorchDispatchMode):
    """Counts what would make a host wait for a device: a number asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def test_measuring_asks_the_device_for_nothing() -> None:
    seen = watched((4, 4, 2))
    for signal in make_signals(seen):
        lanes = [one for one in moments([0, 1, 2], 50) if signal.due(one.step)]
        signal.measure(lanes)  # caches of positions and the like are made at the first call
        with Waits() as waits:
            signal.measure(lanes)
        assert waits.count == 0, signal.name


def test_every_signal_of_the_folder_is_read_and_none_changes_the_lanes() -> None:
    seen = watched((4, 2))
    before = copy.deepcopy(seen.bank.flat_KP)
    found = read_signals(make_signals(seen), moments([0, 1], 50))
    assert found[0].keys() >= {
        "finite",
        "rho",
        "grad_z",
        "loss_mean",
        "probe_nll",
        "update_ranks",
        "attention",
    }
    assert torch.equal(seen.bank.flat_KP, before)
    assert "rho" not in read_signals(make_signals(seen), moments([0], 23))[0]


@pytest.mark.parametrize("kind", ["full", "block"])
def test_under_masked_diffusion_the_probe_is_its_bound_on_the_same_masks(kind: str) -> None:
    objective = MaskedDiffusion(VOCABULARY - 1, attention=kind, block=2)
    seen = replace(watched((4, 2), attention=kind), objective=objective)
    signal = probe.make(seen)
    found = read_signals([signal], moments([1, 0], 10))
    for lane in range(2):
        losses, _ = seen.base.score([objective.glance(prompt, lane) for prompt in signal.prompts])
        tokens = sum(len(ids) - 1 for ids in PROMPTS)
        assert found[lane]["probe_nll"] == pytest.approx(sum(losses) / tokens, rel=1e-4)
        assert 0 < found[lane]["probe_entropy"] <= math.log(VOCABULARY)
        assert found[lane]["probe_share"] is None
    assert read_signals([signal], moments([0], 20))[0] == found[0]
    history = read_signals(make_signals(seen), moments([0], 12))[0]
    assert history["loss_mean"] == 1.0
    assert history["loss_of_ln_v"] is None


@pytest.mark.parametrize("kind", ["full", "block"])
def test_the_spectrum_of_attention_follows_who_sees_whom(kind: str) -> None:
    seen = watched((4,), moved=False, attention=kind)
    read = read_signals([spectrum.make(seen)], moments([0], 50))[0]["attention"]["0"]
    plain = tiny_llama()
    plain.set_attn_implementation("eager")
    entropy, ranks, sizes = [], [], []
    for ids in PROMPTS[:2]:
        n = len(ids)
        sees = torch.tensor([[kind == "full" or j // 2 <= i // 2 for j in range(n)] for i in range(n)])
        with torch.no_grad():
            mask = additive(sees, torch.float32)[None, None]
            out = plain(input_ids=torch.tensor([ids]), attention_mask=mask, output_attentions=True)
        weights = out.attentions[0][0].double()
        assert bool(((weights > 0) == sees).all())
        rows = torch.special.entr(weights).sum(-1) / sees.sum(-1).log()
        entropy.append(float(rows[:, sees.sum(-1) > 1].mean()))
        size = torch.linalg.eigvals(weights).abs().sort(descending=True).values
        assert float(size.max()) == pytest.approx(1, rel=1e-4)  # rows of weights sum to one
        sizes.append(torch.nn.functional.pad(size.mean(0), (0, 16 - n), value=math.nan))
        p = torch.linalg.svdvals(weights)
        p = p / p.sum(-1, keepdim=True)
        ranks.append(float(torch.special.entr(p).sum(-1).exp().mean()) / n)
    assert read["entropy"] == pytest.approx(sum(entropy) / 2, rel=1e-3)
    assert read["rank"] == pytest.approx(sum(ranks) / 2, rel=1e-3)
    assert "singular_values" not in read
    known = [value for value in read["eigenvalues"] if value is not None]
    expected = torch.stack(sizes).mean(0)[: len(known)]
    assert known == pytest.approx(expected.tolist(), rel=1e-3, abs=1e-6)
