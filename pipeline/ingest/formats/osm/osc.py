"""Files of changes of OpenStreetMap (`.osc`): elements that were created, modified or deleted, in XML.

https://wiki.openstreetmap.org/wiki/OsmChange
"""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from typing import Any
from xml.parsers import expat

import pyarrow as pa

from pipeline.config.graph import Limits
from pipeline.errors import BadInput
from pipeline.ingest.formats.osm.changed import KINDS
from pipeline.ingest.formats.osm.xml import MOST_REFS, integer, unit, version_of
from pipeline.texts import shown

# A row is a version of an element. `seconds` is when it was made, since 1970; `x`, `y`: of a node, in the seventh decimal of a
# degree; `refs`: of a way its nodes, of a relation its members, with their kinds and roles.
ELEMENTS = pa.schema([
    pa.field("kind", pa.int8(), False), pa.field("id", pa.int64(), False), pa.field("version", pa.int64(), False),
    pa.field("deleted", pa.bool_(), False), pa.field("seconds", pa.int64()), pa.field("x", pa.int32()), pa.field("y", pa.int32()),
    pa.field("keys", pa.list_(pa.binary()), False), pa.field("values", pa.list_(pa.binary()), False),
    pa.field("refs", pa.list_(pa.int64()), False), pa.field("kinds", pa.list_(pa.int8()), False),
    pa.field("roles", pa.list_(pa.binary()), False),
])  # fmt: skip
_LISTS = ("keys", "values", "refs", "kinds", "roles")
_ACTIONS = ("create", "modify", "delete")
_PIECE = 2**16  # bytes that are parsed at a time
_BATCH = 2**15  # elements of a table
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:.{0,4096}?<)?osmChange[\s/>]", re.DOTALL)


def is_osc(head: bytes) -> bool:
    """Whether a file that begins with these bytes is one of changes of OpenStreetMap."""
    return _BEGIN.match(head) is not None


def read_osc(file: str, chunks: Iterable[bytes], limits: Limits) -> pa.Table:
    """The elements of a file of changes, in its order, as ELEMENTS describes them. Raises BadInput."""
    document = _ChangeDocument(file, limits)
    return pa.concat_tables([ELEMENTS.empty_table(), *document.tables(chunks)])


class _ChangeDocument:
    """A document while it is parsed."""

    def __init__(self, file: str, limits: Limits) -> None:
        self._file, self._limits = file, limits
        self._depth, self._action = 0, ""
        self._open: dict[str, Any] | None = None
        self._rows: list[dict[str, Any]] = []
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    def tables(self, chunks: Iterable[bytes]) -> Iterator[pa.Table]:
        """The elements. Raises BadInput."""
        fed = 0
        for chunk in chunks:
            for first in range(0, len(chunk), _PIECE):
                piece = chunk[first : first + _PIECE]
                fed += len(piece)
                self._parse(piece, False)
                if fed - self._parser.CurrentByteIndex > self._limits.line:
                    raise self._wrong(f"an element is longer than {self._limits.line} bytes, the limit (graph.limits.line)")
                if len(self._rows) >= _BATCH:
                    yield self._table()
        self._parse(b"", True)
        yield self._table()

    def _table(self) -> pa.Table:
        rows, self._rows = self._rows, []
        columns: dict[str, Any] = {
            field.name: [row[field.name] for row in rows] for field in ELEMENTS if field.name not in _LISTS
        }
        for name in _LISTS:
            ends = pa.array(accumulate((len(row[name]) for row in rows), initial=0), pa.int32())
            values = pa.array(chain.from_iterable(row[name] for row in rows), ELEMENTS.field(name).type.value_type)
            columns[name] = pa.ListArray.from_arrays(ends, values)
        return pa.table(columns, ELEMENTS)

    def _parse(self, data: bytes, end: bool) -> None:
        try:
            self._parser.Parse(data, end)
        except expat.ExpatError as error:
            raise BadInput(self._file, f"is not XML: {expat.ErrorString(error.code)}", error.lineno) from None
        except BadInput as error:
            raise self._wrong(error.reason) if error.line is None else error from None

    def _wrong(self, reason: str) -> BadInput:
        return BadInput(self._file, reason, self._parser.CurrentLineNumber)

    def _doctype(self, *_declaration: object) -> None:
        raise self._wrong("has a document type (<!DOCTYPE>), which may define entities; remove it")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "osmChange":
            raise self._wrong(f"its first element is <{shown(name.encode())}>, expected <osmChange>")
        if self._depth == 2:
            if name not in _ACTIONS:
                raise self._wrong(f"{shown(name.encode())} is not one of {', '.join(_ACTIONS)}")
            self._action = name
        elif self._depth == 3 and name in KINDS:
            self._open = self._element(name, attributes)
        elif self._open is not None and self._depth == 4:
            self._add(self._open, name, attributes)

    def _element(self, name: str, attributes: dict[str, str]) -> dict[str, Any]:
        deleted = self._action == "delete" or attributes.get("visible") == "false"
        row: dict[str, Any] = {
            "kind": KINDS[name],
            "id": integer(self._file, name, "id", attributes),
            "version": version_of(self._file, name, attributes),
            "deleted": deleted,
            "seconds": self._seconds(attributes),
            "x": None,
            "y": None,
        }
        row |= {column: [] for column in _LISTS}
        if name == "node" and not deleted:
            x, y = (unit(self._file, attributes, axis, most) for axis, most in (("lon", 180), ("lat", 90)))
            row |= {"x": x, "y": y}
        return row

    def _add(self, row: dict[str, Any], name: str, attributes: dict[str, str]) -> None:
        """Add a tag, a node of a way, or a member of a relation."""
        if name == "tag":
            row["keys"].append(attributes.get("k", "").encode())
            row["values"].append(attributes.get("v", "").encode())
        elif name in ("nd", "member"):
            row["refs"].append(integer(self._file, name, "ref", attributes))
            if len(row["refs"]) > MOST_REFS:
                raise self._wrong(f"an element has more than {MOST_REFS} nodes or members")
            if name == "member":
                row["kinds"].append(KINDS.get(attributes.get("type", ""), 0))
                row["roles"].append(attributes.get("role", "").encode())

    def _seconds(self, attributes: dict[str, str]) -> int | None:
        """When a version was made; None if it does not say so."""
        text = attributes.get("timestamp")
        if text is None:
            return None
        try:
            time = dt.datetime.fromisoformat(text)
            return int((time if time.tzinfo else time.replace(tzinfo=dt.UTC)).timestamp())
        except ValueError:
            raise self._wrong(f"timestamp {shown(text.encode())} is no time such as 2026-11-27T20:21:00Z") from None

    def _end(self, _name: str) -> None:
        self._depth -= 1
        if self._depth == 2 and self._open is not None:
            self._rows.append(self._open)
            self._open = None
