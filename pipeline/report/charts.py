"""Geometry of charts, which `report.html` draws as inline SVG in the colours and type of the page.

A chart is 400 by 240 units. Positions are rounded to a tenth of a unit, so that equal numbers give equal bytes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import EngFormatter, MaxNLocator

from kernels.graph import Array

WIDTH, HEIGHT = 400, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 388, 26, 200
Tick = tuple[float, str]


@dataclass(frozen=True)
class Series:
    """One SVG path: of kind `dots`, single points, or of kind `area`, filled down to the axis."""

    name: str
    kind: str
    path: str


@dataclass(frozen=True)
class Caption:
    """Texts of a chart."""

    # title, x_label, y_label: labels name the unit.
    title: str
    x_label: str
    y_label: str
    sentence: str  # the chart's numbers; also its alternative text


@dataclass(frozen=True)
class Chart:
    """A drawn chart; ticks are (position, text)."""

    caption: Caption
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    series: list[Series]


def log_log(caption: Caption, points: Sequence[tuple[str, Array, Array]]) -> Chart:
    """Draw dots on two logarithmic axes; `points` (name, x, y) has at least one, and all coordinates are at least 1."""
    x_decades = _decades(max(int(xs.max()) for _, xs, _ in points))
    y_decades = _decades(max(int(ys.max()) for _, _, ys in points))

    def path(xs: Array, ys: Array) -> str:
        across = _between(LEFT, RIGHT, np.log10(xs) / x_decades)
        up = _between(BOTTOM, TOP, np.log10(ys) / y_decades)
        # Dots at the same position are written once.
        return "".join(dict.fromkeys(f"M{x:g} {y:g}h0" for x, y in zip(across, up, strict=True)))

    return Chart(
        caption,
        [(_at(LEFT, RIGHT, power / x_decades), _short(10**power)) for power in range(x_decades + 1)],
        [(_at(BOTTOM, TOP, power / y_decades), _short(10**power)) for power in range(y_decades + 1)],
        [Series(name, "dots", path(xs, ys)) for name, xs, ys in points],
    )  # fmt: skip


def histogram(caption: Caption, edges: Array, counts: Array, integer: bool) -> Chart:
    """Draw filled steps on linear axes: `counts` [n] between `edges` [n + 1]. If `integer`, the ticks are integers."""
    low, high = float(edges[0]), float(edges[-1])
    y_ticks = MaxNLocator(4, integer=True).tick_values(0, max(int(counts.max()), 1))
    top = float(y_ticks[-1])
    across = _between(LEFT, RIGHT, (np.asarray(edges, np.float64) - low) / (high - low))
    up = _between(BOTTOM, TOP, counts / top)
    steps = "".join(f"V{y:g}H{x:g}" for x, y in zip(across[1:], up, strict=True))
    with np.errstate(over="ignore"):  # near the largest float
        x_ticks = [tick for tick in MaxNLocator(5, integer=integer).tick_values(low, high) if low <= tick <= high]
    return Chart(
        caption,
        [(_at(LEFT, RIGHT, (tick - low) / (high - low)), _short(tick)) for tick in x_ticks],
        [(_at(BOTTOM, TOP, tick / top), _short(tick)) for tick in y_ticks if tick >= 0],
        [Series("", "area", f"M{across[0]:g} {BOTTOM}{steps}V{BOTTOM}Z")],
    )  # fmt: skip


def _decades(largest: int) -> int:
    return max(1, math.ceil(math.log10(largest)))


def _between(start: float, end: float, share: Array) -> Array:
    return np.round(start + (end - start) * share, 1)


def _at(start: float, end: float, share: float) -> float:
    return round(start + (end - start) * share, 1)


def _short(value: float) -> str:
    """Format 1200000 as 1.2M."""
    return str(EngFormatter(sep="")(value)).replace("\N{MINUS SIGN}", "-")
