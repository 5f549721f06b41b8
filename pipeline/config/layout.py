"""The table `[layout]` of a run's configuration."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pipeline.config.cluster import MOST
from pipeline.config.model import Model, Positive, Switch


class LayoutConfig(Model):
    """How the edge list is cleaned and the rows of the stored graph are ordered."""

    # `degree`: descending out-degree. `windowed`: the same within windows of `window` vertices in source order, which keeps a
    # road network's locality (rows of at least 32 arcs still come first). `source`: ascending external id. Without this
    # key, a sparse graph that several ranks hold together is `windowed`.
    order: Literal["degree", "windowed", "source"] = "degree"
    window: Positive = 4096  # number of vertices of a window
    self_loops: Literal["drop", "keep"] = "drop"  # with `drop`, a vertex whose only arcs are self-loops stays
    symmetrise: Switch = False  # add the reverse of every arc. An undirected graph has both arcs in any case.
    # Number of contiguous row ranges of about equal arc count. Where several ranks hold the graph, `[cluster] shards` decides.
    shards: Annotated[Positive, Field(le=MOST)] = 1

    @model_validator(mode="before")
    @classmethod
    def _moved(cls, values: Any) -> Any:
        if isinstance(values, dict) and "parallel_arcs" in values:
            raise ValueError("parallel_arcs is `parallel` below [graph]; move it there")
        return values
