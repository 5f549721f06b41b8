"""Maps: a network on a plane of pixels, each edge a straight line between the coordinates of its two vertices.

A network is drawn once: each fine pixel has a vertex. The colours of a map follow from values of these vertices, so that a map
costs as much as its pixels, whatever the size of the graph. A picture holds palette indices only; light and dark pages give it
different colours.
"""

import io
import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from PIL import Image, ImageDraw

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.report.raster import draw_lines
from pipeline.report.reading import Coordinates
from pipeline.runtime.threads import map_in_order
from pipeline.tables.points import cut_of

LONG_SIDE = 1400  # pixels
LEAST_SIDE = 240
MARGIN = 14
SIDE_OF_MADE = 760  # pixels across the page, where coordinates are made; as wide as a map is shown
FINE = 2  # fine pixels per pixel, each way: lines cover them, and the number covered in a pixel is its opacity
NOTHING = 255
FAINT = 62  # the level of the network's faint lines; levels 0 to 61 are colours, the lowest on top
PNG_EFFORT = 6
GROUND = "#fffefb"
# Of all coordinates, in degrees (a tenth of a micrometre), or in shares of the largest: with less, all are at one point.
LEAST_EXTENT = 1e-12
KM_PER_DEGREE = 6371.0088 * math.pi / 180
# Ranges of the colour map plasma (perceptually uniform) whose ends contrast with a light and with a dark page.
STRETCH = {"light": (0.02, 0.86), "dark": (0.32, 1.0)}
FAINT_COLOUR = {"light": ("#8d887d", 0.75), "dark": ("#77808c", 0.75)}
FOREST_COLOUR = {"light": "#0b6e69", "dark": "#5fd0c0"}
Colour = tuple[float, float, float, float]
Colours = Callable[[str], list[Colour]]


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
    km_per_pixel: float | None  # None if all coordinates are one point, or cannot be degrees of longitude and latitude
    # Latitude in degrees at which both directions have the same scale; None if the coordinates are those of a plane.
    middle: float | None
    # The coordinates of pixel (0, 0), and of one pixel to the right and down.
    corner: tuple[float, float] = (0.0, 0.0)
    step: tuple[float, float] = (0.0, 0.0)
    cut: float = -180.0  # longitudes to the west of it are drawn as those beyond 180

    def pixels(self, places: Array, turn: float = 0.0) -> Array:
        """Pixels [n, 2] of places, degrees float64 [n, 2], after a turn of the globe by so many degrees to the east."""
        pixels: Array = (places - np.subtract(self.corner, (turn, 0.0))) / np.where(self.step, self.step, 1.0)
        return pixels

    def find(self, vertices: Array) -> tuple[Array, Array]:
        """Entry [n] of each vertex, and whether it has coordinates; if not, the entry is arbitrary."""
        first, last = self.ids[0], len(self.ids) - 1
        nearest = vertices - first if self.ids[-1] - first == last else np.searchsorted(self.ids, vertices)
        entry = np.clip(nearest, 0, last)
        return entry, self.ids[entry] == vertices


def project(coordinates: Coordinates, side: int = LONG_SIDE) -> Projection:
    """Scale longitude by the cosine of the middle latitude, then both to the picture, whose longer side has `side` pixels.

    There is at least one vertex.
    """
    x, y = coordinates.x, coordinates.y
    geographic = not coordinates.made and bool((np.abs(x) <= 180).all() and (np.abs(y) <= 90).all())
    middle, cut = float(y.min() / 2 + y.max() / 2), cut_of(x) if geographic else -180.0
    x = x + 360.0 * (x < cut) if cut != -180 else x
    # On a plane the largest coordinate becomes 1, so that no extent overflows.
    unit = 1.0 if geographic else max(float(np.abs(x).max()), float(np.abs(y).max())) or 1.0
    east, north = x / unit * (math.cos(math.radians(middle)) if geographic else 1.0), y / unit
    across, down = float(np.ptp(east)), float(np.ptp(north))
    extended = max(across, down) >= LEAST_EXTENT
    scale = (side - 2 * MARGIN) / (max(across, down) if extended else 1.0)
    width, height = (max(LEAST_SIDE, math.ceil(extent * scale) + 2 * MARGIN) for extent in (across, down))
    width = side if coordinates.made else width  # so that a graph of few vertices is not a square as wide as the page
    left, top = (width - across * scale) / 2, (height - down * scale) / 2
    step = unit / scale / (math.cos(math.radians(middle)) if geographic else 1.0), -unit / scale
    return Projection(
        coordinates.ids,
        (east - east.min()) * scale + left,
        (north.max() - north) * scale + top,
        width,
        height,
        KM_PER_DEGREE / scale if geographic and extended else None,
        middle if geographic else None,
        (float(x.min()) - left * step[0], float(y.max()) - top * step[1]),
        step,
        cut,
    )  # fmt: skip


@dataclass(frozen=True)
class Plane:
    """Lines on a plane of fine pixels."""

    # int [FINE height, FINE width]: the entry in the projection of the vertex whose half of a line covers each fine pixel, the
    # lowest one; `nothing` if there is none.
    entries: Array
    # edges, left_out: edges drawn, and edges left out because a vertex has no coordinates.
    edges: int
    left_out: int

    @property
    def nothing(self) -> int:
        """What a fine pixel without a line has."""
        return int(np.iinfo(self.entries.dtype).max)

    def levels(self, of_entries: Array) -> Array:
        """The levels of the fine pixels by those of the vertices, uint8 [P]; NOTHING where no line is."""
        clipped = np.minimum(self.entries, len(of_entries))
        return np.append(of_entries, np.uint8(NOTHING))[clipped]


def blank(projection: Projection) -> Array:
    """The entries of a plane without a line."""
    dtype = np.int32 if len(projection.ids) < np.iinfo(np.int32).max else np.int64
    return np.full((FINE * projection.height, FINE * projection.width), np.iinfo(dtype).max, dtype)


def ends_of(table: pa.Table) -> Iterator[tuple[Array, Array]]:
    """Columns `src` and `dst` of a table, batch by batch."""
    return ((batch["src"].to_numpy(), batch["dst"].to_numpy()) for batch in table.to_batches())


def plane(projection: Projection, batches: Iterable[tuple[Array, Array]], dots: int = 0) -> Plane:
    """Draw edges as lines one fine pixel wide, batch by batch on all cores; each batch has arrays `src` and `dst` [n].

    With `dots`, lines are two fine pixels wide, and the vertices are dots over them, of a radius of so many fine pixels.
    """
    x, y = (np.rint(axis * FINE).astype(np.int64) for axis in (projection.x, projection.y))

    def draw(batch: tuple[Array, Array]) -> Plane:
        (tails, tail_known), (heads, head_known) = map(projection.find, batch)
        known = tail_known & head_known
        fine = blank(projection)
        draw_lines(fine, x, y, tails[known], heads[known])
        edges = int(known.sum())
        return Plane(fine, edges, len(known) - edges)

    drawn = Plane(blank(projection), 0, 0)
    for part in map_in_order(draw, batches, cores()):
        np.minimum(drawn.entries, part.entries, out=drawn.entries)
        drawn = Plane(drawn.entries, drawn.edges + part.edges, drawn.left_out + part.left_out)
    if dots:
        drawn = replace(drawn, entries=_wider(drawn.entries))
        reach = np.arange(-dots, dots + 1)
        down, across = (axis - dots for axis in np.nonzero(reach[:, None] ** 2 + reach**2 <= dots**2))
        drawn.entries[y[:, None] + down, x[:, None] + across] = np.arange(len(x))[:, None]
    return drawn


def covered(projection: Projection, areas: Iterable[Sequence[Sequence[Array]]]) -> Array:
    """The pixels, bool [height, width], in any of some areas: polygons of rings of degrees [n, 2], the outer ring first."""
    covered_pixels = np.zeros((projection.height, projection.width), np.bool_)
    turns = (0.0,) if projection.cut == -180 else (0.0, 360.0)  # what is beyond the cut on one side appears on the other
    for polygons in areas:
        image = Image.new("1", (projection.width, projection.height))
        draw = ImageDraw.Draw(image)
        pixels = [[projection.pixels(ring, turn) for ring in rings] for turn in turns for rings in polygons]
        for outer, *holes in sorted(pixels, key=lambda rings: -float(np.prod(np.ptp(rings[0], axis=0)))):  # islands in holes last
            for ring, inside in ((outer, 1), *((hole, 0) for hole in holes)):
                draw.polygon([*map(tuple, ring.tolist())], fill=inside)
        covered_pixels |= np.asarray(image)
    return covered_pixels


def by_value(values: Array, highest: float) -> Array:
    """Levels from 0 for value 0 to FAINT - 1 for `highest`, uint8 [P]; FAINT where `values`, float64 [P], is NaN."""
    shares = values / (highest or 1.0) * (FAINT - 1)
    return np.where(np.isnan(shares), FAINT, np.rint(np.nan_to_num(shares))).astype(np.uint8)


def bold(levels: Array) -> Array:
    """Widen lines by a fine pixel to the right and down, the lowest level on top; faint lines stay as they are."""
    return np.minimum(_wider(np.where(levels < FAINT, levels, NOTHING)), levels)


def _wider(lines: Array) -> Array:
    """The lowest of each fine pixel and those above, to the left, and above and to the left."""
    wide = lines.copy()
    np.minimum(wide[1:], lines[:-1], out=wide[1:])
    lines = wide.copy()
    np.minimum(wide[:, 1:], lines[:, :-1], out=wide[:, 1:])
    return wide


def picture(fine: Array) -> Array:
    """Reduce the levels of fine pixels to palette indices, uint8 [height, width].

    0 where no line is, else FINE² level + the number of covered fine pixels (1 to FINE²).
    """
    parts = [fine[down::FINE, right::FINE] for down in range(FINE) for right in range(FINE)]
    covered = np.sum([part != NOTHING for part in parts], axis=0, dtype=np.uint8)
    lowest = np.minimum(np.minimum.reduce(parts), FAINT)
    return np.where(covered, 1 + FINE**2 * lowest + covered - 1, 0).astype(np.uint8)


def pngs(indices: Array, colours: dict[str, list[Colour]]) -> dict[str, bytes]:
    """PNGs of a picture, one for each name of `colours`; the pixels are compressed once.

    `colours` have one colour per level, and the share of covered fine pixels scales a pixel's opacity.
    """
    height, width = indices.shape
    lines = zlib.compress(np.pad(indices, ((0, 0), (1, 0))).tobytes(), PNG_EFFORT)  # each line begins with its filter, 0
    files = {}
    for name, levels in colours.items():
        palette = _palette(levels)
        chunks = (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", palette[:, :3].tobytes()),
            (b"tRNS", palette[:, 3].tobytes()),
            (b"IDAT", lines),
            (b"IEND", b""),
        )
        parts = (struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)
        files[name] = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return files


def reduced(indices: Array, colours: list[Colour], side: int) -> bytes:
    """A PNG of at most `side` pixels each way, on a ground of its own."""
    shades = np.array(_palette(colours))
    ground = np.array([int(GROUND[at : at + 2], 16) for at in (1, 3, 5)])
    opacity = shades[:, 3:] / 255
    shades = np.rint(shades[:, :3] * opacity + ground * (1 - opacity)).astype(np.uint8)
    image = Image.fromarray(shades[indices])
    image.thumbnail((side, side))
    buffer = io.BytesIO()
    image.quantize(64).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _palette(colours: list[Colour]) -> Array:
    """Red, green, blue and opacity of the indices of a picture, uint8 [256, 4]."""
    shades = np.zeros((256, 4))
    for level, colour in enumerate(colours):
        for covered in range(FINE**2):
            shades[1 + FINE**2 * level + covered] = [*colour[:3], colour[3] * (covered + 1) / FINE**2]
    return np.rint(shades * 255).astype(np.uint8)


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


def rings_of(area: bytes) -> list[list[Array]]:
    """The rings of each polygon of a MultiPolygon in WKB: longitude and latitude float64 [n, 2], the outer ring first."""
    at, polygons = 9, []
    for _ in range(struct.unpack_from("<I", area, 5)[0]):
        (count,) = struct.unpack_from("<I", area, at + 5)
        at, rings = at + 9, list[Array]()
        for _ in range(count):
            (length,) = struct.unpack_from("<I", area, at)
            rings.append(np.frombuffer(area, "<f8", 2 * length, at + 4).reshape(length, 2))
            at += 4 + 16 * length
        polygons.append(rings)
    return polygons
