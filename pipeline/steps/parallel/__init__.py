"""Parallel rows of an edge list become one edge by a rule, before the layout, which then has no parallel rows to drop.

`lightest`, `keep` and `error` are rules of the layout itself (`kernels.layout`); all others are applied here, on the CPU, in
ranges of the smaller end, as many at a time as fit into memory. So the layout has the same input for any backend and any ranks.

merging.py  the step that merges
blocks.py   the rows of ranges
order.py    a column that says which row comes first
proof.py    the merged edges are those of the rows
"""

from kernels.layout.parallel import CODES
from kernels.records import dataclass
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder

STEP, LIGHTEST = "merged", "lightest"


@dataclass(frozen=True)
class Parallels:
    """What the layout does with parallel rows, and the edges in the place of the rows, if they were merged."""

    rule: str = LIGHTEST
    merged: Folder | None = None
    step: str = "graph"  # that lays the edges out
    folder: str = ""  # of the step, unless it has the same name


def merges(rule: str | None, weighted: bool) -> bool:
    """Whether a rule is applied to rows before the layout; without weights one row is as heavy as another."""
    return rule in CODES and (weighted or rule in ("sum", "count"))


def needs_merging(edges: Folder, rule: str | None) -> bool:
    """Whether a rule is applied to these rows before the layout."""
    return merges(rule, EdgeFacts.of(edges).weight is not None)
