"""What a run reads: every file, how it is read, and how many rows it has."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.graph import GraphConfig
from pipeline.config.products.zones import has_shapes, is_zone_file
from pipeline.config.run import RunConfig
from pipeline.ingest.feed import files_here
from pipeline.ingest.formats.detect import by_name
from pipeline.ingest.formats.parquet import is_parquet
from pipeline.ingest.source import locate
from pipeline.redaction import redacted
from pipeline.report.wording import counted, read_as
from pipeline.steps.pairs import ENDS
from pipeline.steps.pairs.placed import AXES, has_coordinates
from pipeline.steps.places.files import placed_in
from pipeline.steps.places.placed import Placed
from pipeline.steps.products.attributes import of_rows
from pipeline.steps.products.vertices import count_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import EdgeFacts
from pipeline.store.facts.run import InputFacts
from pipeline.store.manifest import Folder
from pipeline.tables.points import NODES
from pipeline.units import length

SHOWN = 5  # files of a source of many
_STATED = ("delimiter", "encoding", "decimal", "thousands", "null", "crs")  # keys that are shown where they are set


@dataclass(frozen=True)
class CustomStage:
    """A stage that the user wrote, whose file is valid and was not run; and what its table would be, such as "not proved"."""

    file: str
    sha256: str
    proof: str


@dataclass(frozen=True)
class InputFile:
    """A file, or a column of one, that a run reads."""

    key: str  # that names it
    file: str  # as the configuration names it
    rows: int | None  # None of what has no rows
    how: str  # it is read, for people


def inputs_of(
    config: RunConfig, edges: Folder, graph: Folder, read: InputFacts, programs: Mapping[str, CustomStage], runtime: Runtime
) -> list[InputFile]:
    """What a run reads, in the order in which it does; of a source of many files the first ones, and the others together."""
    files = [*_source(config.graph, read), *_tables_of_nodes(config.graph, edges, read)]
    files += _columns(config, edges, graph, runtime)
    listed = [(key, len(vertices)) for key, vertices in config.lists_by_key.items() if vertices]
    files += [InputFile(key, "", count, "vertices that the configuration lists, or its text file") for key, count in listed]
    files += [_vertices(key, file, edges, graph, runtime) for key, file in config.files_by_key.items()]
    weights = {f"{name}.pairs": getattr(table, "weight", None) for name, table in config.of_products.items()}
    files += [_pairs(key, file, weights.get(key)) for key, file in config.pairs_by_key.items()]
    files += [
        InputFile(f"custom.{name}", it.file, None, f"program, which a run would execute; its table would be {it.proof}")
        for name, it in programs.items()
    ]
    return [*files, *_arrivals(config)]


def _source(graph: GraphConfig, read: InputFacts) -> Iterator[InputFile]:
    """The source of the edges, and its files if there are several."""
    how = read_as(read)["Format"]
    more = [*_options(graph), *([] if graph.ids == "auto" else [f"ids {graph.ids}"])]
    files, name = read.source.files, redacted(", ".join(graph.entries))
    in_all = f"{files.count:,} files, " if files else ""
    yield InputFile("graph.source", name, _rows(read), "; ".join([in_all + how, *more]))
    for file in files.listed[:SHOWN] if files else ():
        yield InputFile("", f"  {file.name}", file.edges, "edges of this file")
    if files and files.count > SHOWN:
        others = read.edges - sum(file.edges for file in files.listed[:SHOWN])
        yield InputFile("", f"  {files.count - SHOWN:,} more files", others, "edges of these files")


def _rows(read: InputFacts) -> int:
    """The rows of the source: an edge each, unless columns say in which directions a row is open or some are refused."""
    if read.rejected:
        return read.rejected.read
    return sum(read.directions.stored().values()) if read.directions else read.edges


def _options(table: Any) -> list[str]:
    """What a configuration states about how a file is written."""
    values = [(key, getattr(table, key, None)) for key in _STATED if key in table.model_fields_set]
    return [f"{key} {', '.join(map(repr, value)) if isinstance(value, tuple) else repr(value)}" for key, value in values if value]


def _tables_of_nodes(graph: GraphConfig, edges: Folder, read: InputFacts) -> Iterator[InputFile]:
    """The files of coordinates and of nodes."""
    columns = graph.node_columns
    facts = EdgeFacts.of(edges)
    if graph.coordinates and (placed := facts.coordinates):
        of_table = f"columns {', '.join(map(repr, (placed.columns or {}).values()))}"
        form = _format(graph.coordinates, "dimacs")
        how = [form, "vertices with coordinates"] if form == "dimacs" else [f"{form}; {of_table}", *_options(columns)]
        how += [f"crs {graph.crs!r}"] if graph.crs else ["degrees"]
        yield InputFile("graph.coordinates", redacted(graph.coordinates), placed.vertices, "; ".join(how))
    if graph.nodes:
        others = pq.read_schema(edges.path / NODES).names[1:]
        joined = f"joined by {facts.node_ids!r}: {', '.join(map(repr, others)) or 'no other column'}"
        matches = f"{read.unmatched_node_rows or 0:,} rows match no vertex"
        declared = ["each row is a vertex"] if columns.declare else []
        how = [_format(graph.nodes), joined, matches, *declared, *_options(columns)]
        yield InputFile("graph.nodes", redacted(graph.nodes), read.node_rows, "; ".join(how))


def _columns(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> Iterator[InputFile]:
    """The columns of the table of nodes, or of a product's places, that products use, each with the number of its values."""
    known = pq.read_schema(edges.path / NODES).names if NODES in edges.manifest.files else []
    for product, table in config.of_products.items():
        for key, name in table.columns_of_nodes:
            if key == "zone" and has_shapes(name):
                yield InputFile(f"{product}.{key}", name, *_zones(name, config))
            elif name in known:
                values, stated = of_rows(edges, graph, name)
                without = counted(int((~stated).sum()), "vertex", "vertices")
                how = f"column {name!r} of the table of nodes, {values.type}; {without} without"
                yield InputFile(f"{product}.{key}", redacted(str(config.graph.nodes)), int(stated.sum()), how)
            for file in table.vertex_files.values():
                placed = placed_in(file, edges, graph, runtime) if name not in known else None
                if placed and name in placed.places.more.schema.names:
                    column = placed.places.more[name]
                    how = f"column {name!r} of the places, {column.type}; {counted(column.null_count, 'place')} without"
                    yield InputFile(f"{product}.{key}", file, len(column) - column.null_count, how)


def _zones(zone: str, config: RunConfig) -> tuple[int | None, str]:
    """How many zones there are, if a file has them, and how points are in them."""
    if not is_zone_file(zone):
        return None, "cells of H3, by the coordinates of the vertices"
    from pipeline.ingest.zones import read_zones

    count = len(read_zones(zone, config.zones).ids)
    return count, f"{counted(count, 'zone')}, polygons, by the coordinates of the vertices"


def _vertices(key: str, file: str, edges: Folder, graph: Folder, runtime: Runtime) -> InputFile:
    if placed := placed_in(file, edges, graph, runtime):
        if placed.zones:
            return InputFile(key, file, len(placed.places), "zones, for each of which the vertex nearest to its centre stands")
        return InputFile(key, file, len(placed.places), _how_placed(placed))
    how = "one vertex in each row" if _format(file, "") == "parquet" else "one vertex on each line"
    return InputFile(key, file, count_vertices(file), how)


def _how_placed(placed: Placed) -> str:
    """How a file of places is read, and how far they are from the vertices that stand for them."""
    roles = placed.places.roles
    named = {name: getattr(roles, name) for name in ("id", "name", "vertex", "lon", "lat", "geometry")}
    how = ["places: " + ", ".join(f"{role} {column!r}" for role, column in named.items() if column)]
    how += [f"with them: {', '.join(map(repr, roles.others))}"[:120]] if roles.others else []
    how += [f"crs {roles.crs!r}"[:60]] if roles.crs else []
    metres = placed.metres[placed.metres == placed.metres]  # without those that have no coordinates
    return "; ".join([*how, *([f"at most {length(float(metres.max()))} to the vertex"] if len(metres) else [])])


def _pairs(key: str, file: str, weight: str | None) -> InputFile:
    columns = [name for end in ENDS for name in AXES[end]] if has_coordinates(file) else [*ENDS]
    with pq.ParquetFile(locate(file).require_local()) as parquet:
        rows, kind = parquet.metadata.num_rows, parquet.schema_arrow.field(columns[0]).type
    ids = "coordinates" if len(columns) > len(ENDS) else "names" if not pa.types.is_integer(kind) else "ids"
    weighted = f"; weight {weight!r}" if weight else ""
    return InputFile(key, file, rows, f"parquet; pairs of {ids}, columns {', '.join(map(repr, columns))}{weighted}")


def _arrivals(config: RunConfig) -> Iterator[InputFile]:
    """The folder of files of changes, which flow `graph-changes` reads."""
    entries = config.changes.arrivals or ()
    for entry in (entries,) if isinstance(entries, str) else entries:
        how = f"files of changes for flow graph-changes; {len(files_here(entry)):,} are there"
        yield InputFile("changes.arrivals", redacted(entry), None, how)


def _format(file: str, other: str = "csv") -> str:
    """The format of a table, by its first bytes if it is on this machine, otherwise by its name."""
    local = locate(file).local
    return "parquet" if local and is_parquet(local, file) else by_name(file) or other
