"""Tables of stages in a run's configuration, and the options of `reach`."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from kernels.cdlp.parameters import ITERATIONS
from kernels.closure.limit import LIMIT
from kernels.pagerank.parameters import DAMPING, TOLERANCE
from pipeline.config.cluster import ClusterConfig
from pipeline.config.model import (
    Choice,
    File,
    Finite,
    LocalFolder,
    Model,
    Natural,
    Positive,
    Seed,
    Switch,
    Vertices,
    as_exact_float,
    once,
    set_keys,
)

_Weight = Annotated[Finite, Field(gt=0), BeforeValidator(as_exact_float)]


class PageRankConfig(Model):
    """Parameters of stage `pagerank`, which docs/tables.md describes."""

    damping: Annotated[Finite, Field(ge=0, lt=1)] = Field(default=DAMPING, examples=[0.9])  # probability of following an arc
    # Iteration ends when the sum of the changes of all scores is less than this; it is NetworkX's `tol` times V.
    tolerance: Annotated[Finite, Field(ge=1e-9, le=0.1)] = Field(default=TOLERANCE, examples=[1e-8])
    # A fixed number of iterations, whatever the change, as in LDBC Graphalytics. By default as many as the tolerance needs.
    iterations: Annotated[Natural, Field(le=10_000)] | None = Field(default=None, examples=[10])

    # Personalised PageRank: a ranking for each seed, with a column `seed`. A list of vertices as in `sources` of a run, or a file
    # of vertices or places.
    seeds: Vertices = Field(default=(), examples=[[1, 151_234]])
    together: Switch = False  # one ranking for all seeds, to each of which the surfer jumps equally often
    # With `together`, how often relative to the others: a number for each seed of the list, or a column of a file of places.
    seed_weights: tuple[_Weight, ...] | File = Field(default=(), examples=[[2, 1]])

    VERTICES: ClassVar[tuple[str, ...]] = ("seeds",)
    SEEDS: ClassVar[tuple[str, ...]] = ("seeds", "together", "seed_weights")

    @model_validator(mode="after")
    def _one_weight_each(self) -> Self:
        if not self.seeds:
            return self
        if isinstance(self.seed_weights, tuple) and self.seed_weights:
            if isinstance(self.seeds, str):
                raise ValueError("seed_weights is a list, but seeds are those of a file; name a column of the file")
            if len(self.seed_weights) != len(self.seeds):
                raise ValueError(f"has {len(self.seed_weights)} seed_weights for {len(self.seeds)} seeds")
        if isinstance(self.seed_weights, str) and not isinstance(self.seeds, str):
            raise ValueError("seed_weights names a column, but no file of places has the seeds; state a number for each seed")
        return self

    def idle_keys(self) -> Iterator[tuple[str, str]]:
        """See `Model.idle_keys`."""
        for key in set_keys(self) & {"together", "seed_weights"} if not self.seeds else ():
            yield key, "there are no seeds; name some, or leave the key out"
        if self.seeds and self.seed_weights and not self.together:
            yield "seed_weights", "each seed has a ranking of its own; set together = true, or leave the key out"
        if self.iterations is not None and "tolerance" in set_keys(self):
            yield "tolerance", f"there are {self.iterations} iterations, whatever the change; leave one of both out"


class ReachabilityConfig(Model):
    """Parameters of the labels of stage `reachability`, which docs/reachability.md describes."""

    dimensions: Positive = 3  # number of interval labels per component
    # Seed of the labels of every dimension except 0, which does not depend on a seed.
    seed: Seed = Field(default=0, examples=[42])
    method: Literal["tree", "dfs"] = "tree"  # method of the labels: `tree`, or `dfs`, that of the thesis

    def idle_keys(self) -> Iterator[tuple[str, str]]:
        """See `Model.idle_keys`."""
        if self.dimensions == 1 and "seed" in set_keys(self):
            yield "seed", "it is for dimensions behind the first, and there is one; add some, or leave it out"


class PairsConfig(Model):
    """Pairs of vertices: does a path lead from the first to the second? The answers are table `reached`."""

    PAIRS: ClassVar[tuple[str, ...]] = ("pairs",)
    pairs: File = Field(examples=["pairs.parquet"])  # a Parquet file of this machine with columns `src` and `dst`
    # The answer for a vertex that is not in the graph: an `error`, or `null`.
    unknown: Literal["error", "null"] = "error"


class QueriesConfig(PairsConfig):
    """Pairs that a run answers."""

    witness: Switch = False  # also write table `paths`: a path with the fewest arcs for each pair that has one


class QueryOptions(PairsConfig):
    """Options of the command `reach`, as in `RunConfig`; only `witness` is the folder of the paths."""

    output: LocalFolder
    witness: LocalFolder | None = None
    oracle: Switch = False
    named: Switch | None = None
    backend: Choice = "auto"
    cluster: ClusterConfig = ClusterConfig()


_Share = Annotated[Finite, Field(gt=0, lt=1)]


class EdgeBetweennessConfig(Model):
    """Parameters of stage `edge_betweenness`, which docs/tables.md describes."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    weights: Switch = True  # length of a path: its sum of weights, if the graph has any; with `false` its number of arcs
    # In a graph with fewer vertices every vertex is a source, and the answer is exact; otherwise sources are drawn at random.
    exact_below: Natural = Field(default=20_000, examples=[100_000])
    # With drawn sources, the largest error as a share of V (V - 1): with probability 1 - `delta` no edge exceeds it. It decides
    # the number of sources, ln(2 E / delta) / (2 epsilon^2) for E edges.
    epsilon: _Share = Field(default=0.1, examples=[0.05])
    delta: _Share = Field(default=0.1, examples=[0.01])  # the probability that some value exceeds the error
    seed: Seed = Field(default=0, examples=[42])  # seed of the drawn sources
    normalized: Switch = False  # divide by the number of pairs, as NetworkX does with `normalized=True`
    # The vertices from which paths are counted: a list, or a file, as the run's `sources`. Empty: all vertices, or drawn ones.
    sources: Vertices = Field(default=(), examples=[[1, 151_234]])

    _once = field_validator("sources")(lambda value: value if isinstance(value, str) else once(value))

    def idle_keys(self) -> Iterator[tuple[str, str]]:
        """See `Model.idle_keys`."""
        if self.sources:
            for key in ("exact_below", "epsilon", "delta", "seed"):
                if key in set_keys(self):
                    yield key, "the sources are given, so none is drawn (sources); leave one of both out"


class BetweennessConfig(EdgeBetweennessConfig):
    """Parameters of stage `betweenness`, which docs/tables.md describes."""

    # With drawn sources, the largest error as a share of V (V - 2), with endpoints of V (V - 1): with probability 1 - `delta` no
    # vertex exceeds it. It decides the number of sources, ln(2 V / delta) / (2 epsilon^2).
    epsilon: _Share = Field(default=0.1, examples=[0.05])
    endpoints: Switch = False  # also count a path at the vertices where it begins and ends


class ClosureConfig(Model):
    """Parameters of stage `closure`."""

    limit: Positive = Field(default=LIMIT, examples=[1_000_000])  # the largest number of pairs; the stage fails if there are more


class MaxFlowConfig(Model):
    """Parameters of stage `max_flow`."""

    PAIRS: ClassVar[tuple[str, ...]] = ("pairs",)
    pairs: File = Field(examples=["pairs.parquet"])  # a Parquet file of this machine with columns `src` and `dst`: the pairs


class CdlpConfig(Model):
    """Parameters of stage `cdlp`."""

    iterations: Natural = Field(default=ITERATIONS, examples=[2])  # number of rounds; 0 leaves each vertex its own id
