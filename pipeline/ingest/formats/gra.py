"""GRAIL adjacency lines (`.gra`): a title, the number of vertices, then a line `V: C1 C2 ... #` for each. Ids start at 0.

Yıldırım, Chaoji, Zaki, "GRAIL: Scalable Reachability Index for Large Graphs", PVLDB 2010; https://github.com/zakimjz/grail
"""

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.ingest.fields import Fault, small_integer
from pipeline.ingest.formats.format import EdgeList, Head, TextFormat
from pipeline.ingest.formats.rows import Declared, check_count, too_many
from pipeline.ingest.formats.text import Text, has_leading_zero, integers_of, line_of, parse, problem, tidied
from pipeline.texts import shown, why_not_an_id

_LINE = re.compile(rb"[0-9]++ ?:(?: ?[0-9]++)*+ ?#")  # possessive, so that a line costs time in proportion to its length
_ID = re.compile(rb"[0-9]++")
_TO_LINES = bytes.maketrans(b" \t", b"\n\n")
_END, _COLON = -1, -2  # replace `#` and `:` between the ids


def read(text: Text, graph: GraphConfig, _weight: pa.DataType) -> EdgeList:
    """Read as many adjacency lines as the second line declares, in any order."""
    text.header()  # the title, which carries no data
    (vertices,) = problem(text, text.header(), b"", 1)
    return EdgeList(_tables(text, vertices, graph.limits.edges), None, first_id=0, declared_vertices=vertices)


def _tables(text: Text, vertices: int, limit: int) -> Iterator[pa.Table]:
    declared = Declared(vertices, text.line)
    lines, arcs = 0, 0
    for block in text.blocks():
        table, count = parse(text.file, block, tidied, lambda data: _read(data, vertices), lambda line: _explain(line, vertices))
        if lines + count > vertices:
            raise too_many(text.file, line_of(block, tidied, lambda _line: 1, vertices - lines), vertices, declared)
        if arcs + len(table) > limit:
            raise too_many(text.file, line_of(block, tidied, _count, limit - arcs), limit, None)
        lines += count
        arcs += len(table)
        yield table
    check_count(text.file, lines, declared)


def _read(data: bytes, vertices: int) -> tuple[pa.Table, int] | None:
    """Return the arcs and the number of lines; None if a line is malformed."""
    if not data:
        return pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())}), 0
    lines = data.count(b"\n")
    if b"-" in data or b"x" in data or b"X" in data or not lines == data.count(b"#\n") == data.count(b"#") == data.count(b":"):
        return None
    column = data.translate(_TO_LINES).replace(b"#", b"\n%d" % _END).replace(b":", b"\n%d\n" % _COLON)
    if has_leading_zero(column):
        return None
    if (tokens := integers_of(column)) is None:
        return None
    ends = np.flatnonzero(tokens == _END)
    starts = np.concatenate(([0], ends[:-1] + 1))
    named = np.array_equal(np.flatnonzero(tokens == _COLON), starts + 1) and int(tokens[starts].min()) >= 0
    if not named or int(tokens.max()) >= vertices:
        return None
    is_child = tokens >= 0
    is_child[starts] = False
    return pa.table({"src": np.repeat(tokens[starts], ends - starts - 2), "dst": tokens[is_child]}), lines


def _explain(line: bytes, vertices: int) -> Fault | None:
    if not _LINE.fullmatch(line):
        return Fault(f'expected "VERTEX: CHILDREN #", found {shown(line)}')
    for vertex in _ID.finditer(line):
        if reason := why_not_an_id(vertex[0].decode()):
            return Fault(f"vertex {shown(vertex[0])} {reason}")
        if (value := small_integer(vertex[0])) is None or value >= vertices:
            return Fault(f"vertex {shown(vertex[0])} is not in 0..{vertices - 1}")
    return None


def _count(line: bytes) -> int:
    return len(line.partition(b":")[2].split()) - 1


def _matches(head: Head) -> bool:
    lines = head.lines
    return len(lines) > 1 and lines[1].isdigit() and (len(lines) == 2 or re.match(rb"\d+ ?:", lines[2]) is not None)


FORMAT = TextFormat(read, ("gra",), _matches)
