"""Facts of the steps that write change tables."""

from collections.abc import Sequence

from pipeline.store.facts import CheckFacts, Facts
from pipeline.store.manifest import Folder


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

    @classmethod
    def together(cls, parts: Sequence[Folder]) -> "ChangesFacts | None":
        """The facts of steps with different tables as those of one; None without a step."""
        if not parts:
            return None
        found = [*map(ChangesFacts.of, parts)]
        seconds = round(sum(part.proof.seconds for part in found), 6)
        tables = {name: table for part in found for name, table in part.tables.items()}
        return ChangesFacts(
            tables=dict(sorted(tables.items())),
            not_compared={name: why for part in found for name, why in part.not_compared.items()},
            proof=CheckFacts(rules=found[0].proof.rules, seconds=seconds),
        )
