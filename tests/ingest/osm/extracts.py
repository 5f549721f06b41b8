"""Small extracts of OpenStreetMap that pyosmium writes, and a slow second reader of them, which uses nothing of the first."""

import math
from collections import Counter
from pathlib import Path

import osmium
from osmium.osm import mutable

from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest
from pipeline.tables import files as tables

RADIUS = 6_371_008.8


class Node:
    def __init__(self, id, lon, lat, **tags):
        self.id, self.lon, self.lat, self.tags = id, lon, lat, {name.replace("__", ":"): text for name, text in tags.items()}


class Way:
    def __init__(self, id, nodes, tags=None, **more):
        self.id, self.nodes, self.tags = id, nodes, {"highway": "residential"} if tags is None else dict(tags)
        self.tags |= more


class Turn:
    """A turn restriction: the ids of its ways and, as `via`, of a node; several ways before the last one are `via`."""

    def __init__(self, id, ways, via=None, kind="no_left_turn", **tags):
        between = [("n", via, "via")] if via is not None else [("w", way, "via") for way in ways[1:-1]]
        self.id, self.members = id, [("w", ways[0], "from"), *between, ("w", ways[-1], "to")]
        self.tags = {"type": "restriction", "restriction": kind} | {name.replace("__", ":"): text for name, text in tags.items()}
        self.tags = {name: text for name, text in self.tags.items() if text is not None}


def write(path: Path, nodes, ways, form: str = "", turns=()) -> Path:
    """Write an extract; `form` has options of osmium, such as `pbf,pbf_compression=none`."""
    path.unlink(missing_ok=True)
    with osmium.SimpleWriter(osmium.io.File(str(path), form) if form else str(path)) as writer:
        for node in nodes:
            writer.add_node(mutable.Node(id=node.id, location=(node.lon, node.lat), tags=node.tags))
        for way in ways:
            writer.add_way(mutable.Way(id=way.id, nodes=way.nodes, tags=way.tags))
        writer.add_relation(mutable.Relation(id=1, members=[("w", 1, "from")], tags={"type": "route"}))
        for turn in turns:
            writer.add_relation(mutable.Relation(id=turn.id, members=turn.members, tags=turn.tags))
    return path


def read(path: Path, work: Path, **keys):
    """The folder of the edge list of an extract."""
    weights = keys.pop("columns", {})
    return ingest(GraphConfig(source=str(path), osm={"profile": "car"} | keys, columns=weights), work)


def arcs_of(edges) -> list[tuple[int, ...]]:
    table = tables.read(edges.path)
    return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def metres(one, other) -> float:
    """The haversine formula by the library's functions."""
    (lon, lat), (to_lon, to_lat) = (map(math.radians, place) for place in (one, other))
    half = math.sin((to_lat - lat) / 2) ** 2 + math.cos(lat) * math.cos(to_lat) * math.sin((to_lon - lon) / 2) ** 2
    return 2 * RADIUS * math.asin(min(1, math.sqrt(half)))


def expected(path: Path, opens, blocks=frozenset()) -> list[tuple[int, ...]]:
    """The arcs of an extract that weigh millimetres, in their order, by pyosmium's reader and the definition.

    Args:
        opens: Of a way's tags, whether it is open along its nodes and against them; None if it is no street.
        blocks: Values of `barrier`.
    """
    places, closed, ways = {}, set(), {}
    for each in osmium.FileProcessor(str(path)):
        if each.is_node() and each.id not in places:
            places[each.id] = (round(each.location.lon, 7), round(each.location.lat, 7))
            if each.tags.get("barrier") in blocks:
                closed.add(each.id)
        elif each.is_way() and each.id not in ways and opens(dict(each.tags)):
            ways[each.id] = ([node.ref for node in each.nodes], opens(dict(each.tags)))
    parts, seen = [], Counter()
    for refs, directions in ways.values():
        for part in _parts(refs, lambda node: node in places and node not in closed):
            parts.append((part, directions))
            seen.update(part)
            seen.update(part[:1] + part[-1:])
    arcs = []
    for part, directions in parts:
        begin = 0
        for place in range(1, len(part)):
            if seen[part[place]] > 1:
                steps = zip(part[begin:place], part[begin + 1 : place + 1], strict=True)
                length = sum(round(1000 * metres(places[one], places[other])) for one, other in steps)
                arcs += [(part[begin], part[place], length)] * directions[0] + [(part[place], part[begin], length)] * directions[
                    1
                ]
                begin = place
    return arcs


def _parts(refs, passable):
    """The runs of nodes between gaps, of two nodes or more; a node that comes twice in a row is one."""
    parts = [[]]
    for node in refs:
        if not passable(node):
            parts.append([])
        elif parts[-1][-1:] != [node]:
            parts[-1].append(node)
    return [part for part in parts if len(part) > 1]
