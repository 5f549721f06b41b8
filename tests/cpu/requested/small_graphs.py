"""Small graphs for the tests of stages that run on request: named ones, and random edge lists."""

from hypothesis import strategies as st

from tests.graphs import NAMED_GRAPHS, EdgeList

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500]


def edge_lists(most: int) -> st.SearchStrategy[EdgeList]:
    """Directed and undirected edge lists of up to 15 vertices and `most` edges, with parallel edges and self-loops."""
    ends = st.integers(0, 14)
    edges = st.lists(st.tuples(ends, ends), min_size=1, max_size=most).map(tuple)
    return st.builds(EdgeList, name=st.just("random"), edges=edges, directed=st.booleans())
