"""Amounts of memory as people write and read them."""

from __future__ import annotations

import re

SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]i?)?B")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def memory_bytes(size: str) -> int:
    """Bytes of a size such as "12GiB" (powers of 1024) or "12GB" (powers of 1000).

    Raises:
        ValueError: it is no such size.
    """
    match = SIZE.fullmatch(size)
    if match is None:
        raise ValueError(f"{size!r} is no size like 12GiB")
    unit = match[2] or ""
    return int(float(match[1]) * (1024 if unit.endswith("i") else 1000) ** _POWERS[unit[:1]])


def in_words(count: float) -> str:
    """Bytes for people: 1.25 GiB, 640.00 MiB."""
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.2f} MiB"
