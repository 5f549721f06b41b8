"""Guess the columns of a table of edges from their names and from its first rows."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from pipeline.cli.init.dates import are_moments, is_date
from pipeline.config.graph import Columns, GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet import reading
from pipeline.ingest.formats.parquet.types import is_text

ROWS = 5000  # of a file, that are looked at
DELIMITERS = ",;\t|"
_BUFFER = 2**20  # bytes of a column of a Parquet file that are read at a time
# Names of columns, the likelier first.
_SRC = (
    "src source from from_id from_node who u tail start origin follower citing caller sender a id1 node1 user user_id person "
    "person_id"
)
_DST = (
    "dst dest destination target to to_id to_node whom v head end followed followee cited callee receiver recipient b id2 node2 "
    "friend friend_id"
)
_WEIGHT = "weight w length distance dist cost time seconds minutes hours metres meters km count amount value duration capacity"
_IDS = ("integer", "text")  # kinds that ids may have
BY_NAME, BY_PLACE = "by its name", "as the first column left that may have ids"


@dataclass(frozen=True)
class Sample:
    """Names of a file's columns (numbers from 1 without a header line), what each holds, and how the file has to be read."""

    names: list[str]
    kinds: dict[str, str]  # integer, number, date, text or, in Parquet, the type of what is none of these
    header: bool = True
    delimiter: str | None = None  # None: the format's own


@dataclass(frozen=True)
class Guess:
    """The columns of the edges, and why those that were not stated were chosen."""

    columns: Columns
    reasons: dict[str, str]  # by the roles src, dst and weight


def of_text(head: bytes, tab: bool) -> Sample:
    """Look at the first rows of a CSV file, or of a TSV file if `tab`."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines()[: ROWS + 1] if line.strip()]
    delimiter = "\t" if tab else max(DELIMITERS, key=lambda character: min(line.count(character) for line in lines[:20]))
    rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    header = all(_kind_of(field.strip()) == "text" for field in rows[0])
    names = [name.strip() for name in rows[0]] if header else [str(number) for number, _ in enumerate(rows[0], 1)]
    columns = zip(*(row for row in rows[header:] if len(row) == len(names)), strict=True)
    kinds = {name: _kind(name, column) for name, column in zip(names, columns, strict=False)}
    return Sample(
        names, {name: kinds.get(name, "text") for name in names}, header, None if tab or delimiter == "," else delimiter
    )


def of_parquet(path: Path, file: str) -> Sample:
    """The columns of a Parquet file, by its footer and the first rows of its texts and integers. Raises BadInput."""
    with reading(file), pq.ParquetFile(path, buffer_size=_BUFFER) as parquet:
        known = {field.name: field.type for field in parquet.schema_arrow}
        kinds = {name: _kind_of_type(kind) for name, kind in known.items()}
        looked_at = [name for name, kind in kinds.items() if kind in _IDS]
        for batch in parquet.iter_batches(ROWS, columns=looked_at):
            kinds |= {name: _kind(name, _texts(batch[name])) for name in looked_at if batch[name].null_count < len(batch)}
            break
    return Sample(list(known), kinds)


def guess(file: str, sample: Sample, graph: GraphConfig) -> Guess:
    """The columns that are configured or, for the others, likely. Raises BadInput if there are too few columns."""
    given, kinds, reasons = graph.columns, sample.kinds, dict[str, str]()
    ids = [name for name in sample.names if kinds[name] in _IDS and name != given.weight]
    if len({*ids, *filter(None, (given.src, given.dst))}) < 2:
        seen = ", ".join(f"{name!r} ({kind})" for name, kind in kinds.items())[:200]
        raise BadInput(file, f"has no two columns of ids among {seen}; --src and --dst name them")

    def guessed(role: str, likely: str, free: Sequence[str]) -> str:
        named = _named(likely, free)
        reasons[role] = BY_NAME if named else BY_PLACE
        return named or next((name for name in free if not _named(_WEIGHT, [name])), free[0])

    src = given.src or guessed("src", _SRC, [name for name in ids if name != given.dst])
    others = [name for name in ids if name != src]
    alike = [name for name in others if kinds[name] == kinds.get(src)]
    dst = given.dst or guessed("dst", _DST, alike or others)
    weight = given.weight
    if weight is None:
        numbers = [name for name in sample.names if name not in (src, dst) and kinds[name] in ("integer", "number")]
        weight = _named(_WEIGHT, numbers) or False
        reasons |= {"weight": BY_NAME} if weight else {}
    return Guess(Columns(src=src, dst=dst, weight=weight), reasons)


def _named(known: str, names: Iterable[str]) -> str | None:
    """The first of the known names that the file has."""
    folded = {name.lower().replace(" ", "_").replace("-", "_"): name for name in reversed(list(names))}
    return next((folded[word] for word in known.split() if word in folded), None)


def _texts(column: pa.Array) -> Iterable[str]:
    return (str(value) for value in column.to_pylist() if value is not None)


def _kind(name: str, values: Iterable[str]) -> str:
    """The kind of the values in some fields of a column; empty fields are ignored."""
    fields = [field for value in values if (field := value.strip())]
    kinds = {_kind_of(field) for field in fields}
    if kinds == {"date"} or (kinds == {"integer"} and are_moments(name, [int(field) for field in fields])):
        return "date"
    return "text" if kinds & {"text", "date"} or not kinds else "number" if "number" in kinds else "integer"


def _kind_of(field: str) -> str:
    if field.isdecimal():
        return "integer"
    try:
        float(field)
    except ValueError:
        return "date" if is_date(field) else "text"
    return "number"


def _kind_of_type(kind: pa.DataType) -> str:
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    return "date" if types.is_temporal(kind) else "text" if is_text(kind) else str(kind)
