"""GML (`.gml`): `graph [ directed 0 node [ id 1 label "x" ] edge [ source 1 target 2 weight 3 ] ]`; other keys are skipped.

A vertex's id is its `label`, if the first node has one, otherwise its `id`. The weight is the key `weight` of edges, or the one
that is configured. Himsolt, "GML: A portable Graph File Format" (Passau, 1997); entities such as `&quot;` are resolved.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList, TextFormat, first_line
from pipeline.ingest.formats.labelled import Edge, Listed, edge_list
from pipeline.ingest.formats.text import Text
from pipeline.texts import shown, why_not_utf8

_WORD = re.compile(rb'[ \t\v\f]*+(?:(\n)|(\[)|(\])|("[^"]*+")|([^\s\[\]"#]++)|(#[^\n]*+))')
_KEY = re.compile(r"[A-Za-z_]\w*")
_DEEPEST = 100  # nested lists


@dataclass
class _Lists:
    """The lists that are open, and what the innermost node or edge says."""

    open: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    key: str = ""  # that waits for its value
    graphs: int = 0
    begun: bool = False  # whether a node or an edge has begun


def read(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read a GML graph; the names of its vertices are held."""
    listed = Listed(directed=False)
    return edge_list(text, graph, weight, listed, _edges(text, graph, listed))


def _edges(text: Text, graph: GraphConfig, listed: Listed) -> Iterator[Edge]:
    lists, names, labels = _Lists(), dict[str, str](), dict[str, int]()
    listed.vertices = names.values
    for word, line in _words(text, graph.limits.line):
        if word == "[":
            _open(text.file, lists, line)
        elif word == "]":
            if not lists.open or lists.key:
                raise BadInput(text.file, f"']' behind {lists.key!r}" if lists.key else "']' without '['", line)
            if lists.open == ["graph", "node"]:
                _add_node(text.file, lists.said, names, labels, line)
            elif lists.open == ["graph", "edge"]:
                yield _edge(text.file, graph, lists.said, names, line)
            lists.open.pop()
        elif lists.key:
            _say(text.file, lists, listed, word, line)
        elif _KEY.fullmatch(word):
            lists.key = word
        else:
            raise BadInput(text.file, f"expected a key, found {shown(word.encode())}", line)
    if lists.open or lists.key or not lists.graphs:
        within = f"ends within {(lists.open or [lists.key])[-1]!r}" if lists.open or lists.key else "has no graph"
        raise BadInput(text.file, within, text.line)


def _open(file: str, lists: _Lists, line: int) -> None:
    """Begin the list of a key."""
    if not lists.key or len(lists.open) >= _DEEPEST:
        raise BadInput(file, f"over {_DEEPEST} nested lists" if lists.key else "a list without a key", line)
    lists.open.append(lists.key)
    lists.key = ""
    if lists.open == ["graph"]:
        lists.graphs += 1
        if lists.graphs > 1:
            raise BadInput(file, "a second graph", line)
    if len(lists.open) == 2:
        lists.said = {}
        lists.begun |= lists.open in (["graph", "node"], ["graph", "edge"])


def _say(file: str, lists: _Lists, listed: Listed, value: str, line: int) -> None:
    """Note a key with its value, if it is one of the graph, a node or an edge itself."""
    key, lists.key = lists.key, ""
    if lists.open == ["graph"] and key == "directed":
        if value not in ("0", "1"):
            raise BadInput(file, f"directed is {value[:40]!r}, expected 0 or 1", line)
        if lists.begun:
            raise BadInput(file, "directed comes behind nodes or edges; write it before them", line)
        listed.directed = value == "1"
    elif len(lists.open) == 2:
        if key in ("id", "label", "source", "target") and key in lists.said:
            raise BadInput(file, f"{key} comes twice in a {lists.open[1]}", line)
        lists.said[key] = value


def _add_node(file: str, said: dict[str, str], names: dict[str, str], labels: dict[str, int], line: int) -> None:
    number = said.get("id", "")
    if not number or number in names:
        raise BadInput(file, f"a second node has the id {number[:80]!r}" if number else "a node has no id", line)
    labelled = "label" in said if not names else bool(labels)
    if labelled != ("label" in said):
        raise BadInput(file, f"node {number[:80]!r} has {'no' if labelled else 'a'} label, unlike those before it", line)
    if labelled:
        label = _unquoted(said["label"])
        if not label or label in labels:
            reason = f"is that of the node on line {labels[label]}, too" if label else "is empty"
            raise BadInput(file, f"label {label[:80]!r} {reason}; labels name the vertices and must differ, or be absent", line)
        labels[label] = line
    names[number] = label if labelled else _unquoted(number)


def _edge(file: str, graph: GraphConfig, said: dict[str, str], names: dict[str, str], line: int) -> Edge:
    ends = []
    for end in ("source", "target"):
        number = said.get(end, "")
        if number not in names:
            reason = f"its {end} {number[:80]!r} is no node before it" if number else f"it has no {end}"
            raise BadInput(file, f"an edge: {reason}", line)
        ends.append(names[number])
    weight = said.get(graph.columns.weight or "weight")
    return Edge(ends[0], ends[1], None if weight is None else _unquoted(weight), line)


def _unquoted(value: str) -> str:
    return html.unescape(value[1:-1]) if value.startswith('"') else value


def _words(text: Text, longest: int) -> Iterator[tuple[str, int]]:
    """The words, brackets and quoted texts, each with its line. Texts may have line breaks."""
    rest, line = b"", 1
    for block in text.blocks():
        data, at = rest + block.data.replace(b"\r\n", b"\n"), 0
        while match := _WORD.match(data, at):
            at = match.end()
            if match[1]:
                line += 1
            elif not match[6]:
                word = match[0].lstrip(b" \t\v\f")
                if reason := why_not_utf8(word):
                    raise BadInput(text.file, f"{shown(word)} {reason}, or graph.encoding states its encoding", line)
                yield word.decode(), line
                line += word.count(b"\n")
        rest = data[at:]
        if len(rest) > longest:
            raise BadInput(text.file, f"a text is longer than {longest} bytes, the limit (graph.limits.line)", line)
    if rest.strip():
        raise BadInput(text.file, f"cannot be read from {shown(rest.strip()[:80])}", line)


_FIRST = rb'graph\s*\[|(Creator|Version|comment|label)\s+("|\d)'
FORMAT = TextFormat(read, ("gml",), first_line(_FIRST), frozenset({"columns", "encoding"}))
