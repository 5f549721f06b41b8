"""Reasons why a certificate of strong components does not hold."""

from kernels.certificate.rules import Entries, RowNames, at, name_of


def uncovered(graph: RowNames, labels: Entries, row: int, forward: bool) -> str:
    """Reason where the search from a label misses a row of the class."""
    verb = "is not reached from" if forward else "does not reach"
    return f"vertex {name_of(graph, row)}: {verb} its label {name_of(graph, at(labels, row))} inside the class"


def cyclic(graph: RowNames, labels: Entries, row: int) -> str:
    """Reason where a class has an in-arc from a class that is never searched."""
    return f"class {name_of(graph, at(labels, row))}: lies on a cycle of classes, or beyond one"
