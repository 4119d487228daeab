"""What the machine lets this process have: free memory, cgroups (also those of containers), resource limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch

from octavo.lanes.shortage import held
from octavo.sizes import memory_bytes

# the unified hierarchy (v2), the one beside v1 hierarchies, and v1's own of memory
_V2_MOUNTS = ("sys/fs/cgroup", "sys/fs/cgroup/unified")
_V1_MOUNTS = ("sys/fs/cgroup/memory",)
_V2_LIMITS = ("memory.max", "memory.high")
_V1_LIMITS = ("memory.limit_in_bytes",)
# of memory.stat: what cannot be dropped when memory gets short, file pages aside
_V2_HELD, _V1_HELD = ("anon", "shmem"), ("total_rss", "total_shmem")


def device_limit(device: torch.device) -> int:
    """Bytes that this process may hold on the device: what it holds already and what it can still get.

    On a CPU the smallest of: free memory, the limit of every cgroup around the process less what others in it
    hold, RLIMIT_AS and RLIMIT_DATA less what is mapped and not resident.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device)
    memory = psutil.Process().memory_info()
    limits = [psutil.virtual_memory().available + memory.rss]
    limits += cgroup_limits(memory.rss - memory.shared)
    limits += [memory.rss + room for room in _resource_rooms()]
    return max(0, min(limits))


def memory_limit(wanted: str | float, device: torch.device) -> int:
    """`lanes.memory` as bytes that the study may take on top of what the process holds now.

    "auto" is 90 % of what is free, a number that share of it, a size ("12GiB") itself, if as much is free.
    """
    free = max(0, device_limit(device) - held(device))
    if wanted == "auto":
        return int(free * 0.9)
    if isinstance(wanted, str):
        return min(memory_bytes(wanted), free)
    return int(free * wanted)


def cgroup_limits(own_bytes: int, root: Path = Path("/")) -> list[int]:
    """For every limited cgroup around this process the bytes that are left to it, its own included.

    Arguments:
        own_bytes: anonymous memory of this process, which is in the groups' counts.
        root: where /proc and /sys are.
    """
    found = []
    for group in _groups(root):
        for name in (*_V2_LIMITS, *_V1_LIMITS):
            text = _read(group / name).strip()
            if text.isdigit():  # v2 says "max" where there is none, v1 a number beyond every machine
                found.append(int(text) - max(0, _held_in(group) - own_bytes))
    return found


def _groups(root: Path) -> Iterator[Path]:
    """Folders of this process's memory cgroups, each with all its parents.

    In a container the path may be the host's and not be there; the mount's own top is the container's group then.
    """
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        for mount in _V1_MOUNTS if controllers else _V2_MOUNTS:
            parts = [part for part in path.split("/") if part not in ("", "..")]
            for depth in range(len(parts), -1, -1):
                yield (root / mount).joinpath(*parts[:depth])


def _held_in(group: Path) -> int:
    counts = dict(re.findall(r"^(\w+) (\d+)$", _read(group / "memory.stat"), re.MULTILINE))
    return sum(int(counts.get(name, 0)) for name in (_V2_HELD if "anon" in counts else _V1_HELD))


def _resource_rooms() -> list[int]:
    """Bytes that may still be mapped under RLIMIT_AS and RLIMIT_DATA."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    rooms = []
    for kind, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        allowed = resource.getrlimit(kind)[0]
        match = re.search(rf"{name}:\s+(\d+) kB", _read(Path("/proc/self/status")))
        if allowed != resource.RLIM_INFINITY and match:
            rooms.append(max(0, allowed - int(match[1]) * 1024))
    return rooms


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
