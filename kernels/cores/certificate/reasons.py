"""Reasons for which core numbers are refused, by external ids."""

from kernels.certificate.rules import Entries, RowNames, at, name_of


def too_large(graph: RowNames, core: Entries, supports: Entries, row: int) -> str:
    """Reason where a row has too few neighbours for its core."""
    return f"vertex {name_of(graph, row)}: core {at(core, row)}, but {at(supports, row)} neighbours have that core or more"


def too_small(graph: RowNames, core: Entries, row: int) -> str:
    """Reason where a row cannot be removed."""
    return (
        f"vertex {name_of(graph, row)}: core {at(core, row)}, but it has more neighbours left when those of this core are removed"
    )
