"""What a certificate of components says of the first rule that does not hold."""

from __future__ import annotations

from kernels.certificate.rules import Ids, arc_name, at, name_of
from kernels.graph import Array


def two_labels(graph: Ids, labels: Array, ends: tuple[int, int]) -> str:
    """Reason where an arc joins two classes."""
    src, dst = (name_of(graph, at(labels, end)) for end in ends)
    return f"{arc_name(graph, ends)}: labels {src} and {dst} differ"


def apart(graph: Ids, labels: Array, row: int) -> str:
    """Reason where a class does not hang together."""
    return f"vertex {name_of(graph, row)}: no arcs connect it to its label {name_of(graph, at(labels, row))}"


def uncovered(graph: Ids, labels: Array, row: int, forward: bool) -> str:
    """Reason where the search from a label misses a row of the class."""
    verb = "is not reached from" if forward else "does not reach"
    return f"vertex {name_of(graph, row)}: {verb} its label {name_of(graph, at(labels, row))} inside the class"


def cyclic(graph: Ids, labels: Array, row: int) -> str:
    """Reason where a class waits for itself."""
    return f"class {name_of(graph, at(labels, row))}: lies on a cycle of classes, or beyond one"
