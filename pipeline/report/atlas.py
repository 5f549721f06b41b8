"""The maps of a graph with coordinates, as the page shows them: pictures, legend, scale, and what was left out."""

import base64
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.colors import to_hex

from kernels.cpu.parallel import over_items
from kernels.graph import Array
from pipeline.report import maps
from pipeline.report.charts import ticks
from pipeline.report.reading import Coordinates
from pipeline.report.wording import counted, number
from pipeline.store.edges import id_blocks
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

THEMES = ("light", "dark")
FAINT_WIDTH, WIDTH = 1, 2  # fine pixels
COLOUR_BAR_STOPS = 16


@dataclass(frozen=True)
class Scale:
    """A scale bar: `share` per cent of the map's width stand for the length `text`."""

    share: float
    text: str


@dataclass(frozen=True)
class Marker:
    """Position of a vertex, in per cent of width and height."""

    left: float
    top: float
    text: str


@dataclass(frozen=True)
class ColourBar:
    """Evenly spaced colours for each theme; ticks are (per cent of the bar, text)."""

    colours: dict[str, list[str]]
    ticks: list[tuple[float, str]]
    label: str


@dataclass(frozen=True)
class Map:
    """One map: a PNG for each theme as a data URI, and its title, sentence, scale, marker and colour bar."""

    title: str
    sentence: str
    images: dict[str, str]
    width: int
    height: int
    scale: Scale | None
    marker: Marker | None = None
    bar: ColourBar | None = None


class Atlas:
    """Draws the maps of one graph; the faint network is drawn once for all of them."""

    def __init__(self, edges: Folder, coordinates: Coordinates) -> None:
        self._edges = edges
        self._projection = maps.project(coordinates)
        self._network = maps.plane(self._projection, id_blocks(edges), FAINT_WIDTH, maps.one_level(maps.FAINT))
        self.scale = _scale(self._projection)

    @property
    def note(self) -> str:
        """How coordinates were mapped to pixels, and what could not be drawn."""
        middle, drawn = self._projection.middle, self._network
        how = (
            "Coordinates are those of a plane, in the source's unit."
            if middle is None
            else f"Longitude is scaled by cos({middle:.2f}°), so that the middle of the map has one scale."
        )
        left_out = f" Not drawn: {counted(drawn.left_out, 'edge')} with a vertex without coordinates." if drawn.left_out else ""
        return (
            f"{counted(drawn.edges, 'edge')} of the edge list drawn as straight lines; those on the same half-pixels "
            f"of {self._projection.width} by {self._projection.height} pixels are one line. {how}{left_out}"
        )

    def forest(self, answer: Folder) -> Map:
        """The minimum spanning forest over the faint network."""
        table = tables.read(answer.path, columns=["src", "dst"])
        batches = ((batch["src"].to_numpy(), batch["dst"].to_numpy()) for batch in table.to_batches())
        chosen = maps.plane(self._projection, batches, WIDTH, maps.one_level(0))
        sentence = f"The minimum spanning forest, {counted(table.num_rows, 'edge')}, over the rest of the network in grey."
        return self._map("The minimum spanning forest", sentence, chosen, maps.forest_colours)

    def distances(self, ids: Array, source: int, distance: pa.ChunkedArray) -> Map:
        """Distance [V] of `ids` [V] from `source` in colour; unreached parts stay faint."""
        entry, known = self._projection.find(ids)
        values = np.full(len(self._projection.ids), np.nan)
        values[entry[known]] = distance.cast(pa.float64(), safe=False).to_numpy()[known]
        farthest = pc.max(distance).as_py()
        highest = float(farthest)
        drawn = maps.plane(self._projection, id_blocks(self._edges), WIDTH, maps.by_value(values, highest))
        sentence = (
            f"Shortest-path distance from vertex {source}, up to {number(farthest)} (sum of weights); an edge has the mean of "
            "its two vertices. Where lines meet, the nearest is on top; grey edges are not reached."
        )
        drawn_map = self._map(f"Distance from vertex {source}", sentence, drawn, maps.distance_colours)
        return replace(drawn_map, marker=self._marker(source), bar=_colour_bar(highest))

    def _map(self, title: str, sentence: str, drawn: maps.Plane, colours: maps.Colours) -> Map:
        picture = maps.picture(np.minimum(drawn.levels, self._network.levels))
        encoded = over_items(THEMES, lambda theme: _data_uri(maps.png(picture, colours(theme))), parallel=True)
        images = dict(zip(THEMES, encoded, strict=True))
        return Map(title, sentence, images, self._projection.width, self._projection.height, self.scale)

    def _marker(self, vertex: int) -> Marker | None:
        entry, known = self._projection.find(np.array([vertex]))
        if not known[0]:
            return None
        left, top = self._projection.x[entry[0]] / self._projection.width, self._projection.y[entry[0]] / self._projection.height
        return Marker(round(100 * left, 2), round(100 * top, 2), str(vertex))


def _scale(projection: maps.Projection) -> Scale | None:
    """A scale bar of a round length, at most a quarter of the map's width."""
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
    marked = [tick for tick in ticks(0, highest, 4) if tick <= highest] if highest else [0.0]
    return ColourBar(colours, [(round(100 * tick / (highest or 1), 2), number(tick)) for tick in marked], "sum of weights")


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
