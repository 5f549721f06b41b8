"""Guess the columns of a table of edges from their names and from its first rows."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyarrow import types

from pipeline.config.graph import Columns, GraphConfig
from pipeline.errors import BadInput

ROWS = 1000  # of a text file, that are looked at
DELIMITERS = ",;\t|"
# Names of columns, the likelier first.
_SRC = "src source from from_id from_node who u tail start origin follower citing caller sender a id1 node1"
_DST = "dst dest destination target to to_id to_node whom v head end followed cited callee receiver recipient b id2 node2"
_WEIGHT = "weight w length distance dist cost time seconds minutes hours metres meters km count amount value duration capacity"


@dataclass(frozen=True)
class Sample:
    """Names of a file's columns (numbers from 1 without a header line), what each holds, and how the file has to be read."""

    names: list[str]
    kinds: dict[str, str]  # integer, number or text
    header: bool = True
    delimiter: str | None = None  # None: the format's own


def of_text(head: bytes, tab: bool) -> Sample:
    """Look at the first rows of a CSV file, or of a TSV file if `tab`."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines()[: ROWS + 1] if line.strip()]
    delimiter = "\t" if tab else max(DELIMITERS, key=lambda character: min(line.count(character) for line in lines[:20]))
    rows = list(csv.reader(lines[:ROWS], delimiter=delimiter, skipinitialspace=True))
    header = all(_kind_of(field) == "text" for field in rows[0])
    names = [name.strip() for name in rows[0]] if header else [str(number) for number, _ in enumerate(rows[0], 1)]
    columns = zip(*(row for row in rows[header:] if len(row) == len(names)), strict=True)
    kinds = dict(zip(names, map(_kind, columns), strict=False))
    return Sample(
        names, {name: kinds.get(name, "text") for name in names}, header, None if tab or delimiter == "," else delimiter
    )


def of_parquet(path: Path) -> Sample:
    """The columns of a Parquet file, by its footer."""
    schema = pq.read_schema(path)
    known = {field.name: field.type for field in schema}
    kinds = {
        name: "integer" if types.is_integer(kind) else "number" if types.is_floating(kind) else "text"
        for name, kind in known.items()
    }
    return Sample(list(known), kinds)


def chosen(file: str, sample: Sample, graph: GraphConfig) -> Columns:
    """The columns that are configured or, for the others, likely. Raises BadInput if there are too few columns."""
    given = graph.columns
    ids = [name for name in sample.names if sample.kinds[name] != "number" and name != graph.columns.weight]
    if len(ids) < 2:
        raise BadInput(file, f"has no two columns of ids among {', '.join(map(repr, sample.names))[:200]}")
    src = given.src or _named(_SRC, (free := [name for name in ids if name != given.dst])) or free[0]
    alike = [name for name in ids if name != src and sample.kinds[name] == sample.kinds.get(src)]
    dst = given.dst or _named(_DST, alike) or next(name for name in [*alike, *ids] if name != src)
    weight = given.weight
    if weight is None:
        numbers = [name for name in sample.names if name not in (src, dst) and sample.kinds[name] != "text"]
        weight = _named(_WEIGHT, numbers) or False
    return Columns(src=src, dst=dst, weight=weight)


def _named(known: str, names: Iterable[str]) -> str | None:
    """The first of the known names that the file has."""
    folded = {name.lower().replace(" ", "_").replace("-", "_"): name for name in reversed(list(names))}
    return next((folded[word] for word in known.split() if word in folded), None)


def _kind(values: Iterable[str]) -> str:
    """The kind of the values in some fields; empty fields are ignored."""
    kinds = {_kind_of(field) for value in values if (field := value.strip())}
    return "text" if "text" in kinds or not kinds else "number" if "number" in kinds else "integer"


def _kind_of(field: str) -> str:
    try:
        float(field)
    except ValueError:
        return "text"
    return "integer" if field.isdecimal() else "number"
