"""Curves ready to draw: smoothing stays inside gaps, thinning keeps spikes, numbers are what they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from octavo.report.charts import curve_chart
from octavo.report.numbers import as_float, canonical, count, fixed, general, listed, seconds, size
from octavo.report.series import lone_points, make_series, segments, smoothed, thinned


def test_smoothing_does_not_reach_over_a_gap() -> None:
    values = np.array([1.0] * 30 + [np.nan] * 3 + [9.0] * 30 + [np.nan, 5.0])
    result = smoothed(values)
    assert np.array_equal(np.isnan(result), np.isnan(values))
    assert result[:30] == pytest.approx(1.0)
    assert result[33:63] == pytest.approx(9.0)
    assert lone_points(values).tolist() == [64]
    assert segments(values) == [slice(0, 30), slice(33, 63), slice(64, 65)]


def test_smoothing_against_a_plain_loop() -> None:
    values = np.random.default_rng(0).normal(size=200)
    plain = [values[max(0, i - 5) : i + 6].mean() for i in range(200)]
    assert smoothed(values) == pytest.approx(plain)


def test_thinning_keeps_spikes_and_gaps() -> None:
    values = np.sin(np.arange(20_000) / 900)
    values[7_777], values[12_345], values[15_000:15_200] = 50, -50, np.nan
    steps, few = thinned(np.arange(20_000.0), values)
    assert len(few) < 1000
    assert {50.0, -50.0} <= set(few)
    assert np.isnan(few[(steps >= 15_000) & (steps < 15_200)]).any()


def test_marks_join_a_stretch() -> None:
    one = make_series("r", 0, [1, 2, 3, 4, 5, 6], [1, "nan", "nan", None, "-inf", "inf"])
    assert one.marks == [(2, 3, "nan"), (5, 6, "inf")]
    assert one.finite.tolist() == [1]


ODD = {
    "empty": ([], []),
    "one": ([5], [2.0]),
    "all nan": ([1, 2], ["nan", "nan"]),
    "zeros": ([1, 2], [0.0, 0.0]),
    "huge": ([1, 2, 3], [1e-300, 1.0, 1e300]),
    "negative": ([1, 2], [-5, 1e9]),
    "ragged": ([1, 2, 3], [1.0]),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("small", [True, False])
def test_odd_curves_are_drawn_without_a_warning(case: str, small: bool) -> None:
    one = make_series(case, 9, *ODD[case])
    svg = curve_chart("odd", [one], "odd <&> curve", smooth=True, points=True, small=small)
    assert svg.startswith("<svg")
    assert "odd &lt;&amp;&gt; curve" in svg


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), ("nan", "nan"), (math.inf, "inf"), ("-inf", "−inf"), (0, "0.00"), (0.0, "0.00"),
     (-1234.567, "−1,234.57"), (1e12, "1.00e+12"), ("text", "–"), (True, "–")],
)  # fmt: skip
def test_fixed(value: object, text: str) -> None:
    assert fixed(value, 2) == text


def test_other_forms() -> None:
    assert (count(None), count(0), count(921_600), count("nan")) == ("–", "0", "921,600", "nan")
    assert (size(None), size(0), size(3 * 2**30), size("inf")) == ("–", "0.0 MiB", "3.00 GiB", "inf")
    assert (seconds(None), seconds(0), seconds(99.94), seconds(3601)) == ("–", "0.0", "99.9", "3,601")
    assert (general(None), general(False), general(0), general(0.25)) == ("–", "no", "0", "0.25")
    assert (as_float(10**400), as_float("Infinity"), canonical(float("nan"))) == (math.inf, math.inf, "nan")
    assert (listed([]), listed(["a"]), listed(["a", "b"]), listed(list("abcdef"))) == (
        "", "a", "a and b", "a, b, c and 3 more",
    )  # fmt: skip
