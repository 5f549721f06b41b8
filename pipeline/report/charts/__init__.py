"""Geometry of charts, which `report.html` draws as inline SVG in the colours and type of the page.

A chart is 400 by 240 units. Positions are rounded to a tenth of a unit, so that equal numbers give equal bytes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernels.graph import Array

WIDTH, HEIGHT = 400, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 388, 26, 200
Tick = tuple[float, str]
_STEPS = (1, 2, 2.5, 5, 10, 20)
_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}


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
        across = _positions(LEFT, RIGHT, np.log10(xs) / x_decades)
        up = _positions(BOTTOM, TOP, np.log10(ys) / y_decades)
        # Dots at the same position are written once.
        return "".join(dict.fromkeys(f"M{x:g} {y:g}h0" for x, y in zip(across, up, strict=True)))

    return Chart(
        caption,
        [(_at(LEFT, RIGHT, power / x_decades), short(10**power)) for power in range(x_decades + 1)],
        [(_at(BOTTOM, TOP, power / y_decades), short(10**power)) for power in range(y_decades + 1)],
        [Series(name, "dots", path(xs, ys)) for name, xs, ys in points],
    )  # fmt: skip


def histogram(caption: Caption, edges: Array, counts: Array, integer: bool) -> Chart:
    """Draw filled steps on linear axes: `counts` [n] between `edges` [n + 1]. If `integer`, the ticks are integers."""
    low, high = float(edges[0]), float(edges[-1])
    y_ticks = ticks(0, max(int(counts.max()), 1), 4, integer=True)
    top = y_ticks[-1]
    across = _positions(LEFT, RIGHT, (np.asarray(edges, np.float64) - low) / (high - low))
    up = _positions(BOTTOM, TOP, counts / top)
    steps = "".join(f"V{y:g}H{x:g}" for x, y in zip(across[1:], up, strict=True))
    x_ticks = [tick for tick in ticks(low, high, 5, integer) if low <= tick <= high]
    return Chart(
        caption,
        [(_at(LEFT, RIGHT, (tick - low) / (high - low)), short(tick)) for tick in x_ticks],
        [(_at(BOTTOM, TOP, tick / top), short(tick)) for tick in y_ticks],
        [Series("", "area", f"M{across[0]:g} {BOTTOM}{steps}V{BOTTOM}Z")],
    )  # fmt: skip


def _decades(largest: int) -> int:
    return max(1, math.ceil(math.log10(largest)))


def _positions(start: float, end: float, share: Array) -> Array:
    return np.round(start + (end - start) * share, 1)


def _at(start: float, end: float, share: float) -> float:
    return round(start + (end - start) * share, 1)


def ticks(low: float, high: float, most: int, integer: bool = False) -> list[float]:
    """Ticks at the multiples of a round number from `low` or below to `high`, which is larger, or above: up to `most` intervals.

    The number is the least that is enough: a power of ten, or 2, 2.5 or 5 times one; if `integer`, an integer. (matplotlib, which
    also has such ticks, takes a fifth of a second to import.)
    """
    apart = max(high / most - low / most, math.ulp(high), 1e-300)  # both shares may round to the same number
    power = 10.0 ** math.floor(math.log10(apart))
    steps = (factor * power for factor in _STEPS)
    for step in (step for step in steps if not integer or step.is_integer()):
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first <= most:
            break
    return [number * step for number in range(first, last + 1)]


def short(value: float) -> str:
    """Format 1200000 as 1.2M."""
    if not 1e-12 <= value < 999.9995e18:
        return f"{value:g}"
    power = 3 * math.floor(math.log10(value) / 3)
    if float(f"{value / 10.0**power:g}") >= 1000:  # 999999.9
        power += 3
    return f"{value / 10.0**power:g}{_PREFIXES[power]}"
