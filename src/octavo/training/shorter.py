"""Examples cut to a smaller length, where one longest example does not fit and the study allows it.

It changes what is learned, so it is written into the plan and said in the report; all variants are cut alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from octavo.errors import InputError
from octavo.training.data import Tokens

# what `train.max_length` may fall to
SHORTEST = 256

Rows = Mapping[str, tuple[Sequence[Tokens], Sequence[Tokens]]]


def shortened(rows: Rows, length: int = SHORTEST) -> dict[str, tuple[list[Tokens], list[Tokens]]]:
    """Train and held-out rows of every run, cut at `length`.

    An example that has no target left in one run is left out of all: variants go on seeing the same examples.

    Raises:
        InputError: nothing is left.
    """
    cut = {run: tuple([_cut(row, length) for row in side] for side in sides) for run, sides in rows.items()}
    gone = {row.id for sides in cut.values() for side in sides for row in side if not row.targets}
    found = {}
    for run, (train, heldout) in cut.items():
        kept = ([r for r in train if r.id not in gone], [r for r in heldout if r.id not in gone])
        if not all(kept):
            raise InputError(
                f"{run}: no example has a target within {length} tokens, so lanes.allow_shorter cannot help; take "
                "shorter examples or raise lanes.memory"
            )
        found[run] = kept
    return found


def _cut(row: Tokens, length: int) -> Tokens:
    labels = row.labels[:length]
    units = None if row.units is None else row.units[:length]
    return Tokens(row.id, row.where, row.ids[:length], labels, sum(labels[1:]), units)
