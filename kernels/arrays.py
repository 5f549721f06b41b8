"""Types and views of NumPy and CuPy arrays: the type of a graph's arrays selects the backend of a kernel."""

from operator import index
from typing import Any, Literal, Protocol

import numpy as np

from kernels.graph import Array, Csr, Graph, index_dtype

ArcMemory = Literal["device", "host"]  # memory of a GPU's arcs: its own, or pinned memory of the host, read over the bus


class ArrayOrFile(Protocol):
    """An array, or a file that is read block by block."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""

    def __len__(self) -> int: ...

    def __getitem__(self, block: slice, /) -> Array: ...


def is_cupy(graph: Graph | Csr) -> bool:
    """Whether the graph's arrays are CuPy's, so that the kernel of the GPU runs."""
    return is_cupy_array(_offsets(graph))


def is_cupy_array(array: Array) -> bool:
    """Whether an array is CuPy's."""
    return type(array).__module__.partition(".")[0] == "cupy"


def on_gpu(graph: Graph | Csr, kernel: str) -> bool:
    """Whether the graph's arrays are CuPy's; raises TypeError unless they are CuPy's or NumPy's, which `kernel` takes."""
    return is_cupy(graph) or require_numpy(graph, kernel)


def require_numpy(graph: Graph | Csr, kernel: str) -> Literal[False]:
    """Raise TypeError unless the graph's arrays are NumPy's."""
    kind = type(_offsets(graph))
    if not issubclass(kind, np.ndarray):
        raise TypeError(
            f"{kernel}: arrays of type {kind.__module__}.{kind.__qualname__}, but this kernel supports numpy.ndarray only"
        )
    return False


class HasRows(Protocol):
    """A graph, or a shard of one."""

    @property
    def num_vertices(self) -> int:
        """Number of rows of the whole graph."""


def require_row(graph: HasRows, row: Any) -> int:
    """Return a row of the graph; raises TypeError if it is not an integer, and IndexError if the graph has no such row."""
    number = require_integer("row", row)
    if not 0 <= number < graph.num_vertices:
        raise IndexError(f"row {number} is not in 0..{graph.num_vertices - 1}, the rows of this graph")
    return number


def require_rows(graph: HasRows, rows: Any) -> Array:
    """Return rows of the graph, of any integer type and on either backend, in index width; raises as `require_row`."""
    given = rows if is_cupy_array(rows) else np.asarray(rows)
    if given.dtype.kind not in "iu" and len(given):
        raise TypeError(f"rows are {given.dtype}, not integers")
    if len(given) and not (int(given.min()) >= 0 and int(given.max()) < graph.num_vertices):
        require_row(graph, int(given[(given < 0) | (given >= graph.num_vertices)][0]))
    return given.astype(index_dtype(graph.num_vertices), copy=False)


def require_integer(name: str, value: Any) -> int:
    """Return an integer of any type, a bool excepted; raises TypeError."""
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} {value!r} is not an integer")


def frozen(array: Array) -> Array:
    """View of `array` as a plain read-only ndarray: a memory map and an array in memory then share one compiled kernel."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def unsigned(array: Array) -> Array:
    """Frozen view of offsets or rows, none negative, as unsigned integers: compiled loops need no test for a negative index."""
    return frozen(array).view(f"u{array.dtype.itemsize}")


def _offsets(graph: Graph | Csr) -> Array:
    return graph.offsets if isinstance(graph, Csr) else graph.out.offsets
