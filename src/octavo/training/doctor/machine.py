"""What can be known of the machine without torch: graphics cards, compiler, caches, installed libraries."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIBRARIES = ("torch", "transformers", "peft", "safetensors", "gguf", "numpy")
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
# ROCm's libraries carry kernels for gfx1100; these are the same instructions under other names (RX 7800, 7700, 7600,
# Radeon 780M) and run them when they call themselves so
_LIKE_GFX1100 = ("gfx1101", "gfx1102", "gfx1103")
OVERRIDE_VALUE = "11.0.0"


def versions() -> dict[str, str | None]:
    """Versions of the libraries that training needs; None: not installed."""
    found: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def amd_architectures(root: Path = Path("/")) -> list[str]:
    """Architectures of the AMD GPUs that the kernel driver knows, e.g. ["gfx1102"]."""
    found = []
    for path in sorted((root / "sys/class/kfd/kfd/topology/nodes").glob("*/properties")):
        try:
            match = re.search(r"^gfx_target_version (\d+)$", path.read_text(encoding="ascii"), re.MULTILINE)
        except OSError:
            continue
        # decimal: major * 10000 + minor * 100 + step, the step as one hexadecimal digit in the name; 0 is a CPU
        if match and int(match[1]):
            number = int(match[1])
            found.append(f"gfx{number // 10000}{number // 100 % 100}{number % 100:x}")
    return found


def nvidia_cards(root: Path = Path("/")) -> int:
    """How many GPUs NVIDIA's driver knows."""
    return len(list((root / "proc/driver/nvidia/gpus").glob("*")))


def wants_override(architecture: str | None, environ: Mapping[str, str]) -> bool:
    """Is this a card that has to call itself gfx1100, and does not?"""
    name = (architecture or "").split(":")[0]
    return name in _LIKE_GFX1100 and not environ.get(OVERRIDE)


def compiler() -> dict[str, str | None]:
    """What torch.compile needs on a CPU: a C++ compiler, and Python's headers."""
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    named = os.environ.get("CXX")
    found = next(
        (path for name in (named, "g++", "clang++", "c++") if name and (path := shutil.which(name))), None
    )
    return {"cxx": found, "python_h": str(header) if header.is_file() else None}


def cache(folder: Path) -> dict[str, Any]:
    """The cache folder: its size, the bases in it, and whether it can be written to."""
    bases = sorted(path.parent.name for path in folder.glob("bases/*/manifest.json"))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    place = next(p for p in (folder, *folder.parents) if p.exists())
    return {
        "folder": str(folder),
        "bytes": size,
        "bases": bases,
        "writable": place.is_dir() and os.access(place, os.W_OK | os.X_OK),
        "free_bytes": shutil.disk_usage(place).free,
    }
