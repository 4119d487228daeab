"""Near-duplicates by MinHash over word sequences, and sequences shared between two sets.

Broder, "On the resemblance and containment of documents" (1997); banding as in Leskovec, Rajaraman and
Ullman, "Mining of Massive Datasets", chapter 3.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

WORD = re.compile(r"\w+")
SHINGLE = 5  # words of a sequence; one word changed in sixty keeps a similarity of 0.84
ALIKE = 0.8  # Jaccard similarity from which two texts are near-duplicates
BANDS, ROWS = 16, 4  # at similarity 0.8 a pair shares a band with probability 1 - (1 - 0.8**4)**16 = 0.9998
PRIME = np.uint64((1 << 31) - 1)


def word_sequences(text: str, length: int) -> set[int]:
    """Hashes of all sequences of `length` words of a text, case and marks aside; short texts have one."""
    words = WORD.findall(text.casefold())
    last = max(1, len(words) - length + 1)
    return {zlib.crc32(" ".join(words[i : i + length]).encode()) for i in range(last)} if words else set()


@lru_cache(maxsize=8)  # the arms of a study mostly hold the same texts once symbols are out
def near_duplicates(texts: tuple[str, ...]) -> int:
    """How many texts resemble an earlier one: Jaccard similarity of their 5-word sequences of 0.8 or more."""
    sets = [word_sequences(text, SHINGLE) for text in texts]
    first_in: dict[tuple[int, bytes], list[int]] = {}
    count = 0
    for i, signature in enumerate(_signatures(sets)):
        bands = [(band, signature[band * ROWS : (band + 1) * ROWS].tobytes()) for band in range(BANDS)]
        candidates = {j for band in bands for j in first_in.get(band, ())}
        if any(_similarity(sets[i], sets[j]) >= ALIKE for j in candidates):
            count += 1
            continue
        for band in bands:
            first_in.setdefault(band, []).append(i)
    return count


@lru_cache(maxsize=8)
def share_with_common_sequence(texts: tuple[str, ...], others: tuple[str, ...], length: int) -> float | None:
    """The share of `texts` with a sequence of `length` words that stands in `others` too; None without texts.

    Texts of fewer words cannot have one.
    """
    if not texts:
        return None
    known: set[int] = set()
    for other in others:
        known |= _long_sequences(other, length)
    return sum(1 for text in texts if not known.isdisjoint(_long_sequences(text, length))) / len(texts)


def _long_sequences(text: str, length: int) -> set[int]:
    return word_sequences(text, length) if len(WORD.findall(text)) >= length else set()


def _signatures(sets: Sequence[set[int]]) -> Iterable[np.ndarray]:
    """64 minimum hashes a set, from h -> (a h + b) mod (2^31 - 1)."""
    generator = np.random.Generator(np.random.PCG64(0))
    a = generator.integers(1, int(PRIME), BANDS * ROWS, dtype=np.uint64)
    b = generator.integers(0, int(PRIME), BANDS * ROWS, dtype=np.uint64)
    for hashes in sets:
        values = np.fromiter(hashes, dtype=np.uint64, count=len(hashes)) % PRIME
        table = (values[:, None] * a[None, :] + b[None, :]) % PRIME
        yield table.min(axis=0) if len(hashes) else np.full(BANDS * ROWS, PRIME)


def _similarity(one: set[int], other: set[int]) -> float:
    return len(one & other) / (len(one | other) or 1)
