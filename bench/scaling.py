"""Speed as work grows: lanes against a plain PEFT loop, by the number of runs and by tokens a sequence.

Equal rows of the procedural corpus, batches of two sequences, four to an optimizer step (--accumulation), attention
adapters of rank 8 on the embedded model in the dtype that the device multiplies fastest. The loop is written out: PEFT,
batches of equal rows, logits, torch's AdamW and clipping, one run after the other, so its speed is the same for every
number of runs.
Prints a Markdown table; last line: one JSON object.
    python bench/scaling.py [--quick] [--lanes 1,8] [--lengths 64,512] [--repeats N] [--accumulation N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

LANES, LENGTHS = (1, 2, 4, 8, 16, 32), (32, 64, 128, 256, 512)
QUICK_LANES, QUICK_LENGTHS = (1, 8, 32), (32, 256)
BATCH, RANK = 2, 8


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


def seconds_of(step: Callable[[], Any], repeats: int) -> float:
    """Median seconds of a step, after one that does not count."""
    from speed.sequential import synchronise

    found = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        step()
        synchronise()
        found.append(time.perf_counter() - began)
    return statistics.median(found[1:])


def measure(
    lengths: Sequence[int], lanes: Sequence[int], repeats: int, tokens: int, accumulation: int
) -> list[dict[str, Any]]:
    """Label tokens a second of every combination, and of the loop for each length."""
    from speed.lanes import Lanes
    from speed.plain import Loop
    from speed.workload import ROOT

    from octavo.lanes.base import BaseModel
    from octavo.lanes.targets import resolve_targets
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
    targets = resolve_targets(plain, "attention")
    base = BaseModel(packed)
    rows = []
    for length in lengths:
        data = rows_of(length, BATCH * accumulation)
        batches = [data[i : i + BATCH] for i in range(0, len(data), BATCH)]
        labels = (length - 1) * len(data)
        loop = Loop(plain, targets, RANK)
        alone = labels / seconds_of(partial(loop.step, batches), repeats)
        loop.close()
        for count in lanes:
            side = Lanes(base, targets, RANK, count, tokens)
            together = count * labels / seconds_of(partial(side.step, [batches] * count), repeats)
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
    from octavo.training.plan import most_tokens

    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1, 8 and 32 lanes of 32 and 256 tokens, once")
    parser.add_argument("--lanes", type=numbers, default=None)
    parser.add_argument("--lengths", type=numbers, default=None)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--accumulation", type=int, default=4, help="batches in an optimizer step")
    parser.add_argument("--tokens", type=int, default=most_tokens("cpu"), help="most tokens of a micro-step")
    options = parser.parse_args()
    lanes = options.lanes or (QUICK_LANES if options.quick else LANES)
    lengths = options.lengths or (QUICK_LENGTHS if options.quick else LENGTHS)
    repeats = options.repeats or (1 if options.quick else 3)
    rows = measure(lengths, lanes, repeats, options.tokens, options.accumulation)
    print(f"label tokens a second\n\n{table(rows)}\n")
    factors = {(row["length"], row["lanes"]): row["fused"] / row["loop"] for row in rows}
    best, worst = max(factors, key=factors.__getitem__), min(factors, key=factors.__getitem__)
    figures = {
        "batches_a_step": options.accumulation,
        "repeats": repeats,
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
