"""OpenStreetMap's XML (`.osm`): `<node id lat lon>`, `<way id>` with `<nd ref>` and `<tag k v>`, and `<relation>`.

A document type is refused, and with it entities. https://wiki.openstreetmap.org/wiki/OSM_XML
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from pipeline.config.graph import Limits
from pipeline.errors import BadInput
from pipeline.ingest.formats.osm.changed import NODE, RELATION, WAY
from pipeline.ingest.formats.osm.elements import ENTRY, NAME
from pipeline.ingest.formats.osm.extract import StreetNodes, StreetWays
from pipeline.ingest.roads.relations import NODE as NODE_MEMBER
from pipeline.ingest.roads.relations import WAY as WAY_MEMBER
from pipeline.ingest.roads.relations import Member
from pipeline.numerals import LARGEST
from pipeline.texts import shown

_PIECE = 2**16  # bytes that are parsed at a time
_BATCH = 2**14  # elements that are added at a time
_TYPES = {"node": NODE_MEMBER, "way": WAY_MEMBER}  # of members
MOST_REFS = 2**20  # of a way; OpenStreetMap allows 2,000


@dataclass
class Element:
    """A node, way or relation while it is read, with the tags, nodes and members that it has so far."""

    kind: str
    attributes: dict[str, str]
    tags: list[tuple[bytes, bytes]] = field(default_factory=list)
    refs: list[int] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)


@dataclass(frozen=True)
class XmlReader:
    """An XML file at a path."""

    path: Path
    file: str
    limits: Limits

    def ways(self, into: StreetWays) -> None:
        """Add all ways, and the turn restrictions. Raises BadInput."""
        batch, changed = WayBatch(into), into.changed
        for way in _OsmDocument(self, "way", into.kinds).elements():
            identity = self._integer(way, "id")
            if not (changed and changed.supersedes(WAY, identity, version_of(self.file, way.kind, way.attributes))):
                batch.add(identity, way)
        batch.end()
        keys = dict.fromkeys(map(str.encode, into.turns.keys if into.turns else ()), 0)
        for relation in _OsmDocument(self, "relation", keys).elements() if into.turns or changed else ():
            identity, version = self._integer(relation, "id"), version_of(self.file, "relation", relation.attributes)
            if not (changed and changed.supersedes(RELATION, identity, version)) and into.turns:
                into.turns.add(identity, texts_of(relation.tags), relation.members)
        if changed:
            for node in _OsmDocument(self, "node", {}).elements():
                changed.supersedes(NODE, self._integer(node, "id"), version_of(self.file, "node", node.attributes))

    def nodes(self, into: StreetNodes) -> None:
        """Add all nodes that are wanted. Raises BadInput."""
        for node in _OsmDocument(self, "node", into.kinds).elements():
            identity = self._integer(node, "id")
            place = int(np.searchsorted(into.ids, identity))
            if place < len(into.ids) and into.ids[place] == identity:
                units = [unit(self.file, node.attributes, "lon", 180), unit(self.file, node.attributes, "lat", 90)]
                into.add(np.array([place]), np.array([units], np.int32), np.array([into.mark_of(node.tags)], np.uint8))

    def _integer(self, element: Element, name: str) -> int:
        return integer(self.file, element.kind, name, element.attributes)


def unit(file: str, attributes: Mapping[str, str], name: str, most: int) -> int:
    """A coordinate of a node in the seventh decimal of a degree, rounded half away from zero as it stands in the file.

    Raises BadInput for another text.
    """
    text = attributes.get(name, "")
    try:
        if len(text) > 40 or not abs(degrees := Decimal(text)) <= most:
            raise ValueError
    except (ArithmeticError, ValueError):
        raise BadInput(
            file, f"node {attributes['id']}: {name} {shown(text.encode())} is not in -{most}..{most} degrees"
        ) from None
    return round(degrees * 10**7)


def integer(file: str, kind: str, name: str, attributes: Mapping[str, str]) -> int:
    """An attribute that is an integer. Raises BadInput for another text."""
    text = attributes.get(name, "")
    if not (
        text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and len(text) < 20 and abs(int(text)) <= LARGEST
    ):
        raise BadInput(file, f"a <{kind}> has {name} {shown(text.encode())}, which is not an integer")
    return int(text)


def texts_of(tags: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The tags of a relation as texts."""
    return {key.decode(): value.decode() for key, value in tags}


def version_of(file: str, kind: str, attributes: Mapping[str, str]) -> int:
    """The version of an element, 0 without one. Raises BadInput for another text."""
    return max(0, integer(file, kind, "version", attributes)) if "version" in attributes else 0


class WayBatch:
    """Ways that are added together."""

    def __init__(self, into: StreetWays) -> None:
        self._into = into
        self._rows: list[tuple[int, int, int, int]] = []
        self._refs: list[int] = []
        self._names: dict[bytes, int] = {}

    def add(self, identity: int, way: Element) -> None:
        """Add a way, if it is a street."""
        kinds, name = self._into.kinds, -1
        if not any(kinds[key] == ENTRY for key, _ in way.tags):
            return
        verdict = self._into.verdict([(key, value) for key, value in way.tags if kinds[key] != NAME])
        if isinstance(verdict, str):
            self._into.left[verdict] += 1
            return
        for key, value in way.tags:
            name = self._names.setdefault(value, len(self._names)) if kinds[key] == NAME else name
        self._rows.append((identity, verdict, name, len(way.refs)))
        self._refs += way.refs
        if len(self._rows) >= _BATCH or len(self._refs) >= MOST_REFS:
            self.end()

    def end(self) -> None:
        """Give away what was added."""
        rows = np.array(self._rows, np.int64).reshape(-1, 4)
        ids, streets, names, lengths = (rows[:, column] for column in range(4))
        refs = np.array(self._refs, np.int64)
        texts = pa.array([*self._names], pa.large_binary())
        self._into.add(ids, streets.astype(np.int32), texts, names.astype(np.int32), lengths.astype(np.int32), refs)
        self._rows, self._refs, self._names = [], [], {}


class _OsmDocument:
    """A document whose elements of one kind are wanted, with the tags whose keys are among `keys`."""

    def __init__(self, reader: XmlReader, wanted: str, keys: Mapping[bytes, int]) -> None:
        self._reader, self._wanted, self._keys = reader, wanted, keys
        self._depth = 0
        self._open: Element | None = None
        self._ready: list[Element] = []
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    def elements(self) -> Iterator[Element]:
        """The elements in their order. Raises BadInput."""
        fed, limit = 0, self._reader.limits.line
        with self._reader.path.open("rb") as file:
            while piece := file.read(_PIECE):
                fed += len(piece)
                self._parse(piece, False)
                if fed - self._parser.CurrentByteIndex > limit:
                    raise self._wrong(f"an element is longer than {limit} bytes, the limit (graph.limits.line)")
                ready, self._ready = self._ready, []
                yield from ready
        self._parse(b"", True)
        yield from self._ready

    def _parse(self, data: bytes, end: bool) -> None:
        try:
            self._parser.Parse(data, end)
        except expat.ExpatError as error:
            raise BadInput(self._reader.file, f"is not XML: {expat.ErrorString(error.code)}", error.lineno) from None

    def _wrong(self, reason: str) -> BadInput:
        return BadInput(self._reader.file, reason, self._parser.CurrentLineNumber)

    def _doctype(self, *_declaration: object) -> None:
        raise self._wrong("has a document type (<!DOCTYPE>), which may define entities; remove it")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "osm":
            what = (
                "holds changes, not a map; `graphmill change` applies them to a run"
                if name == "osmChange"
                else f"its first element is <{shown(name.encode())}>, expected <osm>"
            )
            raise self._wrong(what)
        if self._depth == 2 and name in ("node", "way", "relation") and attributes.get("visible") == "false":
            raise self._wrong(f"a <{name}> is deleted, as in a history; a graph is made from the state of one day")
        if self._depth == 2 and name == self._wanted and attributes.get("action") != "delete":
            self._open = Element(name, attributes)
        elif self._open is not None and self._depth == 3:
            if name == "nd":
                self._open.refs.append(integer(self._reader.file, name, "ref", attributes))
                if len(self._open.refs) > MOST_REFS:
                    raise self._wrong(f"a way has more than {MOST_REFS} nodes")
            elif name == "member":
                kind = _TYPES.get(attributes.get("type", ""), -1)
                number = integer(self._reader.file, name, "ref", attributes)
                self._open.members.append(Member(kind, number, attributes.get("role", "")))
            elif name == "tag" and (key := attributes.get("k", "").encode()) in self._keys:
                self._open.tags.append((key, attributes.get("v", "").encode()))

    def _end(self, _name: str) -> None:
        self._depth -= 1
        if self._depth == 1 and self._open is not None:
            self._ready.append(self._open)
            self._open = None
