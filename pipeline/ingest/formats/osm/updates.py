"""Changes of an OpenStreetMap extract: files of changes are applied while the extract is read, as `osmium apply-changes` does.

Of all versions of an element, in the files and in the extract, the one of the highest number counts; of equal numbers that of the
last file. The newest version of each element in the files is kept beside the edge list, for the next files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.config.graph import GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks
from pipeline.ingest.formats.osm.changed import NODE, RELATION, WAY, ChangedElements, newest
from pipeline.ingest.formats.osm.extract import StreetNodes, StreetWays
from pipeline.ingest.formats.osm.osc import ELEMENTS, is_osc, read_osc
from pipeline.ingest.formats.osm.xml import Element, WayBatch, texts_of
from pipeline.ingest.roads.relations import Member, TurnRelations
from pipeline.ingest.source import Source, stored
from pipeline.store.deltas.history import Applied, write_history
from pipeline.store.facts.roads import UpdateFacts
from pipeline.store.manifest import digest_of

CHANGED = "changed-elements.parquet"
_HEAD = 2**13  # bytes


@dataclass(frozen=True)
class ChangedExtract:
    """An extract, files of its changes, and what those before them have changed.

    Attributes:
        graph: The extract, as the graph was read from it.
        files: The new files, in their order, and what identifies each (`pipeline.ingest.source.identify`).
        history: All files since the extract, with the new ones.
        extract: What identifies the extract.
        before: The folder of the edge list that the new one follows: it has CHANGED unless it is that of the extract.
        folder: The name of the step's folder, beside that of `before`.
        done: Gets the names of files that were read.
    """

    graph: GraphConfig
    files: Sequence[tuple[Source, str]]
    history: Sequence[Applied]
    extract: str
    before: Path
    folder: str
    done: list[str]

    def inputs(self, source: str, digest: str) -> dict[str, str]:
        """What identifies all files, and so what the edge list is made from besides the extract.

        Args:
            source, digest: The extract, and what identifies it now. Raises BadInput if it is not the one of `before`.
        """
        if digest != self.extract:
            raise BadInput(
                source, "is not the extract from which the graph was read; run the source again, without these changes"
            )
        return {"changes": digest_of([list(applied) for applied in self.history])}

    def read(self) -> "AppliedChanges":
        """The newest version of each element in all files. Raises BadInput."""
        limits, former = self.graph.limits, self.before / CHANGED
        tables = [pq.read_table(former, schema=ELEMENTS, page_checksum_verification=True)] if former.exists() else []
        for source, digest in self.files:
            with stored(source) as content:
                tables.append(read_osc(source.url, chunks(content, limits), limits))
                content.check(digest if source.local else None, None)
            self.done.append(source.url)
        return AppliedChanges(ChangedElements(newest(pa.concat_tables(tables))), len(self.history))

    def save(self, folder: Path, applied: "AppliedChanges") -> None:
        """Write what the next files need into the folder of the edge list."""
        pq.write_table(applied.changed.elements, folder / CHANGED, compression="zstd", write_page_checksum=True)
        write_history(folder, [*self.history])


def has_elements(source: Source, limits: Limits) -> bool:
    """Whether a file of changes has some: one without may come again. Raises BadInput, OSError."""
    with stored(source) as content:
        return len(read_osc(source.url, chunks(content, limits), limits)) > 0


def begins_osc(source: Source, limits: Limits) -> bool:
    """Whether a file, compressed or not, is one of changes of OpenStreetMap. Raises BadInput, OSError."""
    with stored(source) as content:
        return is_osc(next(chunks(content, limits), b"")[:_HEAD])


@dataclass(frozen=True)
class AppliedChanges:
    """Changed elements, applied to the streets of an extract while it is read; `files` of them since the extract."""

    changed: ChangedElements
    files: int

    def add_ways(self, into: StreetWays) -> None:
        """Add the new versions of ways, once the extract's were added."""
        known, batch = self.changed.of(WAY), WayBatch(into)
        taken = self.changed.elements.select(["id", "deleted", "keys", "values", "refs"]).take(pa.array(known.rows[known.wins]))
        for row in taken.filter(pc.invert(taken["deleted"])).to_pylist():
            batch.add(row["id"], Element("way", {}, _tags_of(row, into.kinds), row["refs"]))
        batch.end()
        if into.turns:
            self._add_restrictions(into.turns)

    def _add_restrictions(self, turns: TurnRelations) -> None:
        known, keys = self.changed.of(RELATION), dict.fromkeys(map(str.encode, turns.keys), 0)
        taken = self.changed.elements.take(pa.array(known.rows[known.wins]))
        for row in taken.filter(pc.invert(taken["deleted"])).to_pylist():
            roles = zip(row["kinds"], row["refs"], row["roles"], strict=True)
            members = [Member(kind - NODE, ref, role.decode(errors="replace")) for kind, ref, role in roles]
            turns.add(row["id"], texts_of(_tags_of(row, keys)), members)
        turns.restrictions.sort(key=lambda one: one.relation)  # as in a file that has these versions

    def add_nodes(self, into: StreetNodes) -> None:
        """Add the new versions of nodes, before those of the extract, of which the replaced and deleted ones will be ignored."""
        known = self.changed.of(NODE)
        if not len(into.ids):
            return
        places = np.minimum(np.searchsorted(into.ids, known.ids), len(into.ids) - 1)
        wanted = known.wins & (into.ids[places] == known.ids)
        places = places[wanted]
        rows = (
            self.changed.elements.select(["deleted", "x", "y", "keys", "values"]).take(pa.array(known.rows[wanted])).to_pylist()
        )
        kept = [number for number, row in enumerate(rows) if not row["deleted"]]
        units = np.array([(rows[number]["x"], rows[number]["y"]) for number in kept], np.int32).reshape(-1, 2)
        marks = np.array([into.mark_of(_tags_of(rows[number], into.kinds)) for number in kept], np.uint8)
        into.replace(places, places[kept], units, marks)

    def facts(self) -> UpdateFacts:
        """What was changed, once the extract was read."""
        return self.changed.facts(self.files)


def _tags_of(row: Mapping[str, Any], kinds: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    return [pair for pair in zip(row["keys"], row["values"], strict=True) if pair[0] in kinds]
