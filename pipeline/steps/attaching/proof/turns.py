"""What turns need to know of divided streets: the restrictions of the source, its signals, and where the ends of streets lead."""

import numpy as np

from kernels.graph import Array
from pipeline.steps.attaching.proof.reading import Attached, Original, read, require
from pipeline.tables.streets import PIECES, RESTRICTIONS, SIGNALS


def require_turns(before: Original, after: Attached) -> None:
    """Raise ProofFailed unless turns at crossings are those of the source, and each signal is passed where it was."""
    for name in (RESTRICTIONS, SIGNALS):
        has = name in before.folder.manifest.files
        require(has == (after.folder.path / name).is_file(), f"{name} is missing, or added")
    if RESTRICTIONS in before.folder.manifest.files:
        stated, due = (read(one.folder, RESTRICTIONS).combine_chunks() for one in (after, before))
        nodes = [one["nodes"].combine_chunks() for one in (stated, due)]
        same = stated.drop_columns(["nodes"]).equals(due.drop_columns(["nodes"])) and nodes[0].offsets.equals(nodes[1].offsets)
        same = same and np.array_equal(nodes[0].values.to_numpy(), after.former(nodes[1].values.to_numpy()))
        require(same, "the turn restrictions are others")
    begins, ends = (~np.isin(after.streets[end].to_numpy(), after.stop_vertex) for end in ("src", "dst"))
    whole = np.cumsum(begins) - 1
    if SIGNALS in before.folder.manifest.files:
        _require_signals(before, after, whole, (begins, ends))
    _require_pieces(before, after, whole, (begins, ends))


def _require_signals(before: Original, after: Attached, whole: Array, is_end: tuple[Array, Array]) -> None:
    """Signals are those of the source, at the same millimetre; each is one of the piece whose arc passes it or ends there.

    A signal at the place where its street begins, perhaps behind points at the same place, is one of the first piece.
    """
    begins, ends = is_end
    length = after.streets["length"].to_numpy()
    starts = np.concatenate([[0], np.cumsum(length)])[:-1]
    starts -= starts[begins][whole]
    piece, against, offset = _columns(after)
    require(((piece >= 0) & (piece < len(length))).all(), "a signal is on a street that is not there")
    least, most = np.where(against | begins[piece], 0, 1), length[piece] - np.where(against & ~ends[piece], 1, 0)
    require(((offset >= least) & (offset <= most)).all(), "a signal is not on its street")
    stated, due = (np.stack(columns)[:, np.lexsort(columns)] for columns in (
        (whole[piece], against.astype(np.int64), starts[piece] + offset), _columns(before)))  # fmt: skip
    require(np.array_equal(stated, due), "the signals are others")


def _columns(edges: Original | Attached) -> tuple[Array, Array, Array]:
    street, against, offset = (read(edges.folder, SIGNALS)[name].to_numpy() for name in ("street", "against", "offset"))
    return street, against, offset


def _require_pieces(before: Original, after: Attached, whole: Array, is_end: tuple[Array, Array]) -> None:
    """The pieces are all parts of divided streets, and have the next points of the whole street where they end as it does."""
    pieces = read(after.folder, PIECES)
    street = pieces["street"].to_numpy()
    require(np.array_equal(street, np.flatnonzero(~(is_end[0] & is_end[1]))), "the pieces are not those of divided streets")
    for end, of, beside in (("src", is_end[0], before.first[whole] + 1), ("dst", is_end[1], before.first[whole + 1] - 2)):
        for axis, name in enumerate(("lon", "lat")):
            column = pieces[f"{end}_{name}"]
            require(np.array_equal(column.is_valid().to_numpy(), of[street]), "a piece ends at another place")
            points = before.points[beside[street[of[street]]], axis]
            require(np.array_equal(column.drop_null().to_numpy(), points), "the street of a piece leads to another point")
