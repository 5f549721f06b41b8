"""What the certificate of a reachability index says of the first rule that does not hold; a node by its smallest external id."""

from __future__ import annotations

from kernels.answers import Condensation
from kernels.certificate.rules import at, name_of
from kernels.graph import Array, Graph


def node_of(graph: Graph, condensation: Condensation, node: int) -> str:
    """A node as the reasons write it; the virtual node before the roots is "the roots"."""
    if node == len(condensation.names):
        return "the roots"
    return f"component {name_of(graph, at(condensation.names, node))}"


def off(graph: Graph, condensation: Condensation, name: str, array: Array, node: int) -> str:
    """Reason where a label is not what the node's rows make it."""
    return f"{node_of(graph, condensation, node)}: {name} {at(array, node)} is not what its arcs make it"


def block(graph: Graph, condensation: Condensation, dimension: int, node: int) -> str:
    """Reason where the blocks of children do not follow one another."""
    return f"{node_of(graph, condensation, node)}: in dimension {dimension} the blocks below do not follow one another"


def misnumbered(graph: Graph, condensation: Condensation, node: int) -> str:
    """Reason where a node does not stand at its place."""
    return f"node {node}: {node_of(graph, condensation, node)} does not stand here"


def support(place: int) -> str:
    """Reason where another node would be the support, or none."""
    return f"support {place}: is not the best-connected node left of its band"
