"""Names of vertices: the ids of a source whose ids are strings, numbered from 0 in the order of their UTF-8 bytes.

The names are one array of bytes and one of offsets, so 100 million names of 20 bytes take 2.8 GB.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.compiled import njit
from kernels.graph import ID, OFFSET, Array
from kernels.records import dataclass
from pipeline.errors import Damaged, ProofFailed
from pipeline.runtime.memory import require_memory
from pipeline.store.arrays import load_array, save_array
from pipeline.store.deltas import ATTACHED, CAPACITIES, EDGES, GRAPHS
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, read

OFFSETS, BYTES = "name-offsets.npy", "name-bytes.npy"  # files of an edge list
UNKNOWN = -1
SHOWN = 80  # characters of a name


@dataclass(frozen=True)
class VertexNames:
    """V different names, ascending."""

    offsets: Array  # int64 [V + 1]
    content: Array  # uint8

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text(self, number: int) -> str:
        """A name for a reader: its first SHOWN characters, without those that a terminal or a page would not print."""
        first, last = self.offsets[number : number + 2]
        name = bytes(self.content[first : min(last, first + 4 * SHOWN)]).decode(errors="ignore")[:SHOWN]
        return "".join(character if character.isprintable() else "\ufffd" for character in name)

    def exact(self, number: int) -> str | None:
        """The name, if `text` gives it as it is."""
        first, last = self.offsets[number : number + 2]
        shown = self.text(number)
        return shown if shown.encode() == bytes(self.content[first:last]) else None

    def array(self) -> pa.Array:
        """The names as Arrow's array, without a copy."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.content)]
        return pa.Array.from_buffers(pa.large_string(), len(self), buffers)

    def find(self, values: pa.Array | pa.ChunkedArray) -> Array:
        """The numbers of strings, int64 [n]; UNKNOWN for one that is not a name, or null."""
        encoded = pa.chunked_array(values).combine_chunks() if isinstance(values, pa.Array) else values.combine_chunks()
        encoded = encoded.cast(pa.large_string()).dictionary_encode()
        wanted, order = _sorted(encoded.dictionary)
        numbers_of_wanted = np.empty(len(wanted) + 1, ID)
        _find(self.offsets, self.content, wanted.offsets, wanted.content, numbers_of_wanted)
        numbers = np.empty_like(numbers_of_wanted)
        numbers[order], numbers[-1] = numbers_of_wanted[:-1], UNKNOWN  # the last one is for nulls
        of_values: Array = numbers[encoded.indices.fill_null(len(wanted)).to_numpy()]
        return of_values

    def save(self, folder: Path) -> None:
        """Write the files."""
        save_array(folder / OFFSETS, self.offsets)
        save_array(folder / BYTES, self.content)


def open_names(edges: Folder) -> VertexNames | None:
    """Open the names of an edge list by memory map; None if its ids are integers. Raises Damaged."""
    facts = EdgeFacts.of(edges)
    if facts.name_bytes is None or facts.declared_vertices is None:
        return None
    offsets = load_array(edges.path / OFFSETS, OFFSET, facts.declared_vertices + 1)
    if len(offsets) and (offsets[0], offsets[-1]) != (0, facts.name_bytes):
        raise Damaged(f"{edges.path / OFFSETS}: offsets {offsets[0]}..{offsets[-1]}, the manifest says 0..{facts.name_bytes}")
    return VertexNames(offsets, load_array(edges.path / BYTES, np.dtype(np.uint8), facts.name_bytes))


def names_beside(folder: Folder) -> VertexNames | None:
    """The names of a graph, or of that of which a step was made: of the edge list, or of table `vertices` if it is published.

    None if its ids are integers. Raises Damaged.
    """
    above, made_from = folder.path.parent, (folder.digest, folder.manifest.inputs.get("graph"))
    lists, graphs = (list(_readable(above / name for name in names)) for names in ((*EDGES, ATTACHED), (*GRAPHS, CAPACITIES)))
    for graph in (one for one in graphs if one.digest in made_from):
        renumbered = [one for one in lists if one.manifest.inputs.get("graph") == graph.digest]  # for the names of its changes
        for edges in [*renumbered, *(one for one in lists if one.digest == graph.manifest.inputs.get("edges"))]:
            return open_names(edges)
    return names_in(sorted((above / "vertices").glob("part-*.parquet")))


def _readable(folders: Iterable[Path]) -> Iterator[Folder]:
    for folder in folders:
        with suppress(Damaged):  # or not there
            yield read(folder)


def names_in(files: Sequence[Path]) -> VertexNames | None:
    """The names in the files of a table `vertices`; None if its ids are integers. Raises Damaged."""
    try:
        if not files or "id" not in pq.read_schema(files[0]).names:
            return None
        chunks = [pq.read_table(file, columns=["id"], page_checksum_verification=True)["id"] for file in files]
    except (OSError, pa.ArrowException) as error:
        raise Damaged(f"{files[0].parent}: {error}") from None
    return _as_names(pa.concat_arrays([part.cast(pa.large_string()) for chunk in chunks for part in chunk.chunks]))


def names_of(values: pa.Array) -> VertexNames:
    """The different strings of an array."""
    import pyarrow.compute as pc

    return _sorted(pc.unique(values.cast(pa.large_string())))[0]


def merge(runs: Iterable[VertexNames]) -> VertexNames:
    """The different names of all runs. Runs of similar size are merged, so each name is copied a logarithmic number of times."""
    waiting: list[VertexNames] = []
    for run in runs:
        waiting.append(run)
        while len(waiting) > 1 and len(waiting[-1]) * 2 > len(waiting[-2]):
            waiting.append(_merged(waiting.pop(), waiting.pop()))
    while len(waiting) > 1:
        waiting.append(_merged(waiting.pop(), waiting.pop()))
    return waiting[0] if waiting else VertexNames(np.zeros(1, OFFSET), np.empty(0, np.uint8))


def _merged(left: VertexNames, right: VertexNames) -> VertexNames:
    most, needed = len(left) + len(right), len(left.content) + len(right.content)
    require_memory(f"numbering {most:,} names", 2 * (needed + OFFSET.itemsize * most), "cpu")
    offsets, content = np.zeros(most + 1, OFFSET), np.empty(needed, np.uint8)
    count = _merge(left.offsets, left.content, right.offsets, right.content, offsets, content)
    return VertexNames(offsets[: count + 1].copy(), content[: offsets[count]].copy())


def _sorted(values: pa.Array) -> tuple[VertexNames, Array]:
    """Different strings without nulls in the order of their bytes, and the places that they had."""
    import pyarrow.compute as pc

    order = pc.sort_indices(values)
    return _as_names(values.take(order)), order.to_numpy()


def _as_names(ascending: pa.Array) -> VertexNames:
    _, ends, content = ascending.buffers()
    count, first = len(ascending), ascending.offset
    if not count:
        return VertexNames(np.zeros(1, OFFSET), np.empty(0, np.uint8))
    offsets = np.frombuffer(ends, OFFSET, count + 1, first * OFFSET.itemsize)
    text = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]] if content else np.empty(0, np.uint8)
    return VertexNames(offsets - offsets[0], text)


@njit(cache=True, nogil=True)
def _compare(left: Array, begin: int, end: int, right: Array, first: int, last: int) -> int:
    """Below, equal to or above 0, as the bytes `left[begin:end]` are to `right[first:last]`."""
    length = min(end - begin, last - first)
    for at in range(length):
        one, other = left[begin + at], right[first + at]
        if one != other:
            return -1 if one < other else 1
    return (end - begin) - (last - first)


@njit(cache=True, nogil=True)
def _find(offsets: Array, content: Array, text_offsets: Array, text: Array, numbers: Array) -> None:
    """Look up strings by a search that gallops from the previous one: fast if they ascend."""
    count, last = len(offsets) - 1, 0
    for number in range(len(text_offsets) - 1):
        begin, end = text_offsets[number], text_offsets[number + 1]
        numbers[number] = -1
        if count == 0:
            continue
        if _compare(content, offsets[last], offsets[last + 1], text, begin, end) > 0:
            last = 0
        step = 1
        while last + step < count and _compare(content, offsets[last + step], offsets[last + step + 1], text, begin, end) <= 0:
            last += step
            step *= 2
        low, high = last, min(last + step, count)  # the name is at `low` or above, and below `high`
        while high - low > 1:
            middle = (low + high) // 2
            if _compare(content, offsets[middle], offsets[middle + 1], text, begin, end) <= 0:
                low = middle
            else:
                high = middle
        last = low
        if _compare(content, offsets[low], offsets[low + 1], text, begin, end) == 0:
            numbers[number] = low


@njit(cache=True, nogil=True)
def _merge(left: Array, content: Array, right: Array, text: Array, offsets: Array, merged: Array) -> int:
    """Merge two ascending lists of strings; return the number of different ones."""
    one, other, count, end = 0, 0, 0, 0
    lefts, rights = len(left) - 1, len(right) - 1
    while one < lefts or other < rights:
        if one == lefts:
            order = 1
        elif other == rights:
            order = -1
        else:
            order = _compare(content, left[one], left[one + 1], text, right[other], right[other + 1])
        if order <= 0:
            for at in range(left[one], left[one + 1]):
                merged[end] = content[at]
                end += 1
            one += 1
            if order == 0:
                other += 1
        else:
            for at in range(right[other], right[other + 1]):
                merged[end] = text[at]
                end += 1
            other += 1
        count += 1
        offsets[count] = end
    return count


@dataclass(frozen=True)
class NameNumbering:
    """Names, with new ones among them."""

    former: VertexNames
    names: VertexNames  # the former ones and the new ones
    new: Array  # int64, ascending: numbers of the new ones

    @classmethod
    def of(cls, former: VertexNames, strings: pa.Array) -> "NameNumbering":
        """Names, and those of some strings that are not among them."""
        unknown = strings.filter(pa.array(former.find(strings) == UNKNOWN))
        if not len(unknown):
            return cls(former, former, np.empty(0, ID))
        added = names_of(unknown)
        names = merge([former, added])
        return cls(former, names, names.find(added.array()))

    def numbers(self, former: Array) -> Array:
        """The numbers of former names, by their former numbers; NumPy's or CuPy's."""
        behind = np.asarray(self.new - np.arange(len(self.new)), like=former)  # former names before each new one
        return former + np.searchsorted(behind, former, side="right").astype(ID)

    def added(self) -> pa.Array:
        """The new names, ascending."""
        return self.names.array().take(pa.array(self.new))

    def require_right(self) -> None:
        """Raise ProofFailed unless the names ascend, and every former name is at its new number."""
        import pyarrow.compute as pc

        names, former = self.names.array(), self.former.array()
        moved = names.take(pa.array(self.numbers(np.arange(len(former), dtype=ID))))
        ascend = pc.all(pc.less(names[:-1], names[1:])).as_py() is not False
        if not (ascend and moved.equals(former) and len(names) == len(former) + len(self.new)):
            raise ProofFailed("changes: the names are not the previous and the new ones, in ascending order")
