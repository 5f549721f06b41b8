"""Measured rates of the steps of a run; docs/performance.md describes the measurement."""

# name: (seconds, seconds per million vertices, seconds per million arcs), for one source. A stage's row includes its proof and
# what is made from its answer.
Rate = tuple[float, float, float]
CPU_CORES = 2  # on which RATES["cpu"] were measured; more take less, by the square root
RATES: dict[str, dict[str, Rate]] = {
    "cpu": {
        "edges": (0.3, 0.0, 0.05),  # of a Parquet file that is read in place
        "copied": (0.4, 0.0, 0.4),  # of any other file
        "graph": (0.8, 0.0, 0.3),
        "bfs": (0.1, 0.25, 0.05),
        "sssp": (0.1, 0.6, 0.12),
        "mst": (0.3, 0.4, 0.3),
        "wcc": (0.15, 0.2, 0.03),
        "scc": (0.1, 0.0, 0.14),
        "pagerank": (0.1, 0.45, 0.08),
        "reachability": (0.3, 0.1, 0.3),
        "report": (0.4, 0.0, 0.04),
        "betweenness": (0.0, 0.1, 0.02),  # from one source
        "search": (0.0, 0.1, 0.02),  # of one tree, on one core
        "hierarchy": (0.4, -48.0, 27.5),  # arcs beyond those of a tree take long; at least the constant
    },
    "gpu": {
        "edges": (0.6, 0.0, 0.006),
        "copied": (0.6, 0.0, 0.05),
        "graph": (0.4, 0.03, 0.008),
        "report": (0.4, 0.02, 0.0),
        "betweenness": (0.0, 0.0001, 0.000002),
        "search": (0.0, 0.004, 0.0),
        "hierarchy": (0.1, 1.1, 0.0),
    },
}
# Seconds of a core, or of a GPU, per million vertices: a tree from the hierarchy with its proof and its part of the product.
TREE = {
    "cpu": {"nearest": 0.018, "isochrones": 0.021, "closeness": 0.012, "flows": 0.028},
    "gpu": dict.fromkeys(("nearest", "isochrones", "closeness", "flows"), 0.00002),
}
OTHER_TREE = {"cpu": 0.021, "gpu": 0.00002}  # of another product, without its rows
FLOATS = 1.6  # how many times as long a tree takes with floats, whose sums are rounded from the source outwards
TYPICAL: dict[str, Rate] = {"cpu": (0.1, 0.3, 0.1), "gpu": (0.15, 0.03, 0.001)}  # of a stage that is not listed
START = 0.8  # seconds of the command before its first step and after its last
MEMORY: dict[str, Rate] = {
    "cpu": (350e6, 200.0, 65.0),
    "gpu": (1.1e9, 140.0, 3.0),
}  # bytes in the host's memory, per vertex, per arc
GPU_MEMORY: Rate = (500e6, 60.0, 40.0)  # bytes on the GPU that the layout takes, per vertex, per arc
# Bytes per vertex and per arc that a stage takes on the GPU beside the graph, if it has one source or one pair at a time.
GPU_STAGE = {"betweenness": (64.0, 0.0), "max_flow": (64.0, 170.0)}
EDGE = 7.0  # bytes of an edge in a stored edge list
# Bytes for each vertex that a run stores for a stage: its table, those made from it, and its index.
ROW = {"bfs": 3.0, "sssp": 4.0, "mst": 10.0, "wcc": 4.0, "scc": 2.0, "pagerank": 7.0, "reachability": 77.0, "closure": 1000.0}
TYPICAL_ROW = 8.0
