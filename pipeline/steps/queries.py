"""Batches of queries: pairs of vertices in, the same rows with their answers out, from an index that is open."""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import NO_ROW, Array
from kernels.reachability import FILTER, POSITIVE_CUT, SAME, SEARCH, reach_by_search
from kernels.reachability.certificate.answers import ProvedAnswers, WrongAnswer, reach_with_proof
from pipeline.errors import ProofFailed
from pipeline.runtime.backend import Backend, Clock, bring
from pipeline.store.facts import QueryFacts
from pipeline.store.index.arrays import StoredIndex
from pipeline.tables import files as tables
from pipeline.tables.row_lookup import finder, require_pairs_known

STEP = "reached"  # and the table
SAMPLE = 1_000  # of a batch: pairs that the oracle checks, and pairs without a path of which a second search makes sure
WORDS = {SAME: "same", FILTER: "filter", POSITIVE_CUT: "positive cut", SEARCH: "search"}
Unknown = Literal["error", "null"]


@dataclass
class QueryCounts:
    """Counts of some pairs: rows, by what decided them, of searches whose answer was checked, and pairs compared with the oracle.

    `seconds` are those of the kernel, with its proof.
    """

    rows: int = 0
    reachable: int = 0
    unknown: int = 0
    decided: list[int] = field(default_factory=lambda: [0] * len(WORDS))
    witnessed: int = 0
    sampled: int = 0
    compared: int = 0
    seconds: float = 0.0

    def add(self, other: "QueryCounts") -> None:
        """Add the counts of other pairs."""
        self.rows += other.rows
        self.reachable += other.reachable
        self.unknown += other.unknown
        self.decided = [one + more for one, more in zip(self.decided, other.decided, strict=True)]
        self.witnessed += other.witnessed
        self.sampled += other.sampled
        self.compared += other.compared
        self.seconds += other.seconds

    def facts(self, oracle: bool, backend: Backend) -> QueryFacts:
        """The facts of step `reached`."""
        return QueryFacts(
            rows=self.rows,
            reachable=self.reachable,
            unknown=self.unknown,
            decided={word: self.decided[decided] for decided, word in WORDS.items()},
            searched=self.decided[SEARCH],
            witnessed=self.witnessed,
            sampled=self.sampled,
            seconds=round(self.seconds, 6),
            oracle=self.compared if oracle else None,
            backend=backend,
        )


class Queries:
    """Batches of pairs, answered one after the other from row `first` of a file, and counted."""

    def __init__(
        self, stored: StoredIndex, backend: Backend, file: str, first: int, unknown: Unknown, searched: StoredIndex | None
    ) -> None:
        self._stored = stored
        self._find = finder(stored)
        self._file = file
        self._first = first
        self._unknown = unknown
        self._searched = searched
        self._backend = backend
        self._clock = Clock(backend)
        self._counts = QueryCounts()

    @property
    def counts(self) -> QueryCounts:
        """Of all batches so far."""
        return replace(self._counts, seconds=self._clock.seconds)

    def answer(self, pairs: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows with `reachable` and `decided`. Raises as `reach`."""
        src, dst = (self._rows_of(pairs, name) for name in ("src", "dst"))
        known = (src != NO_ROW) & (dst != NO_ROW)
        if self._unknown == "error" and not known.all():
            each = np.stack([to_host(rows) != NO_ROW for rows in (src, dst)])
            require_pairs_known(self._file, self._first + self._counts.rows, pairs.columns, each, self._stored.num_vertices)
        src, dst = src[known], dst[known]
        first = self._first + self._counts.rows
        with self._clock.timed():
            proved = reach_proved(self._stored, src, dst, first)
        reachable, decided = to_host(proved.answers.reachable), to_host(proved.answers.decided)
        compared = self._compare(to_host(src), to_host(dst), reachable) if self._searched else 0
        counts = np.bincount(decided, minlength=len(WORDS)).tolist()
        checked = proved.witnessed, proved.sampled, compared
        self._counts.add(QueryCounts(len(pairs), int(reachable.sum()), len(pairs) - len(reachable), counts, *checked))
        columns = [pairs["src"], pairs["dst"], *_spread(reachable, decided, to_host(known))]
        return pa.RecordBatch.from_arrays(columns, schema=tables.schema(STEP, None))

    def _rows_of(self, pairs: pa.RecordBatch, name: str) -> Array:
        return self._find(bring(pairs[name].to_numpy(), self._backend))

    def _compare(self, src: Array, dst: Array, reachable: Array) -> int:
        """Number of pairs in a sample. Raises ProofFailed if a search without labels contradicts one of them."""
        assert self._searched is not None
        sample = np.linspace(0, len(src) - 1, min(len(src), SAMPLE)).astype(np.int64)
        searched = reach_by_search(self._searched.index, src[sample], dst[sample])
        if (wrong := searched != reachable[sample]).any():
            pair = sample[wrong.argmax()]
            ends = [int(self._searched.ids[rows[pair]]) for rows in (src, dst)]
            raise ProofFailed(f"reach: whether {ends[0]} reaches {ends[1]} differs from the result of a search")
        return len(sample)


def reach_proved(stored: StoredIndex, src: Array, dst: Array, seed: int) -> ProvedAnswers:
    """Answer for rows of a stored index; `seed` draws the sample of answers that are searched again. Raises ProofFailed."""
    try:
        return reach_with_proof(stored.index, src, dst, SAMPLE, seed)
    except WrongAnswer as wrong:
        ends = (int(stored.ids[int(rows[wrong.query])]) for rows in (src, dst))
        raise ProofFailed("reach: whether {} reaches {} is not proved: {}".format(*ends, wrong)) from None


def _spread(reachable: Array, decided: Array, known: Array) -> list[pa.Array]:
    """Columns for all rows of the answers to the `known` rows, null elsewhere."""
    if known.all():
        places = pa.array(decided, pa.int8())
        answers = pa.array(reachable)
    else:
        all_answers, all_decided = np.zeros(len(known), np.bool_), np.zeros(len(known), np.int8)
        all_answers[known], all_decided[known] = reachable, decided
        answers, places = pa.array(all_answers, mask=~known), pa.array(all_decided, mask=~known)
    words = pa.array([WORDS[number] for number in range(len(WORDS))])
    return [answers, words.take(places)]
