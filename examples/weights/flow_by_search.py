"""Maximum flow: a search finds a shortest path that can carry more, which is then filled.

Edmonds, Karp: Theoretical Improvements in Algorithmic Efficiency for Network Flow Problems (1972). Of several paths the one whose
arcs have the smallest positions is taken.
"""

import numpy as np

from examples.weights.edges import ends_of, network_of
from graphmill import Array, Frontier, Graph, advance, atomic_min, compute, filter, reduce


def flow_by_search(graph: Graph, source: int, target: int) -> tuple[int, Array]:
    """The maximum flow between two rows, and what each arc of `network_of(graph)` can still carry, int64 [2 A].

    Raises ValueError if source and target are the same row, or a weight is not an integer.
    """
    source, target = ends_of(graph, source, target)
    network, capacity, reverse = network_of(graph)
    hops, through = (np.empty(graph.num_vertices, np.int64, like=graph.ids) for _ in range(2))
    on_path: Array = np.zeros(graph.num_vertices, np.bool_, like=graph.ids)
    heads, arcs, level, amount, flow = network.out.indices, network.num_arcs, 0, 0, 0

    def start(row: int) -> None:
        hops[row] = 0 if row == source else -1
        through[row] = arcs
        on_path[row] = False

    def visit(neighbour: int, arc: int) -> bool:
        if capacity[arc] == 0 or (hops[neighbour] >= 0 and hops[neighbour] != level):
            return False
        hops[neighbour] = level
        atomic_min(through, neighbour, arc)
        return True

    def trace(row: int) -> None:
        at = row
        while at != source:
            on_path[at] = True
            at = heads[reverse[through[at]]]

    def is_on_path(row: int) -> bool:
        return on_path[row]

    def left(row: int) -> int:
        return capacity[through[row]]

    def fill(row: int) -> None:
        capacity[through[row]] -= amount
        capacity[reverse[through[row]]] += amount

    everything = Frontier.everything(network)
    while True:
        compute(everything, start)
        level, frontier = 0, Frontier.of_rows(network, [source])
        while frontier.size and int(hops[target]) < 0:
            level += 1
            frontier = advance(frontier, visit)
        if int(hops[target]) < 0:
            return flow, capacity
        compute(Frontier.of_rows(network, [target]), trace)
        path = filter(everything, is_on_path)
        amount = int(reduce(path, left, "min"))
        compute(path, fill)
        flow += amount
