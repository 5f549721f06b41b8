"""Maximum flow: rows with an excess push it to lower rows, all at once, and are lifted where they cannot.

Goldberg, Tarjan: A New Approach to the Maximum-Flow Problem (1988). What a row pushes, where to,
and how far it is lifted is decided from what does not change meanwhile, so the flow is the same on every run.
"""

import numpy as np

from examples.weights.edges import ends_of, network_of
from graphmill import Array, Frontier, Graph, advance, atomic_add, compute, filter


def push_relabel(graph: Graph, source: int, target: int) -> tuple[int, Array]:
    """The maximum flow between two rows, and what each arc of `network_of(graph)` can still carry, int64 [2 A].

    Raises ValueError if source and target are the same row, or a weight is not an integer.
    """
    source, target = ends_of(graph, source, target)
    network, capacity, reverse = network_of(graph)
    excess, height, chosen, amount = (np.zeros(graph.num_vertices, np.int64, like=graph.ids) for _ in range(4))
    size, arcs = graph.num_vertices, max(network.num_arcs, 1)
    highest = 1 << 62

    def saturate(row: int, neighbour: int, arc: int) -> None:
        if neighbour != row:  # a self-loop and its reverse would change each other
            whole = capacity[arc]
            capacity[arc] = 0
            atomic_add(capacity, reverse[arc], whole)
            atomic_add(excess, neighbour, whole)

    def is_active(row: int) -> bool:
        return excess[row] > 0 and row != source and row != target  # noqa: PLR1714  (the subset has no tuples)

    def lowest(neighbour: int, arc: int) -> int:
        return height[neighbour] * arcs + arc if capacity[arc] > 0 and neighbour >= 0 else highest

    def choose(row: int, total: int) -> None:
        chosen[row] = total
        amount[row] = min(excess[row], capacity[total % arcs])

    def push(row: int) -> None:
        if chosen[row] // arcs < height[row]:
            arc = chosen[row] % arcs
            atomic_add(excess, row, -amount[row])
            atomic_add(excess, heads[arc], amount[row])
            atomic_add(capacity, arc, -amount[row])
            atomic_add(capacity, reverse[arc], amount[row])

    def lift(row: int, total: int) -> None:
        chosen[row] = max(height[row], total // arcs + 1)

    def take(row: int) -> None:
        height[row] = chosen[row]

    heads = network.out.indices
    height[source] = size
    advance(Frontier.of_rows(network, [source]), saturate)
    everything = Frontier.everything(network)
    while (active := filter(everything, is_active)).size:
        advance(active, lowest, after=choose, collect="min")
        compute(active, push)
        active = filter(active, is_active)
        advance(active, lowest, after=lift, collect="min")
        compute(active, take)
    return int(excess[target]), capacity
