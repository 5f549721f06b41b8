"""The arcs of a road network, and what is known of them: from chains and what the tags of their ways say."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.config.roads import OsmConfig
from pipeline.ingest.roads.chains import Chains
from pipeline.ingest.roads.lengths import UNITS
from pipeline.ingest.roads.weights import speeds_of_ferries, times
from pipeline.tables.streets import PART, WAYS, schema_of

_BATCH = 2**18  # chains


@dataclass(frozen=True)
class Attributes:
    """What is known of ways and nodes besides their course; fields are as in `pipeline.ingest.formats.osm.extract`."""

    ways: Array | pa.Array  # ids: integers, or strings
    street: Array
    name: Array
    ids: Array
    units: Array
    names: pa.Array  # large_string
    classes: list[str]
    speeds: Array  # int64 [number of streets, 3]: millimetres an hour in both directions, and the seconds of a ferry
    way: str = WAYS[0]  # the column of `ways`

    def ids_of(self, ways: Array) -> pa.Array:
        """The ids of ways by their numbers."""
        return self.ways.take(pa.array(ways)) if isinstance(self.ways, pa.Array) else pa.array(self.ways[ways])

    def restricted(self, ways: Array) -> Array:
        """What turn restrictions call ways, by their numbers: integer ids, or else the numbers."""
        return ways if isinstance(self.ways, pa.Array) else self.ways[ways]


class RoadNetwork:
    """The arcs of chains: of each first the one along its way, then the one against it, if they are open.

    Attributes:
        chains: Those that are kept.
        known: What is known of ways and nodes besides.
        islands: How many weak components were left out, and how many vertices they had.
    """

    def __init__(self, chains: Chains, known: Attributes, config: OsmConfig) -> None:
        self.known, self._by_time = known, config.weight == "time"
        self._totals = np.zeros(len(known.ways), np.int64)
        np.add.at(self._totals, chains.way, chains.length)
        self.islands = Counter[str]()
        self.chains = chains.only(self._not_on_islands(chains, config.islands)) if config.islands > 1 else chains

    def _not_on_islands(self, chains: Chains, least: int) -> Array:
        """Which chains are in weak components of at least as many vertices, bool [C]."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = np.concatenate(chains.ends)
        nodes, numbers = np.unique(ends, return_inverse=True)
        pairs = numbers.reshape(2, -1)
        graph = coo_array((np.ones(pairs.shape[1], np.bool_), tuple(pairs)), shape=(len(nodes), len(nodes)))
        components, labels = connected_components(graph, directed=False)
        sizes = np.bincount(labels, minlength=components)
        small = sizes < least
        self.islands.update(islands=int(small.sum()), vertices=int(sizes[small].sum()))
        kept: Array = ~small[labels[pairs[0]]]
        return kept

    @cached_property
    def weights(self) -> tuple[Array, Array]:
        """The weights of each chain along its way and against it, int64 [C]; -1 where it is closed."""
        chains, known = self.chains, self.known
        speeds = known.speeds[known.street[chains.way]]
        both = []
        for direction in (0, 1):
            open_ = speeds[:, direction] > 0
            weight = np.full(len(chains.way), -1, np.int64)
            if self._by_time:
                seconds = np.where(chains.whole[chains.way], speeds[:, 2], 0)
                speed = speeds_of_ferries(seconds, self._totals[chains.way], speeds[:, direction])
                weight[open_] = times(chains.length[open_], speed[open_])
            else:
                weight[open_] = chains.length[open_]
            both.append(weight)
        return both[0], both[1]

    @property
    def arcs(self) -> int:
        """How many arcs there are."""
        return int(sum(np.count_nonzero(weight >= 0) for weight in self.weights))

    @property
    def largest(self) -> dict[str, int]:
        """The largest end, and the largest weight."""
        if not len(self.chains.way):
            return {}
        node = int(self.known.ids[max(int(end.max()) for end in self.chains.ends)])
        return {"src": node, "dst": node, "weight": int(max(weight.max() for weight in self.weights))}

    def edges(self, weighted: bool) -> Iterator[pa.Table]:
        """The arcs: `src`, `dst` and, if they are wanted, `weight`, int64."""
        for part in self._batches():
            ends = [self.known.ids[end[part]] for end in self.chains.ends]
            weight = np.stack([one[part] for one in self.weights], axis=1).ravel()
            is_open = weight >= 0
            columns = {"src": np.stack(ends, axis=1).ravel(), "dst": np.stack(ends[::-1], axis=1).ravel(), "weight": weight}
            yield pa.table({name: column[is_open] for name, column in columns.items() if weighted or name != "weight"})

    def coordinates(self) -> Iterator[pa.Table]:
        """The vertices by ascending id: `vertex`, and `x` and `y` in degrees."""
        nodes = np.unique(np.concatenate(self.chains.ends))
        for first in range(0, len(nodes), _BATCH):
            part = nodes[first : first + _BATCH]
            x, y = self.known.units[part].T / UNITS
            yield pa.table({"vertex": self.known.ids[part], "x": x, "y": y})

    def streets(self) -> Iterator[pa.Table]:
        """What is known of each chain, see `pipeline.tables.streets`."""
        known, chains = self.known, self.chains
        classes = pa.array(known.classes, pa.string())
        for part in self._batches():
            way, first, last = chains.way[part], chains.first[part], chains.last[part]
            counts = last - first + 1
            offsets = np.concatenate([[0], np.cumsum(counts)])
            places = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], counts)
            points = pa.array(np.ascontiguousarray(known.units[chains.nodes[places]]).ravel())
            name = known.name[way]
            weights = [pa.array(weight[part], mask=weight[part] < 0) for weight in self.weights]
            columns = {
                "src": known.ids[chains.nodes[first]], "dst": known.ids[chains.nodes[last]], "forward": weights[0],
                "backward": weights[1], known.way: known.ids_of(way), "class": classes.take(pa.array(known.street[way])),
                "name": known.names.take(pa.array(name, mask=name < 0)), "length": chains.length[part],
                "points": pa.ListArray.from_arrays(pa.array(2 * offsets, pa.int32()), points),
            }  # fmt: skip
            columns |= {} if known.way == WAYS[0] else {PART: known.restricted(way)}
            yield pa.table(columns).cast(schema_of(known.way))

    def _batches(self) -> Iterator[slice]:
        return (slice(first, first + _BATCH) for first in range(0, len(self.chains.way), _BATCH))
