"""Tiny random models and samples for the tests of the lanes."""

from __future__ import annotations

import copy
import math
import random
import warnings

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import LaneOptimizer, OptimizerSpec
from octavo.lanes.pack import Sample
from octavo.lanes.targets import resolve_targets
from octavo.lanes.window import LaneEngine, split_micro_steps

VOCABULARY = 97


# two layers, width 32, grouped queries: the config of a model whose step takes milliseconds
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}


def tiny_llama(seed: int = 0, **changes: object) -> LlamaForCausalLM:
    """Two layers, width 32, grouped queries, tied head: milliseconds a step."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**(SIZES | {"tie_word_embeddings": True} | changes))).eval()


def random_ids(draw: random.Random, low: int = 4, high: int = 18) -> list[int]:
    return [draw.randrange(VOCABULARY) for _ in range(draw.randint(low, high))]


def make_windows(seed: int, steps: int, batches: int = 2, batch_size: int = 2) -> list[list[list[list[int]]]]:
    """Ids of a run's windows: [step][batch][sequence]."""
    draw = random.Random(seed)
    return [[[random_ids(draw) for _ in range(batch_size)] for _ in range(batches)] for _ in range(steps)]


def window_samples(window: list[list[list[int]]], lane: int, seed: int, step: int) -> list[list[Sample]]:
    """Samples of one window; all tokens but the first are targets."""
    targets = sum(len(ids) - 1 for batch in window for ids in batch)
    made = []
    for b, batch in enumerate(window):
        made.append(
            [
                Sample(lane, ids, [True] * len(ids), 1 / targets, key=seed * 1000 + step * 100 + b * 10 + i)
                for i, ids in enumerate(batch)
            ]
        )
    return made


class TinyRun:
    """Settings and data of one run of a test."""

    def __init__(
        self,
        seed: int,
        rank: int = 4,
        rate: float = 1e-2,
        dropout: float = 0.0,
        targets: object = "attention",
        steps: int = 4,
        **optimizer: object,
    ) -> None:
        self.seed, self.rank, self.rate, self.dropout, self.targets = seed, rank, rate, dropout, targets
        self.optimizer = OptimizerSpec(**optimizer)
        self.windows = make_windows(seed, steps)


def train_fused(
    runs: list[TinyRun], model: torch.nn.Module, budget: int = 10_000, poison: tuple[int, int] | None = None
) -> list[dict]:
    """Train all runs in one bank; returns each run's matrices.

    Arguments:
        poison: (lane, step) at which a NaN is written into that lane's parameters.
    """
    base = BaseModel(copy.deepcopy(model))
    chosen = [tuple(resolve_targets(base.model, run.targets)) for run in runs]
    specs = [AdapterSpec(run.rank, 16, run.dropout, chosen[lane]) for lane, run in enumerate(runs)]
    bank = AdapterBank(base.model, specs, len(runs))
    optimizer = LaneOptimizer(bank)
    engine = LaneEngine(base, bank, optimizer)
    for lane, run in enumerate(runs):
        bank.occupy(lane, specs[lane])
        bank.initialise(lane, run.seed)
        optimizer.occupy(lane, run.optimizer)
    for step in range(len(runs[0].windows)):
        if poison is not None and step == poison[1]:
            bank.flat_KP[poison[0], 3] = math.nan
        chunks = [window_samples(run.windows[step], lane, run.seed, step) for lane, run in enumerate(runs)]
        engine.run(split_micro_steps(chunks, budget), [run.rate for run in runs], [True] * len(runs))
    return [bank.read(lane) for lane in range(len(runs))]


def train_peft(run: TinyRun, model: torch.nn.Module) -> dict:
    """The plain way: PEFT, padded batches, torch's AdamW and clipping; returns the run's matrices."""
    import peft

    base = BaseModel(copy.deepcopy(model))
    targets = resolve_targets(base.model, run.targets)
    spec = AdapterSpec(run.rank, 16, 0.0, tuple(targets))
    bank = AdapterBank(base.model, [spec], 1)
    bank.occupy(0, spec)
    bank.initialise(0, run.seed)
    start = bank.read(0)
    conv1d = type(base.model.get_submodule(targets[0]).base).__name__ == "Conv1D"
    config = peft.LoraConfig(
        r=run.rank, lora_alpha=16, lora_dropout=0.0, target_modules=targets, fan_in_fan_out=conv1d
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by a name that will go
        adapted = peft.get_peft_model(copy.deepcopy(model), config)
    layers = dict(adapted.base_model.model.named_modules())
    for name, (a, b) in start.items():
        layers[name].lora_A.default.weight.data.copy_(a)
        layers[name].lora_B.default.weight.data.copy_(b)
    group_a = [layers[n].lora_A.default.weight for n in targets]
    group_b = [layers[n].lora_B.default.weight for n in targets]
    settings = run.optimizer
    optimizer = torch.optim.AdamW(
        [{"params": group_a}, {"params": group_b, "lr": run.rate * settings.ratio_b}],
        lr=run.rate,
        betas=settings.betas,
        eps=settings.eps,
        weight_decay=settings.weight_decay,
    )
    for window in run.windows:
        optimizer.zero_grad()
        total = sum(len(ids) - 1 for batch in window for ids in batch)
        for batch in window:
            padded_loss(adapted, batch).div(total).backward()
        if settings.max_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_([*group_a, *group_b], settings.max_grad_norm)
        optimizer.step()
    return {
        n: (layers[n].lora_A.default.weight.detach(), layers[n].lora_B.default.weight.detach())
        for n in targets
    }


def padded_loss(model: torch.nn.Module, batch: list[list[int]]) -> torch.Tensor:
    """Summed cross-entropy of a right-padded batch with an attention mask."""
    longest = max(len(ids) for ids in batch)
    ids = torch.tensor([i + [0] * (longest - len(i)) for i in batch])
    mask = torch.tensor([[1] * len(i) + [0] * (longest - len(i)) for i in batch])
    logits = model(input_ids=ids, attention_mask=mask).logits
    labels = ids.masked_fill(mask == 0, -100)
    return torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=-100, reduction="sum"
    )


class NanBackward(torch.autograd.Function):
    """Its input as it is; NaN for a gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * math.nan
