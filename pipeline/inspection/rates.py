"""Measured rates of the steps of a run; docs/performance.md describes the measurement. The registries have those of others.

Seconds of CPUs are CPU seconds of one core of the machine whose `pipeline.inspection.speed` is 1; memory is that of a process.
"""

from kernels.algorithm import Rate

RATES: dict[str, dict[str, Rate]] = {
    "cpu": {
        "edges": (0.1, 0.0, 0.09),  # of a Parquet file that is read in place
        "copied": (0.15, 0.0, 0.35),  # of any other file
        "numbered": (0.1, 1.0, 1.6),  # besides, if ids are strings
        "merged": (0.1, 0.0, 0.9),  # parallel rows
        "graph": (0.05, 0.05, 0.19),
        "report": (0.2, 0.05, 0.01),
        "search": (0.0, 0.3, 0.045),  # of one tree
        "hierarchy": (0.1, -39.0, 22.5),  # arcs beyond those of a tree take long; at least the constant
        "named": (0.05, 0.6, 0.0),  # of a table with names, for each million of its rows
        "reached": (0.05, 0.0, 0.5),  # for each million pairs, as the next one
        "paths": (0.1, 0.0, 10.0),
        "places": (0.3, 0.0, 10.0),  # for each million places
        "attached": (0.3, 14.0, 4.0),  # for each million places, and for each million arcs
        "change_tables": (0.3, 1.0, 0.0),  # for each million rows
        "split": (0.05, 0.0, 2.5),  # for each million arcs of streets, with turn restrictions
        "split, costs": (0.05, 0.0, 15.0),  # the same with costs of turns, which divide every crossing
        "turned": (0.03, 0.0, 0.4),
        "turned, costs": (0.03, 0.0, 1.25),
    },
    "gpu": {
        "edges": (0.6, 0.0, 0.006),
        "copied": (0.6, 0.0, 0.05),
        "numbered": (0.1, 1.0, 1.6),
        "merged": (0.2, 0.0, 0.2),  # on the CPU
        "graph": (0.4, 0.03, 0.008),
        "report": (0.4, 0.02, 0.0),
        "search": (0.0, 0.004, 0.0),
        "hierarchy": (0.1, 1.1, 0.0),
        "named": (0.05, 0.6, 0.0),
        "reached": (0.2, 0.0, 0.01),
        "paths": (0.1, 0.0, 10.0),
        "places": (0.3, 0.0, 10.0),
        "attached": (0.3, 14.0, 4.0),  # on the CPU
        "change_tables": (0.3, 1.0, 0.0),
        "split": (0.05, 0.0, 2.5),  # on the CPU
        "split, costs": (0.05, 0.0, 15.0),
        "turned": (0.4, 0.0, 0.02),
        "turned, costs": (0.4, 0.0, 0.1),
    },
}
GROWTH = 0.22  # a hierarchy's rate grows with this power of the vertices: a larger network needs more levels
FLOATS = 3.0  # how many times as long a tree takes with floats, whose sums are rounded from the source outwards
FLOATS_ONCE = 34.0  # seconds besides of a product with floats, per million vertices
NAMES_OF_ARCS = 2.5  # seconds besides of table `arcs`, per million arcs, if ids are strings
PRODUCT = 0.08  # seconds of a product before its first tree and after its last
START = {"cpu": 1.15, "gpu": 0.8}  # seconds before the first step, of the compiled kernels, and after the last step
SHARDED = 6.0  # how many times as long a stage takes over ranks of processes, which wait for each other
SESSION = 0.4  # seconds that the ranks of a stage take to begin and to end
HOST: Rate = (1.1e9, 140.0, 3.0)  # bytes in the host's memory until the GPU has stored the graph, per vertex, per arc
# Memory is what the kernel cannot give up: maps of stored arrays are not in it. `benchmarks.runs.memory` compares it with runs.
PROCESS = 120e6  # bytes of the run's process with its libraries, which keeps what it has freed; beside it, what reading took
DASK = 50e6  # the same of one that has workers
REPORT: Rate = (170e6, 28.0, 0.0)  # the same while it draws the report, per vertex: of the columns of a table at a time
READ = 2.0  # bytes for each one that is decoded at a time: also of pages
READ_TEXT = 60e6  # bytes of a text's blocks
LAYOUT = (160e6, 320e6)  # of a process that lays out and returns what it freed, in memory and from the disk
LAID_OUT = 50.0  # bytes for each vertex, beside `Shape.layout`, in memory
LAID_OUT_SPARING = 35.0  # the same from the disk
HELD: Rate = (210e6, 20.0, 0.0)  # bytes of a process with a stored graph, per vertex, per arc
OVERLAP = 0.25  # of the second largest of stages that run at once: both are rarely at their peaks
SHARDED_STAGE = 1.3  # how many times as much a stage takes over ranks, of them all
SHARD = 25.0  # bytes for each vertex of all shards, beside arcs; for ranks beyond two once more, as ghosts
RANKS = (180.0, 1.75)  # bytes for each vertex, and times `Shape.layout`, of a layout over ranks in processes
HIERARCHY = 180.0  # bytes per vertex of a hierarchy in memory
WORKER = 85e6  # bytes of a worker, without maps
RETURNING = 0.7  # share of a stage's bytes that a process takes which returns what it has freed; workers do
MAPPED: Rate = (200e6, 15.0, 35.0)  # bytes that Dask counts of a worker with a graph, or of all with its shards: also maps
PINNED = 0.0078  # seconds in which a million arcs of 8 bytes are pinned and copied
GPU_MEMORY: Rate = (500e6, 60.0, 40.0)  # bytes on the GPU that the layout takes, per vertex, per arc
EDGE = 7.0  # bytes of an edge in a stored edge list
