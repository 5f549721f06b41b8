"""graphmill's road network of an extract: what it opens, and shortest paths over its arcs."""

import tempfile
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from benchmarks.roads.ways import Step, Ways
from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.config.roads import OsmConfig
from pipeline.ingest import ingest
from pipeline.tables.streets import UNITS, read_streets


class Ours:
    """The arcs that step `edges` makes of an extract.

    Attributes:
        opens: Metres of each step that is open.
        vertices (int64 [n]): Ids of crossings and ends, ascending.
        arcs: Nodes of each arc from its source to its target.
    """

    def __init__(self, extract: Path, osm: OsmConfig, ways: Ways) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = GraphConfig(source=str(extract), osm=osm)
            streets = read_streets(ingest(config, Path(folder) / "edges")).to_pylist()
        self.opens: dict[Step, float] = {}
        self.arcs: list[list[int]] = []
        lengths: list[float] = []
        for street in streets:
            nodes = self._nodes(street, ways)
            for weight, course in ((street["forward"], nodes), (street["backward"], nodes[::-1])):
                if weight is not None:
                    self.arcs.append(course)
                    lengths.append(weight / 1000)
                    self.opens |= {step: ways.metres(*step) for step in pairwise(course)}
        self._lengths = np.array(lengths)
        ends = np.array([(course[0], course[-1]) for course in self.arcs])
        self.vertices = np.unique(ends)
        self._rows = np.searchsorted(self.vertices, ends)
        order = np.argsort(-self._lengths, kind="stable")  # of parallel arcs the shortest is last
        self._best = {(int(one), int(other)): arc for arc, (one, other) in zip(order.tolist(), self._rows[order], strict=True)}
        chosen = np.array(list(self._best.values()))
        lengths = np.maximum(self._lengths[chosen], 1e-9)  # an entry of 0 would be no arc
        self._graph = coo_array((lengths, tuple(self._rows[chosen].T)), shape=(len(self.vertices),) * 2).tocsr()

    @staticmethod
    def _nodes(street: dict[str, Any], ways: Ways) -> list[int]:
        """The ids of the nodes of a street, which is a part of its way."""
        places = [(x / UNITS, y / UNITS) for x, y in zip(street["points"][::2], street["points"][1::2], strict=True)]
        nodes = [node for node, _ in groupby(ways.nodes[street["way"]])]
        for first in (at for at, node in enumerate(nodes) if node == street["src"]):
            part = nodes[first : first + len(places)]
            if part[-1] == street["dst"] and [_rounded(ways.places[node]) for node in part] == [
                _rounded(place) for place in places
            ]:
                return part
        raise AssertionError(f"a street of way {street['way']} is no part of it")

    def paths(self, source: int, targets: Array) -> list[tuple[float, list[int]] | None]:
        """Metres and nodes of a shortest path to each target, None where there is none; vertices are rows of `vertices`."""
        distance, before = dijkstra(self._graph, indices=source, return_predecessors=True)
        return [self._path(source, int(target), distance, before) for target in targets]

    def _path(self, source: int, target: int, distance: Array, before: Array) -> tuple[float, list[int]] | None:
        if not np.isfinite(distance[target]):
            return None
        nodes, at = [int(self.vertices[target])], target
        while at != source:
            previous = int(before[at])
            nodes = self.arcs[self._best[previous, at]][:-1] + nodes
            at = previous
        return float(distance[target]), nodes


def _rounded(place: tuple[float, float]) -> tuple[float, float]:
    return round(place[0], 7), round(place[1], 7)
