"""graphmill's road network of an extract: what it opens, and shortest paths over its arcs, which may obey turn restrictions."""

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
from pipeline.steps.turns.arcs import StreetArcs, read_restrictions
from pipeline.steps.turns.prefixes import forbidden_sequences
from pipeline.steps.turns.splitting import split
from pipeline.tables.streets import UNITS, read_streets


class Ours:
    """The arcs that step `edges` makes of an extract.

    Attributes:
        opens: Metres of each step that is open.
        vertices (int64 [n]): Ids of crossings and ends, ascending.
        arcs: Nodes of each arc from its source to its target.
        forbidden: Nodes one after the other that no path may take.
    """

    def __init__(self, extract: Path, osm: OsmConfig, ways: Ways, turns: bool = False) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = GraphConfig(source=str(extract), osm=osm)
            edges = ingest(config, Path(folder) / "edges")
            streets, whole = read_streets(edges).to_pylist(), StreetArcs.of(edges)
            sequences = forbidden_sequences(whole, read_restrictions(edges)) if turns else set()
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
        self.forbidden = {self._movement([self.arcs[arc] for arc in sequence]) for sequence in sequences}
        pieces = split(whole, sequences, np.zeros(len(self.arcs), np.int64), {})
        arcs, ends = pieces.movements["arc"].to_numpy(), np.stack([pieces.edges[end].to_numpy() for end in ("src", "dst")])
        ids, rows = np.unique(ends, return_inverse=True)
        self._rows, self._arcs = rows.reshape(2, -1), arcs
        metres = np.where(arcs >= 0, np.array([*lengths, 0.0])[arcs], 0)
        order = np.argsort(-metres, kind="stable")  # of parallel rows the shortest is last
        self._best = {(int(one), int(other)): row for row, one, other in zip(order.tolist(), *self._rows[:, order], strict=True)}
        chosen = np.array(list(self._best.values()))
        weights = np.maximum(metres[chosen], 1e-9)  # an entry of 0 would be no arc
        self._graph = coo_array((weights, tuple(self._rows[:, chosen])), shape=(len(ids),) * 2).tocsr()
        self.vertices = whole.ids
        self._begins, self._ends = np.searchsorted(ids, self.vertices), np.searchsorted(ids, self.vertices)
        copies = pieces.copies.filter(pieces.copies["end"])
        of = np.searchsorted(self.vertices, copies["vertex"].to_numpy())
        self._ends[of] = np.searchsorted(ids, copies["id"].to_numpy())

    @staticmethod
    def _movement(arcs: list[list[int]]) -> tuple[int, ...]:
        """The nodes from the last one of the first arc's inner nodes to the first one of the last arc's."""
        inner = [node for arc in arcs[1:-1] for node in arc[1:]]
        return (*arcs[0][-2:], *inner, arcs[-1][1])

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
        distance, before = dijkstra(self._graph, indices=self._begins[source], return_predecessors=True)
        return [self._path(source, int(target), distance, before) for target in targets]

    def _path(self, source: int, target: int, distance: Array, before: Array) -> tuple[float, list[int]] | None:
        if source == target:
            return 0.0, [int(self.vertices[source])]
        at = int(self._ends[target])
        if not np.isfinite(distance[at]):
            return None
        metres, nodes = float(distance[at]), [int(self.vertices[target])]
        while at != self._begins[source]:
            previous = int(before[at])
            arc = int(self._arcs[self._best[previous, at]])
            nodes = self.arcs[arc][:-1] + nodes if arc >= 0 else nodes
            at = previous
        return metres, nodes

    def turns_within(self, nodes: tuple[int, ...]) -> bool:
        """Whether a path over these nodes turns round within a street."""
        around = [middle for one, middle, other in zip(nodes, nodes[1:], nodes[2:], strict=False) if one == other]
        return not np.isin(around, self.vertices).all()

    def forbids(self, nodes: tuple[int, ...]) -> bool:
        """Whether a path over these nodes takes a turn that is forbidden."""
        counts = {len(movement) for movement in self.forbidden}
        return any(nodes[at : at + count] in self.forbidden for count in counts for at in range(len(nodes) - count + 1))


def _rounded(place: tuple[float, float]) -> tuple[float, float]:
    return round(place[0], 7), round(place[1], 7)
