"""Bytes that the process holds: how the allocator is set up, and what the highest was."""

from __future__ import annotations

import contextlib
import ctypes
import re
from pathlib import Path

import torch

from octavo.training.limits import held

# mallopt's M_MMAP_THRESHOLD, glibc's malloc.h
_MMAP_THRESHOLD = -3
# blocks from this size on are mapped one by one and go back when they are freed
OWN_MAPPING_BYTES = 1 << 18


def settle_allocator() -> bool:
    """Have the C library map large blocks one by one; True where it could be told (glibc). Set once, at the start.

    By itself glibc raises the size from which it maps to 32 MiB as blocks are freed, and keeps smaller ones on heaps
    that tensors of ever-changing sizes fill with holes: eight variants held 5.6 GB after four windows and grew on,
    against 4.1 GB at every peak with fixed mappings.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another libc has no such call
        return ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, OWN_MAPPING_BYTES) == 1
    return False


class PeakMeter:
    """The highest memory since it was made (or since `restart`), over what the process held when it was made.

    On a CPU this is the kernel's high-water mark of resident memory, reset at the start where it allows that.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.restart()
        self.start = held(device)

    def restart(self) -> None:
        """Forget the highest mark; `start` stays."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
            return
        # not Linux, or not allowed: the mark of the whole process is then what is read
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")

    def peak(self) -> int | None:
        """Bytes over the start; None where the system does not tell."""
        if self.device.type == "cuda":
            return max(0, torch.cuda.max_memory_allocated(self.device) - self.start)
        try:
            status = Path("/proc/self/status").read_text(encoding="ascii")
        except OSError:
            return None
        match = re.search(r"VmHWM:\s+(\d+) kB", status)
        return max(0, int(match[1]) * 1024 - self.start) if match else None
