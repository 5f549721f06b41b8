"""The facts of products."""

from typing import Any

from pipeline.store.facts import CheckFacts, ComputedFacts


class ProductFacts(ComputedFacts):
    """A table made from shortest paths, see `pipeline.steps.products`: its rows, the trees it was made from, and their proof."""

    rows: int
    sources: int
    proof: CheckFacts
    diameter: int | float | None = None  # absent; of table `closeness`, with `radius`
    radius: int | float | None = None  # absent


class CustomFacts(ComputedFacts):
    """A table of a stage that a user wrote, see `pipeline.steps.custom`.

    `verdict` is "proved by the user's certificate", "compared on CPU and GPU" or "not proved"; `proof` has what was checked.
    """

    rows: int
    program: str  # the file
    sha256: str  # of its text
    columns: dict[str, str]  # types by names, as the configuration has them
    options: dict[str, Any]
    verdict: str
    proof: CheckFacts
