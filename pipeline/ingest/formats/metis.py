"""METIS graphs (`.graph`): `VERTICES EDGES [FORM [CONSTRAINTS]]`, then a line for each vertex with its neighbours, `%` comments.

FORM has three digits: vertices have sizes, vertices have weights (CONSTRAINTS of them, by default 1), edges have weights, which
follow each neighbour. Ids start at 1; all figures are integers. Undirected: each edge is on the lines of both its ends, with the
same weight, and is read from that of the smaller one. A vertex without neighbours has a blank line.
Karypis, "METIS: Serial Graph Partitioning", manual of version 5.1.0, section 4.1; also of KaHIP and the 10th DIMACS Challenge.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kernels.cpu.parallel import cores
from pipeline.config.graph import GraphConfig
from pipeline.config.model import LARGEST
from pipeline.errors import BadInput
from pipeline.ingest.fields import Fault, small_integer
from pipeline.ingest.formats.format import EdgeList, TextFormat
from pipeline.ingest.formats.rows import Declared, too_many
from pipeline.ingest.formats.text import Block, Text, Tidied, has_leading_zero, integers_of, parse, problem
from pipeline.runtime.threads import map_in_order
from pipeline.texts import shown, why_not_an_id

Array = npt.NDArray[np.int64]
_FORM = re.compile(rb"[01]{1,3}")
_TO_LINES = bytes.maketrans(b" \t\v\f", b"\n\n\n\n")
_MOST_VERTICES = 2**31  # so that a pair of vertices is an int64
_NO_EDGES = 'if the file has "SRC DST" lines, state format = "snap" (--format snap)'


@dataclass(frozen=True)
class _Header:
    vertices: int
    edges: int
    before: int  # figures of a vertex before its neighbours
    weighted: bool  # whether a weight follows each neighbour
    line: int


@dataclass(frozen=True)
class _Neighbours:
    """The neighbours on the lines of a block."""

    lengths: Array  # of the lines
    lines: Array  # their numbers within the block, from 0
    heads: Array
    weights: Array | None


@dataclass
class _Seen:
    """What has to hold over the whole file: the edges from the lines of their larger ends, and where lines are."""

    smaller: list[Array] = field(default_factory=list)  # codes of edges, from the lines of the smaller ends
    larger: list[Array] = field(default_factory=list)
    weights: tuple[list[Array], list[Array]] = field(default_factory=lambda: ([], []))
    lines: list[Array] = field(default_factory=list)  # of vertices


def read(text: Text, graph: GraphConfig, _weight: pa.DataType) -> EdgeList:
    """Read a METIS graph, header first. About 40 bytes for each edge are held, to compare both its lines."""
    header = _header(text)
    if header.edges > graph.limits.edges:
        most = f"declares {header.edges} edges, the limit is {graph.limits.edges} (graph.limits.edges)"
        raise BadInput(text.file, most, header.line)
    weighted = header.weighted and graph.columns.weight is not False
    stated = {"weights and sizes of vertices": header.before * header.vertices} if header.before else {}
    return EdgeList(
        _tables(text, header, weighted), pa.int64() if weighted else None, False, first_id=1, declared_vertices=header.vertices,
        rows=header.edges, largest={"src": header.vertices, "dst": header.vertices}, stated=stated,
    )  # fmt: skip


def _header(text: Text) -> _Header:
    line = text.header(b"%")
    words = line.split()
    form = words[2] if len(words) > 2 else b"0"
    if not 2 <= len(words) <= 4 or not _FORM.fullmatch(form):
        raise BadInput(text.file, f'expected the header "VERTICES EDGES [FORM [CONSTRAINTS]]", found {shown(line)}', text.line)
    numbers = problem(text, b" ".join(words[:2] + words[3:]), b"", 3 if words[3:] else 2)
    sizes, weights, weighted = (digit == ord("1") for digit in form.rjust(3, b"0"))
    constraints = numbers[2] if words[3:] else 1
    if words[3:] and (not weights or constraints < 1):
        raise BadInput(text.file, f"{shown(line)} states how many weights a vertex has, but FORM says none", text.line)
    if numbers[0] >= _MOST_VERTICES:
        raise BadInput(text.file, f"declares {numbers[0]} vertices, the limit is {_MOST_VERTICES - 1}", text.line)
    return _Header(numbers[0], numbers[1], sizes + weights * constraints, weighted, text.line)


def _tables(text: Text, header: _Header, weighted: bool) -> Iterator[pa.Table]:
    seen, vertices, edges = _Seen(), 0, 0

    def lists_of(block: Block) -> tuple[Block, _Neighbours]:
        how = _without_comments, lambda data: _read(data, header), lambda line: _explain(line, header)
        lists = parse(text.file, block, *how)
        return block, replace(lists, lines=_without_comments(block.data)[1]) if b"%" in block.data else lists

    for block, read_lists in map_in_order(lists_of, text.blocks(), cores()):
        lists = _within(text.file, header, block, read_lists, vertices)
        count = len(lists.lengths)
        tails = np.repeat(np.arange(vertices + 1, vertices + count + 1), lists.lengths)
        lines = block.line + lists.lines
        loops = np.flatnonzero(tails == lists.heads)
        if len(loops):
            vertex = int(tails[loops[0]])
            line = int(lines[vertex - vertices - 1])
            raise BadInput(text.file, f"vertex {vertex} is its own neighbour, which METIS does not have", line)
        first = tails < lists.heads
        if edges + int(first.sum()) > header.edges:
            place = int(np.flatnonzero(first)[header.edges - edges])
            line = int(lines[int(tails[place]) - vertices - 1])
            raise too_many(text.file, line, header.edges, Declared(header.edges, header.line))
        _keep(seen, header, tails, lists, first)
        seen.lines.append(lines)
        weights = {"weight": lists.weights[first]} if weighted and lists.weights is not None else {}
        yield pa.table({"src": tails[first], "dst": lists.heads[first]} | weights)
        vertices, edges = vertices + count, edges + int(first.sum())
    if vertices < header.vertices:
        reason = f"declares {header.vertices} vertices, but the file has {vertices} lines of neighbours"
        raise BadInput(text.file, f"{reason}; {_NO_EDGES}", header.line)
    _require_both(text.file, header, seen)
    if edges < header.edges:
        raise BadInput(text.file, f"declares {header.edges} edges, but the file has {edges}, on two lines each", header.line)


def _within(file: str, header: _Header, block: Block, lists: _Neighbours, vertices: int) -> _Neighbours:
    """The lists of vertices, without blank lines behind the last one. Raises BadInput for other lines behind it."""
    left = header.vertices - vertices
    if len(lists.lengths) <= left:
        return lists
    behind = np.flatnonzero(lists.lengths[left:])
    if len(behind) or header.before:
        line = block.line + int(lists.lines[left + (int(behind[0]) if len(behind) else 0)])
        reason = f"more than the {header.vertices} lines of vertices that line {header.line} declares; {_NO_EDGES}"
        raise BadInput(file, reason, line)
    return _Neighbours(lists.lengths[:left], lists.lines[:left], lists.heads, lists.weights)


def _keep(seen: _Seen, header: _Header, tails: Array, lists: _Neighbours, first: npt.NDArray[np.bool_]) -> None:
    seen.smaller.append(tails[first] * header.vertices + lists.heads[first] - 1)
    seen.larger.append(lists.heads[~first] * header.vertices + tails[~first] - 1)
    if lists.weights is not None:
        seen.weights[0].append(lists.weights[first])
        seen.weights[1].append(lists.weights[~first])


def _require_both(file: str, header: _Header, seen: _Seen) -> None:
    """Raise BadInput unless each edge is on the lines of both its ends, as often and with the same weights."""
    codes, weights = [], []
    for parts, values in zip((seen.smaller, seen.larger), seen.weights, strict=True):
        of_side = np.concatenate([*parts, np.empty(0, np.int64)])
        parts.clear()
        if header.weighted:
            value = np.concatenate([*values, np.empty(0, np.int64)])
            order = np.lexsort((value, of_side))
            of_side = of_side[order]
            weights.append(value[order])
        else:
            of_side.sort()
        codes.append(of_side)
    common = min(map(len, codes))
    differ = np.flatnonzero(codes[0][:common] != codes[1][:common])
    at = int(differ[0]) if len(differ) else common
    lines = np.concatenate(seen.lines) if seen.lines else np.empty(0, np.int64)
    if at < max(map(len, codes)):
        ends = [_ends(int(side[at]), header) if at < len(side) else None for side in codes]
        smaller, larger = ends
        here, there = smaller if smaller and (not larger or smaller < larger) else (larger or (0, 0))[::-1]
        reason = f"vertex {here} has neighbour {there}, but vertex {there} does not have neighbour {here} as often; {_NO_EDGES}"
        raise BadInput(file, reason, int(lines[here - 1]))
    if header.weighted and len(other := np.flatnonzero(weights[0] != weights[1])):
        one, two = _ends(int(codes[0][other[0]]), header)
        differ_by = f"{weights[0][other[0]]} on its line, {weights[1][other[0]]} on that of vertex {two}"
        raise BadInput(file, f"the edge from vertex {one} to {two} has weight {differ_by}", int(lines[one - 1]))


def _ends(code: int, header: _Header) -> tuple[int, int]:
    """The smaller and the larger end of an edge."""
    smaller, larger = divmod(code, header.vertices)
    return smaller, larger + 1


def _without_comments(data: bytes) -> Tidied:
    """Drop lines that start with `%`; blank lines stay, which are vertices without neighbours."""
    lines = data.split(b"\n")[:-1]
    kept = [number for number, line in enumerate(lines) if not line.lstrip(b" \t\v\f").startswith(b"%")]
    return b"".join(b" ".join(lines[number].split()) + b"\n" for number in kept), np.array(kept, np.int64)


def _read(data: bytes, header: _Header) -> _Neighbours | None:
    """Return the lists of whole lines; None if one is malformed, or has a comment."""
    if b"%" in data or b"-" in data or b"x" in data or b"X" in data or b'"' in data:
        return None
    column = data.translate(_TO_LINES)
    if has_leading_zero(data):
        return None
    lines = column.lstrip(b"\n")
    if (tokens := integers_of(lines) if lines else np.empty(0, np.int64)) is None:
        return None
    counts = _counts(data)
    step = 2 if header.weighted else 1
    blank = np.flatnonzero(counts < header.before)
    if counts.sum() != len(tokens) or len(blank) or ((counts - header.before) % step).any():
        return None
    position = np.arange(len(tokens)) - np.repeat(np.cumsum(counts) - counts, counts) - header.before
    heads = tokens[(position >= 0) & (position % step == 0)]
    weights = tokens[(position >= 0) & (position % step == 1)] if header.weighted else None
    if len(heads) and (heads.min() < 1 or heads.max() > header.vertices):
        return None
    return _Neighbours((counts - header.before) // step, np.arange(len(counts)), heads, weights)


def _counts(data: bytes) -> Array:
    """How many words each line has."""
    letters = np.frombuffer(data, np.uint8)
    blank = (letters == ord(" ")) | ((letters >= ord("\t")) & (letters <= ord("\r")))
    begins = np.flatnonzero(~blank & np.concatenate(([True], blank[:-1])))
    return np.diff(np.searchsorted(begins, np.flatnonzero(letters == ord("\n"))), prepend=0)


def _explain(line: bytes, header: _Header) -> Fault | None:
    words = line.split()
    rest, step = words[header.before :], 2 if header.weighted else 1
    for word in words:
        if reason := why_not_an_id(word.decode(errors="replace")):
            return Fault(f"{shown(word)} {reason}")
        if (value := small_integer(word)) is None or value < 0:
            return Fault(f"{shown(word)} is not in 0..{LARGEST}")
    for word in rest[::step]:
        if not 1 <= (small_integer(word) or 0) <= header.vertices:
            return Fault(f"neighbour {shown(word)} is not in 1..{header.vertices}; {_NO_EDGES}")
    if len(words) < header.before or len(rest) % step:
        form = f"{header.before} figures of the vertex, then " if header.before else ""
        return Fault(f"expected {form}neighbours{' with a weight each' if header.weighted else ''}, found {shown(line)}")
    return None


FORMAT = TextFormat(read, ("graph", "metis"))  # two integers may be an edge, too: the name decides (`detect`)
