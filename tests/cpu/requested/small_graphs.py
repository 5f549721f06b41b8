"""Small graphs for the tests of stages that run on request: named ones, shapes that ranks share badly, and random edge lists."""

from hypothesis import strategies as st

from tests.graphs import NAMED_GRAPHS, EdgeList

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500]
SHAPES = [
    EdgeList("star", tuple((0, leaf) for leaf in range(1, 40)), directed=False),
    EdgeList("star of arcs", tuple((leaf, 0) if leaf % 2 else (0, leaf) for leaf in range(1, 40))),
    EdgeList("long path", tuple((step, step + 1) for step in range(60)), directed=False),
    EdgeList("path of arcs", tuple((step * 7 % 61, (step + 1) * 7 % 61) for step in range(60))),
    EdgeList("loops and parallel edges", ((1, 1), (1, 1), (2, 3), (2, 3), (3, 2), (4, 4), (5, 1), (6, 2)), vertices=(0, 9, 99)),
]


def edge_lists(most: int) -> st.SearchStrategy[EdgeList]:
    """Directed and undirected edge lists of up to 15 vertices and `most` edges, with parallel edges and self-loops."""
    ends = st.integers(0, 14)
    edges = st.lists(st.tuples(ends, ends), min_size=1, max_size=most).map(tuple)
    return st.builds(EdgeList, name=st.just("random"), edges=edges, directed=st.booleans())
