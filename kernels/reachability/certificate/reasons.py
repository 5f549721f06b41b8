"""The reasons for which a reachability index is rejected; a node is named by the smallest external id of its component.

Arguments are a `Graph`, a `Condensation` and arrays, or their views of all ranks.
"""

from typing import Any

from kernels.certificate.rules import at, name_of


def node_of(graph: Any, condensation: Any, node: int) -> str:
    """The name of a node in a reason; that of the virtual node before the roots is "the roots"."""
    if node == len(condensation.names):
        return "the roots"
    return f"component {name_of(graph, at(condensation.names, node))}"


def wrong_label(graph: Any, condensation: Any, name: str, array: Any, node: int) -> str:
    """Reason if a label does not follow from the node's row."""
    return f"{node_of(graph, condensation, node)}: {name} {at(array, node)} does not follow from its arcs"


def wrong_blocks(graph: Any, condensation: Any, dimension: int, node: int) -> str:
    """Reason if the blocks of children are not consecutive."""
    return f"{node_of(graph, condensation, node)}: in dimension {dimension} the blocks of its children are not consecutive"


def misnumbered(graph: Any, condensation: Any, node: int) -> str:
    """Reason if a node has the wrong component."""
    return f"node {node}: {node_of(graph, condensation, node)} does not have this number"


def wrong_support(place: int) -> str:
    """Reason if a support should be another node, or none."""
    return f"support {place}: is not the best-connected remaining node of its band"
