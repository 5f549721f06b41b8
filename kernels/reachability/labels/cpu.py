"""Labels on the CPU: levels, then the dimensions, one thread each, by the sweeps of numbering.py."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernels.answers import Condensation, Labels
from kernels.arrays import frozen
from kernels.cpu.parallel import WORTH_A_THREAD, over_items
from kernels.graph import Array, Csr
from kernels.reachability.keys import salt_of
from kernels.reachability.labels.dfs.cpu import find_parents, sort_roots, sort_rows
from kernels.reachability.labels.numbering import DagArcs, SubtreeNumbers, extremes, number
from kernels.reachability.labels.supports import choose_supports, spread_bits
from kernels.reachability.labels.tree import draw_parents
from kernels.reachability.order.cpu import sort_by_level


class LevelledDag(NamedTuple):
    """The DAG or the reversed DAG, with its levels and a topological order."""

    out: DagArcs
    into: DagArcs
    level: Array
    order: Array


class Dimension(NamedTuple):
    """The labels of one dimension, the blocks of its forest, and whether its parents came from comparing paths."""

    low: Array
    post: Array
    numbers: SubtreeNumbers
    compared_paths: bool


def label(condensation: Condensation, dimensions: Sequence[int], seed: int, method: str) -> Labels:
    """Answer `kernels.reachability.label` on NumPy arrays, for some dimensions."""
    level, height, order = sort_by_level(condensation)
    children, parents = _rows(condensation.children), _rows(condensation.parents)
    forward = LevelledDag(children, parents, level, order)
    backward = LevelledDag(parents, children, height, order[::-1].copy())

    def label_dimension(dimension: int) -> Dimension:
        salt = salt_of(seed, dimension) if dimension else None  # dimension 0 visits nodes in ascending order
        if method == "dfs":
            return _label_by_dfs(forward, salt)
        return _label_by_tree(backward if dimension % 2 else forward, salt)

    work = len(order) + len(children.indices)
    labelled = over_items(dimensions, label_dimension, parallel=work > WORTH_A_THREAD)
    supports = choose_supports(condensation, level)
    return Labels(
        method,
        seed,
        level,
        height,
        np.stack([dimension.low for dimension in labelled]),
        np.stack([dimension.post for dimension in labelled]),
        np.stack([dimension.numbers.first for dimension in labelled]),
        np.stack([dimension.numbers.last for dimension in labelled]),
        supports,
        *spread_bits(condensation, order, supports),
        tuple(dimension.compared_paths for dimension in labelled),
    )


def _rows(csr: Csr) -> DagArcs:
    return DagArcs(frozen(csr.offsets), frozen(csr.indices))


def _label_by_tree(dag: LevelledDag, salt: np.uint64 | None) -> Dimension:
    parent = draw_parents(dag.into, dag.level, salt)
    numbers = number(dag.out, _roots(dag), parent, dag.order, salt)
    return Dimension(*extremes(dag.out, dag.order, numbers.last), numbers, False)


def _label_by_dfs(dag: LevelledDag, salt: np.uint64 | None) -> Dimension:
    rows, roots = dag.out, _roots(dag)
    if salt is not None:
        rows, roots = sort_rows(rows, salt), sort_roots(roots, len(dag.level), salt)
    parent, compared = find_parents(rows, roots, dag.order, dag.level)
    numbers = number(rows, roots, parent, dag.order, None)
    return Dimension(*extremes(dag.out, dag.order, numbers.last), numbers, compared)


def _roots(dag: LevelledDag) -> Array:
    return np.flatnonzero(dag.level == 0).astype(dag.order.dtype)
