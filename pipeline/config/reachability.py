"""The tables `[reachability]` and `[queries]` of a run's configuration, and the options of the command `reach`."""

from typing import Literal

from pydantic import Field

from pipeline.config.cluster import ClusterConfig
from pipeline.config.model import Choice, LocalFolder, Model, Positive, Seed, Switch


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
