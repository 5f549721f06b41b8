"""The facts of change tables."""

from pipeline.store.facts import CheckFacts
from pipeline.store.facts.base import Facts


class ChangedFacts(Facts):
    """The change table of a table: the rows of the old and of the new table, and how many of them differ in what.

    `columns` has how many values of each column changed, `largest` the largest change of columns of numbers.
    """

    rows: list[int]
    added: int
    removed: int
    changed: int
    columns: dict[str, int]
    largest: dict[str, float]


class ChangesFacts(Facts):
    """Change tables by the names of their tables, see `pipeline.comparison.tabulate`; tables without one, and why."""

    tables: dict[str, ChangedFacts]
    not_compared: dict[str, str]
    proof: CheckFacts
