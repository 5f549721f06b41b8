"""User functions compiled by NVRTC, inside the kernels around them, and the failures that these record."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.gpu.loader import C_NAMES, kernel_of
from kernels.gpu.transfer import empty_pinned
from kernels.graph import Array, Graph
from kernels.operators.functions.emit import cuda_members, cuda_of
from kernels.operators.functions.errors import failure
from kernels.operators.functions.tree import Function
from kernels.operators.gpu.constants import FIRST_OF, LEAST_OF, MOST_OF, PRODUCT_OF, SUM_OF

C_TYPES = {"": "bool", "b": "bool", "i": "int64_t", "f": "float", "d": "double"}
_FEW_LANES, _LANES = 4, 8  # that share a short row of a list
_MANY_ARCS = 8  # of a row, on average; road networks have fewer
NUMBERS = {"sum": SUM_OF, "product": PRODUCT_OF, "min": LEAST_OF, "max": MOST_OF, "first": FIRST_OF}  # HOW of orders.cuh


def few_arcs(graph: Graph) -> bool:
    """Whether rows have few arcs, as in road networks."""
    return graph.num_arcs < _MANY_ARCS * graph.num_vertices


class Kernel(NamedTuple):
    """A compiled kernel, how many of its blocks are resident, and the bytes of dynamic shared memory that each has."""

    function: Any
    blocks: int
    shared: int


class Program:
    """A source of this folder with user functions by role; kernels are compiled for each form of frontier on first use."""

    def __init__(
        self, source: str, roles: dict[str, Function | None], defined: dict[str, Any], threads: int, cooperative: bool = False
    ) -> None:
        functions = {role: function for role, function in roles.items() if function is not None}
        lines = ['#include "operators/gpu/functions.cuh"', *(f"#define {name} {value}" for name, value in defined.items())]
        lines += [cuda_of(function, role) for role, function in functions.items()]
        members = {role: cuda_members(function) for role, function in functions.items()}
        parameters = [f"{of} {role}_{name}" for role, found in members.items() for name, of in found]
        held = "".join(f"    {role}::Captured {role}_;\n" for role in functions)
        values = [f"{{{', '.join(f'{role}_{name}' for name, _ in found)}}}" for role, found in members.items()]
        lines += [f"struct Functions {{\n{held}}};"]
        lines += [f"#define CAPTURED_PARAMETERS {''.join(f', {each}' for each in parameters)}"]
        lines += [f"#define CAPTURED_VALUES const Functions functions{{{', '.join(values)}}};", ""]
        self.defined, self.cooperative, self.threads = defined, cooperative, threads
        self.source, self.text, self.functions = f"operators/gpu/{source}", "\n".join(lines), functions
        self._kernels: dict[Any, Kernel] = {}

    def kernel(
        self, name: str, form: int, graph: Graph, weights: Array | None = None, tile: tuple[int, int] | None = None
    ) -> Kernel:
        """Kernel `name` for a form of frontier; `tile`: bits of the tiles, and bytes of dynamic shared memory of a block."""
        device = cupy.cuda.Device()
        lanes = _FEW_LANES if few_arcs(graph) else _LANES
        key = name, form, device.id, lanes, tile
        if key not in self._kernels:
            row = C_NAMES[np.dtype(graph.rows_by_id.dtype)]
            weight = "int64_t" if weights is None else C_NAMES[np.dtype(weights.dtype)]
            chosen = {"INPUT": form, "ROW": row, "WEIGHT": weight, "WEIGHTED": int(weights is not None), "TEAM_LANES": lanes}
            bits, shared = tile or (0, 0)
            chosen |= {"TILE_BITS": bits} if tile else {}
            text = "".join(f"#define {macro} {value}\n" for macro, value in chosen.items()) + self.text
            kernel = kernel_of(self.source, name, device.id, shared=shared, cooperative=self.cooperative, generated=text)
            resident = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, self.threads, shared)
            self._kernels[key] = Kernel(kernel, max(1, resident) * device.attributes["MultiProcessorCount"], shared)
        return self._kernels[key]

    def run(self, kernel: Kernel, threads: int, *arguments: Any) -> None:
        """Launch a kernel with at most `threads` threads, and at most the blocks that are resident."""
        blocks = max(1, min(kernel.blocks, -(-threads // self.threads)))
        while not kernel.shared and blocks > 6 and (blocks % 2 == 0 or blocks % 3 == 0):
            blocks -= 1  # otherwise every third row, say, would be the work of every third block
        kernel.function((blocks,), (self.threads,), arguments, shared_mem=kernel.shared)


def passed(captured: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Captured values as a kernel takes them: an array is its address and its length."""
    found: list[Any] = []
    for value in (each for values in captured for each in values):
        found += [value, np.int64(len(value))] if getattr(value, "ndim", 0) else [value]
    return found


class Failures:
    """The first failure of a device's launches, which the next operator that reads something back raises."""

    def __init__(self) -> None:
        # The record of functions.cuh; two that an operator counts or returns, zero before; one that `reduce` uses.
        self.words, self.number = cupy.zeros(11, cupy.int64), 0
        self.on_host = empty_pinned(11, np.int64)
        self.record, self.result = self.words[:8], self.words[8:10]
        self.launched: dict[int, tuple[Function | None, ...]] = {}

    def next(self, functions: tuple[Function | None, ...]) -> tuple[Any, Any]:
        """Arguments of a launch of these functions: the record, and the launch's number."""
        self.number += 1
        self.launched[self.number] = functions
        if len(self.launched) > 1000:
            self.check()
        return self.record, np.int64(self.number)

    def check(self) -> Any:
        """Wait for the GPU, raise the failure that is recorded, and return the words of the result, int64 [2]."""
        words = self.words.get(out=self.on_host)
        _, number, row, stage, arc, site, *values = words[:8].tolist()
        functions = self.launched.get(number)
        self.launched = {}
        if number:
            self.words.fill(0)
            function = None if functions is None else functions[stage]
            assert function is not None
            raise failure(function, row, arc, site, (values[0], values[1]))
        return words[8:10]

    def zeroed(self) -> Any:
        """The words of the result, set to zero."""
        self.result.data.memset_async(0, 16)
        return self.result


_FAILURES: dict[int, Failures] = {}


def failures() -> Failures:
    """Those of the current device."""
    device = cupy.cuda.Device().id
    if device not in _FAILURES:
        _FAILURES[device] = Failures()
    return _FAILURES[device]


def check() -> None:
    """Wait for the current GPU, and raise the first failure of a user function there, if there is one.

    Raises:
        UserFunctionError
    """
    failures().check()
