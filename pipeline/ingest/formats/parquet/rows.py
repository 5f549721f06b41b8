"""The rows of a Parquet file as those of an edge list: each column is checked and converted by what it is for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.config.model import LARGEST, is_utf8
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import ReadColumns
from pipeline.ingest.formats.parquet.types import TEXT, is_id, is_text, plain, plain_type
from pipeline.ingest.values.numbers import USUAL
from pipeline.ingest.values.oneway import Meanings
from pipeline.ingest.values.order import has_order
from pipeline.ingest.values.rejects import HINT, Rejected, shortened
from pipeline.ingest.values.speeds import Lengths, Speeds

NAME = TEXT  # the type of ids that are strings
_AS_ONE = "; write it as one"
_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64()}
Convert = Callable[[pa.ChunkedArray, int], pa.ChunkedArray]  # a column as one of the edge list; its first row has this number


@dataclass(frozen=True)
class EdgeColumns:
    """The columns that are read, by what they are for: the name of each in the file, and how it becomes one of the edge list."""

    names: Mapping[str, str]
    ids: pa.DataType
    weight: pa.DataType | None
    convert: Mapping[str, Convert]
    order: pa.DataType | None = None

    def all(self, rows: pa.Table | pa.RecordBatch, first: int) -> tuple[pa.Table, list[Rejected]]:
        """Rows of the file, from number `first` on, as rows of the edge list. Raises BadInput for the first wrong value."""
        try:
            return pa.table({role: self.convert[role](rows[name], first) for role, name in self.names.items()}), []
        except BadInput as error:
            raise BadInput(error.file, f"{error.reason}{HINT}") from None

    def good(self, rows: pa.Table | pa.RecordBatch, first: int) -> tuple[pa.Table, list[Rejected]]:
        """As `all`, without the rows that have a wrong value, which are returned, too."""
        try:
            return self.all(rows, first)
        except BadInput:
            if len(rows) == 1:
                return self.all(rows.slice(0, 0), first)[0], [self._why(rows, first)]
        half = len(rows) // 2
        (one, bad), (other, more) = self.good(rows.slice(0, half), first), self.good(rows.slice(half), first + half)
        return pa.concat_tables([one, other]), [*bad, *more]

    def _why(self, row: pa.Table | pa.RecordBatch, number: int) -> Rejected:
        """Why a row is bad."""
        for role, name in self.names.items():
            try:
                self.convert[role](row[name], number)
            except BadInput as error:
                (value,) = _bytes(row[name]).to_pylist()
                return Rejected(number, error.reason.removeprefix(f"row {number}: "), role, shortened(value or b""))
        raise AssertionError("the row is bad")


def edge_columns(file: str, schema: pa.Schema, columns: ReadColumns, graph: GraphConfig) -> EdgeColumns:
    """How the chosen columns of a file are read. Raises BadInput for a column of another type."""
    names = columns.names
    ends = [end for end in ("src", "dst") if end in names]  # both, unless the partition states one
    ids = id_type(file, [schema.field(names[end]) for end in ends], graph.ids)
    convert: dict[str, Convert] = {end: partial(_checked, file, name=names[end], kind=ids) for end in ends}
    signed = "reverse_weight" in names  # a negative weight closes a direction
    weights = [name for name in ("weight", "reverse_weight") if name in names]
    weight = _common([weight_type(file, schema.field(names[name]), nulls=name != "weight") for name in weights])
    for role in weights:
        convert[role] = partial(_checked, file, name=names[role], kind=weight)
        if signed:
            convert[role] = partial(_signed, file, name=names[role], kind=weight, nullable=role != "weight")
    texts: dict[str, Meanings | Speeds | Lengths] = {"oneway": Meanings.of(graph)}
    if "speed" in names:
        texts |= {"weight": Lengths(USUAL), "speed": Speeds.of(graph)}
    for role in [role for role in texts if role in names]:
        kind = plain_type(schema.field(names[role]).type)
        if pa.types.is_nested(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind):
            raise BadInput(file, f"column {names[role]!r} is {kind}, not texts, numbers or booleans{_AS_ONE}")
        convert[role] = partial(_with_meanings, file, name=names[role], meanings=texts[role])
    order = _order_type(file, schema.field(names["order"])) if "order" in names else None
    if order:
        convert["order"] = partial(_ordered, file, name=names["order"], kind=order)
    return EdgeColumns(names, ids, weight, convert, order)


def _order_type(file: str, field: pa.Field) -> pa.DataType:
    kind = plain_type(field.type)
    if not has_order(kind):
        raise BadInput(file, f"column {field.name!r} is {field.type}, not numbers, dates, times or texts{_AS_ONE}")
    return kind


def _ordered(file: str, column: pa.ChunkedArray, first: int, *, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    """A column of order, which has neither nulls nor NaN."""
    column = plain(column)
    require_no_null(file, column, name, first)
    if kind == NAME:
        require_utf8(file, column, name, first)
    elif pa.types.is_floating(kind) and (unordered := pc.is_nan(column)) and pc.any(unordered).as_py():
        raise BadInput(file, f"row {first + pc.index(unordered, True).as_py()}: {name} is not a number")
    return column.cast(kind)


def _bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as texts that need not be UTF-8."""
    column = plain(column)
    return (column if is_text(column.type) else column.cast(TEXT)).cast(pa.large_binary())


def id_type(file: str, ends: Sequence[pa.Field], ids: str) -> pa.DataType:
    """The type of two columns of ids, NAME or int64, if the configuration states `ids`. Raises BadInput."""
    texts = [is_text(field.type) for field in ends]
    for field, text in zip(ends, texts, strict=True):
        if not is_id(field.type) or (text and ids == "integer"):
            wanted = f"not an integer type{'' if text else ' or string'}"
            raise BadInput(file, f"column {field.name!r} is {field.type}, {wanted}{_AS_ONE}")
    if ids != "string" and len(set(texts)) > 1:
        kinds = " and ".join(f"{field.name!r} is {field.type}" for field in ends)
        raise BadInput(file, f'column {kinds}; ids = "string" below [graph] reads both as strings')
    return NAME if ids == "string" or any(texts) else pa.int64()


def weight_type(file: str, field: pa.Field, nulls: bool = False) -> pa.DataType:
    """The type of weights that a column has; `nulls`: it may be a column of nulls only. Raises BadInput."""
    kind = plain_type(field.type)
    if nulls and pa.types.is_null(kind):
        return pa.int8()
    if pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64()):
        return _SIGNED.get(kind, kind)
    raise BadInput(file, f"column {field.name!r} is {field.type}; a weight must be an integer, float or double{_AS_ONE}")


def _common(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """The type that holds weights of these types."""
    if len(set(kinds)) < 2:
        return kinds[0] if kinds else None
    if any(map(pa.types.is_floating, kinds)):
        return pa.float64()
    return max(kinds, key=lambda kind: kind.bit_width)


def column_as(
    file: str, column: pa.Array | pa.ChunkedArray, name: str, kind: pa.DataType, first: int = 0
) -> pa.Array | pa.ChunkedArray:
    """Check a column and cast it to `kind`, or leave narrower integers; `first` is the number of its first row, from 0."""
    column = plain(column)
    require_no_null(file, column, name, first)
    if kind == NAME:
        names = column.cast(kind)
        if len(names) and pc.min(pc.binary_length(names)).as_py() == 0:
            raise BadInput(file, f"row {first + pc.index(names, pa.scalar('', kind)).as_py()}: {name} is empty")
        require_utf8(file, names, name, first)
        return names
    if pa.types.is_integer(kind):
        extremes = pc.min_max(column).as_py()
        if not len(column) or (extremes["min"] >= 0 and extremes["max"] <= LARGEST):
            return column if pa.types.is_signed_integer(column.type) else column.cast(kind)
    values = column.to_numpy()
    if not (fits := in_range(values)).all():
        row = int(np.argmin(fits))
        limit = "0 or more, and finite" if pa.types.is_floating(kind) else f"0..{LARGEST}"
        raise BadInput(file, f"row {first + row}: {name} {values[row]} is not in {limit}")
    return column.cast(kind)


def _checked(file: str, column: pa.ChunkedArray, first: int, *, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    return column_as(file, column, name, kind, first)


def _signed(file: str, column: pa.ChunkedArray, first: int, *, name: str, kind: pa.DataType, nullable: bool) -> pa.ChunkedArray:
    """Weights of which a negative one closes a direction, and so does a null where it may be one."""
    column = plain(column)
    if not nullable:
        require_no_null(file, column, name, first)
    known = column.fill_null(0) if not pa.types.is_null(column.type) else pa.array([0] * len(column), kind)
    values = known.to_numpy()
    fits = np.isfinite(values) if values.dtype.kind == "f" else values <= LARGEST
    if not fits.all():
        row = int(np.argmin(fits))
        raise BadInput(file, f"row {first + row}: {name} {values[row]} is not finite, or beyond {LARGEST}")
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        reason = f"has an integer that {kind}, the type of weight and reverse_weight together, would round"
        raise BadInput(file, f"column {name!r} {reason}; write both as one type") from None


def _with_meanings(
    file: str, column: pa.ChunkedArray, first: int, *, name: str, meanings: Meanings | Speeds | Lengths
) -> pa.ChunkedArray:
    """The codes of a column of texts, numbers or booleans; a float counts as the shortest decimal that reads as it."""
    column = plain(column)
    if is_text(column.type):
        require_utf8(file, column, name, first)
    texts = pc.utf8_trim_whitespace(column.cast(TEXT))
    texts = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts], TEXT)
    try:
        return meanings.codes(texts)
    except pa.ArrowInvalid:
        values = [text or "" for text in texts.to_pylist()]
        row = next(row for row, text in enumerate(values) if meanings.code(text) is None)
        raise BadInput(file, f"row {first + row}: {meanings.why_unknown(values[row].encode())}") from None


def require_no_null(file: str, column: pa.Array | pa.ChunkedArray, name: str, first: int = 0) -> None:
    """Raise BadInput for the first null; `first` is the number of the column's first row, from 0."""
    if column.null_count:
        raise BadInput(file, f"row {first + int(np.argmin(column.is_valid()))}: {name} is null")


def require_utf8(file: str, texts: pa.Array | pa.ChunkedArray, name: str, first: int = 0) -> None:
    """Raise BadInput for the first text that is not UTF-8, which Arrow does not check when it reads Parquet."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        values = texts.cast(NAME).cast(pa.large_binary()).to_pylist()
        row = next(row for row, value in enumerate(values) if not is_utf8(value))
        raise BadInput(file, f"row {first + row}: {name} {values[row][:40]!r} is not UTF-8") from None


def in_range(values: Array) -> Array:
    """Whether each value can be an id or a weight: not negative, finite, and not beyond int64."""
    fits: Array = (values >= 0) & (np.isfinite(values) if values.dtype.kind == "f" else values <= LARGEST)
    return fits
