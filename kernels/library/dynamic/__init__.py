"""Graphs that change between searches: docs/dynamic-graphs.md.

Read `contract.py` first, then a structure: `structures/sorted_csr.py` is the simplest one.

`STRUCTURES` are the structures behind `DynamicGraph`, each made from a CSR of int32 indices, ascending within a row, and
rules. The contract that all of them follow is in the docstring of `DynamicGraph`.
"""

from collections.abc import Callable

from kernels.graph import Csr
from kernels.library.dynamic.contract import BatchRules, DynamicGraph
from kernels.library.dynamic.structures.adjacency import AdjacencyArrays
from kernels.library.dynamic.structures.deltas import Deltas
from kernels.library.dynamic.structures.lsm import LsmTree
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.library.dynamic.structures.rebuild import Rebuild

STRUCTURES: dict[str, Callable[[Csr, BatchRules], DynamicGraph]] = {
    "pages": SlottedPages.from_csr,
    "rebuild": Rebuild,
    "deltas": Deltas,
    "adjacency": AdjacencyArrays,
    "lsm": LsmTree,
}
