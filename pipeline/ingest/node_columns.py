"""Which columns of a table of nodes or coordinates are what: by the names that `node_columns` gives, or by usual ones."""

import re
from collections.abc import Sequence

from pipeline.config.graph import NodeColumns
from pipeline.config.products.places import LATITUDES, LONGITUDES, VERTEX
from pipeline.errors import BadInput
from pipeline.suggestions import did_you_mean

_LIST = re.compile(r"\.v(\.(gz|xz|zst|bz2))?$")  # names of LDBC's files of vertices, one id on each line
_IDS = ("id", "node_id", "osmid")
_OF_A_KIND = (  # of columns that are ids if no other is
    *("vertex_id", "node", "nodeid", "osm_id", "junction", "junction_id", "crossing", "crossing_id"),
    *("person", "person_id", "user", "user_id"),
)
# Names of columns by what they are, the surer first. Small letters stand for large ones, and _ for a blank or a hyphen.
_USUAL = {"vertex": ((VERTEX, *_IDS), _OF_A_KIND), "x": (("x", *LONGITUDES),), "y": (("y", *LATITUDES),)}


def columns_of(file: str, names: Sequence[str], columns: NodeColumns, wanted: Sequence[str] | None) -> NodeColumns:
    """The columns with the names that a file has. Raises BadInput if it lacks the ids, or what is wanted."""
    chosen = {role: getattr(columns, role) or _usual(role, names) for role in _USUAL}
    for role in ("vertex", *(wanted or ())):
        if names.count(chosen[role]) != 1:
            present = ", ".join(map(repr, names))[:200]
            hint = did_you_mean(chosen[role], names) or f"; name it by `{role}` below [graph.node_columns]"
            raise BadInput(file, f"no column {chosen[role]!r}, or several, among {present}{hint}")
    return columns.model_copy(update=chosen)


def _usual(role: str, names: Sequence[str]) -> str:
    """The column that is called like its role, or else the only one of the surest names that the file has."""
    if role in names:
        return role
    folded = {name: name.lower().replace(" ", "_").replace("-", "_") for name in names}
    likely = ([name for name in names if folded[name] in usual] for usual in _USUAL[role])
    surest = next((some for some in likely if some), [])
    return surest[0] if len(surest) == 1 else role


def names_of(columns: NodeColumns, wanted: Sequence[str]) -> dict[str, str]:
    """The names of the column of ids and of those that are wanted, by what they are."""
    return {role: str(getattr(columns, role)) for role in ("vertex", *wanted)}


def is_list(file: str) -> bool:
    """Whether a text is a list of ids, by its name."""
    return bool(_LIST.search(file.lower()))
