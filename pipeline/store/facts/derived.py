"""The facts of tables of vertices or arcs."""

from pipeline.store.facts import CheckFacts
from pipeline.store.facts.base import Facts


class DerivedFacts(Facts):
    """A table of vertices or arcs, see `pipeline.steps.derived`: its rows."""

    rows: int


class CheckedFacts(DerivedFacts):
    """A table that was checked when it was made, by these rules."""

    proof: CheckFacts


class RootedFacts(CheckedFacts):
    """Table `forest`: its trees, and the depth of the deepest vertex; over ranks, on how many."""

    trees: int
    deepest: int
    shards: int | None = None  # absent
