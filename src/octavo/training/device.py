"""The device that trains and the dtype that it computes fast."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Callable

import torch

from octavo import __version__
from octavo.errors import InputError, MachineError
from octavo.lanes import grouped_check
from octavo.training.allocator import check_allocator_settings
from octavo.training.attention_kernels import avoid, settle
from octavo.training.doctor.known import known_results

_LIBRARIES = ("torch", "transformers", "peft", "numpy")
_NAMED = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def pick_device() -> torch.device:
    """The first CUDA or ROCm device, else the CPU.

    Raises:
        InputError: allocator settings that must not stand together.
    """
    check_allocator_settings(os.environ)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def pick_dtype(wanted: str, device: torch.device, say: Callable[[str], None] = lambda _: None) -> torch.dtype:
    """The dtype of the frozen base: as asked, or bfloat16 where the device multiplies it in hardware.

    A small step is tried first. Kernels that give NaN here, and those that `octavo doctor` has seen crash on this
    GPU, are turned off; where none is left float32 is taken.

    Arguments:
        say: told of what is not used.

    Raises:
        InputError: a name that is not a dtype of a base.
        MachineError: not even float32 gives finite numbers.
    """
    if wanted not in ("auto", *_NAMED):
        raise InputError(f"bases.dtype: '{wanted}' is none of auto, {', '.join(_NAMED)}")
    chosen = fast_dtype(device) if wanted == "auto" else _NAMED[wanted]
    known = known_results(device, say)
    for dtype in dict.fromkeys((chosen, torch.float32)):
        left, notes = avoid(dtype, known)
        good, more = settle(device, dtype) if left else (False, ())
        notes += more
        for note in notes:
            say(note)
        if good:
            if dtype == torch.bfloat16 and (wrong := grouped_check.settle(device)):
                say(wrong)
            return dtype
    raise MachineError(f"{describe(device)['name']}: {notes[-1]}; `octavo doctor` tells more")


def fast_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the device multiplies it in hardware, else float32."""
    return torch.bfloat16 if _fast_bfloat16(device) else torch.float32


def _fast_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # without tile or AVX-512 bf16 instructions a CPU emulates the type, slower than float32
    return bool(torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported())


def describe(device: torch.device) -> dict[str, object]:
    """What the report says of the machine: {kind, name, threads}."""
    if device.type == "cuda":
        return {
            "kind": "cuda",
            "name": torch.cuda.get_device_name(device),
            "threads": torch.get_num_threads(),
        }
    return {"kind": "cpu", "name": _cpu_name(), "threads": torch.get_num_threads()}


def _cpu_name() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        return None
    return None


def library_versions() -> dict[str, str]:
    """Versions of Octavo, Python and the libraries that figures depend on."""
    found = {"octavo": __version__, "python": platform.python_version()}
    return found | {name: importlib.metadata.version(name) for name in _LIBRARIES}
