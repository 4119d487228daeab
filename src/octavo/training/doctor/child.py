"""The child process: says what a device is and makes a small training step through every kernel that it is asked for.

    python -m octavo.training.doctor.child DEVICE PROBE...
A line of JSON at the beginning ({"facts"}), before ({"begin"}) and after ({"end", "result"}) each probe, so that the
parent knows what was under way when no more lines come. A probe is KERNEL:DTYPE or "allocator".
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main(device: str, probes: list[str]) -> None:
    """Facts, then the probes in their order."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        tell(facts=None, torch=torch.__version__, hip=torch.version.hip, cuda=torch.version.cuda)
        return
    tell(facts=facts_of(torch.device(device)))
    for probe in probes:
        tell(begin=probe)
        try:
            result = run(probe, torch.device(device))
        except Exception as error:  # whatever it is, it is what the parent wants to know
            result = f"failed: {(str(error).strip().splitlines() or [type(error).__name__])[0][:200]}"
        tell(end=probe, result=result)


def run(probe: str, device: Any) -> str:
    """The result of one probe, as `attention_kernels.attempt` words it."""
    import torch

    from octavo.training.attention_kernels import attempt

    if probe == "allocator":
        return allocator_keeps(device)
    kernel, dtype = probe.split(":")
    return attempt(kernel, device, getattr(torch, dtype))


def facts_of(device: Any) -> dict[str, Any]:
    """Name, memory, limit and fast dtype of a device; versions of what torch was built for."""
    import torch

    from octavo.training.device import describe, fast_dtype
    from octavo.training.limits import device_limit

    found: dict[str, Any] = {
        **describe(device),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "fast_dtype": str(fast_dtype(device)).removeprefix("torch."),
        "limit_bytes": device_limit(device),
    }
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        found["count"] = torch.cuda.device_count()
        found["memory_bytes"] = properties.total_memory
        found["architecture"] = getattr(properties, "gcnArchName", None) or (
            f"sm_{properties.major}{properties.minor}"
        )
    else:
        import psutil

        found["memory_bytes"] = psutil.virtual_memory().total
    return found


def allocator_keeps(device: Any) -> str:
    """Allocate and free tensors of many sizes: do those that live keep their numbers?"""
    import torch

    draw = torch.Generator().manual_seed(0)
    sizes = torch.randint(1 << 10, 1 << 22, (60,), generator=draw).tolist()
    live: list[tuple[int, Any]] = []
    for number, size in enumerate(sizes):
        live.append((number, torch.full((size,), float(number + 1), device=device)))
        if number % 3 == 2:
            live.pop(number % len(live))
    torch.empty(1 << 26, device=device).zero_()
    good = all(bool((tensor == number + 1).all()) for number, tensor in live)
    return "ok" if good else "wrong"


def tell(**line: Any) -> None:
    """A line for the parent."""
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
