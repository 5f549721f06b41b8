"""User functions compiled by Numba."""

from typing import Any

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.library.operators.cpu import updates
from kernels.library.operators.functions.emit import python_of
from kernels.library.operators.functions.tree import Function


def compiled(function: Function) -> Any:
    """A function that compiled loops call: of its parameters, the tuple of captured values, and the record of a failure.

    It returns (number of the failed check or 0, result); a failed check writes its two values to `fault[4:6]`.
    """
    names = {"np": np} | {name: getattr(updates, name) for name in ("atomic_min", "atomic_max", "atomic_or", "atomic_add")}
    exec(compile(python_of(function), f"<{function.name}>", "exec"), names)  # noqa: S102  (the text is made from a checked tree)
    return njit(**UNCOUNTED)(names[function.name])
