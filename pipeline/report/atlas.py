"""The two maps of a graph with coordinates, as the page shows them: pictures, legend, scale and what was left out."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.colors import to_hex
from matplotlib.ticker import MaxNLocator

from kernels.graph import Array
from pipeline.report import maps
from pipeline.report.reading import Places, edge_batches
from pipeline.report.wording import counted, number
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

THEMES = ("light", "dark")
FAINT_WIDTH, WIDTH = 1, 2  # fine pixels
COLOUR_BAR_STOPS = 16


@dataclass(frozen=True)
class Scale:
    """A bar of `share` per cent of the map's width that is `text` long."""

    share: float
    text: str


@dataclass(frozen=True)
class Marker:
    """Where a vertex lies, in per cent of width and height."""

    left: float
    top: float
    text: str


@dataclass(frozen=True)
class ColourBar:
    """Colours a theme, evenly spaced; ticks at per cent of the bar."""

    colours: dict[str, list[str]]
    ticks: list[tuple[float, str]]
    label: str


@dataclass(frozen=True)
class Map:
    """One map: a PNG a theme as a data URI, and what lies over and below it."""

    title: str
    says: str
    images: dict[str, str]
    width: int
    height: int
    scale: Scale | None
    marker: Marker | None = None
    bar: ColourBar | None = None


class Atlas:
    """Draws the maps of one graph; the network is laid once for all of them."""

    def __init__(self, edges: Folder, places: Places) -> None:
        self._edges = edges
        self._projection = maps.project(places)
        self._network = maps.lines(self._projection, edge_batches(edges))
        self.scale = _scale(self._projection)

    @property
    def note(self) -> str:
        """How coordinates become pixels, and what could not be drawn."""
        middle, drawn = self._projection.middle, self._network
        how = (
            "Coordinates are read as a plane's, in the source's unit."
            if middle is None
            else f"Longitude is scaled by cos({middle:.2f}°), so that east and north have one scale in the middle of the map."
        )
        left_out = f" Not drawn: {counted(drawn.homeless, 'edge')} with an end that has no coordinates." if drawn.homeless else ""
        return (
            f"{counted(drawn.edges, 'edge')} of the edge list drawn as straight lines; those that fall on the same half-pixels "
            f"of {self._projection.width} by {self._projection.height} pixels are one line. {how}{left_out}"
        )

    def forest(self, answer: Folder) -> Map:
        """The minimum spanning forest over the faint network."""
        table = tables.read(answer.path, columns=["src", "dst"])
        chosen = maps.lines(self._projection, [(table["src"].to_numpy(), table["dst"].to_numpy())])
        layers = [
            (self._network.ends, np.full(len(self._network.ends), maps.FAINT, np.uint8), FAINT_WIDTH),
            (chosen.ends, np.zeros(len(chosen.ends), np.uint8), WIDTH),
        ]
        says = f"The minimum spanning forest, {counted(table.num_rows, 'edge')}, over the rest of the network in grey."
        return self._map("The minimum spanning forest", says, layers, maps.forest_colours)

    def distances(self, ids: Array, source: int, distance: pa.ChunkedArray) -> Map:
        """Distance [V] of `ids` [V] from `source` in colour; what it does not reach stays faint."""
        place, has_place = self._projection.find(ids)
        values = np.full(len(self._projection.ids), np.nan)
        values[place[has_place]] = distance.cast(pa.float64(), safe=False).to_numpy()[has_place]
        drawn = maps.lines(self._projection, edge_batches(self._edges), values)
        farthest = pc.max(distance).as_py()
        highest = float(farthest)
        level = maps.levels(drawn, highest)
        faint = level == maps.FAINT
        layers = [(drawn.ends[faint], level[faint], FAINT_WIDTH), (drawn.ends[~faint], level[~faint], WIDTH)]
        says = (
            f"Shortest-path distance from vertex {source}, the mean of an edge's ends, up to {number(farthest)} (sum of "
            "weights). Where lines meet, the nearest is on top; grey is not reached."
        )
        return self._map(
            f"Distance from vertex {source}", says, layers, maps.distance_colours, self._marker(source), _colour_bar(highest)
        )

    def _map(
        self, title: str, says: str, layers: list[tuple[Array, Array, int]], colours: maps.Colours,
        marker: Marker | None = None, bar: ColourBar | None = None,
    ) -> Map:  # fmt: skip
        picture = maps.picture(self._projection, layers)
        images = {theme: _data_uri(maps.png(picture, colours(theme))) for theme in THEMES}
        return Map(title, says, images, self._projection.width, self._projection.height, self.scale, marker, bar)

    def _marker(self, vertex: int) -> Marker | None:
        place, found = self._projection.find(np.array([vertex]))
        if not found[0]:
            return None
        left, top = self._projection.x[place[0]] / self._projection.width, self._projection.y[place[0]] / self._projection.height
        return Marker(round(100 * left, 2), round(100 * top, 2), str(vertex))


def _scale(projection: maps.Projection) -> Scale | None:
    """A round length of about a quarter of the map's width."""
    if projection.km_per_pixel is None:
        return None
    quarter = projection.width * projection.km_per_pixel / 4
    power = 10.0 ** np.floor(np.log10(quarter))
    length = max(step * power for step in (1, 2, 5) if step * power <= quarter)
    text = f"{length:g} km" if length >= 1 else f"{length * 1000:g} m"
    return Scale(round(100 * length / projection.km_per_pixel / projection.width, 2), text)


def _colour_bar(highest: float) -> ColourBar:
    colours = {
        theme: [to_hex(maps.distance_colours(theme)[round(stop)]) for stop in np.linspace(0, maps.FAINT - 1, COLOUR_BAR_STOPS)]
        for theme in THEMES
    }
    ticks = [tick for tick in MaxNLocator(4).tick_values(0, highest) if 0 <= tick <= highest] if highest else [0.0]
    return ColourBar(colours, [(round(100 * tick / (highest or 1), 2), number(tick)) for tick in ticks], "sum of weights")


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
