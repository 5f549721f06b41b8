"""The certificate of a reachability index on CuPy arrays: the GPU decides whether it holds, and the CPU names a broken rule."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Components, Condensation, Labels, ReachabilityIndex
from kernels.certificate.launches import launch, require_held
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.reachability.certificate import cpu
from kernels.reachability.certificate.forms import are_roots_wrong, of_dimension, require_labels, turned_roots
from kernels.reachability.constants import NUM_SUPPORTS
from kernels.reachability.keys import salt_of
from kernels.reachability.labels.dfs.cuda import sort_roots, sort_rows
from kernels.scc.certificate import check_scc

_SOURCE = "reachability/certificate/rules.cu"


def check(graph: Graph, index: ReachabilityIndex) -> None:
    """Raise Broken at the first rule of a reachability index that does not hold."""
    require_held(holds, cpu.check, graph, index)


def holds(graph: Graph, index: ReachabilityIndex) -> bool:
    """Whether every rule holds; raises Broken where it is clear which does not."""
    condensation, row = index.condensation, graph.rows_by_id.dtype
    if not _is_condensation(graph, condensation):
        return False
    labels = require_labels(index.labels, condensation.num_nodes, row, cupy.ndarray)
    check_scc(graph, Components(condensation.names[condensation.node]))
    broken = cupy.zeros(1, np.uint32)
    children, parents = condensation.children, condensation.parents
    for csr, level in ((parents, labels.level), (children, labels.height)):
        _run("check_levels", row, *_rows(csr), level, broken)
    if int(broken[0]) or not _holds_condensation(graph, condensation):
        return False
    if condensation.num_nodes == 0:
        return bool((labels.supports == -1).all())
    if not _hold_supports(condensation, labels):
        return False
    for dimension in range(labels.dimensions):
        _check_dimension(condensation, labels, dimension, broken)
    return not int(broken[0])


def _is_array(array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return isinstance(array, cupy.ndarray) and array.shape == shape and array.dtype == dtype and array.flags.c_contiguous


def _is_csr(csr: Any, num_nodes: int, row: np.dtype[Any]) -> bool:
    if not isinstance(csr, Csr) or csr.weights is not None or not _is_array(csr.offsets, (num_nodes + 1,), OFFSET):
        return False
    if int(csr.offsets[0]) or bool((csr.offsets[1:] < csr.offsets[:-1]).any()):
        return False
    if not _is_array(csr.indices, (int(csr.offsets[-1]),), row):
        return False
    return not len(csr.indices) or bool((csr.indices.min() >= 0) & (csr.indices.max() < num_nodes))


def _is_condensation(graph: Graph, condensation: Condensation) -> bool:
    row, names = graph.rows_by_id.dtype, condensation.names
    num_nodes = names.shape[0] if isinstance(names, cupy.ndarray) and names.ndim == 1 else -1
    if not (_is_array(names, (num_nodes,), row) and _is_array(condensation.node, (graph.num_vertices,), row)):
        return False
    for array, end in ((names, graph.num_vertices), (condensation.node, num_nodes)):
        if len(array) and not bool((array.min() >= 0) & (array.max() < end)):
            return False
    return _is_csr(condensation.children, num_nodes, row) and _is_csr(condensation.parents, num_nodes, row)


def _holds_condensation(graph: Graph, condensation: Condensation) -> bool:
    row, names, node = graph.rows_by_id.dtype, condensation.names, condensation.node
    if bool((node[names] != cupy.arange(len(names))).any()) or bool((graph.ids[names[1:]] <= graph.ids[names[:-1]]).any()):
        return False
    children, parents = condensation.children, condensation.parents
    broken = cupy.zeros(1, np.uint32)
    present, transposed = (cupy.zeros(len(csr.indices), np.bool_) for csr in (children, parents))
    arcs = (graph.out.offsets, graph.out.indices, np.int64(graph.num_vertices), node)
    _run("find_children", row, *arcs, children.offsets, children.indices, present, broken)
    _run("find_parents", row, *_rows(children), parents.offsets, parents.indices, transposed, broken)
    return not int(broken[0]) and bool(present.all()) and bool(transposed.all())


def _hold_supports(condensation: Condensation, labels: Labels) -> bool:
    row, broken, supports = condensation.names.dtype, cupy.zeros(1, np.uint32), labels.supports
    children, parents = condensation.children, condensation.parents
    present, size = cupy.zeros(NUM_SUPPORTS, np.bool_), np.int64(condensation.num_nodes)
    arguments = (children.offsets, parents.offsets, size, labels.level, labels.level.max(), supports, present, broken)
    _run("check_supports", row, *arguments)
    if int(broken[0]) or not bool((present == (supports != -1)).all()):
        return False
    own, used = cupy.zeros(condensation.num_nodes, np.uint64), cupy.flatnonzero(supports >= 0)
    own[supports[used]] = cupy.uint64(1) << used.astype(np.uint64)
    for csr, bits in ((children, labels.reaches), (parents, labels.reached)):
        _run("check_bits", row, *_rows(csr), own, bits, broken)
    return not int(broken[0])


def _check_dimension(condensation: Condensation, labels: Labels, dimension: int, broken: Array) -> None:
    row = condensation.names.dtype
    out, into, level, (first, last, low, post) = of_dimension(labels, dimension, condensation.children, condensation.parents)
    salt, random, parent = salt_of(labels.seed, dimension), dimension > 0, None
    roots, visits = cupy.flatnonzero(level == 0), out
    if labels.method == "tree":
        parent = cupy.empty_like(first)
        _run("draw_parents", row, *_rows(into), level, np.bool_(random), salt, parent)
        starts = turned_roots(roots, salt, condensation.num_nodes) if random else roots
    elif random:
        starts, visits = sort_roots(roots, salt, condensation.num_nodes), sort_rows(out, salt)
        _run("check_order", row, *_rows(visits), np.int64(0), salt, broken)
        as_row = Csr(cupy.asarray([0, len(starts)], OFFSET), starts.astype(row), None)
        _run("check_order", row, *_rows(as_row), np.int64(condensation.num_nodes), salt, broken)
    else:
        starts = roots
    if are_roots_wrong(starts, first, last):
        broken[0] = 1
    turned = np.bool_(random and labels.method == "tree")
    _run("check_blocks", row, *_rows(visits), turned, salt, np.intp(0) if parent is None else parent, first, last, broken)
    _run("check_intervals", row, *_rows(out), last, low, post, broken)


def _rows(csr: Csr) -> tuple[Any, ...]:
    return csr.offsets, csr.indices, np.int64(len(csr.offsets) - 1)


def _run(name: str, row: np.dtype[Any], *arguments: Any) -> None:
    launch(_SOURCE, name, int(arguments[2]), arguments, ROW=row)
