"""The facts of products."""

from pipeline.store.facts import CheckFacts, ComputedFacts


class ProductFacts(ComputedFacts):
    """A table made from shortest paths, see `pipeline.steps.products`: its rows, the trees it was made from, and their proof."""

    rows: int
    sources: int
    proof: CheckFacts
    diameter: int | float | None = None  # absent; of table `closeness`, with `radius`
    radius: int | float | None = None  # absent
