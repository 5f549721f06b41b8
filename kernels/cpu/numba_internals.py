"""What the project uses of Numba that Numba does not document: here only, and tried with Numba 0.64.

`tests/cpu/compiled/test_numba_internals.py` fails if Numba changes any of it.
"""

# The option of `njit` that says whether a function counts references to its arrays. Numba compiles functions of its own without.
# A Numba without the option refuses it when the first function is compiled, with a KeyError.
COUNTS_REFERENCES = "_nrt"


def set_first_locator(locator: str) -> None:
    """Let Numba ask the class `locator` where to keep a function's code, and then its own classes; unless the user names others.

    The setting is documented. It replaces the list of Numba's classes, which other packages' functions need, and which has no
    documented name. Without the list, the first call of a compiled function raises AttributeError.
    """
    from numba import config
    from numba.core.caching import CacheImpl

    if not config.CACHE_LOCATOR_CLASSES:
        config.CACHE_LOCATOR_CLASSES = ",".join([locator, *(own.__name__ for own in CacheImpl._locator_classes)])


def load_compiler() -> None:
    """Import all that Numba would import at the first call of a compiled function, without SciPy's linear algebra.

    Numba looks for it to implement NumPy's. The import takes a fifth of a second, and no kernel uses it; functions that need it,
    other than `cov` and `corrcoef`, still look for it when they are compiled. Without the replaced name this raises
    AttributeError; if Numba does not call it any more, SciPy is imported.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target
    from numba.np import linalg

    # Made before the lock is taken: a thread that declares a function makes them under a lock of Python, then takes this one.
    contexts = cpu_target.typing_context, cpu_target.target_context
    with global_compiler_lock:
        require, linalg.ensure_blas = linalg.ensure_blas, _no_blas
        try:
            for context in contexts:
                context.refresh()
        finally:
            linalg.ensure_blas = require


def _no_blas() -> None:
    raise ImportError("not looked for yet")
