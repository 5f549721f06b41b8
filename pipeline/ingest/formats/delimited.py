"""CSV and TSV. Columns are found by the names in the header line or, without one, by number; other columns are ignored."""

import io
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.config.model import LARGEST
from pipeline.errors import BadInput
from pipeline.ingest.fields import STRINGS, Field, ends
from pipeline.ingest.formats.format import EdgeList, Head, TextFormat, as_arcs, check_count, choose, with_times
from pipeline.ingest.formats.rows import LineLayout, split_quoted, tables
from pipeline.ingest.formats.text import Text
from pipeline.ingest.values.numbers import NumberForm
from pipeline.ingest.values.oneway import Meanings
from pipeline.ingest.values.order import OrderValues
from pipeline.ingest.values.rejects import Rejects
from pipeline.ingest.values.speeds import Lengths, Speeds
from pipeline.texts import decimal_form_of, is_integer_id, other_form_of, shown, why_not_utf8


def read(text: Text, graph: GraphConfig, weight: pa.DataType, delimiter: str) -> EdgeList:
    """Read a table whose fields are separated by `delimiter`, unless the configuration names another character."""
    delimiter = graph.delimiter or delimiter
    first = text.header(delimiter=delimiter) if graph.header else _peeked(text, delimiter)
    check_count(text.file, first.count(delimiter.encode()) + 1, graph.limits, text.line)
    names = header_names(text.file, first, delimiter, text.line or 1)
    if not graph.header:
        names = [str(number) for number, _ in enumerate(names, 1)]
    try:
        chosen = choose(text.file, names, graph.columns, text.line or 1, numbered=not graph.header)
    except BadInput as error:
        reason = why_not_utf8(first)
        raise BadInput(text.file, f"{error.reason}; the line {reason}", error.line) if reason else error from None
    roles = {name: role for role, name in chosen.names.items()}
    positions = {role: position for position, name in enumerate(names) if (role := roles.get(name))}
    form, auto = NumberForm.of(graph), graph.ids == "auto"
    named = graph.ids == "string" or (auto and _has_names(text, positions, delimiter, form))
    src, dst = (replace(end, form=form) for end in ends(named, hint=STRINGS if auto else "", auto=auto))
    least = -LARGEST if "reverse_weight" in chosen.names else 0  # negative weights close a direction
    of_roles = {
        "src": src,
        "dst": dst,
        "weight": Field("weight", weight, least, decimals=True, form=form),
        "reverse_weight": Field("reverse_weight", weight, least, decimals=True, form=form, nullable=True),
    }
    if "oneway" in chosen.names:
        of_roles["oneway"] = Field("oneway", pa.int8(), form=form, nullable=True, meanings=Meanings.of(graph))
    if "speed" in chosen.names:
        of_roles["weight"] = Field("weight", pa.string(), form=form, meanings=Lengths(form))
        of_roles["speed"] = Field("speed", pa.string(), form=form, meanings=Speeds.of(graph))
    order = None
    if "order" in chosen.names:
        order = OrderValues.of(_first_value(text, positions["order"], delimiter), form)
        of_roles["order"] = Field("order", order.type, form=form, meanings=order)
    fields = (of_roles[roles[name]] if name in roles else Field(f"column {number}") for number, name in enumerate(names))
    layout, rejects = LineLayout(tuple(fields), delimiter=delimiter), Rejects()
    edges = tables(text, layout, graph.limits.edges, rejects=rejects)
    read = EdgeList(
        edges,
        weight if chosen.weighted else None,
        columns=chosen,
        rejects=rejects,
        named=named,
        order=order.type if order else None,
    )
    return as_arcs(with_times(read, graph))


def _has_names(text: Text, positions: Mapping[str, int], delimiter: str, form: NumberForm) -> bool:
    """Whether an id in the first row of data is a text that is not even another form of an integer."""
    fields = _first_row(text, delimiter)
    ids = (
        fields[positions[end]].strip(b" \t").decode(errors="replace")
        for end in ("src", "dst")
        if positions.get(end, len(fields)) < len(fields)
    )
    return any(not (is_integer_id(id) or other_form_of(id) or decimal_form_of(id)) for id in ids if not form.is_null(id))


def _first_row(text: Text, delimiter: str) -> list[bytes]:
    """The fields of the first row of data."""
    lines = (line.strip(b"\r\n") for line in islice(io.BytesIO(text.head), text.line, None))
    return split_quoted(next(filter(None, lines), b""), delimiter)


def _first_value(text: Text, position: int, delimiter: str) -> bytes:
    """The field at a position of the first row of data; empty if there is none."""
    fields = _first_row(text, delimiter)
    return fields[position] if position < len(fields) else b""


def _peeked(text: Text, delimiter: str) -> bytes:
    """The first line that is not blank, which is not consumed."""
    while (line := text.peek_line(delimiter)) is not None and not line.strip():
        text.readline()
    return line or b""


def header_names(file: str, line: bytes, delimiter: str, number: int) -> list[str]:
    """Return the column names of a header line, which may be quoted. Raises BadInput if a quote does not end on the line."""
    if line.count(b'"') % 2:
        reason = (
            f"a quote in the header line does not end on it, and the name of a column may not have a line break: {shown(line)}"
        )
        raise BadInput(file, reason, number)
    return _names(line, delimiter)


def _names(line: bytes, delimiter: str) -> list[str]:
    return [name.strip().decode("utf-8", "replace") for name in split_quoted(line, delimiter)]


def _matches(head: Head, delimiter: str) -> bool:
    wanted = {head.columns.src or "src", head.columns.dst or "dst"} - head.columns.partition.keys()
    return bool(head.lines) and wanted <= set(_names(head.lines[0], delimiter))


_OPTIONS = frozenset({"columns", "header", "delimiter", "ids", "encoding", "decimal", "thousands", "null"})
CSV = TextFormat(partial(read, delimiter=","), ("csv",), partial(_matches, delimiter=","), _OPTIONS, in_parts=True)
TSV = TextFormat(partial(read, delimiter="\t"), ("tsv",), partial(_matches, delimiter="\t"), _OPTIONS, in_parts=True)
