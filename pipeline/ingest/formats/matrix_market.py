"""Matrix Market files (`.mtx`): a banner, `%` comments, `ROWS COLUMNS ENTRIES`, then `ROW COLUMN [VALUE]`.

Ids start at 1. An entry (i, j) is the arc from i to j. A symmetric matrix stores one triangle and is an undirected graph. Of an
array, `ROWS COLUMNS`, then a value on each line, column by column, the values that are not 0 are entries. Skew-symmetric and
complex matrices have weights that no graph here has; without weights they are read, too.
https://math.nist.gov/MatrixMarket/formats.html
"""

from collections.abc import Iterator
from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.fields import Field, ends
from pipeline.ingest.formats.format import EdgeList, TextFormat, first_line
from pipeline.ingest.formats.rows import Declared, LineLayout, tables
from pipeline.ingest.formats.text import Text, problem
from pipeline.texts import shown

_FORMS = (b"coordinate", b"array")
_VALUES = {b"pattern": None, b"integer": pa.int64(), b"real": pa.float64(), b"complex": None}
_SYMMETRIES = (b"general", b"symmetric", b"skew-symmetric", b"hermitian")
_NO_WEIGHTS = "weight = false in [graph.columns] (--no-weight) reads its structure"


def read(text: Text, graph: GraphConfig, _weight: pa.DataType) -> EdgeList:
    """Read a square matrix."""
    form, values, symmetry = _banner(text, graph.columns.weight is False)
    sizes = problem(text, text.header(b"%"), b"", 3 if form == b"coordinate" else 2)
    height, width = sizes[:2]
    if height != width:
        raise BadInput(text.file, f"a matrix of {height} rows and {width} columns is not a graph; it must be square", text.line)
    kind, directed = None if graph.columns.weight is False else _VALUES[values], symmetry == b"general"
    if form == b"array":
        return _array(text, graph, height, (_VALUES[values] or pa.int64(), symmetry))
    further = {b"pattern": (), b"complex": (Field("real"), Field("imaginary"))}.get(values, (Field("weight", kind),))
    rows = LineLayout((*ends(low=1, high=height), *further), comment=b"%")
    edges = tables(text, rows, graph.limits.edges, Declared(sizes[2], text.line))
    return EdgeList(
        _off_diagonal(text.file, edges) if symmetry == b"skew-symmetric" else edges, kind, directed, True, first_id=1,
        declared_vertices=height, rows=sizes[2], largest={"src": height, "dst": height},
    )  # fmt: skip


def _array(text: Text, graph: GraphConfig, height: int, matrix: tuple[pa.DataType, bytes]) -> EdgeList:
    """The values of a dense matrix, of a type and a symmetry, that are not 0; `stated` counts the others."""
    kind, symmetry = matrix
    weighted, strict = graph.columns.weight is not False, symmetry == b"skew-symmetric"
    count = height * height if symmetry == b"general" else height * (height - 1 if strict else height + 1) // 2
    if count > graph.limits.edges:
        raise BadInput(text.file, f"declares {count} values, the limit is {graph.limits.edges} (graph.limits.edges)", text.line)
    # Without weights a value may be negative.
    rows = LineLayout((Field("weight", kind, 0 if weighted else -inf),), comment=b"%")
    values = tables(text, rows, graph.limits.edges, Declared(count, text.line))
    first = np.arange(height) + strict if symmetry != b"general" else np.zeros(height, np.int64)  # rows, from 0, of columns
    behind, stated = np.cumsum(height - first), {"zeros": 0}

    def entries() -> Iterator[pa.Table]:
        begin = 0
        for table in values:
            places = np.flatnonzero(table["weight"].to_numpy())
            stated["zeros"] += len(table) - len(places)
            column = np.searchsorted(behind, begin + places, side="right")
            row = begin + places - behind[column] + height
            weights = {"weight": table["weight"].take(pa.array(places))} if weighted else {}
            yield pa.table({"src": row + 1, "dst": column + 1} | weights)
            begin += len(table)

    return EdgeList(
        entries(), kind if weighted else None, symmetry == b"general", True, first_id=1, declared_vertices=height,
        largest={"src": height, "dst": height}, stated=stated,
    )  # fmt: skip


def _off_diagonal(file: str, edges: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same entries. Raises BadInput for one on the diagonal, where a skew-symmetric matrix has none."""
    for table in edges:
        loops = table.filter(pc.equal(table["src"], table["dst"]))
        if len(loops):
            raise BadInput(file, f"is skew-symmetric, but has an entry on its diagonal, in row {loops['src'][0].as_py()}")
        yield table


def _banner(text: Text, unweighted: bool) -> tuple[bytes, bytes, bytes]:
    line = text.readline() or b""
    words = line.lower().split()
    if words[:2] != [b"%%matrixmarket", b"matrix"] or len(words) != 5:
        raise BadInput(text.file, f'expected "%%MatrixMarket matrix coordinate VALUES SYMMETRY", found {shown(line)}', 1)
    for word, allowed in zip(words[2:], (_FORMS, tuple(_VALUES), _SYMMETRIES), strict=True):
        if word not in allowed:
            raise BadInput(text.file, f"{shown(word)} matrices are not supported, only {b', '.join(allowed).decode()}", 1)
    form, values, symmetry = words[2:]
    if (symmetry == b"hermitian") > (values == b"complex") or (form == b"array" and values in (b"pattern", b"complex")):
        raise BadInput(text.file, f"{shown(b' '.join(words[2:]))} matrices are not supported", 1)
    if values == b"complex" and not unweighted:
        raise BadInput(text.file, f"has complex values, which cannot be weights; {_NO_WEIGHTS}", 1)
    if symmetry == b"skew-symmetric" and values != b"pattern" and not unweighted:
        raise BadInput(text.file, f"is skew-symmetric: half of its values are negative, as no weights are; {_NO_WEIGHTS}", 1)
    return form, values, symmetry


FORMAT = TextFormat(read, ("mtx",), first_line(rb"(?i:%%MatrixMarket)\b"))
