"""Labels on the CPU: levels, then every dimension in a thread of its own, by the sweeps of numbering.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kernels.answers import Condensation, Labels
from kernels.arrays import frozen
from kernels.cpu.parallel import WORTH_A_THREAD, over_items
from kernels.graph import Array, Csr
from kernels.reachability import dfs, supports
from kernels.reachability.keys import salt_of
from kernels.reachability.levels import sort_by_level
from kernels.reachability.numbering import Numbers, Rows, extremes, number
from kernels.reachability.paths import first_parents
from kernels.reachability.tree import draw_parents


class Acyclic(NamedTuple):
    """A DAG with its nodes level by level, seen in one direction."""

    out: Rows
    into: Rows
    level: Array
    order: Array


class Dimension(NamedTuple):
    """The labels of one dimension, the blocks of its forest, and whether its parents came from comparing paths."""

    low: Array
    post: Array
    numbers: Numbers
    compared_paths: bool


def label(condensation: Condensation, dimensions: Sequence[int], seed: int, method: str) -> Labels:
    """Answer `kernels.reachability.label` on NumPy arrays, for some dimensions."""
    level, height, order = sort_by_level(condensation)
    children, parents = _rows(condensation.children), _rows(condensation.parents)
    ways = Acyclic(children, parents, level, order), Acyclic(parents, children, height, order[::-1].copy())
    label_one: dict[str, Callable[[int], Dimension]] = {
        "tree": lambda i: _by_tree(ways[i % 2], _salt(seed, i)),
        "dfs": lambda i: _by_dfs(ways[0], _salt(seed, i)),
    }
    work = len(order) + len(children.indices)
    labelled = over_items(dimensions, label_one[method], parallel=work > WORTH_A_THREAD)
    chosen = supports.choose(condensation, level)
    return Labels(
        method,
        seed,
        level,
        height,
        np.stack([dimension.low for dimension in labelled]),
        np.stack([dimension.post for dimension in labelled]),
        np.stack([dimension.numbers.first for dimension in labelled]),
        np.stack([dimension.numbers.last for dimension in labelled]),
        chosen,
        *supports.spread(condensation, order, chosen),
        tuple(dimension.compared_paths for dimension in labelled),
    )


def _rows(csr: Csr) -> Rows:
    return Rows(frozen(csr.offsets), frozen(csr.indices))


def _salt(seed: int, dimension: int) -> np.uint64 | None:
    """None for dimension 0, which takes nodes as they ascend."""
    return salt_of(seed, dimension) if dimension else None


def _by_tree(dag: Acyclic, salt: np.uint64 | None) -> Dimension:
    parent = draw_parents(dag.into, dag.level, salt)
    numbers = number(dag.out, _roots(dag), parent, dag.order, salt)
    return Dimension(*extremes(dag.out, dag.order, numbers.last), numbers, False)


def _by_dfs(dag: Acyclic, salt: np.uint64 | None) -> Dimension:
    rows, roots = dag.out, _roots(dag)
    if salt is not None:
        rows, roots = dfs.sort_rows(rows, salt), dfs.sort_roots(roots, len(dag.level), salt)
    counted = dfs.sizes(rows, dag.order)
    if compare := dfs.overflows(counted, roots):
        parent = first_parents(rows, roots, dag.order, int(dag.level.max()) + 1)
    else:
        parent, _ = dfs.cheapest_parents(rows, roots, dag.order, counted)
    numbers = number(rows, roots, parent, dag.order, None)
    return Dimension(*extremes(dag.out, dag.order, numbers.last), numbers, compare)


def _roots(dag: Acyclic) -> Array:
    return np.flatnonzero(dag.level == 0).astype(dag.order.dtype)
