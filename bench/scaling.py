"""Speed as work grows: lanes against a plain PEFT loop, by the number of runs and by tokens a sequence.

Equal rows of the procedural corpus, batches of two sequences, four to an optimizer step, attention adapters of rank 8
on the embedded model in the dtype that the device multiplies fastest. The loop is written out: PEFT, batches of equal
rows, logits, torch's AdamW and clipping, one run after the other, so its speed is the same for every number of runs. Prints a Markdown table; last line: one JSON object.
    python bench/scaling.py [--quick] [--lanes 1,8] [--lengths 64,512] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

LANES, LENGTHS = (1, 2, 4, 8, 16, 32), (32, 64, 128, 256, 512)
QUICK_LANES, QUICK_LENGTHS = (1, 8, 32), (32, 256)
BATCH, ACCUMULATION, RANK = 2, 4, 8


def rows_of(length: int, count: int) -> list[list[int]]:
    """`count` sequences of exactly `length` ids of the procedural corpus."""
    from speed.workload import ROOT

    from octavo.corpus.builtin import stream
    from octavo.corpus.encode import Encoder
    from octavo.models.load import load_tokenizer
    from octavo.models.resolve import resolve_base
    from octavo.settings import Base

    encoder = Encoder(load_tokenizer(resolve_base(Base(name="base"), ROOT)))
    ids: list[int] = []
    for example in stream({"reasoning": 0.6, "conversation": 0.4}, 0, "train"):
        if len(ids) >= length * count:
            break
        ids += encoder.encode(example.messages, example.tools, where=example.id).ids
    return [ids[i * length : (i + 1) * length] for i in range(count)]


class Loop:
    """One run in the plain way."""

    def __init__(self, model: Any, rows: Sequence[Sequence[int]]) -> None:
        import torch
        from speed.plain import adapt

        from octavo.lanes.targets import resolve_targets

        self.model = adapt(model, resolve_targets(model, "attention"), RANK)
        self.weights = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.weights, lr=1e-4)
        self.rows = rows

    def step(self) -> None:
        """One optimizer step; every token but the first of a sequence is a target."""
        from speed.plain import optimizer_step

        batches = [self.rows[i : i + BATCH] for i in range(0, BATCH * ACCUMULATION, BATCH)]
        optimizer_step(self.model, self.optimizer, self.weights, batches)


class Lanes:
    """`lanes` runs side by side."""

    def __init__(self, model: Any, rows: Sequence[Sequence[int]], lanes: int, tokens: int) -> None:
        from octavo.lanes.adapters import AdapterBank, AdapterSpec
        from octavo.lanes.base import BaseModel
        from octavo.lanes.optimizer import LaneOptimizer
        from octavo.lanes.pack import Sample
        from octavo.lanes.targets import resolve_targets
        from octavo.lanes.window import LaneEngine

        base = BaseModel(model)
        spec = AdapterSpec(RANK, 2 * RANK, 0.0, tuple(resolve_targets(base.model, "attention")))
        self.bank = AdapterBank(base.model, [spec], lanes)
        self.engine = LaneEngine(base, self.bank, LaneOptimizer(self.bank))
        for lane in range(lanes):
            self.bank.occupy(lane, spec)
            self.bank.initialise(lane, lane)
        self.lanes, self.tokens = lanes, tokens
        targets = sum(len(row) - 1 for row in rows)
        labels = [[True] * len(row) for row in rows]
        self.chunks = [
            [
                [Sample(lane, rows[i + j], labels[i + j], 1.0 / targets) for j in range(BATCH)]
                for i in range(0, BATCH * ACCUMULATION, BATCH)
            ]
            for lane in range(lanes)
        ]

    def step(self) -> None:
        """One optimizer step of every lane."""
        self.engine.run_within(self.chunks, self.tokens, [1e-4] * self.lanes, [True] * self.lanes)

    def close(self) -> None:
        """Take the adapters off the model."""
        self.bank.remove()
        self.engine.base.close()


def seconds_of(trainer: Any, repeats: int) -> float:
    """Median seconds of a step, after one that does not count."""
    from speed.sequential import synchronise

    found = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        trainer.step()
        synchronise()
        found.append(time.perf_counter() - began)
    return statistics.median(found[1:])


def measure(lengths: Sequence[int], lanes: Sequence[int], repeats: int, tokens: int) -> list[dict[str, Any]]:
    """Label tokens a second of every combination, and of the loop for each length."""
    from speed.workload import ROOT

    from octavo.models.load import load_model
    from octavo.models.resolve import resolve_base
    from octavo.settings import Base
    from octavo.training.device import pick_device, pick_dtype
    from octavo.training.memory import settle_allocator

    settle_allocator()
    device = pick_device()
    dtype = pick_dtype("auto", device)
    source = resolve_base(Base(name="base"), ROOT)
    plain, packed = (load_model(source, dtype).to(device) for _ in range(2))
    rows = []
    for length in lengths:
        data = rows_of(length, BATCH * ACCUMULATION)
        labels = (length - 1) * BATCH * ACCUMULATION
        loop = Loop(plain, data)
        alone = labels / seconds_of(loop, repeats)
        loop.model.unload()
        for count in lanes:
            side = Lanes(packed, data, count, tokens)
            together = count * labels / seconds_of(side, repeats)
            side.close()
            rows.append({"length": length, "lanes": count, "fused": together, "loop": alone})
            print(f"{length} tokens, {count} lanes: {together:.0f} against {alone:.0f} a second", flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: label tokens a second and, in brackets, the factor over the loop."""
    counts = list(dict.fromkeys(row["lanes"] for row in rows))
    lines = [
        "| tokens a sequence | PEFT loop | " + " | ".join(f"{n} lane{'s' * (n > 1)}" for n in counts) + " |",
        "| --- | ---: |" + " ---: |" * len(counts),
    ]
    for length in dict.fromkeys(row["length"] for row in rows):
        part = {row["lanes"]: row for row in rows if row["length"] == length}
        cells = [f"{part[n]['fused']:.0f} ({part[n]['fused'] / part[n]['loop']:.2f}x)" for n in counts]
        lines.append(f"| {length} | {part[counts[0]]['loop']:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Measure, print the table and the JSON line."""
    from octavo.training.plan import MOST_TOKENS

    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1, 8 and 32 lanes of 32 and 256 tokens, once")
    parser.add_argument("--lanes", type=numbers, default=None)
    parser.add_argument("--lengths", type=numbers, default=None)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--tokens", type=int, default=MOST_TOKENS, help="most tokens of a micro-step")
    options = parser.parse_args()
    lanes = options.lanes or (QUICK_LANES if options.quick else LANES)
    lengths = options.lengths or (QUICK_LENGTHS if options.quick else LENGTHS)
    repeats = options.repeats or (1 if options.quick else 3)
    rows = measure(lengths, lanes, repeats, options.tokens)
    print(f"label tokens a second\n\n{table(rows)}\n")
    factors = {(row["length"], row["lanes"]): row["fused"] / row["loop"] for row in rows}
    best, worst = max(factors, key=factors.__getitem__), min(factors, key=factors.__getitem__)
    figures = {
        "best_speedup": round(factors[best], 3),
        "best_at": {"tokens": best[0], "lanes": best[1]},
        "worst_speedup": round(factors[worst], 3),
        "worst_at": {"tokens": worst[0], "lanes": worst[1]},
        "loses_at": [list(key) for key, factor in factors.items() if factor < 1],
        "rows": [{**row, "fused": round(row["fused"], 1), "loop": round(row["loop"], 1)} for row in rows],
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
