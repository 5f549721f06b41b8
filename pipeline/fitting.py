"""Whether a graph certainly does not fit, before its source is read.

What is imported only for sources that may not fit takes as long as reading a small one.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from pipeline.config.run import RunConfig
from pipeline.errors import BadInput, TooLarge
from pipeline.ingest.feed import find
from pipeline.runtime.backend import Backend
from pipeline.runtime.beyond_gpu import lays_out
from pipeline.runtime.memory import STORED, Shape, free_disk, free_memory, require_space
from pipeline.steps.parallel import merges
from pipeline.steps.products.whole_graphs import on_whole_graphs, require_on_each

if TYPE_CHECKING:
    from pipeline.inspection.sizes import GraphSizes

_SMALL = 30  # bytes that a stored byte of a source certainly takes at most, but for the most compressed ones
_UNCERTAIN = 0.5  # of estimated sizes this share counts as certain


def require_fit(config: RunConfig, backend: Backend) -> None:
    """Refuse a run whose graph certainly does not fit, before its source is read. Raises TooLarge.

    A remote source is left to the layout, and so is a graph that ranks hold together, unless each has to open all of it.
    """
    with suppress(BadInput):  # which reading the source reports
        source = find(config.graph.source)
        if not source.is_local or (config.cluster.shards and not on_whole_graphs(config)):
            return
        if config.cluster.shards:
            from pipeline.inspection.sizes import sizes_of

            sizes = sizes_of(config.graph, config.reject.limit)
            if not merges(config.graph.parallel, bool(sizes.weight)):  # which may leave any part of the arcs
                arrays = int(shape_of(config, sizes).arrays * _certain_share(sizes) * STORED)
                require_on_each(config, arrays, backend, "at least ")
        elif _SMALL * (source.size or 0) > min(free_memory(), free_memory(backend), free_disk(config.output)):
            from pipeline.inspection.sizes import sizes_of

            try:
                _require_space(config, backend, sizes_of(config.graph, config.reject.limit, look=False))
            except TooLarge:  # with as many vertices as are possible; reading rows to count them takes a second
                _require_space(config, backend, sizes_of(config.graph, config.reject.limit))


def _require_space(config: RunConfig, backend: Backend, sizes: "GraphSizes") -> None:
    shape, share = shape_of(config, sizes), _certain_share(sizes)
    require_space(shape, lays_out(backend, shape.on_gpu, share), config.output, share=share)


def _certain_share(sizes: "GraphSizes") -> float:
    """How much of figures from these sizes is certain."""
    return 1 if sizes.exact else _UNCERTAIN


def shape_of(config: RunConfig, sizes: "GraphSizes") -> Shape:
    """The stored arrays of a graph of these sizes."""
    return Shape(sizes.edges, sizes.vertices, sizes.weight, not sizes.directed or config.layout.symmetrise)
