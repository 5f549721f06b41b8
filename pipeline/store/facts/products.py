"""The facts of products."""

from pydantic import ConfigDict, Field

from pipeline.store.facts import CheckFacts, ComputedFacts


class ProductFacts(ComputedFacts):
    """A table made from shortest paths, see `pipeline.steps.products`: its rows, the trees it was made from, and their proof.

    A product may add figures of its own, such as a diameter.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int | float] = Field(init=False)

    rows: int
    sources: int
    proof: CheckFacts

    @property
    def figures(self) -> dict[str, int | float]:
        """The figures that the product has added."""
        return self.__pydantic_extra__
