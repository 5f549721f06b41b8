"""Numba's cache of compiled functions: each under a digest of its code and of all that it uses.

By itself Numba compares the time and the size of the function's own file. So it would miss the change of a function or a constant
in another file that this one uses, and compile everything again in each copy of the project.
"""

import copyreg
import hashlib
import inspect
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, get_args

from numba.core import config
from numba.core.caching import InTreeCacheLocator

from kernels.cpu.compiled import COMPILED, Compiled


class ByContent(InTreeCacheLocator):  # type: ignore[misc]
    """In `NUMBA_CACHE_DIR` or the user's cache folder, which all copies of the project share. Numba finds it by its name."""

    def __init__(self, function: FunctionType, file: str) -> None:
        super().__init__(function, file)
        self._digest = digest(COMPILED[function])
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self._folder = str(Path(config.CACHE_DIR or home / "graphmill" / "compiled", self._digest))

    def get_cache_path(self) -> str:
        """The folder."""
        return self._folder

    def get_source_stamp(self) -> str:
        """What has to be equal for a kept function to be used."""
        return self._digest

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> Any:
        """None for other packages' functions, and where the folder is not writable: Numba then asks the next class."""
        with suppress(RuntimeError):  # there is no home folder
            return super().from_function(function, file) if function in COMPILED else None


def digest(compiled: Compiled) -> str:
    """SHA-256 of a function's options, its code, its named tuples, and the compiled functions, intrinsics and constants used."""
    return hashlib.sha256("\0".join(_parts(compiled, [])).encode()).hexdigest()


def _parts(compiled: Compiled, seen: list[Compiled]) -> Iterator[str]:
    seen.append(compiled)
    yield repr((compiled.py_func.__module__, sorted(compiled.options.items())))
    yield from _named_tuples(compiled.py_func)
    function, cells = compiled.py_func, compiled.py_func.__closure__ or ()
    enclosed = dict(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
        yield repr((code.co_code, code.co_varnames, code.co_names, constants))
        for name in (*code.co_names, *code.co_freevars):
            value: Any = enclosed.get(name, function.__globals__.get(name))
            if isinstance(value, Compiled):
                if value not in seen:
                    yield from _parts(value, seen)
                elif name in enclosed:
                    yield f"as {seen.index(value)}"
            elif hasattr(value, "__wrapped__"):  # an intrinsic, which may use anything in its file
                yield Path(inspect.getfile(value.__wrapped__)).read_text(encoding="utf-8")
            elif not isinstance(value, ModuleType):  # that is NumPy, whose functions Numba implements
                yield repr(value)


def _named_tuples(annotated: Any) -> Iterator[str]:
    """The named tuples among the arguments, and among their fields: Numba cannot load what names a lost class."""
    for annotation in annotated.__annotations__.values():
        for kind in (annotation, *get_args(annotation)):
            if hasattr(kind, "_fields"):
                yield f"{kind.__module__}.{kind.__qualname__}{kind._fields}"
                yield from _named_tuples(kind)


def _named(compiled: Compiled) -> Any:
    return str, (digest(compiled),)


copyreg.pickle(Compiled, _named)  # Numba names the code of a closure by a pickle of what it encloses
