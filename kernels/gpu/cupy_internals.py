"""What the project uses of CuPy that CuPy does not document: here only, and compared with the sources of CuPy 14.0.1 and 14.2.

Without one of the names, the first kernel raises AttributeError: flushed floats would be other answers than a CPU's. On a GPU
`tests/gpu/test_cupy_internals.py` fails if CuPy does not call the functions as it did.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

KEEPS_SMALL_FLOATS = "--ftz=false"  # an option of a source; without it a GPU takes any float32 below 2^-126 for 0
_FLUSHING = "-ftz=true"  # the option that CuPy appends to those of a source


class Versions(dict[tuple[Any, ...], str]):
    """Versions of compilers, by what CuPy takes for their key: without the options, on which they do not depend."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        """The version, or the default."""
        return super().get((key[0], *key[2:]), default)

    def __setitem__(self, key: tuple[Any, ...], version: str) -> None:
        super().__setitem__((key[0], *key[2:]), version)


@cache
def prepare_compiler() -> None:
    """Change how CuPy compiles sources in this process.

    CuPy compiles an empty source to learn NVRTC's version: once, and not for each set of options, 10 ms each. A source keeps
    small floats if its options have `KEEPS_SMALL_FLOATS`, although CuPy appends the opposite.
    """
    from cupy.cuda import compiler

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
