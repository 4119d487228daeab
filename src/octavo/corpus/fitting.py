"""Choosing the examples of a study: those that fit in every arm, as many as were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from octavo.corpus.arms import Arm, Made, make
from octavo.corpus.draws import draw_int
from octavo.corpus.sources import Share
from octavo.corpus.sources.split import SIDES, Sides
from octavo.errors import InputError


@dataclass
class Chosen:
    """The rows of one side: an example in each arm, in the same order.

    Arguments:
        rows: arm name -> the made example, one dict an example.
        dropped: reason -> how many candidates were passed over for it.
    """

    rows: list[dict[str, Made]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def choose(arms: Sequence[Arm], shares: Sequence[Share], seed: int, sides: Sides) -> dict[str, Chosen]:
    """Both sides' examples. What does not fit in one arm is left out of all, and another takes its place.

    Arguments:
        arms: those that share the examples.
        shares: sources with exact counts.
        seed: of the order in which several sources are mixed.
        sides: what stands where already; added to.

    Raises:
        InputError: a source has not as many examples as asked; says how many there are.
    """
    chosen: dict[str, Chosen] = {}
    for side in reversed(SIDES):  # the held-out part first, so that it does not depend on corpus.examples
        parts = [_take(arms, share, side, sides) for share in shares]
        rows = [
            (draw_int(seed, "mix", s, i), row)
            for s, part in enumerate(parts)
            for i, row in enumerate(part.rows)
        ]
        if len(shares) > 1:
            rows.sort(key=lambda pair: pair[0])
        dropped = sum((part.dropped for part in parts), Counter())
        chosen[side] = Chosen([row for _, row in rows], dropped)
    return chosen


def _take(arms: Sequence[Arm], share: Share, side: str, sides: Sides) -> Chosen:
    wanted = share.counts[side]
    part = Chosen()
    if wanted == 0:
        return part
    # An endless source in which hardly anything fits is a mistake of the study, not worth a long search.
    patience = 200 + 20 * wanted
    for drawn, example in enumerate(share.candidates(side, sides)):
        if drawn >= patience and share.size is None:
            break
        row = {arm.name: make(arm, example) for arm in arms}
        reasons = [f"{name}: {made.too_long}" for name, made in row.items() if made.too_long]
        part.dropped.update(reasons[:1])
        if reasons:
            continue
        sides.take(example, side)
        part.rows.append(row)
        if len(part.rows) == wanted:
            return part
    raise InputError(_too_few(share, side, part, wanted))


def _too_few(share: Share, side: str, part: Chosen, wanted: int) -> str:
    key = {"train": "corpus.examples", "heldout": "corpus.heldout"}[side]
    dropped = "; ".join(f"{count} left out ({reason})" for reason, count in part.dropped.most_common(4))
    because = f", {dropped}" if dropped else ""
    have = (
        ""
        if share.size is None
        else f" ({share.size} rows in all; duplicates count once, held-out rows are never trained on)"
    )
    advice = f"lower {key}" + (", raise train.max_length" if dropped else "")
    return f"{share.name}: {wanted} {side} examples wanted, {len(part.rows)} there{have}{because}; {advice}"
