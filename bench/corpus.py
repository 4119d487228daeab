"""How fast the procedural corpus is drawn, how much of it is right, how varied its wording is.

Draws distinct examples of all four kinds on one core, lets the independent checker judge every one of them, and looks
for the most common sequence of eight words among the examples of each kind (system turns and tool schemas aside).
The last line is one JSON object. `python bench/corpus.py [--quick]`
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from octavo.corpus.builtin import stream
from octavo.corpus.checker import check
from octavo.corpus.example import Example

# the mixture of the note that this corpus follows, with a part for conversation
MIXTURE = {"tool_use": 0.5, "reasoning": 0.3, "conversation": 0.1, "logic": 0.1}
WORDS = 8
EDGES = ".,;:!?\"'()[]{}"


def spoken(example: Example) -> list[str]:
    """The texts of an example that count: every turn but the system's, with the arguments of calls."""
    texts = []
    for message in example.messages:
        if message["role"] != "system":
            texts.append(message["content"] or "")
            texts += [json.dumps(call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
    return texts


def sequences(example: Example) -> set[str]:
    """All sequences of eight words of an example, punctuation and case aside, none across two turns."""
    found: set[str] = set()
    for text in spoken(example):
        words = [w for w in (raw.strip(EDGES) for raw in text.lower().split()) if w]
        found.update(" ".join(words[k : k + WORDS]) for k in range(len(words) - WORDS + 1))
    return found


def most_common(examples: Iterable[Example]) -> tuple[float, str]:
    """The share of examples that hold the most common sequence of eight words, and that sequence."""
    counts: Counter[str] = Counter()
    total = 0
    for example in examples:
        total += 1
        counts.update(sequences(example))
    sequence, count = counts.most_common(1)[0]
    return count / total, sequence


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,500 examples, and 1,500 a kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    count, per_kind = (2_500, 1_500) if options.quick else (50_000, 10_000)

    start = time.perf_counter()
    examples = list(islice(stream(MIXTURE, options.seed, "train"), count))
    drawn = time.perf_counter() - start
    distinct = len({json.dumps(e.messages) for e in examples})
    print(f"drew {count:,} examples in {drawn:.1f} s, {distinct:,} distinct")

    start = time.perf_counter()
    wrong = [(e, v) for e in examples if not (v := check(e)).ok]
    print(f"checked in {time.perf_counter() - start:.1f} s, {len(wrong)} wrong")
    for example, verdict in wrong[:5]:
        print(f"  {example.id}: {verdict.reason}")

    shares = {}
    for kind in MIXTURE:
        shares[kind], sequence = most_common(islice(stream({kind: 1.0}, options.seed, "train"), per_kind))
        print(f"{kind}: {100 * shares[kind]:.2f} % of {per_kind:,} examples hold {sequence!r}")
    print(
        json.dumps(
            {
                "examples_per_second": round(count / drawn),
                "distinct": distinct,
                "checked_right": count - len(wrong),
                "most_common_8gram_share": round(max(shares.values()), 5),
                "examples_a_kind": per_kind,
                "seconds": round(drawn, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
