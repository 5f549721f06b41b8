"""Files of vertices: facilities, sources or targets, each with one column of ids."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.config.graph import Limits
from pipeline.config.sources import read_sources
from pipeline.errors import BadInput, BadSource
from pipeline.ingest.asked import nearest, numbers_of
from pipeline.ingest.formats.pages import Footer, check_rows, open_file
from pipeline.ingest.formats.parquet import FORMAT, is_text, reading
from pipeline.ingest.source import locate
from pipeline.steps.sources import rows_of_sources
from pipeline.store.manifest import Folder

HEADERS = ("vertex", "id", "source", "target", "facility")  # of a file's only column


def read_vertices(file: str, edges: Folder, graph: Folder) -> Array:
    """The vertices that a file names, external ids int64 [n], ascending and each once.

    Args:
        file: A Parquet file with one column of integers or strings; or a text file with a vertex on each line, such as a CSV file
            with one column, where a first line that is one of HEADERS is left out. As in `sources`, a vertex is an id, or, in a
            text file, the place `LON,LAT` near it.

    Raises:
        BadInput: The file is not there, or is no such file.
        BadSource: A vertex is not in the graph.
    """
    path = locate(file).local
    if path is None:
        raise BadInput(file, "is a URL; it must be a file of this machine")
    with path.open("rb") as opened:
        is_parquet = opened.read(len(FORMAT.magic)) == FORMAT.magic
    try:
        asked = dict.fromkeys(_of_parquet(file, path) if is_parquet else _of_text(path))
        found = nearest(edges, graph, numbers_of(edges, [*asked]))
        rows_of_sources(graph, found)
    except BadSource as error:
        raise BadSource(f"{file}: {error}") from None
    return np.unique(np.array(found, np.int64))


def _of_text(path: Path) -> Iterable[str]:
    lines = read_sources(path)
    return lines[1:] if lines[0].strip('"').lower() in HEADERS and len(lines) > 1 else lines


def _of_parquet(file: str, path: Path) -> Iterable[int | str]:
    with reading(file), open_file(path, file, Limits()) as parquet:
        names, kinds = parquet.schema_arrow.names, parquet.schema_arrow.types
        if len(kinds) != 1:
            raise BadInput(file, f"has {len(names)} columns ({', '.join(names)[:200]}); one column of ids is due")
        if not (pa.types.is_integer(kinds[0]) or is_text(kinds[0])):
            raise BadInput(file, f"column {names[0]!r} is {kinds[0]}, not an integer type or string")
        footer = Footer(path, parquet.schema, names, Limits())
        footer.check_all_pages()
        column = parquet.read().column(0)
        if column.null_count:
            raise BadInput(file, f"row {int(np.argmin(column.combine_chunks().is_valid()))}: the vertex is null")
        check_rows(len(column), parquet.metadata.num_rows, footer.nulls)
    if not len(column):
        raise BadInput(file, "has no vertex")
    values: list[int | str] = column.to_pylist()
    return values
