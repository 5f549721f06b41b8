"""The files of an edge list whose streets are divided: arcs, coordinates, streets, names, and the foot of each place."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.decimals import in_decimals
from kernels.graph import ID, Array
from pipeline.ingest.writer import edges_schema, store
from pipeline.steps.attaching import FEET
from pipeline.steps.attaching.dividing import Feet, Parts, divided
from pipeline.steps.attaching.lines import StreetLines
from pipeline.steps.attaching.turns import write_turns
from pipeline.store.edges import column_blocks
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import NameNumbering, VertexNames, open_names
from pipeline.store.scratch import link_or_copy
from pipeline.tables.definitions import REJECTED
from pipeline.tables.points import COORDINATES, NODES, sorted_coordinates
from pipeline.tables.row_lookup import positions_in
from pipeline.tables.streets import PART, RESTRICTIONS, STREETS, UNITS, WAYS, schema_of, way_of

# `street` is the row of the street among all of the source; `offset` millimetres along it from `src`. Of Overture's streets `way`
# is `segment`.
FEET_SCHEMA = pa.schema([
    pa.field("lon", pa.float64(), False), pa.field("lat", pa.float64(), False), pa.field("vertex", pa.int64(), False),
    pa.field("street", pa.int64(), False), pa.field("src", pa.int64(), False), pa.field("dst", pa.int64(), False),
    pa.field("way", pa.int64()), pa.field("name", pa.string()), pa.field("offset", pa.int64(), False),
    pa.field("length", pa.int64(), False), pa.field("metres", pa.float64(), False),
])  # fmt: skip


@dataclass(frozen=True)
class StopIds:
    """The ids of stops, int64 [k], and those of former vertices; the names of all, if ids are strings."""

    stops: Array
    of: Callable[[Array], Array] = lambda former: former
    names: VertexNames | None = None


def numbered(edges: Folder, lines: StreetLines, feet: Feet, beyond: int) -> StopIds:
    """New ids for stops: the first ones behind those of all vertices, and behind `beyond`; or by their names."""
    count = len(feet.stop_street)
    if (names := open_names(edges)) is not None:
        texts = names.array()
        src, dst = (texts.take(pa.array(end[feet.stop_street])).to_pylist() for end in (lines.src, lines.dst))
        at = [f"{millimetres / 1000:.3f} m" for millimetres in feet.stop_offset.tolist()]
        strings = pa.array(
            [" - ".join(ends) + f" at {where}" for *ends, where in zip(src, dst, at, strict=True)], pa.large_string()
        )
        numbering = NameNumbering.of(names, strings)
        return StopIds(numbering.names.find(strings), numbering.numbers, numbering.names)
    facts, coordinates = EdgeFacts.of(edges), sorted_coordinates(edges)
    largest = [beyond, *(facts.largest.get(end, 0) for end in ("src", "dst"))]
    largest += [facts.first_id + (facts.declared_vertices or 0) - 1] if facts.first_id is not None else []
    largest += [int(coordinates["vertex"][-1].as_py())] if coordinates is not None and len(coordinates) else []
    return StopIds(max(largest) + 1 + np.arange(count, dtype=ID))


def write(folder: Path, edges: Folder, lines: StreetLines, feet: Feet, numbering: StopIds, places: Array) -> EdgeFacts:
    """Write all files into a folder; the facts of the edge list in it.

    Args:
        places (float64 [n, 2]): Degrees, ascending, each once.
    """
    facts, schema = EdgeFacts.of(edges), edges_schema(_weight(edges))
    renumbered = replace(lines, src=numbering.of(lines.src), dst=numbering.of(lines.dst))
    parts = divided(renumbered, feet, numbering.stops)
    written = store(_arcs(edges, lines, feet, parts, numbering), schema, folder, None)
    _write_coordinates(edges, folder, feet, numbering)
    if lines.table is not None:
        _write_streets(lines.table, parts, folder)
    _write_feet(renumbered, feet, numbering, places, folder)
    if NODES in edges.manifest.files:
        table = pq.read_table(edges.path / NODES, page_checksum_verification=True)
        _save(_with_vertices(table, numbering.of(table["vertex"].to_numpy())), folder / NODES)
    if REJECTED in edges.manifest.files:
        link_or_copy(edges.path / REJECTED, folder / REJECTED)
    if facts.has_turns:
        write_turns(folder, edges, lines, feet, parts)
    if RESTRICTIONS in edges.manifest.files:  # of each, the pieces that meet at its nodes are those of its ways
        _write_restrictions(edges, numbering, folder)
    changed: dict[str, Any] = {"edges": written.edges, "largest": written.largest, "refers_to": None}
    count = len(numbering.stops)
    if facts.declared_vertices is not None:
        changed["declared_vertices"] = facts.declared_vertices + count
    if facts.coordinates:
        changed["coordinates"] = facts.coordinates.model_copy(update={"vertices": facts.coordinates.vertices + count})
    if numbering.names is not None:
        numbering.names.save(folder)
        changed["name_bytes"] = len(numbering.names.content)
    return facts.model_copy(update=changed)


def _weight(edges: Folder) -> pa.DataType:
    weight = EdgeFacts.of(edges).weight
    assert weight is not None
    return pa.type_for_alias(weight)


def in_source(units: Array, lines: StreetLines) -> Array:
    """Weights in units as the source has them."""
    return units if lines.decimals is None else in_decimals(units, lines.decimals)


def arcs_of(parts: Parts, lines: StreetLines, directed: bool) -> pa.Table:
    """The edges of parts, of each first the one along it; of an undirected graph only this one."""
    ends = np.stack([parts.src, parts.dst], axis=1)
    is_open = parts.weights >= 0
    if not directed:
        is_open[:, 1] = False
    columns = {"src": ends[is_open], "dst": ends[:, ::-1][is_open], "weight": in_source(parts.weights[is_open], lines)}
    return pa.table(columns)


def _arcs(edges: Folder, lines: StreetLines, feet: Feet, parts: Parts, numbering: StopIds) -> Iterator[pa.Table]:
    """The edges of streets; of straight streets those of divided ones, and then all others of the source."""
    directed = EdgeFacts.of(edges).directed
    if lines.table is not None:
        yield arcs_of(parts, lines, directed)
        return
    some = parts.divided
    chosen = {name: getattr(parts, name)[some] for name in ("street", "src", "dst", "length", "weights", "divided")}
    yield arcs_of(replace(parts, **chosen), lines, directed)
    gone = lines.src[feet.stop_street], lines.dst[feet.stop_street]
    for src, dst, weight in column_blocks(edges, ["src", "dst", "weight"]):
        ends = [end.cast(pa.int64()).to_numpy() for end in (src, dst)]
        kept = ~among(ends[0], ends[1], gone)
        if kept.any():
            taken = {
                "src": numbering.of(ends[0][kept]),
                "dst": numbering.of(ends[1][kept]),
                "weight": weight.filter(pa.array(kept)),
            }
            yield pa.table(taken)


def among(src: Array, dst: Array, of: tuple[Array, Array]) -> Array:
    """Which pairs of ends are, in either order, among those of others, bool [n]."""
    ids = np.unique(np.concatenate(of))
    if not len(ids):
        return np.zeros(len(src), np.bool_)

    def code(one: Array, other: Array) -> Array:
        codes: Array = np.minimum(one, other) * len(ids) + np.maximum(one, other)
        return codes

    (at, of_src), (to, of_dst) = (positions_in(ids, end) for end in (src, dst))
    wanted = code(*(np.searchsorted(ids, end) for end in of))
    contained: Array = of_src & of_dst & np.isin(code(at, to), wanted)
    return contained


def _write_coordinates(edges: Folder, folder: Path, feet: Feet, numbering: StopIds) -> None:
    table = pq.read_table(edges.path / COORDINATES, page_checksum_verification=True)
    x, y = feet.stop_points.T / UNITS
    new = pa.table({"vertex": numbering.stops, "x": x, "y": y}).cast(table.schema)
    _save(pa.concat_tables([_with_vertices(table, numbering.of(table["vertex"].to_numpy())), new]), folder / COORDINATES)


def _with_vertices(table: pa.Table, vertices: Array) -> pa.Table:
    at = table.schema.get_field_index("vertex")
    return table.set_column(at, table.schema.field(at), pa.array(vertices))


def _write_restrictions(edges: Folder, numbering: StopIds, folder: Path) -> None:
    if numbering.names is None:
        link_or_copy(edges.path / RESTRICTIONS, folder / RESTRICTIONS)
        return
    table = pq.read_table(edges.path / RESTRICTIONS, page_checksum_verification=True).combine_chunks()
    nodes, at = table["nodes"].combine_chunks(), table.schema.get_field_index("nodes")
    column = pa.ListArray.from_arrays(nodes.offsets, pa.array(numbering.of(nodes.values.to_numpy())))
    _save(table.set_column(at, table.schema.field(at), column), folder / RESTRICTIONS)


def _write_streets(table: pa.Table, parts: Parts, folder: Path) -> None:
    way = way_of(table.column_names)
    taken = table.drop_columns(["src", "dst", "forward", "backward", "length", "points"]).take(pa.array(parts.street))
    forward, backward = (pa.array(weight, mask=weight < 0) for weight in parts.weights.T)
    offsets = pa.array(2 * parts.first, pa.int32())
    columns = {
        "src": parts.src, "dst": parts.dst, "forward": forward, "backward": backward, way: taken[way],
        "class": taken["class"], "name": taken["name"], "length": parts.length,
        "points": pa.ListArray.from_arrays(offsets, pa.array(parts.points.ravel())),
    }  # fmt: skip
    columns |= {} if way == WAYS[0] else {PART: taken[PART]}
    _save(pa.table(columns).cast(schema_of(way)), folder / STREETS)


def _write_feet(lines: StreetLines, feet: Feet, numbering: StopIds, places: Array, folder: Path) -> None:
    count, street = len(places), feet.street
    stop = np.maximum(-1 - feet.vertex, 0)
    at_end = numbering.of(np.maximum(feet.vertex, 0))
    vertex = np.where(feet.vertex < 0, numbering.stops[stop], at_end) if len(numbering.stops) else at_end
    way = WAYS[0] if lines.table is None else way_of(lines.table.column_names)
    known = {} if lines.table is None else {name: lines.table[name].take(pa.array(street)) for name in (way, "name")}
    columns = {
        "lon": places[:, 0], "lat": places[:, 1], "vertex": vertex, "street": street, "src": lines.src[street],
        "dst": lines.dst[street], way: known.get(way, pa.nulls(count, pa.int64())),
        "name": known.get("name", pa.nulls(count, pa.string())), "offset": feet.offset, "length": lines.lengths[street],
        "metres": feet.metres,
    }  # fmt: skip
    place = FEET_SCHEMA.get_field_index(WAYS[0])
    schema = FEET_SCHEMA if way == WAYS[0] else FEET_SCHEMA.set(place, pa.field(way, pa.string()))
    _save(pa.table(columns).cast(schema), folder / FEET)


def _save(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)
