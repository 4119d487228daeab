"""Benjamini-Hochberg: at most a share alpha of the findings is false (J. Royal Statistical Society B 57:289, 1995)."""

from __future__ import annotations

from scipy import stats

from octavo.evaluation.statistics.arms import Array


def benjamini_hochberg(p: Array) -> Array:
    """Adjusted p of a family on the last axis; to be compared with the share of false findings allowed."""
    return stats.false_discovery_control(p, axis=-1, method="bh")
