"""The ways of an extract by pyosmium, with all their tags, whatever a profile makes of them."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import osmium
from scipy.spatial import cKDTree

from kernels.graph import Array

RADIUS = 6_371_008.8  # metres
NEAR = 0.4  # metres within which a point of a router is a node: routers keep six decimals of a degree
Step = tuple[int, int]  # from a node to the next one of a way


@dataclass
class Ways:
    """Ways that may be streets.

    Attributes:
        tags: Of each way, by its id.
        nodes: Ids of the nodes of each way.
        node_tags: Of nodes that have some.
        places: Longitudes and latitudes of nodes.
        passing: The ways that have each node.
        cut: Ways with nodes that are not in the file.
        steps: The ways that have a node beside another one, in either direction.
    """

    tags: dict[int, dict[str, str]] = field(default_factory=dict)
    nodes: dict[int, list[int]] = field(default_factory=dict)
    node_tags: dict[int, dict[str, str]] = field(default_factory=dict)
    places: dict[int, tuple[float, float]] = field(default_factory=dict)
    passing: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    cut: set[int] = field(default_factory=set)
    steps: dict[Step, list[int]] = field(default_factory=lambda: defaultdict(list))

    @staticmethod
    def of(extract: Path) -> "Ways":
        """The ways of a file."""
        ways = Ways()
        for each in osmium.FileProcessor(str(extract), osmium.osm.NODE | osmium.osm.WAY):
            if each.is_node():
                ways.places[each.id] = (each.location.lon, each.location.lat)
                if len(each.tags):
                    ways.node_tags[each.id] = dict(each.tags)
            elif "highway" in each.tags or "route" in each.tags or "railway" in each.tags:
                ways.tags[each.id] = dict(each.tags)
                ways.nodes[each.id] = [node.ref for node in each.nodes if node.ref in ways.places]
                if len(ways.nodes[each.id]) < len(each.nodes):
                    ways.cut.add(each.id)
                for node in ways.nodes[each.id]:
                    ways.passing[node].add(each.id)
                for one, other in pairwise(ways.nodes[each.id]):
                    ways.steps[one, other].append(each.id)
                    ways.steps[other, one].append(each.id)
        ways._index()
        return ways

    def _index(self) -> None:
        self._ids = np.array(sorted({node for nodes in self.nodes.values() for node in nodes}), np.int64)
        self._tree = cKDTree(_vectors(np.array([self.places[node] for node in self._ids.tolist()])))

    def nodes_at(self, points: list[tuple[float, float]]) -> list[list[int]]:
        """The nodes of ways near each point."""
        vectors = _vectors(np.array(points))
        return [self._ids[near].tolist() for near in self._tree.query_ball_point(vectors, NEAR)]

    def metres(self, one: int, other: int) -> float:
        """The distance of two nodes."""
        return metres(self.places[one], self.places[other])


def metres(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The haversine distance of two places in degrees."""
    (lon, lat), (to_lon, to_lat) = (map(math.radians, place) for place in (one, other))
    half = math.sin((to_lat - lat) / 2) ** 2 + math.cos(lat) * math.cos(to_lat) * math.sin((to_lon - lon) / 2) ** 2
    return 2 * RADIUS * math.asin(min(1, math.sqrt(half)))


def _vectors(places: Array) -> Array:
    lon, lat = np.deg2rad(places.T)
    return RADIUS * np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
