"""Trend: does the score rise or fall with the dose (the density of glyphs)?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from octavo.evaluation.statistics.arms import Array

_SAME = 1e-10


def slope_coefficients(doses: Sequence[float]) -> list[float]:
    """Factors of the arms' means that give the least-squares slope a unit of dose; the doses must differ."""
    centred = np.asarray(doses, dtype=np.float64) - np.mean(doses)
    return list(map(float, centred / (centred**2).sum()))


def dose_permutation(scores: Array, doses: Array, rng: np.random.Generator, draws: int = 9999) -> Array:
    """Two-sided p of the slope over runs, the doses being dealt to the runs at random.

    Arguments:
        scores: (..., R) a score a run. doses: (R,) the dose of each run.

    Returns:
        (...) p, never below 1 / (draws + 1).
    """
    dealt = rng.permuted(np.tile(doses - doses.mean(), (draws, 1)), axis=-1)
    seen = np.abs(scores @ (doses - doses.mean()))[..., None]
    slack = _SAME * (np.abs(scores) @ np.abs(doses - doses.mean()))[..., None]
    return (1 + (np.abs(scores @ dealt.T) >= seen - slack).sum(-1)) / (1 + draws)
