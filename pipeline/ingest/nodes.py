"""Tables about vertices: CSV, TSV or Parquet files of a graph's nodes, whose rows are joined to the vertices by id."""

import io
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from kernels.graph import ID
from pipeline.config.graph import Limits, NodeColumns
from pipeline.config.model import LARGEST
from pipeline.config.suggestions import did_you_mean
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks, is_plain, saved
from pipeline.ingest.formats.parquet import FORMAT, NAME, is_text, read_columns, reading, require_no_null, require_ratio, width_of
from pipeline.ingest.formats.parquet_footer import open_file
from pipeline.ingest.source import Stored
from pipeline.store.names import UNKNOWN, Names
from pipeline.tables.definitions import TABLES
from pipeline.texts import shown, why_not_an_id, why_not_utf8

MAGIC = FORMAT.magic
DELIMITERS = {"csv": ",", "tsv": "\t"}
LARGEST_TABLE = 2**33  # bytes, decompressed; the table is read into memory


def is_table(file: str, head: bytes) -> bool:
    """Whether a file is Parquet, by its first bytes, or CSV or TSV, by its name."""
    return head.startswith(MAGIC) or _suffix(file) in (*DELIMITERS, "parquet")


def read_nodes(
    content: Stored, limits: Limits, names: Names | None, columns: NodeColumns, wanted: Sequence[str] | None = None
) -> pa.Table:
    """Read a table of nodes.

    Args:
        names: Those of the graph, if its ids are strings.
        columns: Name of the column of ids, and the delimiter of a CSV file.
        wanted: Names of the columns to read; None reads all.

    Returns:
        Column `vertex` int64, ascending, and the others as they are in the file. A row whose id no vertex has is left out, if ids
            are strings.

    Raises:
        BadInput: The file is not a table, lacks a column, or has a null, a wrong or a repeated id.
    """
    file, vertex = content.source.url, columns.vertex
    table = _table(content, limits, columns, wanted)
    ids = _numbers(file, table[vertex].combine_chunks(), names)
    joined = pa.table({"vertex": ids, **{name: table[name] for name in table.schema.names if name != vertex}})
    joined = joined.filter(pc.not_equal(joined["vertex"], UNKNOWN)).sort_by("vertex")
    ordered = joined["vertex"].to_numpy()
    if len(again := np.flatnonzero(ordered[1:] == ordered[:-1])):
        number = int(ordered[again[0]])
        raise BadInput(file, f"{vertex} {names.array()[number].as_py() if names else number!r} occurs twice")
    return joined


def coordinates_of(content: Stored, limits: Limits, names: Names | None, columns: NodeColumns) -> pa.Table:
    """Columns `vertex`, `x` and `y` of a table; `columns` are their names in it. Rows without coordinates are left out.

    Raises BadInput as `read_nodes`, and for what is not a number of degrees.
    """
    file, axes = content.source.url, (columns.x, columns.y)
    table = read_nodes(content, limits, names, columns, axes)
    for name, most in zip(axes, (180, 90), strict=True):
        if not (pa.types.is_integer(table[name].type) or pa.types.is_floating(table[name].type)):
            raise BadInput(file, f"column {name!r} is {table[name].type}, not a number of degrees")
        known = table[name].drop_null().cast(pa.float64()).to_numpy()
        if len(known) and not (np.abs(known) <= most).all():
            raise BadInput(file, f"{name} {known[~(np.abs(known) <= most)][0]} is not in -{most}..{most} degrees")
    degrees = {axis: table[name].cast(pa.float64()) for axis, name in zip("xy", axes, strict=True)}
    return pa.table({"vertex": table["vertex"], **degrees}).drop_null()


def write_nodes(file: str, table: pa.Table, path: Path) -> None:
    """Write the table that `read_nodes` returned. Raises BadInput for a column that table `vertices` cannot have."""
    own = {column.name for column in TABLES["vertices"]}
    for field in table.schema.remove(0):
        if field.name in own or field.name.removesuffix("_name") in own:
            raise BadInput(file, f"column {field.name!r} has the name of a column of table vertices")
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def _table(content: Stored, limits: Limits, columns: NodeColumns, wanted: Sequence[str] | None) -> pa.Table:
    """The columns of a file, `wanted` or all of them."""
    file, stream = content.source.url, _bounded(content, limits)
    local = content.source.local if is_plain(content) else None
    head = next(stream, b"")
    if head.startswith(MAGIC):
        with saved(local, chain([head], stream)) as path, reading(file), open_file(path, file, limits) as parquet:
            names = _names(file, parquet.schema_arrow, columns.vertex, wanted)
            _require_size(file, path.stat().st_size, parquet, limits)
            return read_columns(path, parquet, names, limits)
    options = csv.ConvertOptions(column_types={columns.vertex: pa.string()}, null_values=[""], strings_can_be_null=True)
    parse, text = csv.ParseOptions(delimiter=columns.delimiter or delimiter_of(file)), b"".join([head, *stream])
    try:
        with reading(file):
            table = csv.read_csv(io.BytesIO(text), parse_options=parse, convert_options=options)
            names = table.schema.names if wanted is None else [columns.vertex, *wanted]
    except BadInput as error:
        _require_utf8(file, text)
        raise BadInput(file, str(error.__cause__)) from None
    if any(pa.types.is_binary(field.type) and field.name in names for field in table.schema):
        _require_utf8(file, text)
    return table.select(_names(file, table.schema, columns.vertex, wanted))


def _require_utf8(file: str, content: bytes) -> None:
    """Raise BadInput for the first line of a text that is not UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        begin, end = content.rfind(b"\n", 0, error.start) + 1, content.find(b"\n", error.start)
        line = content[begin : end if end >= 0 else len(content)].rstrip(b"\r")
        raise BadInput(file, f"{shown(line)} {why_not_utf8(line)}", content.count(b"\n", 0, begin) + 1) from None


def _names(file: str, schema: pa.Schema, vertex: str, wanted: Sequence[str] | None) -> list[str]:
    """Names of the column of ids and of those that are wanted. Raises BadInput if a column cannot be read by its name."""
    for name in (vertex, *(wanted or ())):
        if schema.names.count(name) != 1:
            found = ", ".join(map(repr, schema.names))[:200]
            raise BadInput(file, f"no column {name!r}, or several, among {found}{did_you_mean(name, schema.names)}")
    if wanted is not None:
        return [vertex, *wanted]
    for field in schema:
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or pa.types.is_null(field.type):
            raise BadInput(file, f"column {field.name!r} is {field.type}, which is neither a number, a text nor a time")
    if len(set(schema.names)) < len(schema.names):
        raise BadInput(file, f"two columns have the same name: {', '.join(map(repr, schema.names))[:200]}")
    return list(schema.names)


def _bounded(content: Stored, limits: Limits) -> Iterator[bytes]:
    size = 0
    for part in chunks(content, limits):
        size += len(part)
        if size > LARGEST_TABLE:
            raise BadInput(content.source.url, f"has more than {LARGEST_TABLE} bytes, the limit for a table of nodes")
        yield part


def _require_size(file: str, size: int, parquet: pq.ParquetFile, limits: Limits) -> None:
    """Raise BadInput if the rows of a file of `size` bytes would take too much memory."""
    rows, widths = parquet.metadata.num_rows, [width_of(kind) for kind in parquet.schema_arrow.types]
    expanded = rows * sum(widths)
    if expanded > LARGEST_TABLE:
        raise BadInput(file, f"its rows take {expanded} bytes, the limit for a table of nodes is {LARGEST_TABLE}")
    require_ratio(file, size, expanded, limits)


def delimiter_of(file: str) -> str:
    """The character between the fields of a text, by its name: a tab in TSV, otherwise a comma."""
    return DELIMITERS.get(_suffix(file), ",")


def _suffix(file: str) -> str:
    parts = file.lower().rsplit("/", 1)[-1].split(".")
    return parts[-2] if len(parts) > 2 and parts[-1] in ("gz", "xz", "zst") else parts[-1]


def _numbers(file: str, ids: pa.Array | pa.ChunkedArray, names: Names | None) -> pa.Array:
    require_no_null(file, ids, "the id")
    if names is not None:
        return pa.array(names.find(ids.cast(pa.string())))
    if not (is_text(ids.type) or pa.types.is_integer(ids.type)):
        raise BadInput(file, f"ids are {ids.type}, but the ids of the graph are integers")
    if is_text(ids.type):
        texts = ids.cast(NAME)
        fits = pc.match_substring_regex(texts, "^(0|-?[1-9][0-9]{0,18})$")
        if len(texts) and (row := pc.index(fits, pa.scalar(False)).as_py()) >= 0:
            text = texts[row].as_py()
            reason = why_not_an_id(text) or f"is not in 0..{LARGEST}"
            raise BadInput(file, f"row {row}: id {text[:80]!r} {reason}, and the ids of the graph are integers")
    try:
        found = ids.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise BadInput(file, f"has an id that is not in 0..{LARGEST}: {error}") from None
    if len(found) and pc.min(found).as_py() < 0:
        raise BadInput(file, f"id {pc.min(found).as_py()} is negative")
    return found.cast(pa.from_numpy_dtype(ID))
