"""Seeded numbers that belong to one example and one purpose.

Each number is a hash of (seed, example, purpose), so it is the same wherever the example stands, whatever was
drawn before it, and in every version of Python.
"""

from __future__ import annotations

import hashlib
import random


def draw_int(*key: object) -> int:
    """A 64-bit number that depends on `key` alone."""
    text = "\x1f".join(map(str, key))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def draw_unit(*key: object) -> float:
    """A number in [0, 1) that depends on `key` alone."""
    return (draw_int(*key) >> 11) / 2**53


def draw_stream(*key: object) -> random.Random:
    """A random stream that depends on `key` alone."""
    return random.Random(draw_int(*key))
