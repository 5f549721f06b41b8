"""What the project uses of Numba that Numba does not document: here only, and tried with Numba 0.64.

`tests/cpu/compiled/test_numba_internals.py` fails if Numba changes any of it.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from pathlib import Path
from threading import Lock, get_ident
from types import ModuleType
from typing import Any

SETTINGS = ".numba_config.yaml"  # the name is documented

# The option of `njit` that says whether a function counts references to its arrays. Numba compiles functions of its own without.
# A Numba without the option refuses it when the first function is compiled, with a KeyError.
COUNTS_REFERENCES = "_nrt"
_FINDERS = Lock()  # of the list of import finders


def set_first_locator(locator: str) -> None:
    """Let Numba ask the class `locator` where to keep a function's code, and then its own classes; unless the user names others.

    The setting is documented. It replaces the list of Numba's classes, which other packages' functions need, and which has no
    documented name. Without the list, the first call of a compiled function raises AttributeError.
    """
    from numba import config
    from numba.core.caching import CacheImpl

    if not config.CACHE_LOCATOR_CLASSES:
        config.CACHE_LOCATOR_CLASSES = ",".join([locator, *(own.__name__ for own in CacheImpl._locator_classes)])


class _Hidden(MetaPathFinder):
    """An import finder that hides packages from one thread."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages, self._thread = packages, get_ident()

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Refuse the packages."""
        if fullname in self._packages and get_ident() == self._thread:
            raise ModuleNotFoundError(f"graphmill does not need {fullname} here", name=fullname)


class _Deferred(MetaPathFinder):
    """An import finder whose modules run when an attribute of theirs is first used."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._modules = modules

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module as `importlib` finds it, with a lazy loader."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in self._modules else None
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec


def hidden(*packages: str) -> AbstractContextManager[None]:
    """In the block, this thread cannot import these packages, unless they are imported already; other threads can."""
    return _asked_first(_Hidden(packages))


def deferred(*modules: str) -> AbstractContextManager[None]:
    """In the block, importing these modules runs nothing of them; they run when one thread first uses something of them."""
    return _asked_first(_Deferred(modules))


@contextmanager
def _asked_first(finder: MetaPathFinder) -> Iterator[None]:
    with _FINDERS:  # a new list: threads that go through the old one, which has no lock, must find each of its finders
        sys.meta_path = [finder, *sys.meta_path]
    try:
        yield
    finally:
        with _FINDERS:
            sys.meta_path = [other for other in sys.meta_path if other is not finder]


def import_numba() -> Any:
    """Import Numba, which would import SciPy to compare its version, and PyYAML to read settings from a file in this folder."""
    with hidden("scipy", *(() if Path(SETTINGS).exists() else ("yaml",))):
        import numba

    return numba


def load_runtime() -> None:
    """Import all that Numba needs to call the functions that it has kept."""
    import_numba()
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    # The context is made before the lock is taken: a thread that declares a function makes it under a lock of Python, then takes
    # this one.
    rtsys.initialize(cpu_target.target_context)


def loaded_first(dispatcher: Any) -> Any:
    """`dispatcher`, which imports what compiles a function only if Numba has not kept it for the types of its arguments.

    Before it looks for a kept function, Numba by itself loads the implementations of all that it can compile; and with a kept
    function the modules of those that it uses, whose names only Python's interpreter would look up. Together this takes a seventh
    of a second. Without the replaced names this raises AttributeError; if Numba does not call them, it loads what it did.
    """
    from numba.core import environment
    from numba.core.runtime import rtsys

    kept_in = dispatcher._cache
    look_up = getattr(kept_in, "_load_overload", None)  # what keeps nothing has none

    def load_overload(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        rebuild, environment._rebuild_env = environment._rebuild_env, _environment
        try:
            kept = look_up(signature, context) if look_up else None
        finally:
            environment._rebuild_env = rebuild
        if kept is None:
            _load_compiler()
        return kept

    kept_in.load_overload = load_overload
    return dispatcher


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """What a kept function needs of the module in which it was written; the module itself is not imported."""
    from numba.core.environment import Environment, lookup_environment

    if known := lookup_environment(name):
        return known
    made = Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
    made.consts[:], made.env_name = constants, name
    Environment._memo[name] = made
    return made


@cache
def _load_compiler() -> None:
    """Import all that Numba would import to compile a function, without SciPy's linear algebra.

    Numba looks for it to implement NumPy's. The import takes a fifth of a second, and no kernel uses it; functions that need it,
    other than `cov` and `corrcoef`, still look for it when they are compiled. Without the replaced name this raises
    AttributeError; if Numba does not call it any more, SciPy is imported. Called under Numba's lock of the compiler.
    """
    from numba.core.registry import cpu_target
    from numba.np import linalg

    require, linalg.ensure_blas = linalg.ensure_blas, _no_blas
    try:
        for context in (cpu_target.typing_context, cpu_target.target_context):
            context.refresh()
    finally:
        linalg.ensure_blas = require


def _no_blas() -> None:
    raise ImportError("not looked for yet")
