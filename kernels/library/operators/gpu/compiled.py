"""User functions compiled by NVRTC, inside the kernels around them, and the failures that these record."""

from threading import get_ident
from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.gpu.loader import C_NAMES, kernel_of
from kernels.gpu.transfer import empty_pinned
from kernels.graph import Array, Graph
from kernels.library.operators.functions.emit import cuda_members, cuda_of
from kernels.library.operators.functions.errors import failure
from kernels.library.operators.functions.tree import Function
from kernels.library.operators.gpu.constants import FIRST_OF, LEAST_OF, MOST_OF, PRODUCT_OF, RECORD_WORDS, SUM_OF
from kernels.library.operators.plan import Captured, Plan

C_TYPES = {"": "bool", "b": "bool", "i": "int64_t", "f": "float", "d": "double"}
_FEW_LANES, _LANES = 4, 8  # that share a short row of a list
_MANY_ARCS = 8  # of a row, on average; road networks have fewer
_RESULTS = 256  # that are set to zero together
NUMBERS = {"sum": SUM_OF, "product": PRODUCT_OF, "min": LEAST_OF, "max": MOST_OF, "first": FIRST_OF}  # HOW of orders.cuh


def few_arcs(graph: Graph) -> bool:
    """Whether rows have few arcs, as in road networks."""
    return graph.num_arcs < _MANY_ARCS * graph.num_vertices


class ResidentKernel(NamedTuple):
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
        lines = [
            '#include "library/operators/gpu/functions.cuh"',
            *(f"#define {name} {value}" for name, value in defined.items()),
        ]
        lines += [cuda_of(function, role) for role, function in functions.items()]
        members = {role: cuda_members(function) for role, function in functions.items()}
        parameters = [f"{of} {role}_{name}" for role, fields in members.items() for name, of in fields]
        held = "".join(f"    {role}::Captured {role}_;\n" for role in functions)
        values = [f"{{{', '.join(f'{role}_{name}' for name, _ in fields)}}}" for role, fields in members.items()]
        lines += [f"struct Functions {{\n{held}}};"]
        lines += [f"#define CAPTURED_PARAMETERS {''.join(f', {each}' for each in parameters)}"]
        lines += [f"#define CAPTURED_VALUES const Functions functions{{{', '.join(values)}}};", ""]
        self.defined, self.cooperative, self.threads = defined, cooperative, threads
        self.source, self.text, self.functions = f"library/operators/gpu/{source}", "\n".join(lines), functions
        self._kernels: dict[Any, ResidentKernel] = {}

    def kernel(
        self, name: str, form: int, graph: Graph, weights: Array | None = None, tile: tuple[int, int] | None = None
    ) -> ResidentKernel:
        """Kernel `name` for a form of frontier; `tile`: bits of the tiles, and bytes of dynamic shared memory of a block."""
        lanes = _FEW_LANES if few_arcs(graph) else _LANES
        key = name, form, cupy.cuda.runtime.getDevice(), lanes, tile
        made = self._kernels.get(key)
        if made is None:
            device = cupy.cuda.Device()
            row = C_NAMES[np.dtype(graph.rows_by_id.dtype)]
            weight = "int64_t" if weights is None else C_NAMES[np.dtype(weights.dtype)]
            chosen = {"INPUT": form, "ROW": row, "WEIGHT": weight, "WEIGHTED": int(weights is not None), "TEAM_LANES": lanes}
            bits, shared = tile or (0, 0)
            chosen |= {"TILE_BITS": bits} if tile else {}
            text = "".join(f"#define {macro} {value}\n" for macro, value in chosen.items()) + self.text
            kernel = kernel_of(self.source, name, device.id, shared=shared, cooperative=self.cooperative, generated=text)
            resident = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, self.threads, shared)
            made = ResidentKernel(kernel, max(1, resident) * device.attributes["MultiProcessorCount"], shared)
            self._kernels[key] = made
        return made

    def run(self, kernel: ResidentKernel, threads: int, *arguments: Any) -> None:
        """Launch a kernel with at most `threads` threads, and at most the blocks that are resident."""
        blocks = max(1, min(kernel.blocks, -(-threads // self.threads)))
        while not kernel.shared and blocks > 6 and (blocks % 2 == 0 or blocks % 3 == 0):
            blocks -= 1  # otherwise every third row, say, would be the work of every third block
        kernel.function((blocks,), (self.threads,), arguments, shared_mem=kernel.shared)


def passed(plan: Plan, captured: Captured) -> list[Any]:
    """What functions capture, as a kernel takes it: of an array also its length."""
    arguments: list[Any] = []
    for (arrays, scalars), values in zip(plan.taken, captured, strict=True):
        for place in arrays:
            array = values[place]
            arguments += (array, array.size)
        for place, to in scalars:
            arguments.append(to(values[place]))
    return arguments


class Failures:
    """The first failure of a thread's launches on a device, which its next operator that reads something back raises."""

    def __init__(self) -> None:
        # In memory of the host: a copy of the record of functions.cuh, and a result: two integers, or a value of any type.
        self.on_host, self.number = empty_pinned(RECORD_WORDS + 2, np.int64), 0
        self.on_host[:] = 0
        place = self.on_host.ctypes.data
        self.result, self.on_host_result = self.on_host[RECORD_WORDS:], place + 8 * RECORD_WORDS
        # On the GPU: the record, which ends with the place of its copy, and results, each of which is used once.
        self._words = cupy.asarray(np.array([0] * RECORD_WORDS + [place] + [0] * 2 * _RESULTS, np.int64))
        first: int = self._words.data.ptr + 8 * (RECORD_WORDS + 1)
        self._record: int = self._words.data.ptr
        self._results, self._counted, self._next = first, first, 0
        self._parts = cupy.zeros(1, cupy.uint64)
        self.launched: dict[int, tuple[Function | None, ...]] = {}

    def next(self, functions: tuple[Function | None, ...]) -> tuple[int, int]:
        """Arguments of a launch of these functions: the address of the record, and the launch's number."""
        self.number += 1
        self.launched[self.number] = functions
        if len(self.launched) > 1000:
            self.wait()
        return self._record, self.number

    def wait(self, stream: int | None = None) -> None:
        """Wait for a stream, by default the current one, and raise the failure that is recorded."""
        cupy.cuda.runtime.streamSynchronize(cupy.cuda.get_current_stream().ptr if stream is None else stream)
        number = int(self.on_host[1])
        if not number:
            self.launched.clear()
            return
        _, _, row, stage, arc, site, *values = self.on_host[:RECORD_WORDS].tolist()
        function = self.launched[number][stage]
        self.launched = {}
        self._words.data.memset_async(0, 8 * RECORD_WORDS)
        self.on_host[:] = 0
        assert function is not None
        raise failure(function, row, arc, site, (values[0], values[1]))

    def check(self) -> Any:
        """As `wait`; returns the words of the last result, int64 [2]."""
        runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream().ptr
        runtime.memcpyAsync(self.on_host_result, self._counted, 16, runtime.memcpyDeviceToHost, stream)
        self.wait(stream)
        return self.result

    def zeroed(self) -> int:
        """The address of two words for a result, which are zero."""
        if self._next == _RESULTS:
            self._words[RECORD_WORDS + 1 :].fill(0)
            cupy.cuda.get_current_stream().synchronize()  # the next launch may be in another stream
            self._next = 0
        self._counted, self._next = self._results + 16 * self._next, self._next + 1
        return self._counted

    def parts_of(self, words: int) -> Any:
        """Memory for parts of results, uint64 [words]. Each has the number of its launch, so they are never cleared."""
        if len(self._parts) < words:
            self._parts = cupy.zeros(words, cupy.uint64)
        return self._parts


_FAILURES: dict[tuple[int, int], Failures] = {}  # kept when a thread ends: its launches may still be running


def failures() -> Failures:
    """Those of this thread on the current device."""
    key = cupy.cuda.runtime.getDevice(), get_ident()
    record = _FAILURES.get(key)
    if record is None:
        record = _FAILURES[key] = Failures()
    return record


def check() -> None:
    """Wait for the current GPU, and raise the first failure there of a user function that this thread gave, if there is one.

    Raises:
        UserFunctionError
    """
    failures().wait()
