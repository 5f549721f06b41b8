"""Prove merged edges: the written files are read back, and the rows of the edge list are counted at them in one pass."""

import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from kernels.arrays import frozen
from kernels.certificate.rules import Broken
from kernels.cpu.parallel import cores
from kernels.layout.parallel import CODES
from kernels.layout.parallel.certificate import RULES, Counted, RowsInOrder, Tally
from kernels.layout.rules import Edges
from pipeline.errors import ProofFailed
from pipeline.runtime.memory import free_memory
from pipeline.steps.parallel.blocks import numbers_of
from pipeline.steps.parallel.order import OrderWords
from pipeline.store.edges import column_blocks, read_edges
from pipeline.store.facts import CheckFacts, EdgeFacts, MergeFacts
from pipeline.store.manifest import Folder

_PARTS = 1 << 16  # of hashes of ends
_EDGE_BYTES = 96  # of memory, for each edge that is counted at a time
_SHARE = 3  # of free memory the counts take this fraction


def prove_merging(edges: Folder, merged: Folder, rule: str, both: bool, order: str | None) -> MergeFacts:
    """Check merged edges against the rows of an edge list; return what was counted.

    Args:
        merged: The files that were written, and their facts.

    Raises:
        ProofFailed: With the first broken rule.
        Damaged: A file cannot be read.
    """
    started, facts = time.perf_counter(), EdgeFacts.of(edges)
    src, dst, weights = read_edges(merged)
    claimed = Edges(src, dst, weights)
    code = CODES["count"] if facts.weight is None else CODES[rule]
    words = None
    if facts.order and rule in ("first", "last"):
        texts = column_blocks(edges, ["order"]) if facts.order == str(pa.large_string()) else []
        words = OrderWords(column for (column,) in texts)
    counted = list[Counted]()
    try:
        for parts in _at_a_time(len(src)):
            tally = Tally(claimed, code, both, parts, words is not None)
            for rows in _blocks(edges, code, words):
                tally.add(rows)
            counted.append(tally.result())
    except Broken as broken:
        raise ProofFailed(f"merged: {broken}") from None
    rows, pairs, repeated, self_loops, mirrored = (
        sum(getattr(one, name) for one in counted) for name in ("rows", "pairs", "repeated", "self_loops", "mirrored")
    )
    if rows + self_loops != facts.edges:
        raise ProofFailed(f"merged: {rows + self_loops} rows were counted, the edge list has {facts.edges}")
    seconds = round(time.perf_counter() - started, 6)
    return MergeFacts(
        rule=rule, rows=rows, pairs=pairs, repeated=repeated, most=max(one.most for one in counted), self_loops=self_loops,
        mirrored=both and 0 < pairs == mirrored, proof=CheckFacts(rules=[*RULES], seconds=seconds),
        **({"order": order} if order else {}),
    )  # fmt: skip


def _at_a_time(edges: int) -> list[list[range]]:
    """The parts of hashes whose edges fit into memory together, a range for each core."""
    passes = max(1, -(-edges * _EDGE_BYTES * _SHARE // max(1, free_memory())))
    cuts = np.linspace(0, _PARTS, passes * cores() + 1).astype(int).tolist()
    ranges = [range(*pair) for pair in pairwise(cuts)]
    return [ranges[begin : begin + cores()] for begin in range(0, len(ranges), cores())]


def _blocks(edges: Folder, code: int, words: OrderWords | None) -> Iterator[RowsInOrder]:
    """The rows of an edge list in their order."""
    names = ["src", "dst", *(["weight"] if code != CODES["count"] else []), *(["order"] if words else [])]
    for columns in column_blocks(edges, names):
        by_name = dict(zip(names, columns, strict=True))
        src, dst = (by_name[end].cast(pa.int64()).to_numpy() for end in ("src", "dst"))
        weights = numbers_of(by_name["weight"]) if "weight" in by_name else np.empty(0, np.int64)
        high, low = words.of(by_name["order"]) if words else (np.empty(0, np.int64), np.empty(0, np.uint64))
        yield RowsInOrder(*map(frozen, (src, dst, weights, high, low)))
