"""The table `[betweenness]` of a run's configuration."""

from typing import Annotated

from pydantic import Field

from kernels.betweenness.parameters import DELTA, EPSILON, EXACT_BELOW
from pipeline.config.model import Model, Natural, Seed, Switch

_Share = Annotated[float, Field(gt=0, lt=1)]


class BetweennessConfig(Model):
    """Parameters of stage `betweenness`, which docs/tables.md describes."""

    weights: Switch = True  # whether a path's length is its sum of weights, if the graph has any, or its number of arcs
    # Number of vertices from which sources are drawn; below it every vertex is a source, and the answer is exact.
    exact_below: Natural = Field(default=EXACT_BELOW, examples=[100_000])
    # With drawn sources, the error in proportion to V (V - 2) that no vertex exceeds with probability 1 - `delta`. It decides how
    # many sources there are: ln(2 V / delta) / (2 epsilon^2).
    epsilon: _Share = Field(default=EPSILON, examples=[0.05])
    delta: _Share = Field(default=DELTA, examples=[0.01])  # the probability that a vertex exceeds the error
    seed: Seed = Field(default=0, examples=[42])  # of the drawn sources
