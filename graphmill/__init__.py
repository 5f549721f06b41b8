"""graphmill in Python: open a graph, write an algorithm with the graph operators. docs/abstractions.md is the guide.

`graphmill.open` gives the graph of a published run or of a file. The operators and what they work on are imported from here, too:

    import graphmill
    from graphmill import Frontier, advance, compute

Every name is loaded on first use, so that the import itself takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmill.opening import OpenedGraph, open
    from kernels.graph import Array, Csr, Graph
    from kernels.library.operators import (
        Frontier,
        Rules,
        UserFunctionError,
        advance,
        atomic_add,
        atomic_max,
        atomic_min,
        atomic_or,
        compute,
        filter,
        reduce,
        repeat_advance,
    )
    from pipeline.errors import GraphmillError

__all__ = [
    "Array", "Csr", "Frontier", "Graph", "GraphmillError", "OpenedGraph", "Rules", "UserFunctionError", "advance", "atomic_add",
    "atomic_max", "atomic_min", "atomic_or", "compute", "filter", "open", "reduce", "repeat_advance",
]  # fmt: skip
_MODULES = {
    "GraphmillError": "pipeline.errors",
    **dict.fromkeys(("OpenedGraph", "open"), "graphmill.opening"),
    **dict.fromkeys(("Array", "Csr", "Graph"), "kernels.graph"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'graphmill' has no attribute {name!r}")
    value = getattr(import_module(_MODULES.get(name, "kernels.library.operators")), name)
    globals()[name] = value  # the next use finds it without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
