"""Paths by NetworkX on the graph that OSMnx makes."""

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx as nx
import osmium
import osmnx
from osmium.osm import mutable

from benchmarks.roads.osmnx_internals import filter_of, keep_tag

Place = tuple[float, float]
NETWORKS = {"car": "drive_service", "bicycle": "bike", "foot": "walk"}
_CONDITION = re.compile(r'\["([^"]+)"(?:(!?~)"([^"]+)")?\]')
_NEW = 10**12  # ids of parts of ways


class OsmNx:
    """OSMnx's graph of an extract, whose ways are those that its queries ask Overpass for; it knows no barriers and no turns."""

    name, version = "OSMnx", f"{version('osmnx')}, NetworkX {version('networkx')}"

    def __init__(self, extract: Path, profile: str, folder: Path, turns: bool) -> None:
        path = folder / "roads.osm"
        conditions = _CONDITION.findall(filter_of(NETWORKS[profile]))
        _write(extract, path, conditions)
        keep_tag("oneway:bicycle")
        graph = osmnx.graph_from_xml(path, bidirectional=profile == "foot", simplify=False, retain_all=True)
        self._graph = nx.DiGraph(graph)  # parallel edges join the same two nodes: they are as long
        self._at = {(round(data["x"], 7), round(data["y"], 7)): node for node, data in graph.nodes(data=True)}
        self._tree: tuple[int, dict[int, list[int]]] | None = None

    def path(self, source: Place, target: Place, at_most: float | None = None) -> list[Place] | None:
        """The points of a shortest path between two places."""
        ends = [self._at.get((round(lon, 7), round(lat, 7))) for lon, lat in (source, target)]
        if None in ends:
            return None
        nodes = self._nodes(*ends, at_most)
        return nodes and [(self._graph.nodes[node]["x"], self._graph.nodes[node]["y"]) for node in nodes]

    def _nodes(self, source: int, target: int, at_most: float | None) -> list[int] | None:
        if at_most is not None:
            try:
                return list(nx.single_source_dijkstra(self._graph, source, target, at_most, weight="length")[1])
            except nx.NetworkXNoPath:
                return None
        if self._tree is None or self._tree[0] != source:
            self._tree = (source, nx.dijkstra_predecessor_and_distance(self._graph, source, weight="length")[0])
        before = self._tree[1]
        if target not in before:
            return None
        nodes = [target]
        while nodes[-1] != source:
            nodes.append(before[nodes[-1]][0])
        return nodes[::-1]


def _write(extract: Path, path: Path, conditions: list[tuple[str, str, str]]) -> None:
    """Write the ways that fulfil conditions of Overpass, without gaps, and all nodes."""
    with osmium.SimpleWriter(str(path)) as writer:
        places = set[int]()
        for each in osmium.FileProcessor(str(extract), osmium.osm.NODE | osmium.osm.WAY):
            if each.is_node():
                places.add(each.id)
                writer.add_node(mutable.Node(id=each.id, location=(each.location.lon, each.location.lat)))
            elif _fulfils(dict(each.tags), conditions):
                parts = list(_parts([node.ref for node in each.nodes], places))
                for number, nodes in enumerate(parts):
                    writer.add_way(mutable.Way(id=each.id + _NEW * number, nodes=nodes, tags=dict(each.tags)))


def _fulfils(tags: dict[str, str], conditions: list[tuple[str, str, str]]) -> bool:
    for key, sign, values in conditions:
        found = key in tags and (not values or re.search(values, tags[key]) is not None)
        if found == sign.startswith("!"):
            return False
    return True


def _parts(nodes: list[int], places: set[int]) -> Iterator[list[Any]]:
    part = list[int]()
    for node in [*nodes, -1]:
        if node in places:
            part.append(node)
            continue
        if len(part) > 1:
            yield part
        part = []
