"""Pajek networks (`.net`): `*Vertices N`, lines `NUMBER "LABEL" ...`, then `*Arcs`, `*Edges` (`U V [VALUE]`) or their lists.

A vertex's id is its label, or its number if it has none; with `ids = "integer"` all are numbers, from 1. `*Edges` behind `*Arcs`
are arcs in both directions. Mrvar, Batagelj, "Pajek: Reference Manual"; `%` begins a comment.
"""

import re
from collections.abc import Iterator

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList, TextFormat, first_line
from pipeline.ingest.formats.labelled import Edge, Listed, edge_list
from pipeline.ingest.formats.text import Text
from pipeline.texts import shown, why_not_utf8

_VERTEX = re.compile(rb'([1-9]\d{0,17})(?:\s+(?:"([^"]*+)"|([^\s"]\S*+)))?(?:\s.*)?')
_NUMBER = re.compile(rb"[-+]?(\d|\.\d).*")
_SIZES = re.compile(rb"\*vertices\s+(\d{1,18})(\s+\d{1,18})?", re.IGNORECASE)
_SECTIONS = {b"*arcs": True, b"*edges": False, b"*arcslist": True, b"*edgeslist": False}  # whether they are directed
_LARGEST = 2**31  # vertices


def read(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read a Pajek network; the names of its vertices are held."""
    listed = Listed()
    return edge_list(text, graph, weight, listed, _Network(text, graph, listed).edges())


class _Network:
    """A network that is read line by line."""

    def __init__(self, text: Text, graph: GraphConfig, listed: Listed) -> None:
        self._text, self._listed, self._numbered = text, listed, graph.ids == "integer"
        self._stated = graph.directed is not None
        self._count: int | None = None
        self._labels: dict[int, str] = {}
        self._lines: dict[str, int] = {}  # of labels
        self._section = b""
        self._relation: bytes | None = None
        listed.vertices = lambda: (self._name(number) for number in range(1, (self._count or 0) + 1))

    def edges(self) -> Iterator[Edge]:
        """The edges in their order. Raises BadInput."""
        for block in self._text.blocks():
            for number, whole in enumerate(block.data.split(b"\n"), block.line):
                line = whole.strip()
                if not line or line.startswith(b"%"):
                    continue
                if line.startswith(b"*"):
                    self._begin(line, number)
                elif self._section == b"*vertices":
                    self._vertex(line, number)
                elif self._section in _SECTIONS:
                    yield from self._edges(line, number)
                else:
                    raise BadInput(self._text.file, f"expected *Vertices, found {shown(line)}", number)
        if self._count is None:
            raise BadInput(self._text.file, "has no *Vertices")

    def _begin(self, line: bytes, number: int) -> None:
        words = line.split()
        word = words[0].lower()
        if word == b"*vertices":
            sizes = _SIZES.fullmatch(line)
            if not sizes or self._count is not None or int(sizes[1]) >= _LARGEST:
                raise BadInput(self._text.file, f"expected one line *Vertices N, found {shown(line)}", number)
            self._count = int(sizes[1])
            if self._numbered:
                self._listed.numbers = 1, self._count
        elif word in _SECTIONS and self._count is not None:
            relation = words[1] if words[1:] else b""
            if self._relation not in (None, relation):
                reason = f"several relations, {shown(self._relation or b'')} and {shown(relation)}; keep one of them"
                raise BadInput(self._text.file, reason, number)
            self._relation = relation
        elif word != b"*network":
            raise BadInput(self._text.file, f"section {shown(words[0])} is not supported here", number)
        self._section = word

    def _vertex(self, line: bytes, number: int) -> None:
        match = _VERTEX.fullmatch(line)
        if not match or int(match[1]) > (self._count or 0):
            reason = f'expected NUMBER "LABEL" with a number in 1..{self._count}, found {shown(line)}'
            raise BadInput(self._text.file, reason, number)
        label = match[2] if match[2] is not None else match[3]
        if self._numbered or not label:
            return
        if wrong := why_not_utf8(label):
            raise BadInput(self._text.file, f"{shown(label)} {wrong}, or graph.encoding states its encoding", number)
        name, vertex = label.decode(), int(match[1])
        if vertex in self._labels or name in self._lines:
            twice = f"label {shown(label)} is also on line {self._lines.get(name)}"
            what = f"vertex {vertex} comes twice" if vertex in self._labels else twice
            raise BadInput(self._text.file, f'{what}; ids = "integer" below [graph] (--ids integer) takes numbers', number)
        self._labels[vertex], self._lines[name] = name, number

    def _edges(self, line: bytes, number: int) -> Iterator[Edge]:
        directed = _SECTIONS[self._section]
        if self._listed.directed is None:
            self._listed.directed = directed
        if directed and not self._listed.directed and not self._stated:
            raise BadInput(
                self._text.file, "an arc behind edges; write *Arcs before *Edges, which are then two arcs each", number
            )
        words = line.split()
        is_list = self._section.endswith(b"list")
        least = 1 if is_list else 2
        ends = [self._end(word, line, number) for word in (words if is_list else words[:2])]
        if len(ends) < least:
            raise BadInput(self._text.file, f"expected U V [VALUE], found {shown(line)}", number)
        weight = None if is_list or len(words) < 3 or not _NUMBER.fullmatch(words[2]) else words[2].decode(errors="replace")
        for end in ends[1:]:
            yield Edge(ends[0], end, weight, number)
            if self._listed.directed and not directed and not self._stated:
                yield Edge(end, ends[0], weight, number)

    def _end(self, word: bytes, line: bytes, number: int) -> str | int:
        if not re.fullmatch(rb"[1-9]\d{0,17}", word) or int(word) > (self._count or 0):
            reason = f"{shown(word)} is not the number of a vertex, 1..{self._count}: {shown(line)}"
            raise BadInput(self._text.file, reason, number)
        return int(word) if self._numbered else self._name(int(word))

    def _name(self, vertex: int) -> str:
        if vertex in self._labels:
            return self._labels[vertex]
        if (name := str(vertex)) in self._lines:
            reason = 'is the number of a vertex without a label, too; ids = "integer" below [graph] (--ids integer) takes numbers'
            raise BadInput(self._text.file, f"label {name!r} {reason}", self._lines[name])
        return name


FORMAT = TextFormat(read, ("net",), first_line(rb"\*(?i:vertices|network)\b"), frozenset({"encoding", "ids"}))
