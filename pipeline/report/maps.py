"""Maps: a network on a plane of pixels, each edge a straight line between the coordinates of its two vertices.

A picture holds palette indices only; light and dark pages give it different colours.
"""

import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from PIL import Image

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.report.raster import draw_lines
from pipeline.report.reading import Coordinates
from pipeline.runtime.threads import map_in_order

LONG_SIDE = 1400  # pixels
LEAST_SIDE = 240
MARGIN = 14
FINE = 2  # fine pixels per pixel, each way: lines cover them, and the number covered in a pixel is its opacity
NOTHING = 255
FAINT = 62  # the level of the network's faint lines; levels 0 to 61 are colours, the lowest on top
KM_PER_DEGREE = 6371.0088 * math.pi / 180
# Ranges of the colour map plasma (perceptually uniform) whose ends contrast with a light and with a dark page.
STRETCH = {"light": (0.02, 0.86), "dark": (0.32, 1.0)}
FAINT_COLOUR = {"light": ("#8d887d", 0.75), "dark": ("#77808c", 0.75)}
FOREST_COLOUR = {"light": "#0b6e69", "dark": "#5fd0c0"}
Colour = tuple[float, float, float, float]
Colours = Callable[[str], list[Colour]]
Levels = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Projection:
    """Pixels of all coordinates, with the same scale in both directions."""

    ids: Array  # int64 [P]
    # x, y: float64 [P]: pixels from the upper left corner.
    x: Array
    y: Array
    # width, height: pixels of the picture.
    width: int
    height: int
    km_per_pixel: float | None  # None if all coordinates are equal, or cannot be degrees of longitude and latitude
    # Latitude in degrees at which both directions have the same scale; None if the coordinates are those of a plane.
    middle: float | None

    def find(self, vertices: Array) -> tuple[Array, Array]:
        """Entry [n] of each vertex, and whether it has coordinates; if not, the entry is arbitrary."""
        first, last = self.ids[0], len(self.ids) - 1
        found = vertices - first if self.ids[-1] - first == last else np.searchsorted(self.ids, vertices)
        entry = np.clip(found, 0, last)
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
class Plane:
    """Lines on a plane of fine pixels."""

    # uint8 [FINE height, FINE width]: the lowest level of the lines that cover each fine pixel; NOTHING if there is none.
    levels: Array
    # edges, left_out: edges drawn, and edges left out because a vertex has no coordinates.
    edges: int
    left_out: int


def plane(projection: Projection, batches: Iterable[tuple[Array, Array]], width: int, levels: Levels) -> Plane:
    """Draw edges as lines, batch by batch on all cores; each batch has arrays `src` and `dst` [n].

    Args:
        width: Of a line in fine pixels, to the right and down.
        levels: `levels(tails, heads)` gives the level of each edge, uint8 [n], from the entries of its two vertices in
            `projection`.
    """
    x, y = (np.rint(axis * FINE).astype(np.int64) for axis in (projection.x, projection.y))
    shape = FINE * projection.height, FINE * projection.width

    def draw(batch: tuple[Array, Array]) -> Plane:
        (tails, tail_known), (heads, head_known) = map(projection.find, batch)
        known = tail_known & head_known
        tails, heads = tails[known], heads[known]
        fine = np.full(shape, NOTHING, np.uint8)
        draw_lines(fine, x, y, tails, heads, levels(tails, heads), width)
        return Plane(fine, len(tails), len(known) - len(tails))

    drawn = Plane(np.full(shape, NOTHING, np.uint8), 0, 0)
    for part in map_in_order(draw, batches, cores()):
        np.minimum(drawn.levels, part.levels, out=drawn.levels)
        drawn = Plane(drawn.levels, drawn.edges + part.edges, drawn.left_out + part.left_out)
    return drawn


def one_level(level: int) -> Levels:
    """All edges have this level."""
    return lambda tails, _: np.full(len(tails), level, np.uint8)


def by_value(values: Array, highest: float) -> Levels:
    """Levels from 0 for value 0 to FAINT - 1 for `highest`, by the mean of an edge's vertices; NOTHING if one has no value.

    `values` is float64 [P], NaN for a vertex without a value.
    """

    def levels(tails: Array, heads: Array) -> Array:
        shares = (values[tails] + values[heads]) / 2 / (highest or 1.0) * (FAINT - 1)
        return np.where(np.isnan(shares), NOTHING, np.rint(np.nan_to_num(shares))).astype(np.uint8)

    return levels


def picture(fine: Array) -> Array:
    """Reduce the levels of fine pixels to palette indices, uint8 [height, width].

    0 where no line is, else FINE² level + the number of covered fine pixels (1 to FINE²).
    """
    parts = [fine[down::FINE, right::FINE] for down in range(FINE) for right in range(FINE)]
    covered = np.sum([part != NOTHING for part in parts], axis=0, dtype=np.uint8)
    lowest = np.minimum(np.minimum.reduce(parts), FAINT)
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
