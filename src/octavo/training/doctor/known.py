"""What an examination has found of this GPU, kept for the trainings to come."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.artifacts import write_json_atomic
from octavo.models.cache import cache_dir
from octavo.training.doctor.children import Probed, probe_device
from octavo.training.doctor.examine import DTYPES, KERNELS
from octavo.training.doctor.machine import OVERRIDE

if TYPE_CHECKING:
    import torch


def record_path() -> Path:
    """The file of the last examination."""
    return cache_dir() / "doctor.json"


def save(gpu: Probed, environ: Mapping[str, str]) -> None:
    """Keep the results of a GPU; nothing is kept of none."""
    if gpu.facts is not None:
        what = _key(gpu.facts["name"], gpu.facts["torch"], environ)
        write_json_atomic(record_path(), {**what, "results": {r.probe: r.result for r in gpu.results}})


def known_results(
    device: torch.device,
    say: Callable[[str], None],
    probe: Callable[..., Probed] = probe_device,
) -> dict[str, str]:
    """{"KERNEL:DTYPE": result} of a GPU under this torch; empty for a CPU and where nothing is known.

    On ROCm, whose kernels have been seen to crash the process, an examination is made where there is none.
    """
    if device.type != "cuda":
        return {}
    import torch

    what = _key(torch.cuda.get_device_name(device), torch.__version__, os.environ)
    known = _read(record_path(), what)
    if known is not None or not torch.version.hip:
        return known or {}
    say(
        "the attention kernels of this GPU are tried in a child process first, once: `octavo doctor` tells of them"
    )
    probes = [f"{kernel}:{dtype}" for dtype in DTYPES for kernel in KERNELS["cuda"]]
    found = probe("cuda", probes, os.environ)
    save(found, os.environ)
    return {result.probe: result.result for result in found.results}


def _key(name: str, torch_version: str, environ: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name, "torch": torch_version, "override": environ.get(OVERRIDE)}


def _read(path: Path, what: Mapping[str, Any]) -> dict[str, str] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        same = all(record[key] == value for key, value in what.items())
        return dict(record["results"]) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
