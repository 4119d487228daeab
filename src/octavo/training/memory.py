"""Bytes that the process holds: how the allocator is set up, and what the highest was."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import torch

from octavo.lanes.shortage import held

# read by torch at its first allocation: blocks of 2 MiB and more ask the kernel for huge pages
_HUGE_PAGES = "THP_MEM_ALLOC_ENABLE"
# read by oneDNN at its first product: how many compiled products it keeps, one for each shape it has met. Every lane's
# share of a micro-step has a length of its own, and a kept product was seen to hold half a megabyte
_KEPT_PRODUCTS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"


def settle_allocator(lanes: int = 8) -> None:
    """Set up what torch and oneDNN read at their first tensor on a CPU, where the user has not decided.

    Huge pages: pages are had 512 at a time. And fewer compiled products of shapes that will not come again: as many
    as a micro-step of `lanes` has with adapters on every layer.
    """
    os.environ.setdefault(_HUGE_PAGES, "1")
    os.environ.setdefault(_KEPT_PRODUCTS, str(max(128, 64 + 16 * lanes)))


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
