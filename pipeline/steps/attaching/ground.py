"""The vertices at the feet of places: those that the step `attached` has made."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.errors import BadSource, Damaged
from pipeline.steps.attaching import FEET
from pipeline.store.digests import digest_of_file
from pipeline.store.manifest import Folder
from pipeline.tables.streets import way_of

_PER_METRE = 1000
# The columns of table `places` that say on which street a place is.
_COLUMNS = {"on_name": "name", "on_src": "src", "on_dst": "dst", "on_offset": "offset", "on_length": "length"}


def read_feet(edges: Folder) -> pa.Table:
    """The feet of places, ascending by coordinates. Raises Damaged if the file differs from the manifest."""
    path = edges.path / FEET
    if path.is_symlink() or not path.is_file() or digest_of_file(path) != edges.manifest.files[FEET].blake3:
        raise Damaged(f"{path}: is missing, or its BLAKE3 digest differs from its manifest's")
    return pq.read_table(path, page_checksum_verification=True).combine_chunks()


class AttachedPlaces:
    """The feet of places in an edge list."""

    def __init__(self, edges: Folder) -> None:
        """`edges` has places on its streets."""
        self._edges = edges

    def snap(self, places: Array, what: Callable[[int], str]) -> tuple[Array, Array]:
        """The vertices at the feet of places, and metres, as `Ground.snap`. Raises BadSource for one that was not attached."""
        rows, known = self.rows_of(places)
        if not known.all():
            how = "the run has attached its own places to streets, and this is none of them"
            raise BadSource(f"{what(int(known.argmin()))}: {how}; name its file in the run, and run again")
        return self._feet["vertex"].to_numpy()[rows], self._feet["metres"].to_numpy()[rows]

    def rows_of(self, places: Array) -> tuple[Array, Array]:
        """The feet of places, degrees float64 [n, 2], by their numbers, int64 [n]; and whether they are known, bool [n]."""
        keys = self._keys
        wanted = places[:, 0] + 0.0 + 1j * (places[:, 1] + 0.0)
        rows = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        return rows, keys[rows] == wanted if len(keys) else np.zeros(len(places), np.bool_)

    def streets_of(self, places: Array, free: Array) -> dict[str, pa.Array]:
        """On which street places are, columns of table `places`; null unless `free`, bool [n]."""
        rows = np.zeros(len(places), np.int64)
        rows[free] = self.rows_of(places[free])[0]
        at = pa.array(rows, mask=~free)
        way = way_of(self._feet.column_names)
        on_way = f"on_{way}"
        columns = {name: self._feet[of].take(at).combine_chunks() for name, of in ({on_way: way} | _COLUMNS).items()}
        metres = {name: pc.divide(columns[name].cast(pa.float64()), float(_PER_METRE)) for name in ("on_offset", "on_length")}
        roads = self._feet[way].null_count < len(self._feet)
        return {name: column for name, column in (columns | metres).items() if roads or name not in (on_way, "on_name")}

    def forget(self) -> None:
        """Free the memory of the feet."""
        for name in ("_feet", "_keys"):
            self.__dict__.pop(name, None)

    @cached_property
    def _feet(self) -> pa.Table:
        return read_feet(self._edges)

    @cached_property
    def _keys(self) -> Array:
        """The coordinates of places, complex128 [n], which ascend."""
        keys: Array = self._feet["lon"].to_numpy() + 1j * self._feet["lat"].to_numpy()
        return keys
