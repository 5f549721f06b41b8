"""The CUDA loader: the one place where a `.cu` file becomes code.

A source is compiled by NVRTC once for its types and sizes, which arrive as macros: types from a fixed table, sizes as integers
that a launcher derives from the device.
"""

import hashlib
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from kernels.gpu.cupy_internals import KEEPS_SMALL_FLOATS, prepare_compiler
from kernels.gpu.devices import block_bytes, current, free_without_context, memory_of, require_supported
from kernels.graph import Array
from kernels.spans import SHORTEST, span

ROOT = Path(__file__).parent.parent
OPTIONS = ("--std=c++17", KEEPS_SMALL_FLOATS, f"-I{ROOT}")
_INCLUDE = re.compile(r"""^\s*#\s*include\s*"(.+)\"""", re.MULTILINE)
Macro = np.dtype[Any] | int
C_NAMES = {
    np.dtype(np.int32): "int",
    np.dtype(np.int64): "int64_t",
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
}
# Held to compile a source: ranks that are threads need the same kernels at the same time, and the second finds CuPy's cache.
_COMPILING = defaultdict[tuple[str, str], Lock](Lock)
_MIB = 2**20
_LIMIT = "CUPY_GPU_MEMORY_LIMIT"  # which CuPy reads when it is imported
_RAISING = Lock()  # held to read and raise a limit of shared memory, which ranks that are threads do at the same time


def free_bytes() -> int:
    """Free bytes of the current GPU, including those that CuPy's pool keeps for later, within the pool's limit."""
    if _unlimited() and (free := free_without_context(current())) is not None:
        return free
    import cupy

    pool = cupy.get_default_memory_pool()
    free, limit = int(cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes()), int(pool.get_limit())
    return max(0, min(free, limit - int(pool.used_bytes()))) if limit else free


def total_bytes() -> int:
    """Bytes of memory of the current GPU, within the limit of CuPy's pool.

    It imports CuPy, which takes half a second, only if there may be a limit: runs in which nothing has changed ask, too.
    """
    total = memory_of(current())
    if _unlimited():
        return total
    import cupy

    limit = int(cupy.get_default_memory_pool().get_limit())
    return min(total, limit) if limit else total


def _unlimited() -> bool:
    """Whether CuPy is not imported, and its pool will have no limit when it is."""
    return "cupy" not in sys.modules and _LIMIT not in os.environ


def fitting(of_item: int) -> int:
    """How many items of `of_item` bytes fit into half of the free memory; 1 if only one does, into three quarters; otherwise 0.

    The rest is for arrays that are not counted.
    """
    free = free_bytes()
    return free // 2 // max(of_item, 1) or int(of_item <= free // 4 * 3)


def at_once(what: str, of_item: int) -> int:
    """As `fitting`, but at least 1: how many sources or pairs, for example, a kernel processes at a time.

    Raises:
        MemoryError: `what`, one item, takes more than all free memory; the message has both figures.
    """
    free = free_bytes()
    if of_item > free:
        raise MemoryError(f"{what} takes {of_item / _MIB:,.0f} MiB of GPU memory, and {free / _MIB:,.0f} MiB are free")
    return max(1, fitting(of_item))


def options(source: str, **macros: Macro) -> tuple[str, ...]:
    """Compiler options that define the macros, types by their C names, and the constants of `kernels/SOURCE`."""
    return (
        *OPTIONS,
        *(f"-D{name}={value}" for name, value in constants_of(source)),
        *(f"-D{name}={value if isinstance(value, int) else C_NAMES[np.dtype(value)]}" for name, value in sorted(macros.items())),
    )


@cache
def constants_of(source: str) -> tuple[tuple[str, int], ...]:
    """Constants that `kernels/SOURCE` shares with Python, by name.

    They are the upper-case integers of `constants.py` in the folders of the source and of every header that it includes, and in
    the folders around these. Python imports them from there, so each value is written once.

    Raises:
        ValueError: Two folders give one name different values.
    """
    constants: dict[str, int] = {}
    for folder in sorted({folder for file in _files_of(source) for folder in Path(file).parents}):
        if not (ROOT / folder / "constants.py").exists():
            continue
        module = import_module(".".join(["kernels", *folder.parts, "constants"]))
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, int) and constants.setdefault(name, value) != value:
                raise ValueError(f"{source}: {name} is {constants[name]} and {value}")
    return tuple(sorted(constants.items()))


def _files_of(source: str) -> set[str]:
    """`kernels/SOURCE` and the headers that it includes, directly or not; the compiler's own headers are not files here."""
    files, waiting = set(), [source]
    while waiting:
        file = waiting.pop()
        if file not in files and (ROOT / file).exists():
            files.add(file)
            waiting += _INCLUDE.findall((ROOT / file).read_text(encoding="utf-8"))
    return files


@cache
def load(source: str, cooperative: bool = True, generated: str = "", **macros: Macro) -> Any:
    """The module of `kernels/SOURCE` for these macros: a `cupy.RawModule`.

    A cooperative launch cannot have more blocks than are resident at a time; CuPy reduces a larger grid. `generated` is text in
    front of the source; products and sums are then rounded one by one, as a CPU rounds them.
    """
    import cupy

    prepare_compiler()
    code = code_of(source, generated)
    chosen = (*options(source, **macros), *(["--fmad=false"] if generated else []))
    return cupy.RawModule(code=code, options=chosen, backend="nvrtc", enable_cooperative_groups=cooperative)


def code_of(source: str, generated: str = "") -> str:
    """What the compiler gets for `kernels/SOURCE`. Its first line has the digest of the headers, and what the source is."""
    kind = "generated" if generated else source
    return f"// headers {_headers()} {kind}\n" + generated + (ROOT / source).read_text(encoding="utf-8")


@cache
def _headers() -> str:
    """SHA-256 of all headers, to be part of the source: CuPy caches compiled code by the source's text, without its headers."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(ROOT.rglob("*.cuh")))).hexdigest()


@cache
def kernel_of(
    source: str, name: str, device: int, shared: int = 0, cooperative: bool = True, generated: str = "", **macros: Macro
) -> Any:
    """Kernel `name` of `kernels/SOURCE`, which may have `shared` bytes of dynamic shared memory; this is set per device.

    Raises RuntimeError if kernels do not run on the current GPU.
    """
    require_supported()
    with _COMPILING[source, generated]:
        kernel = load(source, cooperative, generated, **macros).get_function(name)
    with _RAISING:
        kernel.max_dynamic_shared_size_bytes = max(kernel.max_dynamic_shared_size_bytes, shared)
    return kernel


@cache
def spare_shared(source: str, name: str, device: int, **macros: Macro) -> int:
    """Bytes of dynamic shared memory that a block of the kernel can have at most on `device`."""
    return block_bytes(device) - int(kernel_of(source, name, device, **macros).shared_size_bytes)


@cache
def cooperative(source: str, name: str, threads: int, device: int, shared: int = 0, **macros: Macro) -> tuple[Any, int]:
    """Kernel `name` of `kernels/SOURCE` for these macros, and how many of its blocks are resident on `device` at a time.

    A block has `threads` threads and, in addition to the static shared memory of the source, `shared` bytes.
    """
    import cupy

    kernel = kernel_of(source, name, device, shared, **macros)
    per_processor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, threads, shared)
    return kernel, per_processor * cupy.cuda.Device(device).attributes["MultiProcessorCount"]


def launcher(
    source: str,
    name: str,
    threads: int,
    items: int | None,
    *,
    blocks: Any = None,
    shared: Any = 0,
    plain: Any = False,
    **macros: Macro,
) -> Callable[..., None]:
    """A function that runs kernel `name` of `kernels/SOURCE` on the current stream and on the GPU that is current now.

    Args:
        threads: Of a block.
        items: The kernel's threads stride over them: it gets one thread per item, at least one block, and at most the blocks that
            are resident at a time. None for all of these.
        blocks: The exact number of blocks, in the place of `items`; 0 launches nothing.
        shared: Bytes of dynamic shared memory of a block.
        plain: Compile without support for cooperative launches: for kernels without a barrier of the grid, which may have more
            blocks than are resident. Such a launch needs `blocks`.
        macros: Types of the source, for example ROW, WEIGHT and SUM, and sizes.

    Returns:
        It takes CuPy arrays, NumPy scalars of the kernel's types, and `pointer(array)` where an array may be missing.
    """
    import cupy

    device = cupy.cuda.Device().id
    if plain:
        kernel, resident = kernel_of(source, name, device, shared, cooperative=False, **macros), 0
    else:
        kernel, resident = cooperative(source, name, threads, device, shared, **macros)
    if blocks is None:
        # Where no block fits, the launch of one fails; that of none would succeed.
        blocks = max(1, resident if items is None else min(resident, -(-items // threads)))
    grid, block = (blocks,), (threads,)

    def run(*arguments: Any) -> None:
        if blocks:
            with span(name, "launch", SHORTEST):
                kernel(grid, block, arguments, shared_mem=shared)

    return run


def launch(source: str, name: str, threads: int, items: int | None, *arguments: Any, **given: Any) -> None:
    """Run a kernel once, as `launcher` describes its options."""
    launcher(source, name, threads, items, **given)(*arguments)


def pointer(array: Array | None) -> Any:
    """The argument of a launch for an array that may be missing: a null pointer for None."""
    return np.uintp(0) if array is None else array


def minus_ones(shape: Any, dtype: Any) -> Any:
    """A CuPy array of integers that are all -1, set by memset in a third of the time of `cupy.full`."""
    import cupy

    made = cupy.empty(shape, dtype)
    made.data.memset_async(0xFF, made.nbytes)
    return made


def to_host(array: Array) -> Array:
    """Copy a CuPy array to a NumPy array; a NumPy array is returned unchanged."""
    copied: Array = array.get() if hasattr(array, "get") else array
    return copied
