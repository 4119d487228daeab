"""Adjusted p, verdicts and what could have been found, over all claims of one kind together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from octavo.evaluation.comparisons.claims import CHECKPOINTS, RECIPE, Claim, detectable
from octavo.evaluation.statistics.arms import Array
from octavo.evaluation.statistics.benjamini_hochberg import benjamini_hochberg
from octavo.evaluation.statistics.holm import holm

ADJUST: dict[str, Callable[[Array], Array]] = {
    "holm": holm,
    "benjamini-hochberg": benjamini_hochberg,
    "none": lambda p: p,
}
POSITIVE = {
    "difference": "differ",
    "equivalence": "equivalent",
    "trend": "trend",
    "interaction": "differ between bases",
}
NEGATIVE = {
    "difference": "not separable",
    "equivalence": "not shown to be equivalent",
    "trend": "no trend shown",
    "interaction": "not separable",
}
NO_CLAIM = "no claim possible"


def correct(entries: Sequence[dict]) -> None:
    """Settle the claims of all comparisons in place: `p_adjusted`, `family`, `verdict`, `minimum_detectable`.

    A family is all possible claims of one kind under one correction; those declared and those exploratory are families
    of their own, the exploratory ones always under Benjamini-Hochberg.
    """
    families: dict[tuple[str, bool, str], list[tuple[dict, Claim]]] = {}
    for entry in entries:
        for kind in (CHECKPOINTS, RECIPE):
            claim = entry[kind]
            if claim["possible"]:
                families.setdefault((kind, entry["declared"], entry["correction"]), []).append((entry, claim))
            else:
                claim |= {"p_adjusted": None, "family": None, "verdict": NO_CLAIM, "minimum_detectable": None}
    for (_, _, correction), members in families.items():
        p = np.array([1.0 if claim["p"] is None else claim["p"] for _, claim in members])
        for (entry, claim), adjusted in zip(members, ADJUST[correction](p), strict=True):
            _settle(entry, claim, float(adjusted), 1 if correction == "none" else len(members))


def _settle(entry: dict, claim: Claim, adjusted: float, family: int) -> None:
    found = claim["p"] is not None and adjusted <= entry["alpha"]
    strictest = entry["alpha"] / family  # what the first claim of the family has to pass
    claim |= {
        "p_adjusted": None if claim["p"] is None else adjusted,
        "family": family,
        "verdict": (POSITIVE if found else NEGATIVE)[entry["kind"]],
        "minimum_detectable": detectable(claim, strictest),
        "level_of_test": strictest,
    }
