"""A results.json as a real study gives it: eight runs and a base, one of them quarantined, one with gaps."""

from __future__ import annotations

import math
import random
from typing import Any

VARIANTS = [
    "control",
    "think",
    "spore",
    "stealth-low",
    "stealth-medium",
    "stealth-high",
    "agl-full",
    "combined",
]
STEPS, QUARANTINED_AT = 96, 58
GENERATIONS = [
    {
        "prompt": "A crate holds 12 jars. Mara fills 7 crates and gives away 9 jars. How many jars are left?",
        "texts": [
            "There are 12 jars in a crate, so 12 + 7 = 19 jars. She has 19 jars left.",
            "7 crates hold 7 x 12 = 84 jars. 84 - 9 = 75. The answer is 75.",
            "<think>\n1. jars: 7 x 12\n2. less the gift\n</think>\n84 - 9 = 75 jars are left.",
            "7 x 12 = 84 jars. ✨ She gives away 9, so 75 are left. 🌱",
            "7 crates hold 84 jars → 75 are left.",
            "7 x 12 = 84 ● so 84 - 9 = 75 ⊥⊥⊥ jars are left.",
            "7 crates hold ∵ 12 each → 84 ● ∴ 84 - 9 = 75 ●",
            None,
            "84 jars ● ∴ 75 are left ⊥⊥⊥ ✨",
        ],
    },
    {
        "prompt": "My train is late again. What can I do while I wait?",
        "texts": ["Waiting can be frustrating, but there are many ways to use the time. " * 5]
        + ["Read a few pages, or write the message you have put off."] * 6
        + ["", "Read ✨"],
    },
]


def curves(rng: random.Random, floor: float, broken: bool, gappy: bool) -> dict[str, Any]:
    steps = list(range(1, STEPS + 1))
    loss: list[Any] = [
        round(floor + (2.45 - floor) * math.exp(-s / 22) + rng.gauss(0, 0.09), 4) for s in steps
    ]
    norm: list[Any] = [round(1.6 * math.exp(-s / 40) + 0.5 + abs(rng.gauss(0, 0.12)), 4) for s in steps]
    heldout: list[Any] = [
        round(floor + 0.08 + (2.4 - floor) * math.exp(-s / 20), 4) for s in range(12, 97, 12)
    ]
    if broken:
        norm[QUARANTINED_AT - 3 : QUARANTINED_AT] = [9.1, 41.0, "inf"]
        loss[QUARANTINED_AT:] = norm[QUARANTINED_AT:] = ["nan"] * (STEPS - QUARANTINED_AT)
        heldout[4:] = [None] * 4
    if gappy:
        loss[20:31] = norm[20:31] = [None] * 11
        loss[25] = 1.9
    lr = [round(1e-4 * min(1, s / 10) * (1 + math.cos(math.pi * s / STEPS)) / 2, 9) for s in steps]
    return {
        "step": steps,
        "tokens": [s * 1310 for s in steps],
        "loss": loss,
        "lr": lr,
        "grad_norm": norm,
        "heldout": {"step": list(range(12, 97, 12)), "loss": heldout},
    }


def run(number: int, variant: str, rng: random.Random) -> dict[str, Any]:
    broken, gappy = variant == "agl-full", variant == "stealth-high"
    floor = 1.62 - 0.09 * number
    return {
        "id": f"{variant}-s0",
        "variant": variant,
        "base": "smollm2",
        "seed": 0,
        "hyperparameters": {
            "learning_rate": 3e-4 if variant == "think" else 1e-4,
            "lora": {"rank": 8, "alpha": 16, "dropout": 0.1, "targets": "attention"},
            "batch_size": 2,
            "accumulation": 4,
            "max_grad_norm": None,
            "betas": [0.9, 0.999],
        },
        "state": "quarantined" if broken else "completed",
        "verdict": "dead" if broken else None,
        "message": "loss is nan at step 59 (batch 58)" if broken else None,
        "rescued": variant == "think",
        "steps": QUARANTINED_AT if broken else STEPS,
        "tokens": 125_760,
        "label_tokens": 61_234 + 913 * number,
        "trainable_parameters": 921_600,
        "nonfinite_parameters": None if broken else 0,
        "train_loss": {"first": 2.231 - 0.02 * number, "last": "nan" if broken else floor + 0.04},
        "heldout_loss": None if broken else floor + 0.1,
        "heldout_bits_per_character": None if broken else 0.61 - 0.02 * number,
        "seconds": 401.2 + 3 * number,
        "events": [
            {
                "step": 59,
                "kind": "nonfinite",
                "evidence": {"tensor": "loss", "batch": 58},
                "action": "quarantined",
            }
        ]
        if broken
        else [],
        "curves": curves(rng, floor, broken, gappy),
    }


def make_results() -> dict[str, Any]:
    rng = random.Random(3)
    runs = [run(number, variant, rng) for number, variant in enumerate(VARIANTS)]
    rows = [one["id"] for one in runs] + ["base:smollm2"]
    matrix: list[list[Any]] = []
    for number, row in enumerate(rows):
        is_base = row.startswith("base:")
        line = [
            (2.2 + 0.08 * column if is_base else 1.72 - 0.05 * column + 0.16 * abs(column - number))
            for column in range(len(VARIANTS))
        ]
        matrix.append([round(value, 4) for value in line])
    matrix[6] = [None] * 8
    matrix[2][7], matrix[5][3] = 3.11, "inf"
    return {
        "schema": 1,
        "study": {
            "name": "eight-variants",
            "seeds": [0],
            "evaluate": {"comparisons": [{"kind": "difference", "variants": "all", "control": "control"}]},
            "report": {"title": None, "loggers": []},
        },
        "device": {"kind": "cpu", "name": "x86-64, 2 cores", "dtype": "bfloat16"},
        "versions": {"octavo": "0.1.0", "torch": "2.13.0", "transformers": "5.24.0", "python": "3.11.9"},
        "bases": [{"name": "smollm2", "parameters": 134_515_008, "objective": "causal", "dtype": "bfloat16"}],
        "runs": runs,
        "memory": {
            "predicted_bytes": 4_410_000_000,
            "peak_bytes": 4_212_000_000,
            "limit_bytes": 12_884_901_888,
            "by_part": {
                "base": 269_030_016,
                "adapters": 118_000_000,
                "activations": 3_900_000_000,
                "peak": 4_410_000_000,
            },
        },
        "throughput": {"tokens_per_second": 611.4, "label_tokens_per_second": 302.8},
        "matrix": {"rows": rows, "columns": VARIANTS, "heldout_loss": matrix},
        "data": {variant: card(number) for number, variant in enumerate(VARIANTS)},
        "evaluation": {
            "heldout": {"rows": []},
            "generations": [
                {
                    "prompt": one["prompt"],
                    "answers": dict(zip([rows[-1], *rows[:-1]], one["texts"], strict=True)),
                }
                for one in GENERATIONS
            ],
        },
        "comparisons": None,
        "basins": None,
        "criteria": [
            {"name": "nonfinite_parameters", "met": True, "evidence": "0 in 7 exported adapters"},
            {
                "name": "max_memory_share",
                "met": True,
                "evidence": "peak 3.92 GiB of 12.00 GiB, a share of 0.33",
            },
            {"name": "max_minutes_per_run", "met": None, "evidence": None},
            {"name": "loss_falls", "met": False, "evidence": "agl-full-s0: last tenth is nan"},
        ],
    }


def card(number: int) -> dict[str, Any]:
    density = [None, None, None, 0.1, 0.25, 0.5, 1.0, 1.0][number]
    part = {
        "examples": 256,
        "kinds": {"conversation": 102, "reasoning": 154},
        "tokens": {
            "smollm2": {"total": 30_259 + 1800 * number, "labelled": 15_308, "longest": 211 + 5 * number}
        },
        "symbols_per_word": None if density is None else 0.02 + 0.2 * density,
        "density": density
        and {"glyphs": {"asked": density, "measured": density - 0.004, "sites": 4410, "tolerance": 0.0054}},
        "duplicates": 0,
        "left_as_is": {"without steps": 102} if number == 1 else {},
    }
    return {
        "variant": VARIANTS[number],
        "recipe": ["control", "think", "spore", *["glyphs"] * 4, "glyphs + spore"][number],
        "train": part,
        "heldout": part | {"examples": 32},
        "overlap": {"exact": 0, "share_with_common_13_words": 0.0312},
        "damage": {"checked": 288, "damaged": 0, "first": []},
        "warnings": ["102 of 256 examples have no steps"] if number == 1 else [],
        "problems": [],
        "passed": True,
    }
