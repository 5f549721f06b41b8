"""Which columns of a file are the edges' ends and weights; all other columns are ignored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.config.graph import Columns, Limits
from pipeline.errors import BadInput
from pipeline.suggestions import did_you_mean

TABLES = ("csv", "tsv", "parquet")  # formats whose columns have names; nodes and coordinates may have them, too
_DEFAULTS = {"src": ("src", "1"), "dst": ("dst", "2"), "weight": ("weight", "")}  # with a header line, and without


@dataclass(frozen=True)
class ReadColumns:
    """`names` of `src`, `dst` and, if there are weights, `weight` in the file; `ignored` are the file's other columns."""

    names: Mapping[str, str]
    ignored: Sequence[str]

    @property
    def weighted(self) -> bool:
        """Whether there are weights."""
        return "weight" in self.names


def choose(file: str, present: Sequence[str], columns: Columns, line: int | None = None, numbered: bool = False) -> ReadColumns:
    """Find the configured columns among those of a file.

    Args:
        present: Names of the file's columns; their numbers from "1" if they are `numbered`, because the file has no header line.
        line: Of the header.

    Raises:
        BadInput: A column is missing, or its name occurs twice.
    """
    names = {}
    for role, default in _DEFAULTS.items():
        configured = getattr(columns, role)
        name = default[numbered] if configured is None else configured
        if name is False or (role == "weight" and configured is None and name not in present):
            continue
        if present.count(name) > 1:
            raise BadInput(file, f"{present.count(name)} columns are named {name!r}", line)
        if name not in present:
            existing = ", ".join(map(repr, present))[:200] + (": they have no names, but numbers" if numbered else "")
            how = did_you_mean(name, present) or f"; name the column in graph.columns.{role} or with --{role}"
            if len(present) == 1 and (between := next((mark for mark in ";\t|" if mark in present[0]), None)):
                how = f"; if {between!r} separates the columns, say so in graph.delimiter or with --delimiter"
            raise BadInput(file, f"no column {name!r} among {existing}{how}", line)
        names[role] = name
    return ReadColumns(names, [name for name in present if name not in names.values()])


def check_count(file: str, count: int, limits: Limits, line: int | None = None) -> None:
    """Raise BadInput if a file has more columns than the limit."""
    if count > limits.columns:
        raise BadInput(file, f"has {count} columns, the limit is {limits.columns} (graph.limits.columns)", line)
