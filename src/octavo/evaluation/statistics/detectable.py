"""What a comparison could have found: power of a t test, and the least effect found with a given power."""

from __future__ import annotations

import math

from scipy import optimize, stats


def t_power(shift: float, df: float, alpha: float) -> float:
    """Probability that a two-sided t test rejects, where the truth is `shift` standard errors away."""
    if not 0 < alpha < 1:
        return 0.0
    bound = float(stats.t.ppf(1 - alpha / 2, df))
    upper = float(stats.nct.sf(bound, df, shift))
    # far away the other tail is below 1e-8, and scipy gives nan there
    return upper + float(stats.nct.cdf(-bound, df, shift)) if shift < 5 else upper


def minimum_detectable(se: float, df: float, alpha: float, power: float = 0.8) -> float | None:
    """The least true effect that a test with this standard error finds with probability `power`.

    None where the test cannot reject at all: `alpha` 0, or no degree of freedom.
    """
    if not (0 < alpha < 1 and df > 0 and math.isfinite(se)):
        return None
    if se == 0:
        return 0.0
    bound = float(stats.t.ppf(1 - alpha / 2, df))
    top = bound + 1.0
    while t_power(top, df, alpha) < power:
        top *= 2
    return float(optimize.brentq(lambda shift: t_power(shift, df, alpha) - power, 0, top)) * se
