"""Short texts as tokens: one source for setting thresholds, another for the figures."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from octavo.corpus.builtin import stream
from octavo.training.data import Tokens

# of every text: products of one shape, where each new shape would be compiled by the CPU's library
LENGTH = 48
CALIBRATION, FINAL = "calibration", "final"
# the builtin kinds of each purpose: none in both
_KINDS = {CALIBRATION: {"reasoning": 0.6, "conversation": 0.4}, FINAL: {"logic": 0.6, "tool_use": 0.4}}
_PARTS = {CALIBRATION: "train", FINAL: "heldout"}
_ROOT = Path(__file__).parent.parent.parent


def gsm8k() -> Path | None:
    """The GSM8K questions in OCTAVO_TEST_DATA (by default ../shared/data), None where they are not there."""
    folder = Path(os.environ.get("OCTAVO_TEST_DATA") or _ROOT.parent / "shared" / "data")
    path = folder / "gsm8k_test.jsonl"
    return path if path.is_file() else None


def rows(encoder: Any, purpose: str, seed: int, count: int) -> list[Tokens]:
    """Distinct texts of the first 48 tokens of longer ones, learned whole.

    For the final figures every other seed draws from GSM8K, where it is there.

    Arguments:
        purpose: CALIBRATION or FINAL. seed: of the draw; a different one is a different choice and order.
    """
    found: list[Tokens] = []
    seen: set[tuple[int, ...]] = set()
    for number, text in enumerate(_texts(purpose, seed)):
        ids = tuple(encoder.encode_text(text).ids[:LENGTH])
        if len(ids) < LENGTH or ids in seen:
            continue
        seen.add(ids)
        labels = (False, *[True] * (len(ids) - 1))
        found.append(Tokens(f"{purpose}-{seed}-{number}", purpose, ids, labels, len(ids) - 1))
        if len(found) == count:
            return found
    raise ValueError(f"{purpose}, seed {seed}: only {len(found)} texts, {count} are wanted")


def _texts(purpose: str, seed: int) -> Iterator[str]:
    path = gsm8k()
    if purpose == FINAL and seed % 2 == 0 and path is not None:
        lines = path.read_text(encoding="utf-8").splitlines()
        random.Random(seed).shuffle(lines)
        for line in lines:
            row = json.loads(line)
            yield f"{row['question']}\n{row['answer']}"
        return
    for example in stream(_KINDS[purpose], seed, _PARTS[purpose]):
        yield "\n".join(turn.get("content") or "" for turn in example.messages)
