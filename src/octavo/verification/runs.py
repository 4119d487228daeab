"""Eight runs that differ in all that a study may vary, over short texts of the procedural corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from octavo.corpus.builtin import generate
from octavo.expand import Run
from octavo.settings import Train
from octavo.training.data import Encoder, Tokens

KINDS = {"reasoning": 0.5, "conversation": 0.5}
EXAMPLES = 24
SHORT, LONG = 40, 64

# Rates stay where a study would have them: Adam's first steps take little more than the sign of a gradient, so that an
# unclipped run without warm-up, or one at a rate of 1e-2, measures how it magnifies rounding (1.3e-4 against itself
# alone, where the float32 products of the base differ in their last bit with the number of rows), not its arithmetic.
# overrides of `train:`; four have dropout, all schedules and kinds of targets occur. Targets by place among a
# model's kinds of linear layers (Llama: q, k, v, o, gate, up, down) are put in by `make_runs`.
SETTINGS: list[dict[str, Any]] = [
    {"lora": {"rank": 8, "alpha": 16.0, "dropout": 0.1, "targets": "attention"}},
    {
        "lora": {"rank": 2, "alpha": 4.0, "dropout": 0.0, "targets": "first and third"},
        "learning_rate": 3e-3,
    },
    {
        "lora": {"rank": 4, "alpha": 8.0, "dropout": 0.3, "targets": "all-linear", "rank_scaling": "sqrt"},
        "schedule": {"kind": "linear", "warmup_steps": 3},
        "batch_size": 1,
    },
    {
        "lora": {"rank": 16, "alpha": 16.0, "dropout": 0.0, "targets": "attention"},
        "schedule": {"kind": "wsd", "warmup_steps": 2, "decay_steps": 6, "decay": "1-sqrt"},
        "weight_decay": 0.2,
    },
    {
        "lora": {"rank": 8, "alpha": 32.0, "dropout": 0.05, "targets": "fourth and last"},
        "learning_rate_ratio_b": 4.0,
        "max_grad_norm": 0.2,
    },
    {
        "lora": {"rank": 8, "alpha": 16.0, "dropout": 0.0, "targets": "attention"},
        "learning_rate": 5e-4,
        "betas": [0.8, 0.95],
        "eps": 1e-6,
        "accumulation": 2,
        "batch_size": 1,
    },
    {
        "lora": {"rank": 4, "alpha": 8.0, "dropout": 0.2, "targets": "last three"},
        "schedule": {"kind": "constant", "warmup_steps": 2},
        "max_grad_norm": None,
    },
    {
        "lora": {"rank": 1, "alpha": 1.0, "dropout": 0.0, "targets": "attention"},
        "learning_rate": 3e-3,
        "batch_size": 3,
        "weight_decay": 0.0,
    },
]
_COMMON: dict[str, Any] = {
    "batch_size": 2,
    "accumulation": 1,
    "learning_rate": 1e-3,
    "schedule": {"kind": "cosine", "warmup_steps": 2},
    "eval_every": 10_000,
    "save_every": 10_000,
}


def make_runs(steps: int, kinds: Sequence[str], dropout: bool = True) -> list[Run]:
    """The eight runs; every second one is shorter, so that lanes are left and joined midway.

    Arguments:
        steps: optimizer steps of the short runs; the long ones take a third more.
        kinds: last parts of the names of the model's linear layers, in model order.
        dropout: keep it, or set it to 0 in all (the reference draws other bits).
    """
    by_place = {
        "first and third": [kinds[0], kinds[2 % len(kinds)]],
        "fourth and last": [kinds[3 % len(kinds)], kinds[-1]],
        "last three": list(kinds[-3:]),
    }
    runs = []
    for number, overrides in enumerate(SETTINGS):
        values = {**_COMMON, **overrides, "steps": steps + (steps // 3 if number % 2 else 0)}
        values["max_length"] = SHORT if number % 3 else LONG
        lora = {
            **values["lora"],
            "targets": by_place.get(values["lora"]["targets"], values["lora"]["targets"]),
        }
        values["lora"] = lora if dropout else {**lora, "dropout": 0.0}
        runs.append(Run(f"verify-{number}", "verify", "base", number, Train.model_validate(values)))
    return runs


def make_rows(encoder: Encoder) -> dict[int, list[Tokens]]:
    """The last tokens of the examples, as many as each length that a run uses: the answers lie at the end."""
    examples, _ = generate(KINDS, EXAMPLES, 1, seed=0)
    encoded = [(e.id, encoder.encode(e.messages, e.tools, where=e.id)) for e in examples]
    return {n: [_cut(name, x.ids[-n:], x.labels[-n:]) for name, x in encoded] for n in (SHORT, LONG)}


def _cut(name: str, ids: Sequence[int], labels: Sequence[bool]) -> Tokens:
    return Tokens(name, name, tuple(ids), tuple(labels), sum(labels[1:]))
