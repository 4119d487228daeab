"""The lanes on a GPU: speed against a sequential PEFT loop, equivalence, predicted and measured memory, a 16 GB cap.

Random weights in the shapes of SmolLM2-135M and 360M, so nothing is loaded. Only `octavo.lanes` and the memory plan are
imported, with torch, transformers and peft. Sections stop when the time is used up and say so. Last line: one JSON
object.
    bench/gpu_check.sh [--tiny] [--quick] [--seconds 270]
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import platform
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import transformers
from speed.lanes import Lanes
from speed.plain import Batches, Loop

from octavo.lanes import grouped, grouped_check, varlen
from octavo.lanes.base import BaseModel
from octavo.lanes.difference import relative_difference
from octavo.lanes.kernels import FAILURES
from octavo.lanes.shortage import is_out_of_memory
from octavo.lanes.targets import resolve_targets
from octavo.lanes.window import split_micro_steps
from octavo.training.footprint import SAVED
from octavo.training.plan import Demand, Plan, make_plan, most_tokens

# sizes of SmolLM2-135M and SmolLM2-360M, from their config.json
SHAPES: dict[str, dict[str, Any]] = {
    "135m": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "heads": (9, 3)},
    "360m": {"hidden_size": 960, "intermediate_size": 2560, "num_hidden_layers": 32, "heads": (15, 5)},
}
TINY: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "heads": (4, 2)}
# the eight-variant study: batches of 2, four to a step, up to 512 tokens, rank 8, dropout 0.1
BATCH, ACCUMULATION, LONGEST, RANK, DROPOUT = 2, 4, 512, 8, 0.1
SHORTEST = 48
LIMIT = 1e-3  # invariant 1, against a padded PEFT loop
CAP = 16e9


@dataclass
class Setting:
    """Where and how large.

    Attributes:
        lanes: numbers of runs, the most telling first. deadline: by time.monotonic.
    """

    device: torch.device
    dtype: torch.dtype
    shapes: dict[str, dict[str, Any]]
    vocabulary: int
    longest: int
    lanes: tuple[int, ...]
    repeats: int
    deadline: float

    @property
    def late(self) -> bool:
        """Is the time used up?"""
        return time.monotonic() > self.deadline

    @property
    def cuda(self) -> bool:
        """On a GPU?"""
        return self.device.type == "cuda"


def make_model(shape: dict[str, Any], setting: Setting, dtype: torch.dtype) -> Any:
    """A random Llama; the same weights at every call."""
    heads, kv_heads = shape["heads"]
    config = transformers.LlamaConfig(
        vocab_size=setting.vocabulary,
        hidden_size=shape["hidden_size"],
        intermediate_size=shape["intermediate_size"],
        num_hidden_layers=shape["num_hidden_layers"],
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    with setting.device:  # drawing 360M numbers on a CPU takes seconds
        model: Any = transformers.LlamaForCausalLM(config)
    return model.to(setting.device, dtype).eval().requires_grad_(False)


def make_windows(setting: Setting, count: int, seed: int) -> list[list[list[list[int]]]]:
    """A window of batches for each of `count` runs: lengths from SHORTEST to the longest, the first the longest."""
    draw = random.Random(seed)
    windows = []
    for run in range(count):
        lengths = [
            draw.randint(min(SHORTEST, setting.longest), setting.longest) for _ in range(BATCH * ACCUMULATION)
        ]
        lengths[0] = setting.longest if run == 0 else lengths[0]
        rows = [[draw.randrange(setting.vocabulary) for _ in range(n)] for n in lengths]
        windows.append([rows[i : i + BATCH] for i in range(0, len(rows), BATCH)])
    return windows


def targets_of(windows: Sequence[Batches]) -> int:
    """Label tokens of a window of all runs."""
    return sum(len(row) - 1 for batches in windows for batch in batches for row in batch)


def seconds_of(step: Callable[[], Any], setting: Setting, warm_up: int = 2) -> float:
    """Median seconds of a call, after some that do not count."""
    found = []
    for _ in range(warm_up + setting.repeats):
        began = time.perf_counter()
        step()
        if setting.cuda:
            torch.cuda.synchronize()
        found.append(time.perf_counter() - began)
    return statistics.median(found[warm_up:])


def clear(setting: Setting) -> None:
    """Free what nobody holds any more."""
    gc.collect()
    if setting.cuda:
        torch.cuda.empty_cache()


def equivalence(setting: Setting, name: str, steps: int = 5, count: int = 4) -> dict[str, Any]:
    """Lanes against padded PEFT in float32: the largest relative difference of any run after some steps."""
    shape = setting.shapes[name]
    plain, packed = (make_model(shape, setting, torch.float32) for _ in range(2))
    base = BaseModel(packed)
    targets = resolve_targets(packed, "all-linear")
    lanes = Lanes(base, targets, RANK, count, most_tokens("cuda"))
    starts = [lanes.matrices(lane) for lane in range(count)]
    windows = [make_windows(setting, count, seed) for seed in range(steps)]
    # a rising rate: an unclipped first step of Adam is little more than the sign of a gradient
    rates = [1e-3 * (step + 1) / steps for step in range(steps)]
    for window, rate in zip(windows, rates, strict=True):
        lanes.step(window, rate)
    gaps = []
    for lane in range(count):
        loop = Loop(plain, targets, RANK, starts[lane])
        for window, rate in zip(windows, rates, strict=True):
            loop.step(window[lane], rate)
        gaps.append(relative_difference(lanes.matrices(lane), loop.matrices()))
        loop.close()
    lanes.close()
    return {"max_relative_difference": max(gaps), "steps": steps, "runs": count, "path": base.path}


def isolation(setting: Setting, name: str, count: int = 4) -> dict[str, Any]:
    """A NaN in one lane, in the dtype of the training: what becomes of the other lanes' adapters?

    On a CPU they are the same bit for bit. FlashAttention's backward pass adds up in no fixed order, so that on a GPU
    two passes without a NaN differ too; that gap is measured beside it.
    """
    base = BaseModel(make_model(setting.shapes[name], setting, setting.dtype))
    targets = resolve_targets(base.model, "all-linear")
    window = make_windows(setting, count, 0)
    others = [lane for lane in range(count) if lane != 1]

    def trained(poisoned: bool) -> tuple[dict[int, Any], bool]:
        lanes = Lanes(base, targets, RANK, count, most_tokens("cuda"), DROPOUT)
        if poisoned:
            lanes.bank.flat_KP[1, 3] = math.nan
            lanes.bank.refresh()
        result = lanes.step(window, 1e-3)
        found = {lane: lanes.matrices(lane) for lane in others}
        lanes.close()
        return found, result.stepped[1]

    (clean, _), (again, _), (dirty, stepped) = (trained(poisoned) for poisoned in (False, False, True))
    same = sum(equal(dirty[lane], clean[lane]) for lane in others)
    return {
        "others_bit_for_bit": f"{same}/{len(others)}",
        "gap": max(relative_difference(dirty[lane], clean[lane]) for lane in others),
        "gap_without_nan": max(relative_difference(again[lane], clean[lane]) for lane in others),
        "poisoned_lane_stepped": stepped,
    }


def waits(setting: Setting, name: str) -> int | None:
    """How often the host waits for the GPU in one window of two micro-steps, dropout included; one is needed."""
    if not setting.cuda:
        return None
    base = BaseModel(make_model(setting.shapes[name], setting, setting.dtype))
    windows = make_windows(setting, 2, 0)
    half = sum(len(row) for batches in windows for batch in batches for row in batch) // 2 + setting.longest
    lanes = Lanes(base, resolve_targets(base.model, "attention"), RANK, 2, half, DROPOUT)
    lanes.step(windows)  # compiles, and fills what is made once
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            lanes.step(windows)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    lanes.close()
    return sum("synchronizing" in str(one.message) for one in said)


def equal(found: Any, wanted: Any) -> bool:
    """Are all matrices the same, bit for bit?"""
    return all(torch.equal(found[n][i], wanted[n][i]) for n in wanted for i in (0, 1))


def speed(setting: Setting, name: str) -> dict[str, Any]:
    """Label tokens a second of the sequential loop and of each number of lanes."""
    shape = setting.shapes[name]
    plain = make_model(shape, setting, setting.dtype)
    targets = resolve_targets(plain, "attention")
    window = make_windows(setting, 1, 0)
    loop = Loop(plain, targets, RANK)
    alone = targets_of(window) / seconds_of(partial(loop.step, window[0]), setting)
    print(f"{name}: sequential loop {alone:,.0f} label tokens a second", flush=True)
    loop.close()
    del loop, plain
    clear(setting)
    base = BaseModel(make_model(shape, setting, setting.dtype))
    found: dict[str, Any] = {"loop": round(alone, 1), "path": base.path, "fused": {}, "speedup": {}}
    for count in setting.lanes:
        if setting.late:
            print(f"{name}: no time is left for {count} lanes", flush=True)
            continue
        windows = make_windows(setting, count, 0)
        lanes = Lanes(base, targets, RANK, count, most_tokens("cuda") * (4 if setting.cuda else 1))
        rate = targets_of(windows) / seconds_of(partial(lanes.step, windows), setting)
        found["fused"][str(count)] = round(rate, 1)
        found["speedup"][str(count)] = round(rate / alone, 2)
        print(
            f"{name}: {count:2} lanes {rate:10,.0f} label tokens a second ({rate / alone:.1f}x)", flush=True
        )
        lanes.close()
        del lanes
        clear(setting)
    return found


def planned(
    setting: Setting, base: BaseModel, targets: Sequence[str], windows: Sequence[Batches], limit: int
) -> Plan:
    """The plan of a pack with these windows."""
    spec_numbers = sum(
        RANK * (m.in_features + m.out_features) for m in (base.model.get_submodule(n) for n in targets)
    )
    lanes = len(windows)
    longest = max(len(row) for batches in windows for batch in batches for row in batch)

    def largest(budget: int) -> tuple[int, int]:
        cut = split_micro_steps(samples_of(windows), budget)
        sizes = [(sum(len(s.ids) for s in part), sum(len(s.ids) - 1 for s in part)) for part in cut]
        return max(sizes)

    return make_plan(
        config=base.config,
        dtype=base.dtype,
        base_parameters=sum(p.numel() for p in base.model.parameters()),
        adapter_parameters=spec_numbers,
        targets=targets,
        lanes=lanes,
        longest_example=longest,
        limit_bytes=limit,
        demand=Demand(largest=largest, heldout_tokens=lambda _budget: 0),
        path=base.path if base.path in SAVED else "generic",
        device=setting.device.type,
        dropout=True,
        rank=RANK,
    )


def samples_of(windows: Sequence[Batches]) -> Any:
    """The windows as samples, for the plan's cut."""
    from octavo.lanes.pack import Sample

    return [
        [[Sample(lane, row, [True] * len(row)) for row in batch] for batch in batches]
        for lane, batches in enumerate(windows)
    ]


def capped(setting: Setting, name: str, count: int) -> dict[str, Any]:
    """The study's shapes in `count` lanes under the cap: what the plan says, and the peak of three windows."""
    limit = int(CAP * 0.9)  # the driver's context and the allocator's rounding take the rest
    started = torch.cuda.memory_allocated() if setting.cuda else 0
    base = BaseModel(make_model(setting.shapes[name], setting, setting.dtype))
    targets = resolve_targets(base.model, "attention")
    windows = make_windows(setting, count, 0)
    plan = planned(setting, base, targets, windows, limit)
    lanes = Lanes(base, targets, RANK, count, plan.micro_step_tokens, DROPOUT)
    with capacity(setting, CAP):
        if setting.cuda:
            torch.cuda.reset_peak_memory_stats()
        results = [lanes.step(windows) for _ in range(3)]
        peak = torch.cuda.max_memory_allocated() - started if setting.cuda else None
        reserved = torch.cuda.max_memory_reserved() if setting.cuda else None
    lanes.close()
    predicted = plan.predicted_bytes["training"]
    return {
        "lanes": count,
        "finished": all(all(result.stepped) for result in results),
        "halved": lanes.tokens < plan.micro_step_tokens,
        "micro_step_tokens": plan.micro_step_tokens,
        "predicted_bytes": predicted,
        "measured_bytes": peak,
        "reserved_bytes": reserved,
        "error": None if peak is None else round(predicted / peak - 1, 4),
    }


@contextlib.contextmanager
def capacity(setting: Setting, size: float) -> Any:
    """Let this process have `size` bytes of the GPU, for a while."""
    if not setting.cuda:
        yield
        return
    clear(setting)
    total = torch.cuda.get_device_properties(setting.device).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, size / total))
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def shortage(setting: Setting, name: str) -> dict[str, Any]:
    """Micro-steps far too large for what the process may have: are they halved, and is the result the same?"""
    base = BaseModel(make_model(setting.shapes[name], setting, torch.float32))
    targets = resolve_targets(base.model, "attention")
    windows = make_windows(setting, 4, 0)
    reference = Lanes(base, targets, RANK, 4, most_tokens("cuda"))
    if setting.cuda:
        torch.cuda.reset_peak_memory_stats()
    reference.step(windows)
    wanted = [reference.matrices(lane) for lane in range(4)]
    reference.close()
    start = torch.cuda.memory_reserved() if setting.cuda else 0
    peak = torch.cuda.max_memory_reserved() if setting.cuda else 0
    lanes = Lanes(base, targets, RANK, 4, 4 * most_tokens("cuda"))
    with capacity(setting, start + (peak - start) * 0.7):
        try:
            lanes.step(windows)
            finished = True
        except Exception as error:  # what is shown is how memory runs out
            if not is_out_of_memory(error) and "does not fit" not in str(error):
                raise
            finished = False
    gaps = (
        [relative_difference(lanes.matrices(lane), wanted[lane]) for lane in range(4)]
        if finished
        else [math.nan]
    )
    lanes.close()
    return {"finished": finished, "micro_step_tokens": lanes.tokens, "max_relative_difference": max(gaps)}


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tiny", action="store_true", help="a tiny model on the CPU, seconds: tries the script"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer numbers of lanes; tiny where there is no GPU"
    )
    parser.add_argument("--seconds", type=float, default=270.0, help="no section begins after so long")
    return parser.parse_args()


def setting_of(options: argparse.Namespace) -> Setting:
    """What can be done here."""
    if not options.tiny and not torch.cuda.is_available():
        if not options.quick:
            raise SystemExit("gpu_check: torch finds no GPU; --tiny tries the script on the CPU")
        print("torch finds no GPU: the script is tried on a tiny model")
    deadline = time.monotonic() + options.seconds
    if options.tiny or not torch.cuda.is_available():
        return Setting(torch.device("cpu"), torch.float32, {"tiny": TINY}, 97, 24, (2, 1, 4), 1, deadline)
    counts = (8, 1, 32) if options.quick else (8, 1, 32, 2, 16, 4)
    return Setting(torch.device("cuda"), torch.bfloat16, SHAPES, 49_152, LONGEST, counts, 3, deadline)


def machine(setting: Setting) -> dict[str, Any]:
    """Where the figures come from."""
    import peft

    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if setting.cuda else "cpu",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "peft": peft.__version__,
        "python": platform.python_version(),
    }
    if setting.cuda:
        query = torch.empty(1, 9, 4, 64, dtype=setting.dtype, device=setting.device)
        found["varlen_attention"] = varlen.usable(query)
        found["grouped_products"] = grouped.usable(query[0, 0], RANK)
    return found


def main() -> int:
    """All sections, the most telling first; prints figures and the JSON line."""
    options = parse()
    setting = setting_of(options)
    began = time.monotonic()
    figures: dict[str, Any] = {"machine": machine(setting), "skipped": []}
    print(json.dumps(figures["machine"]), flush=True)
    first = next(iter(setting.shapes))
    sections: list[tuple[str, Callable[[], Any]]] = [
        ("equivalence", partial(equivalence, setting, first)),
        ("gap of grouped products", partial(grouped_check.gap_to_loop, setting.device)),
        (f"speed {first}", partial(speed, setting, first)),
        ("isolation", partial(isolation, setting, first)),
        ("waits of the host in a window", partial(waits, setting, first)),
        ("eight lanes under 16 GB", partial(capped, setting, first, 8)),
        ("32 lanes under 16 GB", partial(capped, setting, first, 32)),
        ("out of memory", partial(shortage, setting, first)),
    ]
    sections += [(f"speed {name}", partial(speed, setting, name)) for name in list(setting.shapes)[1:]]
    for name, section in sections:
        if setting.late:
            figures["skipped"].append(name)
            continue
        figures[name] = section()
        clear(setting)
        print(f"[{time.monotonic() - began:.0f} s] {name}: {json.dumps(figures[name])}", flush=True)
    figures["kernels_not_compiled"] = dict(FAILURES)
    figures["seconds"] = round(time.monotonic() - began, 1)
    good = judge(figures, first)
    figures["good"] = good
    print(json.dumps(figures))
    return 0 if good else 1


def judge(figures: dict[str, Any], first: str) -> bool:
    """Is everything that must hold shown? Speed is reported, not judged."""
    same = figures.get("equivalence", {}).get("max_relative_difference", math.inf) <= LIMIT
    alone = figures.get("isolation", {})
    # a gap that is NaN fails the comparison
    kept = alone.get("gap", math.nan) <= 3 * alone.get("gap_without_nan", 0.0)
    kept = kept and not alone.get("poisoned_lane_stepped", True)
    # equivalence is shown in float32, which has no grouped products
    products = figures.get("gap of grouped products")
    kept = kept and (products is None or products <= grouped_check.TOLERANCE)
    fits = figures.get("eight lanes under 16 GB", {}).get("finished", False)
    return bool(same and kept and fits and figures.get(f"speed {first}"))


if __name__ == "__main__":
    sys.exit(main())
