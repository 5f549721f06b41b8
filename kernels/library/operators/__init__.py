"""Graph operators: an algorithm as user functions for rows and arcs, on CPU and GPU. docs/abstractions.md is the guide.

Read `frontier.py` and `arcs.py` first. `functions/` compiles user functions, and `plan.py` keeps what was compiled.
"""

from kernels.library.operators.arcs import advance, repeat_advance
from kernels.library.operators.frontier import Frontier, Rules
from kernels.library.operators.functions.errors import UserFunctionError
from kernels.library.operators.functions.updates import atomic_add, atomic_max, atomic_min, atomic_or
from kernels.library.operators.vertices import compute, filter, reduce

__all__ = [
    "Frontier", "Rules", "UserFunctionError", "advance", "atomic_add", "atomic_max", "atomic_min", "atomic_or", "compute",
    "filter", "reduce", "repeat_advance",
]  # fmt: skip
