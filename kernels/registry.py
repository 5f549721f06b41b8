"""The algorithms, in the order in which a run executes them: the pipeline, the CLI, the flows and the report walk this list.

docs/adding-an-algorithm.md walks through a new entry.
"""

from kernels.algorithm import Algorithm, Column, Form

_VERTEX = Column("vertex", "int64", "external id", key=True)
_SOURCE = Column("source", "int64", "external id", key=True)
_UNREACHED = "the source does not reach the vertex"
_PREDECESSOR = Column("predecessor", "int64", "external id", "the vertex is the source, or is not reached")
_LABELS = Column("labels", "int64", "external id, the smallest in the component")

ALGORITHMS: tuple[Algorithm, ...] = (
    Algorithm(
        name="bfs",
        title="Breadth-first search",
        help="number of hops from each source to every vertex",
        solver="kernels.bfs:bfs",
        sharded_solver="kernels.bfs.sharded:bfs",
        certificate="kernels.bfs.certificate:certify_bfs",
        sharded_certificate="kernels.bfs.certificate.sharded:certify_bfs",
        oracle="kernels.oracle.by_scipy:bfs",
        gpu_oracle="kernels.oracle.by_cugraph:bfs",
        form=Form.PATHS,
        columns=(_SOURCE, _VERTEX, Column("distance", "int64", "hops", _UNREACHED), _PREDECESSOR),
    ),
    Algorithm(
        name="sssp",
        title="Single-source shortest paths",
        help="shortest distance, as a sum of weights, from each source to every vertex",
        solver="kernels.sssp:sssp",
        sharded_solver="kernels.sssp.sharded:sssp",
        certificate="kernels.sssp.certificate:certify_sssp",
        sharded_certificate="kernels.sssp.certificate.sharded:certify_sssp",
        oracle="kernels.oracle.by_scipy:sssp",
        gpu_oracle="kernels.oracle.by_cugraph:sssp",
        form=Form.PATHS,
        columns=(_SOURCE, _VERTEX, Column("distance", "distance", "sum of weights", _UNREACHED), _PREDECESSOR),
    ),
    Algorithm(
        name="mst",
        title="Minimum spanning forest",
        help="edges of the minimum spanning forest",
        solver="kernels.forest:minimum_spanning_forest",
        sharded_solver="kernels.forest.sharded:minimum_spanning_forest",
        certificate="kernels.forest.certificate:certify_forest",
        sharded_certificate="kernels.forest.certificate.sharded:certify_forest",
        oracle="kernels.oracle.by_scipy:forest",
        gpu_oracle="kernels.oracle.by_cugraph:forest",
        form=Form.FOREST,
        columns=(
            Column("src", "int64", "external id, the smaller end", key=True),
            Column("dst", "int64", "external id, the larger end", key=True),
            Column("weight", "weight", "the source's own"),
            Column("labels", "int64", "external id, the smallest in the tree"),
        ),
    ),
    Algorithm(
        name="wcc",
        title="Weakly connected components",
        help="weakly connected component of every vertex",
        solver="kernels.wcc:wcc",
        sharded_solver="kernels.wcc.sharded:wcc",
        certificate="kernels.wcc.certificate:certify_wcc",
        sharded_certificate="kernels.wcc.certificate.sharded:certify_wcc",
        oracle="kernels.oracle.by_scipy:wcc",
        gpu_oracle="kernels.oracle.by_cugraph:wcc",
        form=Form.COMPONENTS,
        columns=(_VERTEX, _LABELS),
    ),
    Algorithm(
        name="scc",
        title="Strongly connected components",
        help="strongly connected component of every vertex",
        solver="kernels.scc:scc",
        sharded_solver="kernels.scc.sharded:scc",
        certificate="kernels.scc.certificate:certify_scc",
        sharded_certificate="kernels.scc.certificate.sharded:certify_scc",
        oracle="kernels.oracle.by_scipy:scc",
        gpu_oracle="kernels.oracle.by_cugraph:scc",
        form=Form.COMPONENTS,
        columns=(_VERTEX, _LABELS),
    ),
    Algorithm(
        name="pagerank",
        title="PageRank",
        help="PageRank score of every vertex",
        solver="kernels.pagerank:pagerank",
        sharded_solver="kernels.pagerank.sharded:pagerank",
        certificate="kernels.pagerank.certificate:certify_pagerank",
        sharded_certificate="kernels.pagerank.certificate.sharded:certify_pagerank",
        oracle="kernels.oracle.by_scipy:pagerank",
        gpu_oracle="kernels.oracle.by_cugraph:pagerank",
        form=Form.VALUES,
        answer="kernels.answers:Scores",
        columns=(_VERTEX, Column("pagerank", "float64", "share of 1")),
        exact=False,
    ),
    Algorithm(
        name="reachability",
        title="Reachability",
        help="an index that decides whether a path connects two vertices, and its labels",
        solver="kernels.reachability:reachability",
        sharded_solver="kernels.reachability.sharded:reachability",
        certificate="kernels.reachability.certificate:certify_reachability",
        sharded_certificate="kernels.reachability.certificate.sharded:certify_reachability",
        oracle="kernels.oracle.by_scipy:reachability",
        warm_up="kernels.reachability.warm_up:warm_up",
        form=Form.LABELS,
        columns=(
            _VERTEX,
            _LABELS,
            Column("level", "int64", "arcs between components, on the longest path that ends here"),
            Column("low", "int64", "post-order number, the smallest that is reached", each=True),
            Column("post", "int64", "post-order number, the largest that is reached", each=True),
        ),
        table="reachability_labels",
    ),
    Algorithm(
        name="closure",
        title="Transitive closure",
        help="every pair of vertices of which the first reaches the second, for graphs with few such pairs",
        solver="kernels.closure:closure",
        certificate="kernels.closure.certificate:certify_closure",
        oracle="kernels.oracle.by_scipy:closure",
        form=Form.PAIRS,
        columns=(_VERTEX, Column("reached", "int64", "external id", key=True)),
        by_default=False,
    ),
)
BY_NAME: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in ALGORITHMS}
