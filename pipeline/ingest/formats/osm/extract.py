"""What a profile takes of an OpenStreetMap file: streets and the places of their nodes, from PBF and from XML alike."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.errors import BadInput
from pipeline.ingest.formats.osm.changed import ChangedElements, require_ascending
from pipeline.ingest.formats.osm.elements import ENTRY, NAME, TAG, place_of
from pipeline.ingest.roads.profile import CLOSED, Profile, Street
from pipeline.ingest.roads.relations import TurnRelations

Tags = Sequence[tuple[bytes, bytes]]


class Reader(Protocol):
    """A file that is read twice: first its ways, then the nodes that they need."""

    def ways(self, into: "StreetWays") -> None:
        """Add all ways and, if they are wanted, the turn restrictions."""

    def nodes(self, into: "StreetNodes") -> None:
        """Add all nodes that are wanted."""


class StreetWays:
    """The streets of a file, while they are added.

    Attributes:
        kinds: What keys are for, see `elements`.
        streets: What is known of a street by its tags, its name aside.
        left: How many ways were left out, by the reason.
        turns: Gets the turn restrictions, if they are wanted.
        changed: What files of changes have replaced or deleted; these elements are not added.
    """

    def __init__(
        self, file: str, profile: Profile, turns: TurnRelations | None = None, changed: ChangedElements | None = None
    ) -> None:
        self.turns, self.changed = turns, changed
        self.kinds = dict.fromkeys(map(str.encode, profile.keys), TAG) | dict.fromkeys([b"highway", b"route"], ENTRY)
        self.kinds[b"name"] = NAME
        self.streets: list[Street] = []
        self.left: Counter[str] = Counter()
        self._names: list[pa.Array] = []
        self._file, self._profile = file, profile
        self._verdicts: dict[tuple[tuple[bytes, bytes], ...], int | str] = {}
        self._named = 0
        self._parts: list[tuple[Array, ...]] = []

    def verdict(self, tags: Tags) -> int | str:
        """The number of a street with these tags among `streets`, or why a way with them is none."""
        key = tuple(sorted(tags))
        known = self._verdicts.get(key)
        if known is None:
            judged = self._profile.judge({name.decode(errors="replace"): text.decode(errors="replace") for name, text in key})
            if isinstance(judged, Street):
                self.streets.append(judged)
            known = self._verdicts[key] = len(self.streets) - 1 if isinstance(judged, Street) else judged
        return known

    @property
    def names(self) -> pa.Array:
        """The names of the ways, large_string; one may come several times."""
        return pa.concat_arrays([pa.array([], pa.large_string()), *self._names])

    def _decoded(self, texts: pa.Array) -> pa.Array:
        try:
            return texts.cast(pa.large_string())
        except pa.ArrowInvalid:
            wrong = next(text for text in texts.to_pylist() if not _is_utf8(text))
            raise BadInput(self._file, f"the name {wrong[:80]!r} of a way is not UTF-8") from None

    def add(self, ids: Array, streets: Array, texts: pa.Array, names: Array, lengths: Array, refs: Array) -> None:
        """Add ways. Raises BadInput for a name that is no text.

        Args:
            ids (int64 [n]): Of the ways.
            streets (int32 [n]): Number of each in `streets`.
            texts (large_binary): Their names.
            names (int32 [n]): Number of each one's name among `texts`, or -1.
            lengths (int32 [n]): Number of each one's nodes.
            refs (int64 [sum of lengths]): Ids of the nodes.
        """
        if len(refs) and refs.min() < 0:
            raise BadInput(
                self._file, f"has a node with the id {refs.min()}, as editors number what was not uploaded; ids are at least 0"
            )
        self._names.append(self._decoded(texts))
        names = np.where(names < 0, -1, names + self._named).astype(np.int32)
        self._named += len(texts)
        self._parts.append((ids, streets, names, lengths, refs))

    def note(self, kind: int, places: Array, versions: Array) -> None:
        """As `ChangedElements.note`."""
        if self.changed:
            self.changed.note(kind, places, versions)

    def columns(self) -> tuple[Array, ...]:
        """Ids, streets, numbers of names, lengths and refs; they are given away, so that a second copy takes no memory."""
        none = (np.empty(0, np.int64), *(np.empty(0, np.int32) for _ in range(3)), np.empty(0, np.int64))
        parts, self._parts = [none, *self._parts], []
        columns = [list(column) for column in zip(*parts, strict=True)]
        del parts
        return tuple(np.concatenate(columns.pop(0)) for _ in range(5))


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class StreetNodes:
    """The places of the nodes of streets, while they are added.

    Attributes:
        ids (int64 [M]): Of all nodes that are wanted, ascending.
        units (int32 [M, 2]): Longitude and latitude, in the seventh decimal of a degree.
        known (bool [M]): Which nodes the file has.
        marks (uint8 [M]): What each is, see `Profile.marks`.
        repeated: How many nodes came again; the first counts.
    """

    def __init__(self, ids: Array, profile: Profile) -> None:
        self.ids, self.units = ids, np.zeros((len(ids), 2), np.int32)
        self.known, self.marks = np.zeros(len(ids), np.bool_), np.zeros(len(ids), np.uint8)
        self.repeated = 0
        self._hidden: Array | None = None
        self.kinds = dict.fromkeys(map(str.encode, profile.keys_of_nodes), TAG)
        self._profile, self._verdicts = profile, dict[tuple[tuple[bytes, bytes], ...], int]()

    @property
    def passable(self) -> Array:
        """Which nodes are in the file and no barriers, bool [M]."""
        return self.known & ~self.marked(CLOSED)

    def marked(self, mark: int) -> Array:
        """Which nodes have a mark, bool [M]."""
        marked: Array = (self.marks & mark) > 0
        return marked

    def mark_of(self, tags: Tags) -> int:
        """What a node with these tags is."""
        key = tuple(sorted(tags))
        if key not in self._verdicts:
            words = {name.decode(errors="replace"): text.decode(errors="replace") for name, text in key}
            self._verdicts[key] = self._profile.marks(words)
        return self._verdicts[key]

    def replace(self, hidden: Array, places: Array, units: Array, marks: Array) -> None:
        """Set nodes, before others are added; of those that are `hidden`, places in `ids`, none is taken from what is added."""
        self._hidden = np.zeros(len(self.ids), np.bool_)
        self._hidden[hidden] = True
        self.units[places], self.marks[places], self.known[places] = units, marks, True

    def add(self, places: Array, units: Array, marks: Array) -> None:
        """Add nodes: their places in `ids`, int64 [n], longitudes and latitudes, int32 [n, 2], and their marks, uint8 [n]."""
        if self._hidden is not None:
            kept = ~self._hidden[places]
            places, units, marks = places[kept], units[kept], marks[kept]
        self.repeated += _first_of_each(places, units, marks, self.units, self.known, self.marks)


@njit(cache=True, nogil=True)
def _first_of_each(places: Array, units: Array, marks: Array, all_units: Array, known: Array, all_marks: Array) -> int:
    repeated = 0
    for node, place in enumerate(places):
        if known[place]:
            repeated += 1
        else:
            known[place], all_marks[place] = True, marks[node]
            all_units[place, 0], all_units[place, 1] = units[node, 0], units[node, 1]
    return repeated


@dataclass(frozen=True)
class Extract:
    """The streets of a file.

    Attributes:
        ways (int64 [W]): Their ids.
        street (int32 [W]): Number of each in `streets`.
        name (int32 [W]): Number of each one's name in `names`, large_string, or -1.
        ends (int64 [W]): Where the nodes of each end in `at`.
        at (int32 or int64 [R]): Places of their nodes among `nodes`, in the order of the file.
        left: How many ways were left out, by the reason.
        repeated: How many ways came again; the first counts.
    """

    ways: Array
    street: Array
    name: Array
    ends: Array
    at: Array
    nodes: StreetNodes
    streets: list[Street]
    names: pa.Array
    left: Counter[str]
    repeated: int


class Change(Protocol):
    """What files of changes do to an extract: see `pipeline.ingest.formats.osm.updates`."""

    @property
    def changed(self) -> ChangedElements:
        """What is replaced or deleted."""

    def add_ways(self, into: StreetWays) -> None:
        """Add the new versions of ways and turn restrictions, once the extract's were added."""

    def add_nodes(self, into: StreetNodes) -> None:
        """Set the new versions of nodes, before the extract's are added."""


def extract(
    file: str, reader: Reader, profile: Profile, turns: TurnRelations | None = None, change: Change | None = None
) -> Extract:
    """Read the streets of a file, and the places of their nodes; with changes, as they are after these.

    `turns` gets the turn restrictions.
    """
    ways = StreetWays(file, profile, turns, change.changed if change else None)
    reader.ways(ways)
    columns = ways.columns()
    if change:
        require_ascending(file, columns[0])
        change.add_ways(ways)
        columns = _in_order(columns, ways.columns())
    repeated = len(columns[0]) - len(first := np.unique(columns[0], return_index=True)[1])
    if repeated:
        columns = _only(columns, np.isin(np.arange(len(columns[0])), first))
    ids, streets, names, lengths, refs = columns
    del columns
    distinct = np.sort(refs)
    distinct = distinct[np.flatnonzero(np.diff(distinct, prepend=-1))]
    at = np.empty(len(refs), np.int32 if len(distinct) < 2**31 else np.int64)
    _places_of(distinct, refs, at)
    del refs
    nodes = StreetNodes(distinct, profile)
    if change:
        change.add_nodes(nodes)
    reader.nodes(nodes)
    ends = np.cumsum(lengths, dtype=np.int64)
    return Extract(ids, streets, names, ends, at, nodes, ways.streets, ways.names, ways.left, repeated)


def _in_order(columns: tuple[Array, ...], more: tuple[Array, ...]) -> tuple[Array, ...]:
    """The columns of ways and of more ways, by ascending ids."""
    ids, *others, lengths, refs = (np.concatenate(pair) for pair in zip(columns, more, strict=True))
    order = np.argsort(ids, kind="stable")
    counts = lengths[order].astype(np.int64)
    begins = (np.cumsum(lengths, dtype=np.int64) - lengths)[order]
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return (ids[order], *(column[order] for column in others), lengths[order], refs[np.repeat(begins, counts) + step])


def _only(columns: tuple[Array, ...], kept: Array) -> tuple[Array, ...]:
    """The columns of the ways that are kept, as `StreetWays.columns` returns them."""
    return (*(column[kept] for column in columns[:4]), columns[4][np.repeat(kept, columns[3])])


@njit(cache=True, nogil=True)
def _places_of(ids: Array, refs: Array, at: Array) -> None:
    near = np.int64(0)
    for number, ref in enumerate(refs):  # those of a way are near each other
        near = place_of(ids, ref, near)
        at[number] = near
