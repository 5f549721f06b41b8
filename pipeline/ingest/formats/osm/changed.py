"""The elements that files of changes of OpenStreetMap have: which of an extract's own they replace or delete as it is read."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.errors import BadInput
from pipeline.store.facts.roads import UpdateFacts

NODE, WAY, RELATION = 1, 2, 3
KINDS = {"node": NODE, "way": WAY, "relation": RELATION}
_UNKNOWN = -1  # the version of an element that the extract lacks


def newest(elements: pa.Table) -> pa.Table:
    """The newest version of each element, by kind and id; of equal versions the last row."""
    kind, identity, version = (elements[name].to_numpy() for name in ("kind", "id", "version"))
    order = np.lexsort((version, identity, kind))  # stable
    kind, identity = kind[order], identity[order]
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = (kind[1:] != kind[:-1]) | (identity[1:] != identity[:-1])
    return elements.take(pa.array(order[is_last]))


@dataclass
class _OfKind:
    """The changed elements of a kind: ids, int64 [n], ascending; versions in the files and in the extract; rows of the table."""

    ids: Array
    versions: Array
    stored: Array
    rows: Array

    @cached_property
    def places(self) -> Mapping[int, int]:
        """The place of each id."""
        return {identity: place for place, identity in enumerate(self.ids.tolist())}

    @property
    def wins(self) -> Array:
        """Which elements take the place of those of the extract, bool [n]; known once the extract was read."""
        return self.versions >= self.stored


@dataclass
class ChangedElements:
    """The newest versions of elements in files of changes.

    Attributes:
        elements: As `pipeline.ingest.formats.osm.osc.ELEMENTS`, each element once, by kind and id.
    """

    elements: pa.Table
    _kinds: dict[int, _OfKind] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds, ids, versions = (self.elements[name].to_numpy() for name in ("kind", "id", "version"))
        for kind in KINDS.values():
            rows = np.flatnonzero(kinds == kind)
            self._kinds[kind] = _OfKind(ids[rows], versions[rows], np.full(len(rows), _UNKNOWN, np.int64), rows)

    def of(self, kind: int) -> _OfKind:
        """The elements of a kind."""
        return self._kinds[kind]

    def supersedes(self, kind: int, identity: int, version: int) -> bool:
        """Whether an element of the extract is replaced or deleted; its version is noted."""
        known = self.of(kind)
        place = known.places.get(identity)
        if place is None:
            return False
        self.note(kind, np.array([place]), np.array([version]))
        return bool(version <= known.versions[place])

    def compare(self, kind: int, ids: Array, versions: Array) -> tuple[Array, Array, Array]:
        """Of elements of the extract, int64 [n]: which are replaced or deleted, bool [n]; places and versions, to be noted."""
        known = self.of(kind)
        if not len(known.ids):
            return np.zeros(len(ids), np.bool_), np.empty(0, np.int64), np.empty(0, np.int64)
        places = np.minimum(np.searchsorted(known.ids, ids), len(known.ids) - 1)
        hit = known.ids[places] == ids
        return hit & (versions <= known.versions[places]), places[hit], versions[hit]

    def note(self, kind: int, places: Array, versions: Array) -> None:
        """Note the versions that the extract has; of an element that comes twice the newest."""
        np.maximum.at(self.of(kind).stored, places, versions)

    def facts(self, files: int) -> UpdateFacts:
        """What the files have changed, once the extract was read."""
        deleted, changed = self.elements["deleted"].to_numpy(zero_copy_only=False), list[int]()
        absent, older, removed = 0, 0, 0
        for kind in KINDS.values():
            known = self.of(kind)
            gone, is_absent = deleted[known.rows], known.stored == _UNKNOWN
            absent += int(np.count_nonzero(gone & is_absent))
            older += int(np.count_nonzero(~known.wins))
            removed += int(np.count_nonzero(gone & known.wins & ~is_absent))
            changed.append(int(np.count_nonzero(known.wins & ~gone)))
        seconds = self.elements["seconds"].drop_null().to_numpy()
        nodes, ways, relations = changed
        facts = UpdateFacts(files=files, nodes=nodes, ways=ways, relations=relations, deleted=removed, absent=absent, older=older)
        return facts.model_copy(update={"timestamp": shown_time(int(seconds.max()))}) if len(seconds) else facts


def shown_time(seconds: int) -> str:
    """A time since 1970, as OpenStreetMap writes it."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def require_ascending(file: str, ids: Array) -> None:
    """Raise BadInput unless the ways of an extract are sorted, so that those of the changes have their place among them."""
    if (ids[1:] < ids[:-1]).any():
        at = int(np.flatnonzero(ids[1:] < ids[:-1])[0])
        raise BadInput(
            file, f"way {ids[at + 1]} comes behind way {ids[at]}: changes need an extract in the order of ids (osmium sort)"
        )
