"""What the project uses of CuPy that CuPy does not document: here only, and compared with the sources of CuPy 14.0.1 and 14.2.

Without one of the names, the first kernel raises AttributeError: flushed floats would be other answers than a CPU's. On a GPU
`tests/gpu/test_cupy_internals.py` fails if CuPy does not call the functions as it did.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any, Protocol

from kernels.cpu.numba_internals import deferred
from kernels.gpu.ahead.turn import is_compiling

KEEPS_SMALL_FLOATS = "--ftz=false"  # an option of a source; without it a GPU takes any float32 below 2^-126 for 0
_FLUSHING = "-ftz=true"  # the option that CuPy appends to those of a source
_LOOK_AGAIN = 0.01  # seconds between two looks at what is missing
_WITH_SCIPY = ("cupyx.linalg", "cupyx.scipy")  # parts of `cupyx` that import SciPy
_COMPLETING = Lock()


class Versions(dict[tuple[Any, ...], str]):
    """Versions of compilers, by what CuPy takes for their key: without the options, on which they do not depend."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        """The version, or the default."""
        return super().get((key[0], *key[2:]), default)

    def __setitem__(self, key: tuple[Any, ...], version: str) -> None:
        super().__setitem__((key[0], *key[2:]), version)


class CompiledCode(Protocol):
    """Where CuPy keeps compiled code, by a digest of the source and the options."""

    def load(self, name: str) -> bytes | None:
        """The code, or None."""

    def save(self, name: str, cubin: bytes, source: str) -> None:
        """Keep the code."""


class WaitingCode:
    """Compiled code that may be about to be kept: what is missing is waited for while processes compile ahead."""

    def __init__(self, kept: CompiledCode) -> None:
        self.kept = kept

    def load(self, name: str) -> bytes | None:
        """See `CompiledCode.load`."""
        while (code := self.kept.load(name)) is None and is_compiling():
            time.sleep(_LOOK_AGAIN)
        return code or self.kept.load(name)

    def save(self, name: str, cubin: bytes, source: str) -> None:
        """See `CompiledCode.save`."""
        self.kept.save(name, cubin, source)


class _Kept(Exception):
    """Raised when code is kept, in the place of loading it into a GPU, which would need memory there."""


class _CodeToKeep:
    """Compiled code for other processes."""

    def __init__(self, kept: CompiledCode) -> None:
        self._kept = kept

    def load(self, name: str) -> bytes | None:
        """None. Raises _Kept if the code is there."""
        if self._kept.load(name) is not None:
            raise _Kept
        return None

    def save(self, name: str, cubin: bytes, source: str) -> None:
        """Keep the code, and raise _Kept."""
        self._kept.save(name, cubin, source)
        raise _Kept


def keep_compiled(source: str, options: tuple[str, ...]) -> None:
    """Compile a source as CuPy would, for the current GPU, and keep the code where CuPy looks for it. The GPU is not used.

    Args:
        source: What CuPy gives its compiler.
        options: Without the folders of headers, which CuPy appends.

    Raises:
        Exception: What CuPy raises for a source that does not compile.
    """
    from cupy._core import core
    from cupy.cuda import compiler

    prepare_compiler()
    before = compiler._kernel_cache_backend
    compiler._set_kernel_cache_backend(_CodeToKeep(before.kept))  # what this process waits for is what it makes
    try:
        headers = core._get_header_source()
        compiler._compile_module_with_cache(source, core.assemble_cupy_compiler_options(options), extra_source=headers)
    except _Kept:
        pass
    finally:
        compiler._set_kernel_cache_backend(before)


@cache
def prepare_compiler() -> None:
    """Change how CuPy compiles sources in this process.

    CuPy compiles an empty source to learn NVRTC's version: once, and not for each set of options, 10 ms each. A source keeps
    small floats if its options have `KEEPS_SMALL_FLOATS`, although CuPy appends the opposite. Code that other processes are
    compiling is waited for.
    """
    from cupy.cuda import compiler

    if hasattr(compiler, "_set_kernel_cache_backend"):  # CuPy before 14.2 has none
        compiler._set_kernel_cache_backend(WaitingCode(compiler._kernel_cache_backend))
    versions = Versions()
    for key, version in compiler._empty_file_preprocess_cache.items():
        versions[key] = version
    compiler._empty_file_preprocess_cache = versions
    compiler._compile_using_nvrtc_no_warning = _keeping_small_floats(compiler._compile_using_nvrtc_no_warning)


def _keeping_small_floats(compile_source: Callable[..., Any]) -> Callable[..., Any]:
    def compiled(source: str, options: tuple[str, ...] = (), *arguments: Any, **keywords: Any) -> Any:
        kept = tuple(option for option in options if option != _FLUSHING) if KEEPS_SMALL_FLOATS in options else options
        return compile_source(source, kept, *arguments, **keywords)

    return compiled


def import_cupyx() -> None:
    """Import `cupyx`, which `flatnonzero` and `searchsorted` import when they are first called, without SciPy until that is used.

    SciPy takes ten times as long to import as the rest. If these parts have other names, it is imported, too.
    """
    import_module("cupy")  # alone: another thread may be importing it, and would see a part of either
    with deferred(*_WITH_SCIPY):
        import_module("cupyx")


def complete_cupyx() -> None:
    """Import the rest of `cupyx`, before code runs that may use it on several threads: the first use must be that of one."""
    if "cupyx" in sys.modules:
        import_module("cupyx")  # waits for a thread that imports it
    with _COMPLETING:
        for name in _WITH_SCIPY:
            if name in sys.modules:
                vars(sys.modules[name])  # which runs it


Compilation = tuple[str, tuple[str, ...]]  # a source, and its options without the folders of headers


@contextmanager
def compilations() -> Iterator[list[Compilation]]:
    """A list that gets each compilation of the block, also of what CuPy has kept: for `benchmarks.runs.compiled`."""
    from cupy.cuda import compiler

    noted: list[Compilation] = []
    compile_module = compiler._compile_module_with_cache

    def noting(source: str, options: tuple[str, ...] = (), **keywords: Any) -> Any:
        noted.append((source, tuple(option for option in options if not option.startswith("-I"))))
        return compile_module(source, options, **keywords)

    compiler._compile_module_with_cache = noting
    try:
        yield noted
    finally:
        compiler._compile_module_with_cache = compile_module
