"""Which columns of a table of nodes or coordinates are what: by the names that `node_columns` gives, or by usual ones."""

import re
from collections.abc import Sequence

from pipeline.config.graph import NodeColumns
from pipeline.config.products.places import LATITUDES, LONGITUDES, VERTEX
from pipeline.errors import BadInput
from pipeline.suggestions import did_you_mean

_LIST = re.compile(r"\.v(\.(gz|xz|zst|bz2))?$")  # names of LDBC's files of vertices, one id on each line
# Columns by what they are: what `node_columns` calls them, the first name where the file has it, or else the only one it has.
_USUAL = {"vertex": (VERTEX, "id", "node_id", "osmid"), "x": ("x", *LONGITUDES), "y": ("y", *LATITUDES)}


def columns_of(file: str, names: Sequence[str], columns: NodeColumns, wanted: Sequence[str] | None) -> NodeColumns:
    """The columns with the names that a file has. Raises BadInput if it lacks the ids, or what is wanted."""
    chosen = dict[str, str]()
    for role, usual in _USUAL.items():
        known = [name for name in names if name.lower() in usual]
        first = [name for name in known if name == usual[0]]
        likely = first or known
        chosen[role] = getattr(columns, role) or (likely[0] if len(likely) == 1 else usual[0])
        needed = role == "vertex" or role in (wanted or ())
        if needed and names.count(chosen[role]) != 1:
            present = ", ".join(map(repr, names))[:200]
            hint = did_you_mean(chosen[role], names) or f"; name it by `{role}` below [graph.node_columns]"
            raise BadInput(file, f"no column {chosen[role]!r}, or several, among {present}{hint}")
    return columns.model_copy(update=chosen)


def names_of(columns: NodeColumns, wanted: Sequence[str]) -> list[str]:
    """The names of the column of ids and of those that are wanted."""
    return [str(getattr(columns, role)) for role in ("vertex", *wanted)]


def is_list(file: str) -> bool:
    """Whether a text is a list of ids, by its name."""
    return bool(_LIST.search(file.lower()))
