"""The facts of products."""

from typing import Any

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

    def with_rules(self, *rules: str) -> "ProductFacts":
        """The facts of a table that was made from this one, of which more was checked."""
        return self.model_copy(update={"proof": self.proof.model_copy(update={"rules": [*self.proof.rules, *rules]})})


PROVED, COMPARED, NOT_PROVED = "proved by the user's certificate", "compared on CPU and GPU", "not proved"


class CustomFacts(ComputedFacts):
    """A table of a stage that a user wrote, see `pipeline.steps.custom`."""

    rows: int
    file: str  # the program's absolute path
    sha256: str  # of its bytes
    columns: dict[str, str]  # types by names, as the configuration has them
    options: dict[str, Any]
    proof: CheckFacts
    proved: str  # what `proof` amounts to: one of the three texts above
