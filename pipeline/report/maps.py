"""Maps: a network on a plane of pixels, each edge a straight line between the coordinates of its two vertices.

Edges on the same half-pixels are drawn once, so that the cost of a picture is bounded by its pixels. A picture holds palette
indices only; light and dark pages give it different colours.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from PIL import Image

from kernels.graph import Array
from pipeline.report.reading import Coordinates

LONG_SIDE = 1400  # pixels
LEAST_SIDE = 240
MARGIN = 14
FINE = 2  # fine pixels per pixel, each way: lines cover them, and the number covered in a pixel is its opacity
NOTHING = 255
FAINT = 62  # the level of the network's faint lines; levels 0 to 61 are colours, the lowest on top
SAMPLES = 4_000_000  # fine pixels computed at a time
KM_PER_DEGREE = 6371.0088 * math.pi / 180
# Ranges of the colour map plasma (perceptually uniform) whose ends contrast with a light and with a dark page.
STRETCH = {"light": (0.02, 0.86), "dark": (0.32, 1.0)}
FAINT_COLOUR = {"light": ("#8d887d", 0.75), "dark": ("#77808c", 0.75)}
FOREST_COLOUR = {"light": "#0b6e69", "dark": "#5fd0c0"}
Colour = tuple[float, float, float, float]
Colours = Callable[[str], list[Colour]]


@dataclass(frozen=True)
class Projection:
    """Pixels of all coordinates, with the same scale in both directions.

    Attributes
    ----------
    ids : int64 [P]
    x, y : float64 [P]
        Pixels from the upper left corner.
    width, height : int
        Pixels of the picture.
    km_per_pixel : float or None
        None if all coordinates are equal, or cannot be degrees of longitude and latitude.
    middle : float or None
        Latitude in degrees at which both directions have the same scale; None if the coordinates are those of a plane.
    """

    ids: Array
    x: Array
    y: Array
    width: int
    height: int
    km_per_pixel: float | None
    middle: float | None

    def find(self, vertices: Array) -> tuple[Array, Array]:
        """Entry [n] of each vertex, and whether it has coordinates; if not, the entry is arbitrary."""
        entry = np.minimum(np.searchsorted(self.ids, vertices), len(self.ids) - 1)
        return entry, self.ids[entry] == vertices


def project(coordinates: Coordinates) -> Projection:
    """Scale longitude by the cosine of the middle latitude, then both to the picture. There is at least one vertex."""
    x, y = coordinates.x, coordinates.y
    geographic = bool((np.abs(x) <= 180).all() and (np.abs(y) <= 90).all())
    middle = float(y.min() + y.max()) / 2
    # On a plane the largest coordinate becomes 1, so that no extent overflows.
    unit = 1.0 if geographic else max(float(np.abs(x).max()), float(np.abs(y).max()))
    east, north = x / unit * (math.cos(math.radians(middle)) if geographic else 1.0), y / unit
    across, down = float(np.ptp(east)), float(np.ptp(north))
    scale = (LONG_SIDE - 2 * MARGIN) / (max(across, down) or 1.0)
    width, height = (max(LEAST_SIDE, math.ceil(extent * scale) + 2 * MARGIN) for extent in (across, down))
    return Projection(
        coordinates.ids,
        (east - east.min()) * scale + (width - across * scale) / 2,
        (north.max() - north) * scale + (height - down * scale) / 2,
        width,
        height,
        KM_PER_DEGREE / scale if geographic and max(across, down) else None,
        middle if geographic else None,
    )  # fmt: skip


@dataclass(frozen=True)
class Lines:
    """Edges as they are drawn.

    Attributes
    ----------
    ends : int64 [n, 2, 2]
        Both ends (x, y) in fine pixels; edges with equal ends are one line.
    values : float64 [n]
        The least value of the line's edges; NaN if none has a value.
    edges, left_out : int
        Edges drawn, and edges left out because a vertex has no coordinates.
    """

    ends: Array
    values: Array
    edges: int
    left_out: int


def lines(projection: Projection, batches: Iterable[tuple[Array, Array]], values: Array | None = None) -> Lines:
    """Map edges to lines on the plane; each batch has arrays `src` and `dst` [n].

    Parameters
    ----------
    values : float64 [P], optional
        Value of each vertex with coordinates, NaN if it has none; an edge has the mean of its vertices.
    """
    side = FINE * max(projection.width, projection.height) + 1
    cell = np.rint(projection.y * FINE).astype(np.int64) * side + np.rint(projection.x * FINE).astype(np.int64)
    keys, least, edges, left_out = np.empty(0, np.int64), np.empty(0), 0, 0
    for src, dst in batches:
        (tail, tail_known), (head, head_known) = projection.find(src), projection.find(dst)
        known = tail_known & head_known
        tail, head = tail[known], head[known]
        edges, left_out = edges + len(tail), left_out + len(known) - len(tail)
        new = np.minimum(cell[tail], cell[head]) * side**2 + np.maximum(cell[tail], cell[head])
        value = np.full(len(tail), np.nan) if values is None else (values[tail] + values[head]) / 2
        keys, least = _least(np.concatenate([keys, new]), np.concatenate([least, value]))
    cells = np.stack(np.divmod(keys, side**2), axis=1)
    return Lines(np.stack([cells % side, cells // side], axis=2), least, edges, left_out)


def levels(drawn: Lines, highest: float) -> Array:
    """Colour level of each line, from 0 for value 0 to FAINT - 1 for `highest`; FAINT if it has no value."""
    shares = drawn.values / (highest or 1.0) * (FAINT - 1)
    return np.where(np.isnan(shares), FAINT, np.rint(np.nan_to_num(shares))).astype(np.uint8)


def picture(projection: Projection, layers: Iterable[tuple[Array, Array, int]]) -> Array:
    """Draw lines and reduce them to palette indices.

    Parameters
    ----------
    layers : iterable of (ends [n, 2, 2], levels uint8 [n], width)
        The width is in fine pixels. Where lines meet, the lowest level is on top.

    Returns
    -------
    uint8 [height, width]
        0 where no line is, else FINE² level + the number of covered fine pixels (1 to FINE²).
    """
    plane = np.full((FINE * projection.height, FINE * projection.width), NOTHING, np.uint8)
    for ends, level, width in layers:
        for x, y, line in _fine_pixels(ends):
            for down in range(width):
                for right in range(width):
                    inside = (np.minimum(y + down, plane.shape[0] - 1), np.minimum(x + right, plane.shape[1] - 1))
                    np.minimum.at(plane, inside, level[line])
    pixels = plane.reshape(projection.height, FINE, projection.width, FINE)
    covered = (pixels != NOTHING).sum((1, 3), dtype=np.uint8)
    lowest = np.minimum(pixels.min((1, 3)), FAINT)
    return np.where(covered, 1 + FINE**2 * lowest + covered - 1, 0).astype(np.uint8)


def png(indices: Array, colours: list[Colour]) -> bytes:
    """PNG of a picture; `colours` has one colour per level, and the share of covered fine pixels scales a pixel's opacity."""
    shades = np.zeros((256, 4))
    for level, colour in enumerate(colours):
        for covered in range(FINE**2):
            shades[1 + FINE**2 * level + covered] = [*colour[:3], colour[3] * (covered + 1) / FINE**2]
    palette = np.rint(shades * 255).astype(np.uint8)
    image = Image.fromarray(indices)
    image.putpalette(palette[:, :3].tobytes())
    buffer = io.BytesIO()
    image.save(buffer, "PNG", transparency=palette[:, 3].tobytes())
    return buffer.getvalue()


def distance_colours(theme: str) -> list[Colour]:
    """Colours of the levels of a map of distances, on a `light` or `dark` page."""
    scale = colormaps["plasma"](np.linspace(*STRETCH[theme], FAINT))
    return [*map(tuple, scale), _faint(theme)]


def forest_colours(theme: str) -> list[Colour]:
    """Colours of the levels of a map of the forest: the forest is level 0."""
    return [(*to_rgb(FOREST_COLOUR[theme]), 1.0)] * FAINT + [_faint(theme)]


def _faint(theme: str) -> Colour:
    colour, opacity = FAINT_COLOUR[theme]
    return (*to_rgb(colour), opacity)


def _fine_pixels(ends: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield all fine pixels of the lines, some lines at a time: x, y, and the line's number."""
    steps = np.abs(ends[:, 1] - ends[:, 0]).max(axis=1, initial=0)
    total = np.cumsum(steps + 1)
    cuts = np.searchsorted(total, np.arange(SAMPLES, int(total[-1]) if len(total) else 0, SAMPLES))
    for some in np.split(np.arange(len(ends)), cuts):
        line = np.repeat(some, steps[some] + 1)
        first = np.cumsum(steps[some] + 1) - (steps[some] + 1)
        along = (np.arange(len(line)) - np.repeat(first, steps[some] + 1)) / np.maximum(steps[line], 1)
        point = np.rint(ends[line, 0] + (ends[line, 1] - ends[line, 0]) * along[:, None]).astype(np.int64)
        yield point[:, 0], point[:, 1], line


def _least(keys: Array, values: Array) -> tuple[Array, Array]:
    """Distinct keys, ascending, each with its least value; NaN only if it has no other."""
    order = np.lexsort((values, keys))
    keys = keys[order]
    first = np.ones(len(keys), bool)
    first[1:] = keys[1:] != keys[:-1]
    return keys[first], values[order][first]
