"""Charts as inline SVG by matplotlib: colours are CSS variables, one picture serves light, dark and paper."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, ScalarFormatter, StrMethodFormatter

from octavo.report.series import Series, lone_points, smoothed, thinned

COLOURS = 8  # --s0 .. --s7 of style.css
DASHES = ((0, ()), (0, (4, 1.6)), (0, (1, 1.4)), (0, (6, 1.5, 1, 1.5)))
CSS_DASHES = ("none", "7 3", "2 2.5", "9 2.5 2 2.5")
LARGEST = 1e100  # axes end here: matplotlib overflows near the largest double
LOG_FROM = 30.0  # largest over smallest value from which a linear axis would flatten most curves
RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 9.5,
    "axes.linewidth": 0.7,
    "axes.unicode_minus": True,
}
# Placeholder colours: matplotlib wants a real one, the page wants a variable.
INK, SOFT, RULE = "#0b0001", "#0b0002", "#0b0003"
VARIABLES = {INK: "--ink", SOFT: "--soft", RULE: "--rule"} | {
    f"#0a00{i:02x}": f"--s{i}" for i in range(COLOURS)
}


def colour(style: int) -> str:
    """The placeholder of a style's colour; styles past the palette repeat it, below 0 is ink."""
    return INK if style < 0 else f"#0a00{style % COLOURS:02x}"


def dash(style: int) -> int:
    """Index of a style's dash pattern."""
    return max(style, 0) // COLOURS % len(DASHES)


def curve_chart(
    name: str,
    series: Sequence[Series],
    title: str,
    *,
    smooth: bool = False,
    points: bool = False,
    starts: Mapping[int, float] | None = None,
    levels: Sequence[float] = (),
    faint: Sequence[Series] = (),
    frame: Sequence[Series] | None = None,
    small: bool = False,
) -> str:
    """Draw curves over steps as one inline SVG.

    `smooth` draws a moving mean over the faint raw values, `points` marks each value, `starts` gives
    styles a hollow point at step 0, `levels` are values that lie across as dotted lines, `faint` are curves
    in the background, `frame` the curves that set the axes when not `series` themselves (panels to be
    compared), `small` a panel of a quarter of the page. A stretch of non-finite values is a marker at the
    upper edge: x for nan, a triangle for inf. `name` keeps ids apart on one page.
    """
    with mpl.rc_context(RC | {"svg.hashsalt": name}):
        figure = Figure(figsize=(2.9, 1.75) if small else (6.0, 3.25), facecolor="none")
        canvas = FigureCanvasSVG(figure)
        left, bottom = (0.15, 0.16) if small else (0.095, 0.14)
        axes = figure.add_axes((left, bottom, 0.97 - left, 0.95 - bottom), facecolor="none")
        axes.set_autoscale_on(False)  # the limits are set below
        for one in faint:
            axes.plot(*thinned(one.steps, smoothed(one.values)), color=SOFT, alpha=0.35, linewidth=0.7)
        for one in series:
            _draw(axes, one, smooth, points)
        for style, value in (starts or {}).items():
            axes.plot([0], [value], marker="o", markersize=4, color=colour(style), markerfacecolor="none")
        for value in levels:
            axes.axhline(value, color=SOFT, linestyle=":", linewidth=1.1)
        _frame(axes, [*(frame or series), *faint], [*(starts or {}).values(), *levels], small)
        buffer = io.StringIO()
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _inline(buffer.getvalue(), name, title)


def _draw(axes: Axes, one: Series, smooth: bool, points: bool) -> None:
    ink, line = colour(one.style), DASHES[dash(one.style)]
    if smooth:
        axes.plot(*thinned(one.steps, one.values), color=ink, alpha=0.3, linewidth=0.6)
        axes.plot(*thinned(one.steps, smoothed(one.values)), color=ink, linestyle=line, linewidth=1.5)
    else:
        marker: dict[str, Any] = {"marker": "o", "markersize": 3.2} if points else {}
        axes.plot(*thinned(one.steps, one.values), color=ink, linestyle=line, linewidth=1.3, **marker)
    lone = lone_points(one.values)
    if len(lone) and not points:
        axes.plot(one.steps[lone], one.values[lone], color=ink, linestyle="none", marker=".", markersize=4)
    top = axes.get_xaxis_transform()  # steps across, share of the height up
    for first, last, kind in one.marks:
        marker_shape = "x" if kind == "nan" else "^"
        if last > first:
            axes.plot([first, last], [0.965, 0.965], color=ink, linewidth=0.8, linestyle=":", transform=top)
        axes.plot(
            [first],
            [0.965],
            color=ink,
            marker=marker_shape,
            markersize=5.5,
            markeredgewidth=1.6,
            transform=top,
        )


def _frame(axes: Axes, series: Sequence[Series], starts: Sequence[float], small: bool) -> None:
    values = np.concatenate([*(one.finite for one in series), np.asarray(starts, float)])
    steps = np.concatenate([np.zeros(len(starts)), *(one.steps for one in series)])
    if len(steps):
        span = max(float(steps.max() - steps.min()), 1.0)
        axes.set_xlim(float(steps.min()) - 0.02 * span, float(steps.max()) + 0.02 * span)
    if len(values):
        _scale(axes, float(values.min()), float(values.max()), any(one.marks for one in series), small)
    axes.xaxis.set_major_locator(MaxNLocator(4 if small else 8, integer=True))
    axes.grid(axis="y", color=RULE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=SOFT, labelcolor=SOFT, length=3, width=0.7, labelsize=8.5, which="major")
    axes.tick_params(length=0, which="minor")
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(SOFT)
    if not small:
        axes.set_xlabel("optimizer step", color=SOFT, fontsize=8.5, labelpad=3)


def _scale(axes: Axes, low: float, high: float, marked: bool, small: bool) -> None:
    """Set the vertical axis: logarithmic where curves span more than LOG_FROM; room on top for markers."""
    room = 0.12 if marked else 0.05
    low, high = max(low, -LARGEST), min(high, LARGEST)
    if low > 0 and high / max(low, 1 / LARGEST) > LOG_FROM:
        low = max(low, 1 / LARGEST)
        axes.set_yscale("log")
        ratio = high / low
        axes.set_ylim(low / ratio**0.05, high * ratio**room)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if ratio < 200 else (1,), numticks=6))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        return
    span = (high - low) or abs(high) or 1.0
    axes.set_ylim(low - 0.05 * span, high + room * span)
    axes.yaxis.set_major_locator(MaxNLocator(4 if small else 6))
    formatter = ScalarFormatter(useOffset=False)
    formatter.set_powerlimits((-3, 5))
    axes.yaxis.set_major_formatter(formatter)
    axes.yaxis.get_offset_text().set_color(SOFT)
    axes.yaxis.get_offset_text().set_fontsize(8.5)


def _inline(svg: str, name: str, title: str) -> str:
    """Cut matplotlib's file down to an element of the page: its colours, its font, ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    # matplotlib's style element would apply to every element of the page; style.css has these two rules.
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    for placeholder, variable in VARIABLES.items():
        svg = svg.replace(placeholder, f"var({variable})")
    svg = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', svg)
    view = re.search(r'viewBox="[^"]+"', svg)
    opening = f'<svg role="img" aria-label="{html.escape(title)}" {view.group(0) if view else ""}>'
    return re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1).strip()
