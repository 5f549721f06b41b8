"""The columns of a file of changes: by the names that all such files may have, or by those of the graph's source."""

from collections.abc import Sequence

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput

ROLES = ("op", "src", "dst", "weight")


def columns_of(file: str, present: Sequence[str], graph: GraphConfig) -> dict[str, str]:
    """The name of each column that is read, by what it is for; the weight may lack, and with `speed` it is a length.

    Raises BadInput for a column that is not there, or that is there by both names.
    """
    stated = graph.columns
    of_source = {"src": stated.src, "dst": stated.dst, "weight": stated.weight or None}
    names = {}
    for role in ROLES:
        known = dict.fromkeys(name for name in (role, of_source.get(role)) if name)
        named = [name for name in known if name in present]
        listed = ", ".join(map(repr, present))[:200]
        if len(named) > 1:
            reason = f"columns {named[0]!r} and {named[1]!r} may both be {role}, the second as in the source; leave one out"
            raise BadInput(file, f"{reason}, of {listed}")
        if present.count(role if not named else named[0]) > 1 or (not named and role != "weight"):
            wanted = ", ".join(ROLES)
            also = (
                f" (or {', '.join(map(repr, filter(None, of_source.values())))}, as the source)"
                if any(of_source.values())
                else ""
            )
            raise BadInput(file, f"no column {role!r}, or several, among {listed}: a file of changes has {wanted}{also}")
        if named:
            names[role] = named[0]
    for name in (stated.oneway, stated.reverse_weight):
        if name and name in present:
            way = "a row of changes is one arc, from src to dst; write a row for each direction, and leave this column out"
            raise BadInput(file, f"column {name!r} says in which directions a row of the source is open, but {way}")
    return names | _speeds(file, present, names.get("weight"), graph)


def _speeds(file: str, present: Sequence[str], weight: str | None, graph: GraphConfig) -> dict[str, str]:
    """The column of speeds, if weights are travel times; with it the weight is a length, without it milliseconds."""
    speed, length = graph.columns.speed, graph.columns.weight or "weight"
    if not speed or (speed not in present and weight != length):
        return {}
    if speed not in present:
        raise BadInput(file, f"column {length!r} has lengths in the source, and there is no column {speed!r} of speeds beside it")
    if present.count(speed) > 1 or weight != length:
        raise BadInput(file, f"column {speed!r} has speeds, which need one column {length!r} of lengths, as in the source")
    return {"speed": speed}
