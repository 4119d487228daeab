"""Children that die, hang and lie, and devices that nobody here has."""

from __future__ import annotations

import sys
from typing import Any

from octavo.training.doctor.children import Probed, Result

CPU = {"name": "A CPU", "torch": "2.13.0", "cuda": None, "hip": None, "fast_dtype": "float32"}
CPU |= {"limit_bytes": 2**33, "memory_bytes": 2**34}
GPU = {**CPU, "name": "A GPU", "hip": "7.0", "fast_dtype": "bfloat16", "architecture": "gfx1100", "count": 1}

# does as the table says for each probe, and speaks a line that is none of the protocol's
_CHILD = """
import json, os, signal, sys, time
table, facts = {table!r}, {facts!r}
print("a library greets you", flush=True)
print(json.dumps({{"facts": facts, "torch": "2.13.0", "hip": None, "cuda": None}}), flush=True)
for probe in sys.argv[2:]:
    print(json.dumps({{"begin": probe}}), flush=True)
    result = table.get(probe, "ok")
    if result == "SEGFAULT":
        os.kill(os.getpid(), signal.SIGSEGV)
    if result == "HANG":
        time.sleep(60)
    if result == "EXIT":
        print("driver: the sky falls", file=sys.stderr)
        sys.exit(3)
    print(json.dumps({{"end": probe, "result": result}}), flush=True)
"""


def child(table: dict[str, str], facts: dict[str, Any] | None = GPU) -> list[str]:
    """The command of a child that does as the table says."""
    return [sys.executable, "-c", _CHILD.format(table=table, facts=facts)]


class Devices:
    """Stands for `probe_device`: a CPU and, maybe, a GPU with these results; all others are ok."""

    def __init__(
        self, gpu: dict[str, str] | None = None, facts: dict[str, Any] | None = None, **build: Any
    ) -> None:
        self.gpu, self.build, self.calls = gpu, build, []
        self.facts = facts or GPU

    def __call__(self, device: str, probes: Any, environ: Any, seconds: float = 60.0) -> Probed:
        self.calls.append((device, list(probes), dict(environ)))
        if device == "cpu":
            return Probed("cpu", CPU, {}, [Result(p, "ok") for p in probes])
        if self.gpu is None:
            return Probed("cuda", None, self.build)
        build = {key: self.facts.get(key) for key in ("torch", "cuda", "hip")}
        return Probed("cuda", self.facts, build, [Result(p, self.gpu.get(p, "ok")) for p in probes])
