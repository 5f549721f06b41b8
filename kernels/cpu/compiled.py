"""Numba's `njit`, except that Numba is imported when a compiled function is first called.

The import takes half a second, and a run that finds all its steps valid, or computes on a GPU, calls no such function.
"""

import sys
from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from kernels.cpu.numba_internals import COUNTS_REFERENCES, import_numba, loaded_first, set_first_locator
from kernels.spans import SHORTEST, span

_LOCK = Lock()
COMPILED = WeakValueDictionary[Callable[..., Any], "Compiled"]()  # by their functions, by which Numba asks where to keep the code
# Options of loops that make no array: callers hold theirs, and to count references to them would take half of the time or more.
# Loops check divisors themselves.
UNCOUNTED = {"nogil": True, "error_model": "numpy", "forceinline": True, COUNTS_REFERENCES: False}


class Compiled:
    """A function that Numba compiles when it is first called. Compiled functions may call each other."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options  # Numba inlines `py_func` into a caller
        self._dispatcher: Any = None
        COMPILED[function] = self

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function. An OSError of keeping its code, such as on a full disk, names the folder."""
        try:
            with span(self.py_func.__qualname__, "kernel", SHORTEST):
                return (self._dispatcher or self.dispatcher)(*arguments)
        except OSError as error:
            if error.errno is not None and self._dispatcher:  # otherwise it is one of the import of Numba
                error.filename = error.filename or self._dispatcher.stats.cache_path
            raise

    @property
    def dispatcher(self) -> Any:
        """Numba's object, which compiles the function for the types of its arguments, or loads it from the cache."""
        with _LOCK:
            if self._dispatcher is None:
                self._dispatcher = loaded_first(_numba().njit(**self.options)(self.py_func))
        return self._dispatcher

    @property
    def targetoptions(self) -> Any:
        """Where Numba reads whether to inline the function into a caller."""
        return self.dispatcher.targetoptions


def is_imported() -> bool:
    """Whether this process imports Numba, or has done so: what only may be compiled does not make a run on a GPU wait for it."""
    return "numba" in sys.modules


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function by `numba.njit(**options)` when it is first called."""
    return lambda function: Compiled(function, options)


def _numba() -> Any:
    """Import Numba; where a compiled function calls another one, it finds Numba's object."""
    numba = import_numba()
    from numba.extending import typeof_impl

    if Compiled not in typeof_impl.registry:
        set_first_locator("kernels.cpu.cached.ByContent")
        typeof_impl.register(Compiled)(lambda function, context: typeof_impl(function.dispatcher, context))
    return numba
