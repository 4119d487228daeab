"""Train and held-out parts that share no conversation, whatever the source."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator

from octavo.corpus.draws import draw_int
from octavo.corpus.example import Example
from octavo.corpus.glyphs import SYMBOL

SIDES = ("train", "heldout")


def conversation_key(example: Example) -> bytes:
    """Equal for conversations that differ in nothing but case, white space and symbols."""
    turns = [
        [m["role"], " ".join(SYMBOL.sub("", m["content"]).split()).casefold(), m.get("tool_calls")]
        for m in example.messages
    ]
    text = json.dumps(turns, ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class Sides:
    """Which conversations went to training and which to the held-out part, over all sources of a study."""

    def __init__(self) -> None:
        self._side_of: dict[bytes, str] = {}
        self._place_of: dict[str, tuple[str, int]] = {}

    def admits(self, example: Example, side: str) -> bool:
        """May the example go to this side?"""
        placed = self._place_of.get(example.id)
        return self._side_of.get(conversation_key(example), side) == side and (placed or (side,))[0] == side

    def take(self, example: Example, side: str) -> None:
        """Note that its conversation is on this side."""
        self._side_of[conversation_key(example)] = side

    def fix_ids(self, train: list[Example], heldout: list[Example]) -> None:
        """From now on an example with one of these ids goes where that id is, and in this order."""
        for side, examples in zip(SIDES, (train, heldout), strict=True):
            for position, example in enumerate(examples):
                self._place_of[example.id] = (side, position)

    def position(self, example: Example) -> int | None:
        """Where the id stands among those of `fix_ids`."""
        placed = self._place_of.get(example.id)
        return placed[1] if placed else None


def file_candidates(examples: list[Example], side: str, seed: int, sides: Sides) -> Iterator[Example]:
    """The examples of a file that may go to a side, in a seeded order that depends on what they say alone.

    Held-out candidates come once a conversation, those first that the file has only once, so that duplicates
    cost no training rows. Training candidates keep their duplicates: they are the user's data.
    """
    keys = [conversation_key(example) for example in examples]
    times = Counter(keys)
    last = len(examples)

    def order(i: int) -> tuple[int, bool, int, int]:
        position = sides.position(examples[i])
        placed = last if position is None else position
        return placed, side == "heldout" and times[keys[i]] > 1, draw_int(seed, "split", keys[i].hex()), i

    given: set[bytes] = set()
    for i in sorted(range(len(examples)), key=order):
        if side == "heldout" and keys[i] in given:
            continue
        given.add(keys[i])
        if sides.admits(examples[i], side):
            yield examples[i]
