"""Reasons why a certificate of a forest does not hold."""

from kernels.certificate.rules import Entries, RowNames, arc_name, at, name_of


def wrong_end(graph: RowNames, src: Entries, dst: Entries, edge: int) -> str:
    """Reason where the endpoints of an edge are in the wrong order."""
    return f"{_edge(graph, src, dst, edge)}: the first id is not the smaller one"


def not_ascending(graph: RowNames, src: Entries, dst: Entries, edge: int) -> str:
    """Reason where the next edge does not follow `edge`."""
    before, after = _edge(graph, src, dst, edge), _edge(graph, src, dst, edge + 1)
    return f"{after}: follows {before}, so edges repeat or do not ascend"


def cycle(graph: RowNames, src: Entries, dst: Entries, edge: int) -> str:
    """Reason where an edge is the greatest on a cycle of edges."""
    return f"{_edge(graph, src, dst, edge)}: closes a cycle"


def two_trees(graph: RowNames, ends: tuple[int, int]) -> str:
    """Reason where no edges connect the endpoints of an arc."""
    return f"{arc_name(graph, ends)}: joins two trees"


def lighter(graph: RowNames, ends: tuple[int, int], weight: object, edges: tuple[Entries, Entries, Entries], edge: int) -> str:
    """Reason where an arc is less than an edge between its endpoints; `edges` are their endpoints and weights."""
    src, dst, weights = edges
    arc = f"{arc_name(graph, ends)} of weight {weight}"
    text = f"{arc}: is less than {_edge(graph, src, dst, edge)} of weight {at(weights, edge)}"
    same = {int(at(src, edge)), int(at(dst, edge))} == set(ends)
    return text if same else f"{text} on its cycle"


def no_arc(graph: RowNames, src: Entries, dst: Entries, weights: Entries, edge: int) -> str:
    """Reason where an edge is not an arc."""
    return f"{_edge(graph, src, dst, edge)}: no arc between these ends has weight {at(weights, edge)}"


def labels_differ(graph: RowNames, src: Entries, dst: Entries, labels: Entries, edge: int) -> str:
    """Reason where a tree has two labels."""
    one, other = (name_of(graph, at(labels, at(ends, edge))) for ends in (src, dst))
    return f"{_edge(graph, src, dst, edge)}: labels {one} and {other} differ"


def too_few_labels(classes: int, trees: int) -> str:
    """Reason where one label names many trees."""
    return f"{classes} labels name {trees} trees"


def _edge(graph: RowNames, src: Entries, dst: Entries, edge: int) -> str:
    return f"edge {name_of(graph, at(src, edge))} - {name_of(graph, at(dst, edge))}"
