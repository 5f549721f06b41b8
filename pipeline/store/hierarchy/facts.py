"""The facts of the steps that build a hierarchy."""

from pipeline.store.facts import ComputedFacts


class HierarchyFacts(ComputedFacts):
    """A hierarchy, or the order of one, see `pipeline.steps.derived.hierarchy.build_hierarchy`."""

    vertices: int
    levels: int
    up_arcs: int
    down_arcs: int | None  # null if the graph is symmetric
    shortcuts: int  # of these arcs
    weights: str  # NumPy's type of a sum
    exact: bool  # whether no sum of weights rounds

    @property
    def arcs(self) -> int:
        """Number of arcs, original ones and shortcuts."""
        return self.up_arcs + (self.down_arcs or 0)
