"""Tables of stages in a run's configuration, and the options of `reach`."""

from typing import Annotated, Literal

from pydantic import Field

from kernels.closure.limit import LIMIT
from pipeline.config.cluster import ClusterConfig
from pipeline.config.model import Choice, LocalFolder, Model, Natural, Positive, Seed, Switch


class ReachabilityConfig(Model):
    """Parameters of the labels of stage `reachability`, which docs/reachability.md describes."""

    dimensions: Positive = 3  # number of interval labels per component
    # Seed of the labels of every dimension but 0, which does not depend on it.
    seed: Seed = Field(default=0, examples=[42])
    method: Literal["tree", "dfs"] = "tree"  # how the labels are made: `tree`, or `dfs`, the thesis's method


class PairsConfig(Model):
    """Pairs of vertices: does a path lead from the first to the second? The answers are table `reached`."""

    pairs: str = Field(examples=["pairs.parquet"])  # a Parquet file of this machine with columns `src` and `dst`
    # What a vertex that is not in the graph gives: an `error`, or a `null` in the answer.
    unknown: Literal["error", "null"] = "error"


class QueriesConfig(PairsConfig):
    """Pairs that a run answers."""

    witness: Switch = False  # also write table `paths`: for each pair with a path the one of fewest arcs


class QueryOptions(PairsConfig):
    """Options of the command `reach`; they mean the same as in `RunConfig`, but `witness` is the folder of the paths."""

    output: LocalFolder
    witness: LocalFolder | None = None
    oracle: Switch = False
    backend: Choice = "auto"
    cluster: ClusterConfig = ClusterConfig()


_Share = Annotated[float, Field(gt=0, lt=1)]


class BetweennessConfig(Model):
    """Parameters of stage `betweenness`, which docs/tables.md describes."""

    weights: Switch = True  # whether a path's length is its sum of weights, if the graph has any, or its number of arcs
    # Number of vertices from which sources are drawn; below it every vertex is a source, and the answer is exact.
    exact_below: Natural = Field(default=20_000, examples=[100_000])
    # With drawn sources, the error in proportion to V (V - 2) that no vertex exceeds with probability 1 - `delta`. It decides how
    # many sources there are: ln(2 V / delta) / (2 epsilon^2).
    epsilon: _Share = Field(default=0.1, examples=[0.05])
    delta: _Share = Field(default=0.1, examples=[0.01])  # the probability that a vertex exceeds the error
    seed: Seed = Field(default=0, examples=[42])  # of the drawn sources


class ClosureConfig(Model):
    """Parameters of stage `closure`."""

    limit: Positive = Field(
        default=LIMIT, examples=[1_000_000]
    )  # the largest number of pairs; the stage ends where there are more


class MaxFlowConfig(Model):
    """Parameters of stage `max_flow`."""

    pairs: str = Field(examples=["pairs.parquet"])  # a Parquet file of this machine with columns `src` and `dst`: the pairs
