"""Second solvers: slow, obvious, straight from the definitions in docs/architecture.md. External ids everywhere."""

import heapq

from tests.graphs import EdgeList

Distances = dict[int, float]
Predecessors = dict[int, int | None]


def paths(edges: EdgeList, source: int, weighted: bool) -> tuple[Distances, Predecessors]:
    """Dijkstra, then the definition of the unique predecessor; only reached vertices are in the answer."""
    arcs = {pair: weight if weighted else 1 for pair, weight in edges.arcs().items()}
    out: dict[int, list[tuple[int, float]]] = {}
    for (src, dst), weight in arcs.items():
        out.setdefault(src, []).append((dst, weight))
    distance: Distances = {}
    heap: list[tuple[float, int]] = [(0, source)]
    while heap:
        length, vertex = heapq.heappop(heap)
        if vertex not in distance:
            distance[vertex] = length
            for dst, weight in out.get(vertex, []):
                heapq.heappush(heap, (length + weight, dst))

    tight = [(u, v) for (u, v), w in arcs.items() if u in distance and distance[u] + w == distance[v]]
    tails: dict[int, list[int]] = {}
    for u, v in tight:
        tails.setdefault(v, []).append(u)
    predecessor: Predecessors = {source: None}
    for vertex in distance:
        nearer = [u for u in tails.get(vertex, []) if distance[u] < distance[vertex]]
        if vertex != source and nearer:
            predecessor[vertex] = min(nearer)
    step = set(predecessor)  # the source and the vertices of the first kind
    while step:
        found: dict[int, int] = {}
        for u, v in tight:
            if u in step and v not in predecessor:
                found[v] = min(u, found.get(v, u))
        predecessor.update(found)
        step = set(found)
    return distance, predecessor


def forest(edges: EdgeList) -> tuple[list[tuple[int, int, float]], dict[int, int]]:
    """Kruskal in the order (weight, smaller end, larger end): the edges ascending by ends, and the tree of each vertex."""
    lightest: dict[tuple[int, int], float] = {}
    for (src, dst), weight in edges.arcs().items():
        pair = (min(src, dst), max(src, dst))
        lightest[pair] = min(weight, lightest.get(pair, weight))
    tree = {vertex: vertex for vertex in edges.ids}
    chosen = []
    for weight, src, dst in sorted((weight, *pair) for pair, weight in lightest.items()):
        if tree[src] != tree[dst]:
            chosen.append((src, dst, weight))
            keep, gone = sorted((tree[src], tree[dst]))
            tree = {vertex: keep if label == gone else label for vertex, label in tree.items()}
    return sorted(chosen), tree


def weak_components(edges: EdgeList) -> dict[int, int]:
    """The smallest external id of each vertex's weak component."""
    return forest(edges)[1]


def strong_components(edges: EdgeList) -> dict[int, int]:
    """The smallest vertex that each vertex reaches and is reached from."""
    reach = {vertex: set(paths(edges, vertex, weighted=False)[0]) for vertex in edges.ids}
    return {vertex: min(other for other in reach[vertex] if vertex in reach[other]) for vertex in edges.ids}


def pagerank(edges: EdgeList, damping: float = 0.85, steps: int = 200) -> dict[int, float]:
    """The share of a surfer's time on each vertex: along a random arc by `damping`, else, and where there is none, anywhere."""
    out: dict[int, list[int]] = {vertex: [] for vertex in edges.ids}
    for src, dst in edges.arcs():
        out[src].append(dst)
    ranks = dict.fromkeys(out, 1 / len(out))
    for _ in range(steps):
        anywhere = (1 - damping + damping * sum(ranks[vertex] for vertex in out if not out[vertex])) / len(out)
        following = dict.fromkeys(out, anywhere)
        for src, heads in out.items():
            for dst in heads:
                following[dst] += damping * ranks[src] / len(heads)
        ranks = following
    return ranks
