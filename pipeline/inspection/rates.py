"""Measured rates of the steps of a run; docs/performance.md describes the measurement. The registry has those of stages."""

from kernels.algorithm import Rate

CPU_CORES = 2  # on which the rates of CPUs were measured; more take less, by the square root
RATES: dict[str, dict[str, Rate]] = {
    "cpu": {
        "edges": (0.3, 0.0, 0.05),  # of a Parquet file that is read in place
        "copied": (0.4, 0.0, 0.4),  # of any other file
        "graph": (0.8, 0.0, 0.3),
        "report": (0.4, 0.0, 0.04),
        "search": (0.0, 0.1, 0.02),  # of one tree, on one core
        "hierarchy": (0.4, -48.0, 27.5),  # arcs beyond those of a tree take long; at least the constant
    },
    "gpu": {
        "edges": (0.6, 0.0, 0.006),
        "copied": (0.6, 0.0, 0.05),
        "graph": (0.4, 0.03, 0.008),
        "report": (0.4, 0.02, 0.0),
        "search": (0.0, 0.004, 0.0),
        "hierarchy": (0.1, 1.1, 0.0),
    },
}
ROUNDED = 1.6  # how many times as long a tree takes whose sums are rounded from the source outwards
START = 0.8  # seconds of the command before its first step and after its last
MEMORY: dict[str, Rate] = {
    "cpu": (350e6, 200.0, 65.0),
    "gpu": (1.1e9, 140.0, 3.0),
}  # bytes in the host's memory, per vertex, per arc
GPU_MEMORY: Rate = (500e6, 60.0, 40.0)  # bytes on the GPU that the layout takes, per vertex, per arc
EDGE = 7.0  # bytes of an edge in a stored edge list
