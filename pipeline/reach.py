"""Queries: a Parquet file of pairs in, the same rows with their answers out, from a stored index and in bounded memory."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from uuid import uuid4

import numpy as np
import pyarrow as pa

from kernels.cuda import to_host
from kernels.graph import NO_ROW, Array
from kernels.reachability import FILTER, POSITIVE_CUT, SAME, SEARCH
from kernels.reachability import reach as reach_rows
from pipeline import manifest, tables
from pipeline.answer_tables import rows_of
from pipeline.backend import Backend, Clock, bring, choose
from pipeline.cluster import HERE, Cluster, Place, started
from pipeline.config import QueriesConfig, QueryOptions, checked
from pipeline.errors import BadConfig, BadInput, Damaged, ProofFailed
from pipeline.ingest.source import identify, locate
from pipeline.manifest import Folder, make
from pipeline.pairs import Piece, batches, pieces
from pipeline.stored_index import StoredIndex, find_index, index_of, open_index

STEP = "reached"
TABLE = 4  # entries a vertex, at most, of a table from ids to rows
SAMPLE = 1_000  # pairs of a batch that the oracle looks at
WORDS = {SAME: "same", FILTER: "filter", POSITIVE_CUT: "positive cut", SEARCH: "search"}
Unknown = Literal["error", "null"]


def reach(
    index: Folder, pairs: str, out: Path, unknown: Unknown = "error", oracle: bool = False, backend: Backend = "cpu",
    cluster: Cluster = HERE,
) -> Folder:  # fmt: skip
    """Answer whether a path leads from `src` to `dst`, for every row of a Parquet file.

    Parameters
    ----------
    index : Folder
        From `find_index` or `build_index`.
    pairs : str
        Path of a Parquet file with integer columns `src` and `dst`, external ids; others are not read.
    out : Path
        The folder to write, or to keep if it has these very answers.
    unknown : {"error", "null"}
        What to make of a vertex that the graph does not have: an error, or null in `reachable` and `decided`.
    oracle : bool
        Also search for 1,000 pairs of every 2^20 without the help of a label, and compare.
    backend : {"cpu", "gpu"}
        Where queries are answered. The table is the same.
    cluster : Cluster
        Who writes the files of the table, each a piece of work. The table is the same.

    Returns
    -------
    Folder
        Table `reached`, in the order of `pairs`; a file has the row groups of `pairs` that have no more than 4 million rows
        together, one at the least. Facts: `rows`, `reachable`, `unknown`, `decided` (word to rows), `seconds` (in the kernel,
        summed over files), `oracle` (null, or the number of pairs compared), `backend`.

    Raises
    ------
    BadInput
        The file is not there, is no such Parquet file, or has a null or an unknown vertex: the message has the row, from 0.
    ProofFailed
        The oracle contradicts an answer.
    TooLarge
        The index may take more memory than is free.
    ClusterLost
        As `cluster.map`.
    """
    source = locate(pairs)
    if source.local is None:
        raise BadInput(pairs, "is a URL, where a file of this machine is due")
    path = source.local

    def write(folder: Path) -> dict[str, Any]:
        found = Found()
        with TemporaryDirectory(prefix=f".{out.name}-files-", dir=folder.parent, ignore_cleanup_errors=True) as attempts:
            answer = partial(_write_file, index, path, pairs, unknown, oracle, Path(attempts))
            written = cluster.map(answer, index, backend, pieces(path, pairs, tables.ROWS_PER_FILE), one_at_a_time=True)
            for number, (file, found_there) in enumerate(written):
                file.rename(folder / tables.file_name(number))
                found.add(found_there)
        return found.facts(oracle) | {"backend": backend}

    asked = {"unknown": unknown, "oracle": oracle}
    return make(out, STEP, {"index": index.digest, "pairs": identify(source, None)}, asked, write)


def reach_into(index: Path, pairs: str, out: Path, **asked: Any) -> Folder:
    """What the command does: `reach` from the index of a run into any folder, as `QueryOptions` asks.

    Raises
    ------
    BadConfig
        An option is none of its values; there is no index; `out` is a URL, or holds what no earlier call wrote, and would be
        lost; or it is inside a run or a step, which would not be what its manifest says any more.
    """
    options = checked(QueryOptions, "options", pairs=pairs, output=out, **asked)
    out = options.output
    _require_ours(out)
    _require_outside(out)
    found, backend = find_index(index), choose(options.backend)
    with _without_leftovers(out), started(options.cluster, backend) as cluster:
        return reach(found, pairs, out, options.unknown, options.oracle, backend, cluster)


def _require_ours(out: Path) -> None:
    """Refuse to replace a folder that holds anything but answers."""
    if not os.path.lexists(out):
        return
    try:
        if not out.is_symlink() and (not any(out.iterdir()) or manifest.read(out).manifest.step == STEP):
            return
    except (NotADirectoryError, Damaged):
        pass
    raise BadConfig(f"{out}: holds what graphmill reach did not write, and would be replaced; name another folder")


def _require_outside(out: Path) -> None:
    """Refuse a place inside a folder that has a manifest."""
    for folder in out.resolve().parents:
        with contextlib.suppress(Damaged):
            step = manifest.read(folder).manifest.step
            raise BadConfig(
                f"{out}: is inside {folder}, the folder of a {step}, which nothing may be added to; name another folder"
            )


@contextmanager
def _without_leftovers(out: Path) -> Iterator[None]:
    """Remove what a killed call left half-written beside `out`, unless another call works in the folder around it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    around = os.open(out.parent, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # another call is at work, or a file system has no locks
            fcntl.flock(around, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for leftover in [path for path in out.parent.iterdir() if _is_leftover(path, out.name)]:
                shutil.rmtree(leftover)
        with contextlib.suppress(OSError):
            fcntl.flock(around, fcntl.LOCK_SH)  # the kernel drops it when the holder dies, however it dies
        yield
    finally:
        os.close(around)


def _is_leftover(path: Path, name: str) -> bool:
    """Whether `path` is hidden as what is made for the folder `name` or for attempts at its files, and has only answers."""
    drawn = "([0-9a-f]{16}|files-[a-z0-9_]{8})"
    made = re.fullmatch(rf"\.{re.escape(name)}-{drawn}", path.name) and path.is_dir() and not path.is_symlink()
    return bool(made) and all(
        file.name == manifest.FILE or file.match(tables.FILES) or re.fullmatch("[0-9a-f]{32}", file.name)
        for file in path.iterdir()
    )


def answer_queries(
    queries: QueriesConfig | None, answers: Sequence[Folder], oracle: bool, work: Path, backend: Backend = "cpu",
    cluster: Cluster = HERE,
) -> Folder | None:  # fmt: skip
    """Answer the queries that a run asks, if any, into `work / "reached"`; `answers` has that of stage reachability."""
    if queries is None:
        return None
    (index,) = (index_of(answer) for answer in answers if "index" in answer.manifest.inputs)
    return reach(index, queries.pairs, work / STEP, queries.unknown, oracle, backend, cluster)


@dataclass
class Found:
    """What was found of some pairs: counts of rows, by what decided them, and of pairs compared; seconds in the kernel."""

    rows: int = 0
    reachable: int = 0
    unknown: int = 0
    decided: list[int] = field(default_factory=lambda: [0] * len(WORDS))
    compared: int = 0
    seconds: float = 0.0

    def add(self, other: Found) -> None:
        """Count what was found of other pairs, too."""
        self.rows += other.rows
        self.reachable += other.reachable
        self.unknown += other.unknown
        self.decided = [one + more for one, more in zip(self.decided, other.decided, strict=True)]
        self.compared += other.compared
        self.seconds += other.seconds

    def facts(self, oracle: bool) -> dict[str, Any]:
        """What `reach` says of them."""
        return {
            "rows": self.rows,
            "reachable": self.reachable,
            "unknown": self.unknown,
            "decided": {word: self.decided[decided] for decided, word in WORDS.items()},
            "seconds": round(self.seconds, 6),
            "oracle": self.compared if oracle else None,
        }


def _write_file(
    index: Folder, path: Path, file: str, unknown: Unknown, oracle: bool, attempts: Path, place: Place, piece: Piece
) -> tuple[Path, Found]:
    """Write one file of answers under a name that no other attempt has: one thought dead may still be writing."""
    if not path.exists():
        raise BadConfig(f"cluster: a worker does not see {path}; pairs must lie on a file system that all hosts share")
    plain = (place.index if place.backend == "cpu" else open_index(index)) if oracle else None
    queries = Queries(place, file, piece.first, unknown, plain)
    attempt = attempts / uuid4().hex
    tables.write_file(attempt, STEP, None, map(queries.answer, batches(path, file, piece)))
    return attempt, queries.found


class Queries:
    """Batches of pairs, answered one after the other from row `first` of a file; `found` counts."""

    def __init__(self, place: Place, file: str, first: int, unknown: Unknown, plain: StoredIndex | None) -> None:
        self._stored = place.index
        self._find = _finder(place.index)
        self._file = file
        self._first = first
        self._unknown = unknown
        self._plain = plain
        self._backend = place.backend
        self._clock = Clock(place.backend)
        self._found = Found()

    @property
    def found(self) -> Found:
        """Of all batches so far."""
        return replace(self._found, seconds=self._clock.seconds)

    def answer(self, pairs: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows with `reachable` and `decided`. Raises as `reach`."""
        src, dst = (self._rows_of(pairs, name) for name in ("src", "dst"))
        known = (src != NO_ROW) & (dst != NO_ROW)
        if self._unknown == "error" and not known.all():
            self._refuse_unknown(pairs, src, known)
        src, dst = src[known], dst[known]
        answers = self._clock.timed(reach_rows)(self._stored.index, src, dst)
        reachable, decided = to_host(answers.reachable), to_host(answers.decided)
        compared = self._compare(to_host(src), to_host(dst), reachable) if self._plain else 0
        counts = np.bincount(decided, minlength=len(WORDS)).tolist()
        self._found.add(Found(len(pairs), int(reachable.sum()), len(pairs) - len(reachable), counts, compared))
        columns = [pairs["src"], pairs["dst"], *_spread(reachable, decided, to_host(known))]
        return pa.RecordBatch.from_arrays(columns, schema=tables.schema(STEP, None))

    def _rows_of(self, pairs: pa.RecordBatch, name: str) -> Array:
        return self._find(bring(pairs[name].to_numpy(), self._backend))

    def _refuse_unknown(self, pairs: pa.RecordBatch, src: Array, known: Array) -> None:
        """Raise BadInput for the first row that has an unknown vertex."""
        place = int(known.argmin())
        name = "src" if int(src[place]) == NO_ROW else "dst"
        row = self._first + self._found.rows + place
        vertices = f"{self._stored.num_vertices:,} vertices"
        raise BadInput(self._file, f"row {row}: {name} {pairs[name][place]} is not in the graph ({vertices})")

    def _compare(self, src: Array, dst: Array, reachable: Array) -> int:
        """Number of a sample's pairs. Raises ProofFailed where a depth-first search that no label helps says otherwise of one."""
        assert self._plain is not None
        sample = np.linspace(0, len(src) - 1, min(len(src), SAMPLE)).astype(np.int64)
        searched = reach_rows(self._plain.index, src[sample], dst[sample], "dfs").reachable
        if (wrong := searched != reachable[sample]).any():
            place = sample[wrong.argmax()]
            ends = [int(self._plain.ids[rows[place]]) for rows in (src, dst)]
            raise ProofFailed(f"reach: whether {ends[0]} reaches {ends[1]} is not what a search says")
        return len(sample)


def _finder(stored: StoredIndex) -> Callable[[Array], Array]:
    """`rows_of` for many ids: by a table of all numbers between the least and the largest id, where it stays small.

    Made once an index and kept with it.
    """
    find: Callable[[Array], Array] | None = vars(stored).get("_finder")
    if find is None:
        find = vars(stored)["_finder"] = _new_finder(stored)
    return find


def _new_finder(stored: StoredIndex) -> Callable[[Array], Array]:
    vertices = stored.num_vertices
    ascending = stored.ids[stored.rows_by_id]
    low, high = (int(ascending[0]), int(ascending[-1])) if vertices else (0, -1)
    if not 0 < high - low + 1 <= TABLE * vertices:
        return partial(rows_of, stored)
    table = np.full_like(stored.rows_by_id, NO_ROW, shape=high - low + 2)  # the last entry is for every other id
    table[ascending - low] = stored.rows_by_id
    return lambda ids: table[np.where((ids >= low) & (ids <= high), ids - low, high - low + 1)]


def _spread(reachable: Array, decided: Array, known: Array) -> list[pa.Array]:
    """Answers to the `known` rows as columns for all rows, null elsewhere."""
    if known.all():
        places = pa.array(decided, pa.int8())
        answers = pa.array(reachable)
    else:
        all_answers, all_decided = np.zeros(len(known), np.bool_), np.zeros(len(known), np.int8)
        all_answers[known], all_decided[known] = reachable, decided
        answers, places = pa.array(all_answers, mask=~known), pa.array(all_decided, mask=~known)
    words = pa.array([WORDS[number] for number in range(len(WORDS))])
    return [answers, words.take(places)]
