"""GraphML (`.graphml`): XML with `<key>`, one `<graph edgedefault>`, `<node id>`, `<edge source target>` with `<data key>`.

The weight is the attribute of edges whose `attr.name` is `weight`, or the one that is configured. Ids are strings.
A document type is refused, and with it entities. http://graphml.graphdrawing.org/specification.html
"""

from collections import deque
from collections.abc import Iterator
from xml.parsers import expat

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList, Head, TextFormat
from pipeline.ingest.formats.labelled import Edge, Listed, edge_list
from pipeline.ingest.formats.text import Text
from pipeline.texts import shown

_PIECE = 2**16  # bytes that are parsed at a time
_LONGEST = 1000  # characters of a weight
_DIRECTIONS = {"directed": True, "undirected": False}


def read(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read a GraphML document; the names of its vertices are held."""
    listed = Listed()
    return edge_list(text, graph, weight, listed, _Document(text, graph, listed).edges())


class _Document:
    """A document that is parsed piece by piece; `ready` has the edges that were not taken yet."""

    def __init__(self, text: Text, graph: GraphConfig, listed: Listed) -> None:
        self._text, self._graph, self._listed = text, graph, listed
        self._wanted = graph.columns.weight or "weight"
        self.ready: deque[Edge] = deque()
        self._nodes: dict[str, None] = {}
        self._unknown: dict[str, int] = {}  # ends of edges whose nodes have not come, and the lines of the edges
        self._path: list[str] = []  # names of the open elements
        self._weight_key: str | None = None
        self._default: str | None = None
        self._edge: dict[str, str] | None = None
        self._value: str | None = None  # of the edge's weight
        self._letters: str | None = None  # of the weight or its default, while they come
        self._graphs, self._reading_key = 0, False
        listed.vertices = lambda: self._nodes
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.CharacterDataHandler, self._parser.StartDoctypeDeclHandler = self._characters, self._doctype

    def edges(self) -> Iterator[Edge]:
        """The edges in their order. Raises BadInput."""
        fed = 0
        for chunk in self._text.chunks:
            for begin in range(0, len(chunk), _PIECE):
                piece = chunk[begin : begin + _PIECE]
                fed += len(piece)
                self._parse(piece, False)
                if fed - self._parser.CurrentByteIndex > self._graph.limits.line:
                    raise self._wrong(f"an element is longer than {self._graph.limits.line} bytes, the limit (graph.limits.line)")
                yield from self._taken()
            self._text.bytes += len(chunk)
        self._parse(b"", True)
        yield from self._taken()
        if not self._graphs:
            raise BadInput(self._text.file, "has no <graph>")
        for name, line in self._unknown.items():
            raise BadInput(self._text.file, f"the edge is at {name[:80]!r}, but no <node> has this id", line)

    def _taken(self) -> Iterator[Edge]:
        while self.ready:
            yield self.ready.popleft()

    def _parse(self, data: bytes, end: bool) -> None:
        try:
            self._parser.Parse(data, end)
        except expat.ExpatError as error:
            raise BadInput(self._text.file, f"is not XML: {expat.ErrorString(error.code)}", error.lineno) from None

    def _wrong(self, reason: str) -> BadInput:
        return BadInput(self._text.file, reason, self._parser.CurrentLineNumber)

    def _doctype(self, *_declaration: object) -> None:
        raise self._wrong("has a document type (<!DOCTYPE>), which may define entities; remove it")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        if not self._path and name != "graphml":
            raise self._wrong(f"its first element is <{shown(name.encode())}>, expected <graphml>")
        inside = self._path[-1] if self._path else ""
        self._path.append(name)
        if name == "key":
            self._key(attributes)
        elif name == "default" and inside == "key" and self._reading_key:
            self._letters = ""
        elif name == "graph":
            self._begin_graph(attributes)
        elif name == "node":
            self._node(attributes)
        elif name == "hyperedge":
            raise self._wrong("has a <hyperedge>, which joins more than two vertices")
        elif name == "edge":
            self._edge, self._value = attributes, self._default
        elif name == "data" and inside == "edge" and self._weight_key and attributes.get("key") == self._weight_key:
            self._letters = ""

    def _end(self, name: str) -> None:
        self._path.pop()
        name = name.rpartition(" ")[2]
        if name == "edge" and self._edge is not None:
            self._add(self._edge)
            self._edge = None
        elif name == "data" and self._letters is not None:
            self._value, self._letters = self._letters.strip(), None
        elif name == "default" and self._letters is not None:
            self._default, self._letters = self._letters.strip(), None

    def _characters(self, letters: str) -> None:
        if self._letters is not None:
            self._letters += letters
            if len(self._letters) > _LONGEST:
                raise self._wrong(f"a weight is longer than {_LONGEST} characters")

    def _key(self, attributes: dict[str, str]) -> None:
        name = attributes.get("attr.name", attributes.get("id", ""))
        self._reading_key = attributes.get("for", "all") in ("edge", "all") and name == self._wanted
        if self._reading_key:
            if self._weight_key is not None or self._graphs:
                raise self._wrong(
                    f"a <key> of edges with the name {name!r} {'behind <graph>' if self._graphs else 'comes twice'}"
                )
            self._weight_key = attributes.get("id", "")
        elif attributes.get("for", "all") in ("edge", "all"):
            self._listed.attributes += (name,)

    def _begin_graph(self, attributes: dict[str, str]) -> None:
        self._graphs += 1
        if self._graphs > 1:
            raise self._wrong("has a second <graph>, nested or behind the first")
        if self._graph.columns.weight and self._weight_key is None:
            names = ", ".join(map(repr, self._listed.attributes)) or "none"
            raise self._wrong(f"no attribute {self._wanted!r} of edges among {names} (graph.columns.weight)")
        stated = attributes.get("edgedefault", "")
        self._listed.directed = _DIRECTIONS.get(stated)
        if self._listed.directed is None and self._graph.directed is None:
            raise self._wrong(f"edgedefault is {stated[:40]!r}, expected directed or undirected; or state graph.directed")

    def _node(self, attributes: dict[str, str]) -> None:
        name = attributes.get("id", "")
        if not name or name in self._nodes:
            raise self._wrong(f"a second <node> has the id {name[:80]!r}" if name else "a <node> has no id")
        self._nodes[name] = None
        self._unknown.pop(name, None)

    def _add(self, edge: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        src, dst = edge.get("source", ""), edge.get("target", "")
        if not (src and dst):
            raise self._wrong("an <edge> has no source, or no target")
        own = {"true": True, "false": False}.get(edge.get("directed", ""), self._listed.directed)
        if own is not self._listed.directed and self._graph.directed is None:
            raise self._wrong("an <edge> has another direction than edgedefault; or state graph.directed")
        for name in (src, dst):
            if name not in self._nodes:
                self._unknown.setdefault(name, line)
        self.ready.append(Edge(src, dst, self._value, line))


def _matches(head: Head) -> bool:
    return head.first.startswith((b"<?xml", b"<graphml", b"<!--")) and (
        any(b"<graphml" in line for line in head.lines) or head.first.startswith(b"<graphml")
    )


FORMAT = TextFormat(read, ("graphml",), _matches, frozenset({"columns"}))
