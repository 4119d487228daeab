"""An examination for people."""

from __future__ import annotations

from typing import Any

from octavo.sizes import in_words
from octavo.training.doctor.children import Probed
from octavo.training.doctor.examine import DTYPES, KERNELS, STOPS, Examination

_MARKS = {"ok": "ok", "absent": "-"}


def examination_text(found: Examination) -> str:
    """Devices with a table of kernels, choice, cache, findings with what mends them."""
    lines = ["versions: " + ", ".join(f"{k} {v or 'missing'}" for k, v in found.versions.items())]
    for device in found.devices:
        lines += ["", *_device(device)]
    cache = found.cache
    lines += [
        "",
        f"cache: {cache['folder']}, {in_words(cache['bytes'])}, {len(cache['bases'])} base models, "
        f"{in_words(cache['free_bytes'])} free",
        f"allocator: {', '.join(found.allocator) or 'as torch has it'}",
        "",
        _choice(found.chosen),
    ]
    for finding in found.findings:
        mark = "STOP" if finding.level == STOPS else "note"
        lines.append(f"{mark}: {finding.text}")
        if finding.mend:
            lines.append(f"      {finding.mend}")
    return "\n".join(lines)


def _choice(chosen: dict[str, Any]) -> str:
    if chosen.get("kernel") is None:
        return "training: not possible as things are"
    where = f"{chosen['device']} ({chosen['kind']})"
    return f"training: on {where}, in {chosen['dtype']}, attention by '{chosen['kernel']}'"


def _device(device: Probed) -> list[str]:
    if device.facts is None:
        return [f"{device.device}: none that torch can use"]
    facts = device.facts
    kind = "ROCm" if device.device == "cuda" and facts.get("hip") else device.device
    head = (
        f"{kind}: {facts.get('name')}, {in_words(facts['memory_bytes'])}, "
        f"{in_words(facts['limit_bytes'])} for this process, fast in {facts['fast_dtype']}"
    )
    if facts.get("architecture"):
        head += f", {facts['architecture']}"
    lines = [head, "  " + f"{'attention':10}" + "".join(f"{dtype:12}" for dtype in DTYPES)]
    for kernel in KERNELS[device.device]:
        cells = [device.result(f"{kernel}:{dtype}") for dtype in DTYPES]
        lines.append(
            "  " + f"{kernel:10}" + "".join(f"{_MARKS.get(cell, cell.split(':')[0]):12}" for cell in cells)
        )
    return lines
