"""What turns need to know of divided streets: of which pieces they are made, where these lead, and what signals each passes."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.steps.attaching.dividing import Feet, Parts
from pipeline.steps.attaching.lines import StreetLines
from pipeline.store.manifest import Folder
from pipeline.tables.streets import PIECE_SCHEMA, PIECES, SIGNAL_SCHEMA, SIGNALS


def write_turns(folder: Path, edges: Folder, lines: StreetLines, feet: Feet, parts: Parts) -> None:
    """Write PIECES and, if the edge list of the source has them, SIGNALS into a folder."""
    _save(_pieces(lines, parts), folder / PIECES)
    if SIGNALS in edges.manifest.files:
        signals = pq.read_table(edges.path / SIGNALS, page_checksum_verification=True)
        _save(_divided(signals, feet), folder / SIGNALS)


def _pieces(lines: StreetLines, parts: Parts) -> pa.Table:
    """The pieces of divided streets, as PIECE_SCHEMA."""
    piece = np.flatnonzero(parts.divided)
    street = parts.street[piece]
    differs = np.diff(street, prepend=-1, append=-1) != 0
    columns: list[Array | pa.Array] = [piece]
    for whole, beside in ((differs[:-1], lines.first[street] + 1), (differs[1:], lines.first[street + 1] - 2)):
        columns += (pa.array(axis, mask=~whole) for axis in lines.points[beside].T)
    return pa.table(columns, schema=PIECE_SCHEMA)


def _divided(signals: pa.Table, feet: Feet) -> pa.Table:
    """The signals of streets as those of pieces; one at a place stops who arrives there, as at the end of any street."""
    street, against, offset = (signals[name].to_numpy() for name in SIGNAL_SCHEMA.names)
    last = max(int(offset.max(initial=0)), int(feet.stop_offset.max(initial=0)))
    known = np.unique(feet.stop_street)  # codes of few streets fit 63 bits
    rank = np.searchsorted(known, street)
    on_divided = np.isin(street, known)
    stops = np.searchsorted(known, feet.stop_street) * (last + 1) + feet.stop_offset
    codes = np.where(on_divided, rank * (last + 1) + offset, -1)
    before = np.where(against, np.searchsorted(stops, codes, "right"), np.searchsorted(stops, codes))
    before = np.where(on_divided, before, np.searchsorted(feet.stop_street, street))
    inner = on_divided & (before > 0)
    inner[inner] = feet.stop_street[before[inner] - 1] == street[inner]
    start = np.zeros(len(street), np.int64)
    start[inner] = feet.stop_offset[before[inner] - 1]
    table = pa.table([street + before, against, offset - start], schema=SIGNAL_SCHEMA)
    return table.sort_by([("street", "ascending"), ("against", "ascending"), ("offset", "ascending")])


def _save(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)
