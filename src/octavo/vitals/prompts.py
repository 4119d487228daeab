"""The fixed prompts of the probe: plain texts of several kinds that any model of English gives some probability to.

They are no part of any corpus here. A change of one makes probe readings of earlier studies incomparable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

PROMPTS = (
    "The river rises in the mountains, crosses the plain and reaches the sea near a small harbour town.",
    "Question: What is the capital of France?\nAnswer: The capital of France is Paris.",
    "If a train travels 60 kilometres in one hour, it travels 180 kilometres in three hours.",
    "def add(a, b):\n    return a + b\n\nprint(add(2, 3))",
    "Dear Sir, thank you for your letter of last week. I am sorry that I could not answer sooner.",
    "Water boils at one hundred degrees Celsius and freezes at zero degrees Celsius.",
    "She opened the door, looked around the empty room and said: there is nobody here.",
    "To make tea, boil the water, pour it over the leaves, wait four minutes and remove them.",
)


def prompt_ids(encode: Callable[[str], Sequence[int]]) -> list[list[int]]:
    """Token ids of the prompts; one of fewer than two tokens predicts nothing and is left out."""
    found = [list(encode(text)) for text in PROMPTS]
    return [ids for ids in found if len(ids) > 1]
