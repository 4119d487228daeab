"""One way of training in a process of its own, kept alive, so that the ways can take turns without loading again."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from octavo.lanes.peft_io import Matrices
from speed.workload import Workload, label_tokens

SEQUENTIAL = ("peft", "peft-autocast", "peft-half-autocast", "trl", "trl-padding-free")
# bfloat16 by autocast: over a float32 base, and over a bfloat16 base, where it keeps the adapters' products (their
# weights are float32) from being made in float32
AUTOCAST = ("peft-autocast", "peft-half-autocast")
OURS = ("replicas", "fused")


@dataclass(frozen=True)
class Arm:
    """A way of training.

    Attributes:
        kind: of SEQUENTIAL or OURS. dtype: of the base's products.
    """

    kind: str
    dtype: str

    @property
    def name(self) -> str:
        """For people and records."""
        return f"{self.kind} {self.dtype}"

    @property
    def sequential(self) -> bool:
        """One run after the other, without Octavo?"""
        return self.kind in SEQUENTIAL


@dataclass(frozen=True)
class Done:
    """What one pass over all runs came to.

    Attributes:
        seconds: training only. peak: bytes of the process over what it held before the model was loaded; the
            highest so far. adapters: a file of what the runs ended with.
    """

    seconds: float
    peak: int | None
    adapters: str


class Worker:
    """A process that trains the same workload as often as it is asked to.

    Attributes:
        arm: what it does. error: why it cannot, None where it can.
        load, warm_up: seconds until the model was there, and of one step of every run that does not count.
        labels: targets of one pass.
    """

    def __init__(self, arm: Arm, work: Workload, folder: Path, tokens: int) -> None:
        self.arm = arm
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, arm, work, folder, tokens), daemon=True)
        self._process.start()
        other.close()
        first = self._receive()
        self.error: str | None = first.get("error")
        self.load: float = first.get("load", 0.0)
        self.warm_up: float = first.get("warm_up", 0.0)
        self.labels: int = first.get("labels", 0)

    def run(self) -> Done:
        """One pass over all runs.

        Raises:
            RuntimeError: the process failed.
        """
        self._pipe.send("run")
        found = self._receive()
        if "error" in found:
            raise RuntimeError(f"{self.arm.name}: {found['error']}")
        return Done(**found)

    def close(self) -> None:
        """End the process."""
        if self._process.is_alive():
            self._pipe.send("end")
            self._process.join()

    def _receive(self) -> dict[str, Any]:
        try:
            return dict(self._pipe.recv())
        except EOFError:
            self._process.join()
            return {"error": f"its process ended with exit code {self._process.exitcode}"}


def _serve(pipe: Connection, arm: Arm, work: Workload, folder: Path, tokens: int) -> None:
    try:
        # for every arm, so that none has pages that the others have not
        from octavo.training.memory import settle_allocator

        settle_allocator()
        began = time.perf_counter()
        trainer, meter, device = _open(arm, work, folder, tokens)
        loaded = time.perf_counter()
        _warm_up(trainer)
        pipe.send(
            {
                "load": loaded - began,
                "warm_up": time.perf_counter() - loaded,
                "labels": label_tokens(trainer.tasks),
            }
        )
        number = 0
        while pipe.recv() == "run":
            from octavo.lanes.shortage import give_back

            seconds, ended = trainer.run()
            give_back(device)
            number += 1
            path = folder / f"{arm.name.replace(' ', '-')}-{number}.safetensors"
            write_adapters(path, ended)
            pipe.send({"seconds": seconds, "peak": meter.peak(), "adapters": str(path)})
    except Exception as error:  # whatever a library makes of this machine is a finding of the bench
        pipe.send({"error": f"{type(error).__name__}: {error}"})


def _open(arm: Arm, work: Workload, folder: Path, tokens: int) -> tuple[Any, Any, Any]:
    import torch

    from octavo.training.device import pick_device
    from octavo.training.memory import PeakMeter
    from speed import ours, sequential
    from speed.workload import load, starts, study_of

    device = pick_device()
    if arm.kind.startswith("trl"):
        import trl  # noqa: F401 - imported before the meter starts, as the others' libraries are
    import transformers  # noqa: F401

    meter = PeakMeter(device)
    autocast = arm.kind in AUTOCAST
    dtype = torch.float32 if arm.kind == "peft-autocast" else getattr(torch, arm.dtype)
    model, tasks, tokenizer = load(work, folder, dtype)
    begin = starts(model, tasks) if arm.sequential else {}
    model = model.to(device)
    if arm.kind == "fused":
        return ours.Fused(model, tasks, tokens), meter, device
    if arm.kind == "replicas":
        return ours.Replicas(model, tasks, tokens, study_of(work).lanes.max_parallel), meter, device
    kinds = {"trl": sequential.Trl, "trl-padding-free": sequential.TrlPaddingFree}
    return kinds.get(arm.kind, sequential.Peft)(model, tasks, begin, tokenizer, autocast), meter, device


def _warm_up(trainer: Any) -> None:
    """One optimizer step of every run, for all arms alike: compiles, and lets oneDNN meet the first shapes."""
    tasks = trainer.tasks
    trainer.tasks = [replace(t, feed=replace(t.feed, steps=1, epochs=None)) for t in tasks]
    trainer.run()
    trainer.tasks = tasks


def write_adapters(path: Path, ended: dict[str, Matrices]) -> None:
    """All runs' matrices in one file."""
    from safetensors.torch import save_file

    tensors = {}
    for run, matrices in ended.items():
        for name, (a, b) in matrices.items():
            tensors[f"{run}|{name}|A"], tensors[f"{run}|{name}|B"] = a.cpu().clone(), b.cpu().clone()
    save_file(tensors, path)


def read_adapters(path: str) -> dict[str, Matrices]:
    """`write_adapters` back."""
    from safetensors.torch import load_file

    found: dict[str, Matrices] = {}
    tensors = load_file(path)
    for key in tensors:
        run, name, kind = key.split("|")
        if kind == "A":
            found.setdefault(run, {})[name] = (tensors[key], tensors[f"{run}|{name}|B"])
    return found


def largest_gap(found: str, wanted: str) -> float:
    """The largest relative difference of any run between two files of adapters (the norm of `octavo verify`)."""
    from octavo.lanes.difference import relative_difference

    left, right = read_adapters(found), read_adapters(wanted)
    return max(relative_difference(left[run], right[run]) for run in right)
