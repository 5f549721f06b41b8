"""The runs of the benchmark: graph, stages, place of computation, the script next to it, and the time that is wanted."""

from dataclasses import dataclass

FOUR = ("bfs", "sssp", "mst", "wcc")
FIVE = (*FOUR, "pagerank")
SEVEN = ("bfs", "sssp", "mst", "wcc", "scc", "pagerank", "reachability")


@dataclass(frozen=True)
class RunCase:
    """One run."""

    graph: str  # kind and size of a generated graph, as in `benchmarks.runs.sources`, and `:text` for its DIMACS file
    stages: tuple[str, ...]
    gpus: int  # 0 for a run on the CPU
    options: tuple[str, ...] = ()  # further options of `graphmill run`
    script: str = ""  # name of the script in `scripts/`, or empty
    wanted: float | None = None  # seconds that the run may take
    unchanged: float | None = None  # seconds that a further run may take, with nothing changed
    deployment: bool = False  # whether Prefect's worker runs it, and `prefect deployment run --watch` is timed

    @property
    def name(self) -> str:
        """What `--only` selects."""
        place = f"{self.gpus} GPU{'s' * (self.gpus > 1)}" if self.gpus else "CPU"
        named = ["deployment"] * self.deployment
        return " ".join([self.graph, place, *named, *(option for option in self.options if not option.startswith("--"))])


SHARDS = ("--shards", "2")
CASES = (
    RunCase("kronecker-24", FIVE, 1, script="cudf_cugraph", wanted=9),
    RunCase("grid-4900", FIVE, 1, script="cudf_cugraph", wanted=7),
    RunCase("kronecker-24:text", FIVE, 1, wanted=18),
    RunCase("grid-4900:text", FIVE, 1, wanted=14),
    RunCase("grid-1225", FIVE, 1, script="cudf_cugraph", wanted=2.5),
    RunCase("grid-1225", FIVE, 2, SHARDS, wanted=8),
    RunCase("kronecker-26", FIVE, 2, SHARDS, wanted=40),
    RunCase("grid-4900", FOUR, 0, script="pyarrow_scipy", wanted=14),
    RunCase("kronecker-21", FOUR, 0, script="pyarrow_scipy", wanted=5),
    RunCase("grid-2757", SEVEN, 0),
    RunCase("grid-515", FOUR, 0, unchanged=1.5),
    RunCase(
        "grid-515", FOUR, 0, ("--cluster", "local", *SHARDS)
    ),  # on two cores (`taskset -c 0,1`) twice the time of the row above
    RunCase("grid-515", FOUR, 0, unchanged=15, deployment=True),
)
