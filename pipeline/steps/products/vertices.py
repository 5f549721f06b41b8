"""Files of vertices: facilities, sources or targets, each with one column of ids, or a file of places."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from kernels.registry import BY_NAME
from pipeline.config.graph import Limits
from pipeline.config.model import Model, Vertices
from pipeline.config.run import RunConfig
from pipeline.config.sources import numbered_sources
from pipeline.errors import BadInput, BadSource
from pipeline.ingest.source import locate
from pipeline.ingest.vertex_names import is_place, numbers_of
from pipeline.steps.places import different, nearest
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import rows_of_sources
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names

_INTEGERS = re.compile(r"\d+\s*,\s*\d+")
_DELIMITER = re.compile("[,;\t]")
HEADERS = ("vertex", "id", "source", "target", "facility")  # of a file's only column
_COLUMNS = "; the file must have one column, or be one of places, such as id,lon,lat ([places] names other columns)"


def read_vertices(file: str, edges: Folder, graph: Folder, runtime: Runtime) -> Array:
    """The vertices that a file names, external ids int64 [n], ascending and each once.

    Args:
        file: A Parquet file with one column of integers or strings; or a text file with a vertex on each line, such as a CSV file
            with one column, where a first line that is one of HEADERS is left out. As in `sources`, a vertex is an id, or, in a
            text file, the place `LON,LAT` near it; two integers are no place, but columns of a table. Or a file of places.

    Raises:
        BadInput: The file is not there, or is no such file.
        BadSource: A vertex is not in the graph, or a place has none; the message has the first such line of a text, or row of
            Parquet, from 0.
    Otherwise as `placed_in`.
    """
    from pipeline.ingest.formats.parquet import is_parquet
    from pipeline.steps.places.files import placed_in

    if (placed := placed_in(file, edges, graph, runtime)) is not None:
        return np.unique(placed.vertices)
    positions = vertices_in(file)
    vertices, in_rows = [*positions], is_parquet(locate(file).require_local(), file)
    if not in_rows and open_names(edges) is None:
        for text, line in positions.items():
            if _INTEGERS.fullmatch(str(text)):
                reason = f"{text!r} is neither one id nor a place LON,LAT, which has a decimal point"
                raise BadInput(file, reason, line)

    def ids_of(count: int) -> list[int]:
        ids = nearest(edges, graph, numbers_of(edges, vertices[:count]), runtime)
        rows_of_sources(graph, ids)
        return ids

    def fails(count: int) -> bool:
        try:
            ids_of(count)
        except BadSource:
            return True
        return False

    try:
        return np.unique(np.array(ids_of(len(vertices)), np.int64))
    except BadSource as error:
        wrong = vertices[bisect_left(range(1, len(vertices)), True, key=fails)]
        if in_rows:
            raise BadSource(f"{file}: row {positions[wrong]}: {error}") from None
        if len(vertices) == 1 and _is_header(str(wrong)):
            raise BadInput(file, f"contains no vertex, only the header line {wrong!r}") from None
        hint = f"; a header line is one of {', '.join(HEADERS)}" if positions[wrong] == 1 else ""
        columns = _COLUMNS if _DELIMITER.search(str(wrong)) and not is_place(str(wrong)) else ""
        raise BadSource(f"{file}: line {positions[wrong]}: {error}{columns or hint}") from None


def given_sources(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> list[int]:
    """The external ids of a run's sources, each once; several places of a file may be at one of them.

    Raises as `read_vertices`, and BadSource if two sources of a list are the same vertex.
    """
    return _ids_of(config.sources, edges, graph, runtime)


def with_sources(config: RunConfig, edges: Folder, graph: Folder, runtime: Runtime) -> RunConfig:
    """The configuration in which the stages that run name vertices by their external ids, ascending.

    Raises as `given_sources`, and BadSource for a listed vertex that is not in the graph; the message has the key.
    """
    changed = dict[str, Model]()
    for stage, table in config.of_running_stages.items():
        if BY_NAME[stage].may_have_seeds:  # whose vertices have weights: `pipeline.steps.seeded`
            continue
        for key, named in (table.vertex_files | table.vertex_lists).items():
            try:
                ids = _ids_of(named, edges, graph, runtime)
                rows_of_sources(graph, ids)
            except BadSource as error:
                raise error if isinstance(named, str) else BadSource(f"{stage}.{key}: {error}") from None
            changed[stage] = table.model_copy(update={key: tuple(sorted(ids))})
    return config.model_copy(update=changed)


def _ids_of(named: Vertices, edges: Folder, graph: Folder, runtime: Runtime) -> list[int]:
    if isinstance(named, str):
        ids: list[int] = read_vertices(named, edges, graph, runtime).tolist()
        return ids
    return different(edges, graph, numbers_of(edges, named), runtime)


def vertices_in(file: str) -> dict[int | str, int]:
    """The vertices that a file names, each once, with the first line of a text, or row of Parquet, that has it.

    Raises BadInput.
    """
    from pipeline.ingest.formats.parquet import is_parquet

    path = locate(file).require_local()
    positions = dict[int | str, int]()
    for position, vertex in enumerate(_of_parquet(file, path)) if is_parquet(path, file) else _of_text(path):
        positions.setdefault(vertex, position)
    return positions


def count_vertices(file: str) -> int:
    """How many rows or lines of a file name a vertex. Raises BadInput."""
    from pipeline.ingest.formats.parquet import is_parquet, reading
    from pipeline.ingest.formats.parquet.footer import open_file

    path = locate(file).require_local()
    if not is_parquet(path, file):
        return len([*_of_text(path)])
    with reading(file), open_file(path, file, Limits()) as parquet:
        rows: int = parquet.metadata.num_rows
    return rows


def _of_text(path: Path) -> Iterable[tuple[int, str]]:
    lines = [*numbered_sources(path)]
    return lines[1:] if _is_header(lines[0][1]) and len(lines) > 1 else lines


def _is_header(text: str) -> bool:
    return text.lower() in HEADERS


def _of_parquet(file: str, path: Path) -> list[int | str]:
    from pipeline.ingest.formats.parquet import read_columns, reading
    from pipeline.ingest.formats.parquet.footer import open_file
    from pipeline.ingest.formats.parquet.rows import NAME, column_as
    from pipeline.ingest.formats.parquet.types import is_id, is_text

    with reading(file), open_file(path, file, Limits()) as parquet:
        names, kinds = parquet.schema_arrow.names, parquet.schema_arrow.types
        if len(kinds) != 1:
            raise BadInput(file, f"has {len(names)} columns ({', '.join(names)[:200]}); it must have one column of ids")
        if not is_id(kinds[0]):
            raise BadInput(file, f"column {names[0]!r} is {kinds[0]}, not an integer type or string; write it as one of both")
        column = read_columns(path, parquet, names, Limits()).column(0)
        values: list[int | str] = column_as(file, column, "the vertex", NAME if is_text(kinds[0]) else pa.int64()).to_pylist()
    if not values:
        raise BadInput(file, "contains no vertex")
    return values
