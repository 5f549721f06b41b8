"""Reasons that a certificate of paths gives for the first broken rule."""

from kernels.certificate.rules import Entries, RowNames, arc_name, at, name_of
from kernels.graph import UNREACHED


def not_a_distance(graph: RowNames, distance: Entries, row: int) -> str:
    """Reason where a distance cannot be a sum of weights."""
    return f"vertex {name_of(graph, row)}: distance {at(distance, row)} is neither -1 nor a finite number from 0"


def not_at_source(graph: RowNames, distance: Entries, source: int) -> str:
    """Reason where the source is not at distance 0."""
    return f"source {name_of(graph, source)}: distance {at(distance, source)} is not 0"


def loose(graph: RowNames, distance: Entries, ends: tuple[int, int], weight: object) -> str:
    """Reason where an arc shortens a path, or leads from a reached vertex to an unreached one."""
    near, far = (at(distance, end) for end in ends)
    if far == UNREACHED:
        return f"{arc_name(graph, ends)}: leads from distance {near} to an unreached vertex"
    return f"{arc_name(graph, ends)}: distance {far} is over {near} + {weight}"


def no_path(graph: RowNames, distance: Entries, row: int) -> str:
    """Reason where no tight arcs lead to a reached vertex."""
    return f"vertex {name_of(graph, row)}: no path of tight arcs from the source gives distance {at(distance, row)}"


def wrong_predecessor(graph: RowNames, row: int, stated: int, right: int) -> str:
    """Reason where a predecessor is not the unique one."""
    return f"vertex {name_of(graph, row)}: predecessor {name_of(graph, stated)} is not {name_of(graph, right)}"
