"""Tables about vertices: CSV, TSV or Parquet files of a graph's nodes, whose rows are joined to the vertices by id."""

import io
import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
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
from pipeline.config.products.places import VERTEX
from pipeline.config.sources import BOM
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks, is_plain, saved
from pipeline.ingest.formats.detect import by_name
from pipeline.ingest.formats.parquet import begins_parquet, read_columns, reading, require_ratio, width_of
from pipeline.ingest.formats.parquet.footer import open_file
from pipeline.ingest.formats.parquet.geometry import geometries_of
from pipeline.ingest.formats.parquet.rows import column_as, require_no_null, require_utf8
from pipeline.ingest.formats.parquet.types import TEXT, attribute_type, is_id, is_number, is_text, plain
from pipeline.ingest.node_columns import columns_of, is_list, names_of
from pipeline.ingest.source import Stored
from pipeline.ingest.values.encodings import as_utf8
from pipeline.ingest.values.numbers import NumberForm
from pipeline.store.names import UNKNOWN, VertexNames
from pipeline.tables.definitions import TABLES
from pipeline.tables.files import ROWS_PER_GROUP
from pipeline.texts import shown, why_not_an_id, why_not_utf8

log = logging.getLogger(__name__)
_TAKEN = "the name of a column of table vertices"
MOST_TEXT = 2**31 - 1  # bytes of a column in a row group of table `vertices`, whose offsets have 32 bits
LARGEST_TABLE = 2**33  # bytes, decompressed; the table is read into memory


def read_nodes(
    content: Stored, limits: Limits, names: VertexNames | None, columns: NodeColumns, wanted: Sequence[str] | None = None
) -> tuple[pa.Table, int, NodeColumns]:
    """Read a table of nodes.

    Args:
        names: Those of the graph, if its ids are strings.
        columns: Name of the column of ids, and the delimiter of a CSV file.
        wanted: Which of the columns `x` and `y` to read, which have numbers; None reads all.

    Returns:
        Column `vertex` int64, ascending, and the others as they are in the file, texts as large_string. A row whose id no vertex
            has is left out, if ids are strings. How many rows the file has; and `columns` with the names that the file has.

    Raises:
        BadInput: The file is not a table, lacks a column, or has a null, a wrong or a repeated id.
    """
    file, stated = content.source.url, columns
    table, columns = _table(content, limits, stated, wanted)
    vertex = str(columns.vertex)
    named = names_of(columns, wanted or ())
    if unusual := [f"{role} is column {name!r}" for role, name in named.items() if name not in (role, getattr(stated, role))]:
        log.info("%s: %s", file, ", ".join(unusual))
    ids = _numbers(file, vertex, table[vertex].combine_chunks(), names)
    others = {name: table[name] for name in table.schema.names if name != vertex}
    if wanted is None:
        if "vertex" in others:
            raise BadInput(file, f"column 'vertex' has {_TAKEN}, whose ids come from {vertex!r}; rename it")
        others = {name: _attribute(file, name, column) for name, column in others.items()}
    joined = pa.table({"vertex": ids} | others)
    joined = joined.filter(pc.not_equal(joined["vertex"], UNKNOWN)).sort_by("vertex")
    ordered = joined["vertex"].to_numpy()
    if len(again := np.flatnonzero(ordered[1:] == ordered[:-1])):
        number = int(ordered[again[0]])
        raise BadInput(file, f"{vertex} {names.array()[number].as_py() if names else number!r} occurs twice")
    return joined, len(table), columns


def read_ids(content: Stored, limits: Limits, columns: NodeColumns, named: bool) -> pa.Array:
    """The ids in a table of nodes: large_string if `named`, otherwise int64. Raises BadInput as `read_nodes`."""
    file = content.source.url
    table, columns = _table(content, limits, columns, ())
    vertex = str(columns.vertex)
    ids = plain(table[vertex].combine_chunks())
    if not named:
        return _numbers(file, vertex, ids, None)
    if not is_id(ids.type):
        raise BadInput(file, f"column {vertex!r} is {ids.type}, {_wanted(named)}; write it as these")
    texts: pa.Array = column_as(file, ids.cast(TEXT), vertex, TEXT)
    return texts


def write_nodes(file: str, table: pa.Table, path: Path) -> None:
    """Write the table that `read_nodes` returned. Raises BadInput for a column that table `vertices` cannot have."""
    own = {column.name for column in TABLES["vertices"]}
    for field in table.schema.remove(0):
        if field.name in own or field.name.removesuffix("_name") in own:
            raise BadInput(file, f"column {field.name!r} has {_TAKEN}; rename it")
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def _table(content: Stored, limits: Limits, columns: NodeColumns, wanted: Sequence[str] | None) -> tuple[pa.Table, NodeColumns]:
    """The columns of a file, `wanted` or all of them; and how the file calls them."""
    stream = _bounded(content, limits)
    local = content.source.local if is_plain(content) else None
    head = next(stream, b"")
    file = content.file
    if begins_parquet(head, file):
        with saved(local, chain([head], stream)) as path, reading(file), open_file(path, file, limits) as parquet:
            schema = parquet.schema_arrow
            columns = columns_of(file, schema.names, columns, wanted)
            names = _names(file, schema, columns, wanted, geometries_of(schema))
            _require_size(file, path.stat().st_size, parquet, names, limits)
            return read_columns(path, parquet, names, limits), columns
    stream = chain([head], stream)
    text = b"".join(as_utf8(file, stream, columns.encoding) if columns.encoding else stream)
    parse = csv.ParseOptions(delimiter=columns.delimiter or (" " if is_list(file) else delimiter_of(file)))
    try:
        with reading(file):
            listed = _listed(text, parse, columns) if is_list(file) else None
            columns = columns_of(file, listed or _header(text, parse), columns, wanted)
            options = csv.ConvertOptions(
                column_types={columns.vertex: pa.string()},
                null_values=["", *columns.null],
                strings_can_be_null=True,
                decimal_point=columns.decimal,
            )
            table = csv.read_csv(io.BytesIO(text), csv.ReadOptions(column_names=listed), parse, options)
            names = table.schema.names if wanted is None else [*names_of(columns, wanted).values()]
    except BadInput as error:
        if error.__cause__ is None:
            raise
        _require_utf8(file, text)
        raise BadInput(file, str(error.__cause__)) from None
    if any(pa.types.is_binary(field.type) and field.name in names for field in table.schema):
        _require_utf8(file, text)
    table = _numeric(table, columns)
    return table.select(_names(file, table.schema, columns, wanted)), columns


def _listed(text: bytes, parse: csv.ParseOptions, columns: NodeColumns) -> list[str]:
    """Names of the columns of a file without a header: those behind the ids are properties."""
    return [columns.vertex or VERTEX, *(f"property_{number}" for number in range(1, len(_header(text, parse))))]


def _header(text: bytes, parse: csv.ParseOptions) -> list[str]:
    """The names in the first line that is not blank, as the reader of the whole text finds them."""
    line = text.removeprefix(BOM).lstrip(b"\r\n").partition(b"\n")[0]
    names: list[str] = csv.read_csv(io.BytesIO(line + b"\n"), parse_options=parse).schema.names
    return names


def _numeric(table: pa.Table, columns: NodeColumns) -> pa.Table:
    """The table with numbers in the place of texts that are all numbers with separators of thousands."""
    form = NumberForm.of(columns)
    for place, name in enumerate(table.schema.names if form.thousands else ()):
        column = table[name]
        if name == columns.vertex or not is_text(column.type) or column.null_count == len(column):
            continue
        with suppress(pa.ArrowInvalid):
            plain_texts = form.plain_column(form.without_nulls(column))
            whole = pc.all(pc.match_substring_regex(plain_texts, "^-?[0-9]+$")).as_py()
            table = table.set_column(place, name, plain_texts.cast(pa.int64() if whole else pa.float64()))
    return table


def _require_utf8(file: str, content: bytes) -> None:
    """Raise BadInput for the first line of a text that is not UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        begin, end = content.rfind(b"\n", 0, error.start) + 1, content.find(b"\n", error.start)
        line = content[begin : end if end >= 0 else len(content)].rstrip(b"\r")
        raise BadInput(file, f"{shown(line)} {why_not_utf8(line)}", content.count(b"\n", 0, begin) + 1) from None


def _names(
    file: str, schema: pa.Schema, columns: NodeColumns, wanted: Sequence[str] | None, ignored: Collection[str] = ()
) -> list[str]:
    """Names of the column of ids and of those that are wanted. Raises BadInput if a column cannot be read by its name.

    Columns that are `ignored` are left out, unless they are named.
    """
    vertex, *others = names_of(columns, wanted or ()).values()
    if attribute_type(schema.field(vertex).type) is None:
        raise BadInput(file, f"column {vertex!r} is {schema.field(vertex).type}, not an integer type or string; write it as one")
    how = "write it as one; graph.node_columns.decimal states the decimal sign of CSV"
    for name in others:
        if not is_number(schema.field(name).type):
            raise BadInput(file, f"column {name!r} is {schema.field(name).type}, not a number of degrees; {how}")
    if wanted is not None:
        return [vertex, *others]
    read = [field for field in schema if field.name == vertex or field.name not in ignored]
    for field in read:
        if attribute_type(field.type) is None:
            how = "which is neither a number, a text nor a time; write it as a text, or leave it out"
            raise BadInput(file, f"column {field.name!r} is {field.type}, {how}")
    names = [field.name for field in read]
    if len(set(names)) < len(names):
        raise BadInput(file, f"two columns have the same name: {', '.join(map(repr, names))[:200]}")
    if left := [name for name in schema.names if name not in names]:
        log.info("%s: geometries are not joined: %s", file, ", ".join(map(repr, left))[:200])
    return names


def _attribute(file: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column, of a type that table `vertices` can have. Raises BadInput for texts that it cannot have."""
    values = column.cast(attribute_type(column.type))
    if values.type == TEXT:
        require_utf8(file, values, name)
        if values.nbytes > MOST_TEXT:
            longest = np.sort(pc.binary_length(values).drop_null().to_numpy())[-ROWS_PER_GROUP:].sum()
            if longest > MOST_TEXT:
                raise BadInput(
                    file, f"column {name!r}: {ROWS_PER_GROUP} of its texts take {longest} bytes, the limit is {MOST_TEXT}"
                )
    return values


def _bounded(content: Stored, limits: Limits) -> Iterator[bytes]:
    size = 0
    for part in chunks(content, limits):
        size += len(part)
        if size > LARGEST_TABLE:
            raise BadInput(content.source.url, f"has more than {LARGEST_TABLE} bytes, the limit for a table of nodes")
        yield part


def _require_size(file: str, size: int, parquet: pq.ParquetFile, names: Sequence[str], limits: Limits) -> None:
    """Raise BadInput if columns of a file of `size` bytes would take too much memory."""
    rows, widths = parquet.metadata.num_rows, [width_of(parquet.schema_arrow.field(name).type) for name in names]
    expanded = rows * sum(widths)
    if expanded > LARGEST_TABLE:
        raise BadInput(file, f"its rows take {expanded} bytes, the limit for a table of nodes is {LARGEST_TABLE}")
    require_ratio(file, size, expanded, limits)


def delimiter_of(file: str) -> str:
    """The character between the fields of a text, by its name: a tab in TSV, otherwise a comma."""
    return "\t" if by_name(file) == "tsv" else ","


def _wanted(named: bool) -> str:
    return f"but the ids of the graph are {'strings' if named else 'integers'}"


def _numbers(file: str, vertex: str, ids: pa.Array | pa.ChunkedArray, names: VertexNames | None) -> pa.Array:
    """The numbers of the ids in column `vertex`; UNKNOWN for a string that is not a name."""
    ids, wanted = plain(ids), _wanted(names is not None)
    if pa.types.is_null(ids.type) or not (is_id(ids.type) or names is not None):
        raise BadInput(file, f"column {vertex!r} is {ids.type}, {wanted}; write it as these")
    require_no_null(file, ids, "the id")
    if is_text(ids.type):
        require_utf8(file, ids, "the id")
    if names is not None:
        try:
            return pa.array(names.find(ids.cast(TEXT)))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            raise BadInput(file, f"column {vertex!r} is {ids.type}, {wanted}; write it as these") from None
    if is_text(ids.type):
        texts = ids.cast(TEXT)
        fits = pc.match_substring_regex(texts, "^(0|-?[1-9][0-9]{0,18})$")
        if len(texts) and (row := pc.index(fits, pa.scalar(False)).as_py()) >= 0:
            text = texts[row].as_py()
            reason = why_not_an_id(text) or f"is not in 0..{LARGEST}"
            raise BadInput(file, f"row {row}: id {text[:80]!r} {reason}, {wanted}")
    try:
        numbers = ids.cast(pa.int64())
    except pa.ArrowNotImplementedError:
        raise BadInput(file, f"column {vertex!r} is {ids.type}, {wanted}; write it as these") from None
    except pa.ArrowInvalid as error:
        raise BadInput(file, f"column {vertex!r} has an id that is not in 0..{LARGEST}: {str(error)[:120]}") from None
    if len(numbers) and pc.min(numbers).as_py() < 0:
        raise BadInput(file, f"id {pc.min(numbers).as_py()} is negative")
    return numbers.cast(pa.from_numpy_dtype(ID))
