"""The maps of a graph with coordinates, as the page shows them: pictures, legend, scale, and what was left out."""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.colors import to_hex

from kernels.graph import Array
from pipeline.report import maps
from pipeline.report.change_tables import Moved
from pipeline.report.charts import ticks
from pipeline.report.reading import Coordinates, arcs
from pipeline.report.streets import DrawnStreets
from pipeline.report.wording import counted, number, with_unit
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

THEMES = ("light", "dark")
COLOUR_BAR_STOPS = 16
IN_FULL = 4  # maps whose longer side has `maps.LONG_SIDE` pixels; more are smaller, so that the page does not grow with them
MOST_NAMED = 12_000  # vertices that the maps name under the pointer
TICKS = 8  # of a colour bar with steps
SMALL = 420  # pixels of the longer side of a picture for Prefect
LABELLED = 60  # vertices at most, where coordinates are made, that have their names beside them
FEW_DOTS, MANY_DOTS = 9, 6  # fine pixels: radii of the dots of LABELLED vertices or fewer, and of more
MADE = "The graph has no coordinates: distances on the plane come near the numbers of arcs between vertices; places mean nothing."


@dataclass(frozen=True)
class ScaleBar:
    """A scale bar: `share` per cent of the map's width stand for the length `text`."""

    share: float
    text: str


@dataclass(frozen=True)
class Marker:
    """Position of a vertex, in per cent of width and height, and what is written beside it, if anything."""

    left: float
    top: float
    text: str


@dataclass(frozen=True)
class ColourBar:
    """Colours for each theme, evenly spaced or with the per cent where they begin and end; ticks are (per cent, text)."""

    colours: dict[str, list[str]]
    ticks: list[tuple[float, str]]
    label: str


@dataclass(frozen=True)
class Map:
    """One map: a PNG for each theme as a data URI, and its title, sentence, scale, markers and colour bar.

    `values` has a value for each vertex that the atlas names, None where it is not reached.
    """

    title: str
    sentence: str
    images: dict[str, str]
    small: str  # on a light ground, for pages that are not ours
    width: int
    height: int
    scale: ScaleBar | None
    markers: Sequence[Marker] = ()
    labels: Sequence[Marker] = ()  # names beside vertices without a marker
    bar: ColourBar | None = None
    values: Sequence[Any] = ()
    words: tuple[str, str] = ("distance", "not reached")  # before a value under the pointer, and in the place of None


class Atlas:
    """Draws up to `count` maps of one graph; the network is drawn once for all of them.

    Attributes:
        named: Vertices that a reader can point at, evenly spread over the map, for the page's script: `id`, their pixels `x` and
            `y`, and the coordinates of the first pixel and of a step of one.
    """

    def __init__(
        self,
        graph: Folder,
        coordinates: Coordinates,
        ids: Array,
        count: int,
        shown: Callable[[int], str] = str,
        streets: DrawnStreets | None = None,
    ) -> None:
        """`ids` are those of all vertices [V]; `shown` gives the text by which a reader knows a vertex."""
        self._streets, self._line = streets, "arc" if GraphFacts.of(graph).directed else "edge"
        most, few = maps.SIDE_OF_MADE if coordinates.made else maps.LONG_SIDE, len(ids) <= LABELLED
        side = max(maps.LEAST_SIDE, min(most, round(maps.LONG_SIDE * math.sqrt(IN_FULL / max(count, 1)))))
        self._made, self._dots = coordinates.made, (FEW_DOTS if few else MANY_DOTS) if coordinates.made else 0
        self._projection = maps.project(coordinates, side)
        self._network = streets.network(self._projection) if streets else maps.plane(self._projection, arcs(graph), self._dots)
        self._faint = self._network.levels(np.full(len(self._projection.ids), maps.FAINT, np.uint8))
        self._entry, self._known = self._projection.find(ids)
        self._scale, self._named = _scale(self._projection), self._spread()
        where = self._projection
        self.named = {
            "id": [*map(shown, where.ids[self._named].tolist())],
            "x": where.x[self._named].round(1).tolist(),
            "y": where.y[self._named].round(1).tolist(),
            "corner": None if coordinates.made else where.corner,
            "step": where.step,
            "width": where.width,
            "km": (where.km_per_pixel or 0) * where.width,
        }
        self._labels = self.markers({int(one): shown(int(one)) for one in ids}) if coordinates.made and few else []

    def _spread(self) -> Array:
        """Entries of at most `MOST_NAMED` vertices: all, or one of each square of the map that has a line."""
        if len(self._projection.ids) <= MOST_NAMED:
            return np.arange(len(self._projection.ids))
        entries = self._network.entries
        cell = math.ceil(math.sqrt(entries.size / MOST_NAMED))
        while math.prod(math.ceil(side / cell) for side in entries.shape) > MOST_NAMED:
            cell += 1
        rows = np.minimum.reduceat(entries, np.arange(0, entries.shape[0], cell), axis=0)
        squares = np.unique(np.minimum.reduceat(rows, np.arange(0, entries.shape[1], cell), axis=1))
        return squares[squares < self._network.nothing]

    @property
    def note(self) -> str:
        """How coordinates were mapped to pixels, and what could not be drawn."""
        middle, drawn = self._projection.middle, self._network
        line, way = ("street", "along their lines") if self._streets else (self._line, "as straight lines")
        how = MADE if self._made else "Coordinates are those of a plane, in the source's unit."
        if middle is not None:
            how = f"Longitude is scaled by cos({middle:.2f}°), so that the middle of the map has one scale."
        left_out = f" Not drawn: {counted(drawn.left_out, line)} with a vertex without coordinates." if drawn.left_out else ""
        return (
            f"{counted(drawn.edges, line)} of the graph drawn {way}; those on the same half-pixels "
            f"of {self._projection.width} by {self._projection.height} pixels are one line. {how}{left_out}"
        )

    def network(self) -> Map:
        """All vertices and arcs, in one colour."""
        levels = self._network.levels(np.zeros(len(self._projection.ids), np.uint8))
        return self._map("The graph", f"All vertices and {self._line}s.", levels, maps.forest_colours)

    def forest(self, answer: Folder) -> Map:
        """The minimum spanning forest over the faint network."""
        table = tables.read(answer.path, columns=["src", "dst", "weight"])
        where, ends = self._projection, maps.ends_of(table)
        chosen = self._streets.edges(where, table) if self._streets else maps.plane(where, ends, self._dots)
        sentence = f"The minimum spanning forest, {counted(table.num_rows, 'edge')}, over the rest of the network in grey."
        levels = chosen.levels(np.zeros(len(self._projection.ids), np.uint8))
        return self._map("The minimum spanning forest", sentence, levels, maps.forest_colours)

    def distances(self, source: int, name: str, distance: pa.ChunkedArray, unit: str) -> Map:
        """Distance [V] of all vertices from `source`, which is shown as `name`, in colour; unreached parts stay faint."""
        farthest = with_unit(pc.max(distance).as_py(), unit)
        sentence = (
            f"Shortest-path distance from vertex {name}, up to {farthest}; each half of an edge has "
            "the colour of its end, and grey edges are not reached."
        )
        return self.values(f"Distance from vertex {name}", sentence, distance, unit, self.markers({source: f"source {name}"}))

    def values(self, title: str, sentence: str, given: pa.ChunkedArray, unit: str, markers: Sequence[Marker] = ()) -> Map:
        """Values [V] of all vertices in colour; parts without a value stay faint."""
        values = np.full(len(self._projection.ids), np.nan)
        values[self._entry[self._known]] = given.cast(pa.float64(), safe=False).to_numpy()[self._known]
        highest = float(pc.max(given).as_py())
        levels = self._network.levels(maps.by_value(values, highest))
        integer = pa.types.is_integer(given.type)
        shown = [None if math.isnan(value) else int(value) if integer else value for value in values[self._named].tolist()]
        return self._map(
            title, sentence, levels, maps.distance_colours, markers=markers, bar=_colour_bar(highest, unit), values=shown
        )

    def steps(
        self,
        text: tuple[str, str],
        of: tuple[Sequence[float], str],
        within: Array,
        areas: Sequence[Sequence[bytes | None]],
        markers: Sequence[Marker],
    ) -> Map:
        """Each vertex in the colour of the smallest threshold that it is within, over the areas of the thresholds.

        Args:
            text: Title and sentence.
            of: The thresholds [T], ascending, and their unit.
            within: float64 [V]: the number of the vertex's threshold, NaN where there is none.
            areas: For each threshold, MultiPolygons in WKB.
        """
        thresholds, unit = of
        highest = max(len(thresholds) - 1, 1)
        values = np.full(len(self._projection.ids), np.nan)
        values[self._entry[self._known]] = within[self._known]
        colours = maps.by_value(np.arange(len(thresholds), dtype=np.float64), highest)
        ground = np.full((self._projection.height, self._projection.width), maps.NOTHING, np.uint8)
        for level, polygons in reversed([*zip(colours, areas, strict=False)]):
            ground[maps.covered(self._projection, [maps.rings_of(area) for area in polygons if area])] = level
        levels = self._network.levels(maps.by_value(values, highest))
        shown = [None if math.isnan(value) else thresholds[int(value)] for value in values[self._named].tolist()]
        return self._map(
            *text, levels, maps.distance_colours, ground, markers=markers,
            bar=_steps(thresholds, colours, unit), values=shown, words=("within", "not within a threshold"),
        )  # fmt: skip

    def changes(self, moved: Moved) -> Map:
        """How far the vertices have moved since the run before, in colour; what has not changed stays faint."""
        values = np.full(len(self._projection.ids), np.nan)
        values[self._entry[self._known]] = moved.by[self._known]
        if not moved.stage:
            levels = self._network.levels(np.where(np.isnan(values), maps.FAINT, 0).astype(np.uint8))
            sentence = f"{moved.sentence} Each half of an edge has the colour of its end; unchanged ones are grey."
            return self._map("Changes since the last run", sentence, levels, maps.forest_colours)
        finite = values[np.isfinite(values)]
        highest = float(finite.max()) if len(finite) else 1.0
        shown = [None if math.isnan(value) else _short(value, moved.integer) for value in values[self._named].tolist()]
        levels = self._network.levels(maps.by_value(np.minimum(values, highest), highest))
        sentence = (
            f"{moved.sentence} The colour shows the largest change of the distance from a source. Vertices that are reached only "
            "before or only now have the last colour, and unchanged ones are grey."
        )
        return self._map(
            "Changes since the last run", sentence, levels, maps.distance_colours,
            bar=_colour_bar(highest, f"change, {moved.unit}"), values=shown, words=("distance changed by", "unchanged"),
        )  # fmt: skip

    def _map(
        self, title: str, sentence: str, levels: Array, colours: maps.Colours, ground: Array | None = None, **parts: Any
    ) -> Map:
        """A map of the levels of fine pixels; `ground`, uint8 [height, width], has the levels of pixels below the lines."""
        fine = np.minimum(maps.bold(levels), self._faint)
        if ground is not None:
            one = fine[:: maps.FINE, :: maps.FINE]  # of the fine pixels of each pixel: the ground is pale
            one[one == maps.NOTHING] = ground[one == maps.NOTHING]
        picture, where = maps.picture(fine), self._projection
        images = {theme: _data_uri(png) for theme, png in maps.pngs(picture, {theme: colours(theme) for theme in THEMES}).items()}
        small = _data_uri(maps.reduced(picture, colours("light"), SMALL))
        marked = {(marker.left, marker.top) for marker in parts.get("markers", ()) if marker.text}
        parts["labels"] = [label for label in self._labels if (label.left, label.top) not in marked]
        return Map(title, sentence, images, small, where.width, where.height, self._scale, **parts)

    def markers(self, texts: Mapping[int, str]) -> list[Marker]:
        """Markers of vertices by their external ids, without those that have no coordinates."""
        where, vertices = self._projection, np.array([*texts], np.int64)
        entries, known = where.find(vertices)
        shares = np.stack([where.x[entries] / where.width, where.y[entries] / where.height], axis=1)
        placed = zip((100 * shares).round(2).tolist(), texts.values(), known, strict=True)
        return [Marker(left, top, text) for (left, top), text, has_place in placed if has_place]


def _short(value: float, integer: bool) -> float | int | str:
    """A change for the page's script; JSON has no infinity."""
    if math.isinf(value):
        return "reached only before, or only now"
    return int(value) if integer else value


def _scale(projection: maps.Projection) -> ScaleBar | None:
    """A scale bar of a round length, at most a quarter of the map's width."""
    if projection.km_per_pixel is None:
        return None
    quarter = projection.width * projection.km_per_pixel / 4
    power = 10.0 ** np.floor(np.log10(quarter))
    length = max(step * power for step in (1, 2, 5) if step * power <= quarter)
    text = f"{length:g} km" if length >= 1 else f"{length * 1000:g} m"
    return ScaleBar(round(100 * length / projection.km_per_pixel / projection.width, 2), text)


def _colour_bar(highest: float, unit: str) -> ColourBar:
    colours = {
        theme: [to_hex(maps.distance_colours(theme)[round(stop)]) for stop in np.linspace(0, maps.FAINT - 1, COLOUR_BAR_STOPS)]
        for theme in THEMES
    }
    marked = [tick for tick in ticks(0, highest, 4) if tick <= highest] if highest else [0.0]
    return ColourBar(colours, [(round(100 * tick / (highest or 1), 2), number(tick)) for tick in marked], unit)


def _steps(thresholds: Sequence[float], levels: Array, unit: str) -> ColourBar:
    """A colour bar with a step for each threshold, and up to TICKS of them written where they end."""
    ends = [round(100 * (number + 1) / len(thresholds), 2) for number in range(len(thresholds))]
    colours = {
        theme: [f"{to_hex(shades[level])} {begin}% {end}%" for level, begin, end in zip(levels, [0, *ends], ends, strict=False)]
        for theme in THEMES
        for shades in [maps.distance_colours(theme)]
    }
    each = math.ceil(len(thresholds) / TICKS)
    marked = [(end, number(value)) for end, value in zip(ends, thresholds, strict=True)][::-1][::each][::-1]
    return ColourBar(colours, [(0.0, "0"), *marked], f"within, {unit}")


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
