"""What CuPy compiles in this process, through a function that CuPy does not document."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Compilation = tuple[str, tuple[str, ...]]  # a source, and its options without the folders of headers


@contextmanager
def compilations() -> Iterator[list[Compilation]]:
    """A list that gets each compilation of the block, also of what CuPy has kept."""
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
