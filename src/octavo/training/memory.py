"""Bytes: what the device allows, what the process holds, and the highest it held."""

from __future__ import annotations

import contextlib
import ctypes
import re
from pathlib import Path

import psutil
import torch

from octavo.fields import memory_bytes

# cgroup v2 and v1 files that cap the memory of this process's group
_CGROUP_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def device_limit(device: torch.device) -> int:
    """Bytes that this process may use on the device: what is free now and what it holds already."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device)
    limit = psutil.virtual_memory().available + current_bytes(device)
    for name in _CGROUP_FILES:
        try:
            text = Path(name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            limit = min(limit, int(text))
    return limit


def memory_limit(wanted: str | float, device: torch.device) -> int:
    """`lanes.memory` as bytes: "auto" (90 % of what is free), a share of what is free, or a size such as "12GiB"."""
    if wanted == "auto":
        return int(device_limit(device) * 0.9)
    if isinstance(wanted, str):
        return memory_bytes(wanted)
    return int(device_limit(device) * wanted)


def current_bytes(device: torch.device) -> int:
    """Bytes held now: allocated on a GPU, resident on a CPU."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    return psutil.Process().memory_info().rss


def give_back(device: torch.device, above: int) -> None:
    """Return freed memory to the system when the process holds more than `above` bytes.

    glibc keeps what is freed, and tensors of ever-changing sizes leave holes: over twenty windows of the eight
    variants the process grew by half. GPU allocators are left alone.
    """
    if device.type == "cpu" and current_bytes(device) > above:
        with contextlib.suppress(OSError, AttributeError, TypeError):  # another libc has no such call
            ctypes.CDLL(None).malloc_trim(0)


class PeakMeter:
    """The highest memory since it was made, over what the process held then.

    On a CPU this is the kernel's high-water mark of resident memory, reset at the start where it allows that.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        else:
            # not Linux, or not allowed: the mark of the whole process is then what is read
            with contextlib.suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self.start = current_bytes(device)

    def peak(self) -> int | None:
        """Bytes, absolute; None where the system does not tell."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device)
        try:
            status = Path("/proc/self/status").read_text(encoding="ascii")
        except OSError:
            return None
        match = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(match[1]) * 1024 if match else None
