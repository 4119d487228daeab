"""Welch's t on run means, for any weighted sum of arms: a difference, a slope, a difference of differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from octavo.evaluation.statistics.arms import ZERO, Array, Interval


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of means, arrays of one shape.

    Attributes:
        se: its standard error. df: Satterthwaite's degrees of freedom; nan where no arm varies.
    """

    estimate: Array
    se: Array
    df: Array

    @property
    def p(self) -> Array:
        """Two-sided p of no difference; nan where no arm varies, for then there is nothing to measure by."""
        return 2 * stats.t.sf(np.abs(self.t(0.0)), self.df)

    def t(self, shift: float) -> Array:
        """Student's t of the estimate less `shift`; nan without any variation."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.se > 0, (self.estimate - shift) / self.se, np.nan)

    def interval(self, alpha: float = 0.05) -> Interval:
        """Of level 1 - alpha."""
        reach = stats.t.ppf(1 - alpha / 2, self.df) * self.se
        return Interval(self.estimate, self.estimate - reach, self.estimate + reach)


def contrast(groups: Sequence[Array], coefficients: Sequence[float]) -> Contrast:
    """Sum over groups of coefficient x mean, each group with a variance of its own (Welch, Biometrika 34:28, 1947).

    Arguments:
        groups: (..., S) run scores; groups may differ in S, each needs 2 at least.
    """
    sizes = [group.shape[-1] for group in groups]
    parts = [c**2 * g.var(-1, ddof=1) / n for g, c, n in zip(groups, coefficients, sizes, strict=True)]
    variance = np.asarray(sum(parts, start=ZERO))
    inverse = sum((part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True)), start=ZERO)
    estimate = sum((c * g.mean(-1) for g, c in zip(groups, coefficients, strict=True)), start=ZERO)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(variance > 0, variance**2 / inverse, np.nan)
    return Contrast(np.asarray(estimate), np.sqrt(variance), df)
