"""Running out of memory: how it is told from other errors, what is held, and what can be freed."""

from __future__ import annotations

import contextlib
import ctypes
import gc

import psutil
import torch

from octavo.errors import MachineError

# what torch, its libraries and C++ say where no exception class of its own stands for it
_SAYINGS = (
    "can't allocate memory",
    "DefaultCPUAllocator",
    "std::bad_alloc",
    "out of memory",
    "could not create a memory object",
    # oneDNN's word where the buffers of a product are refused (seen under RLIMIT_AS)
    "could not create a primitive",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


class SampleTooLarge(MachineError):
    """One sample alone does not fit beside base and adapters, and a sample cannot be cut."""


def is_out_of_memory(error: BaseException) -> bool:
    """Was a request for memory refused, by a device, by the system or by Python?"""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(saying in str(error) for saying in _SAYINGS)


def held(device: torch.device) -> int:
    """Bytes held now: allocated on a GPU, resident on a CPU."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    return psutil.Process().memory_info().rss


def give_back(device: torch.device) -> None:
    """Return what has been freed to the system, as far as it goes.

    To be called outside of an except block: the frames of the error hold the tensors of the step that failed.
    """
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return
    trim()


def trim() -> None:
    """Return the heap's free pages to the system, where the C library can."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # only glibc has this call
        ctypes.CDLL(None).malloc_trim(0)
