"""Reasons why a certificate of weak components does not hold."""

from kernels.certificate.rules import Entries, RowNames, arc_name, at, name_of


def two_labels(graph: RowNames, labels: Entries, ends: tuple[int, int]) -> str:
    """Reason where an arc joins two classes."""
    src, dst = (name_of(graph, at(labels, end)) for end in ends)
    return f"{arc_name(graph, ends)}: labels {src} and {dst} differ"


def apart(graph: RowNames, labels: Entries, row: int) -> str:
    """Reason where arcs do not connect a class."""
    return f"vertex {name_of(graph, row)}: no arcs connect it to its label {name_of(graph, at(labels, row))}"
