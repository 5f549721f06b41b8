"""The certificate of a reachability index on NumPy arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kernels.answers import Condensation, Labels, ReachabilityIndex
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, require_array
from kernels.cpu.parallel import WORTH_A_THREAD, over_items
from kernels.graph import Array, Graph
from kernels.reachability.certificate import passes, reasons
from kernels.reachability.certificate.condensation import Rows, check_condensation
from kernels.reachability.constants import NUM_SUPPORTS
from kernels.reachability.definitions import METHODS
from kernels.reachability.keys import salt_of


class Subject(NamedTuple):
    """What is proved, with the graph whose ids the reasons name."""

    graph: Graph
    condensation: Condensation
    children: Rows
    parents: Rows
    labels: Labels

    def require(self, name: str, label: Array, first_broken: int) -> None:
        """Raise Broken if a pass found a node that breaks its rule; -1 means none."""
        if first_broken >= 0:
            raise Broken(reasons.wrong_label(self.graph, self.condensation, name, label, first_broken))


def check(graph: Graph, index: ReachabilityIndex) -> None:
    """Raise Broken at the first rule of a reachability index that does not hold."""
    children, parents = check_condensation(graph, index.condensation)
    labels = require_form_of_labels(index.labels, len(parents[0]) - 1, parents[1].dtype)
    subject = Subject(graph, index.condensation, children, parents, labels)
    subject.require("level", labels.level, passes.first_wrong_level(*parents, labels.level))
    subject.require("height", labels.height, passes.first_wrong_level(*children, labels.height))
    _check_supports(subject)
    work = len(labels.level) + len(children[1])
    over_items(range(labels.dimensions), lambda i: _check_dimension(subject, i), parallel=work > WORTH_A_THREAD)


def require_form_of_labels(labels: Any, num_nodes: int, index: np.dtype[Any]) -> Labels:
    """The labels with frozen arrays of the right types and shapes, or Broken."""
    if not isinstance(labels, Labels) or not isinstance(labels.method, str) or labels.method not in METHODS:
        raise Broken(f"labels are not by a method of {', '.join(METHODS)}")
    if not isinstance(labels.seed, int) or not 0 <= labels.seed < 2**64:
        raise Broken(f"seed {labels.seed!r} is not in 0..{2**64 - 1}")
    if not isinstance(labels.low, np.ndarray) or labels.low.ndim != 2 or not len(labels.low):
        raise Broken("low is not an array of two dimensions")
    dimensions = len(labels.low)
    _require_flags(labels.compared_paths, dimensions, labels.method)
    forms: dict[str, tuple[int, Any]] = {
        "level": (num_nodes, np.int32),
        "height": (num_nodes, np.int32),
        "supports": (NUM_SUPPORTS, index),
        "reaches": (num_nodes, np.uint64),
        "reached": (num_nodes, np.uint64),
    }
    arrays: dict[str, Any] = {
        name: require_array(name, getattr(labels, name), length, np.dtype(dtype)) for name, (length, dtype) in forms.items()
    }
    intervals = ("low", "post", "first", "last")
    arrays |= {name: _require_table(name, getattr(labels, name), (dimensions, num_nodes), index) for name in intervals}
    return replace(labels, **arrays)


def _require_flags(compared_paths: Any, dimensions: int, method: str) -> None:
    """`compared_paths` only records how the parents were found, so only its form is checked; "tree" compares no paths."""
    flags = compared_paths if isinstance(compared_paths, tuple) else ()
    if [type(flag) for flag in flags] != [bool] * dimensions or (method == "tree" and any(flags)):
        raise Broken(f"compared_paths is {compared_paths!r}")


def _require_table(name: str, array: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
        raise Broken(f"{name} is not an array of {shape} {dtype}")
    return frozen(np.ascontiguousarray(array))


def _check_supports(subject: Subject) -> None:
    labels = subject.labels
    place = passes.first_wrong_support(subject.parents[0], subject.children[0], labels.level, labels.supports)
    if place >= 0:
        raise Broken(reasons.support(place))
    own = np.zeros(len(labels.level), np.uint64)
    used = np.flatnonzero(labels.supports >= 0)
    own[labels.supports[used]] = np.uint64(1) << used.astype(np.uint64)
    subject.require("reaches", labels.reaches, passes.first_wrong_bits(*subject.children, own, labels.reaches))
    subject.require("reached", labels.reached, passes.first_wrong_bits(*subject.parents, own, labels.reached))


def _check_dimension(subject: Subject, dimension: int) -> None:
    labels = subject.labels
    out, into, level = subject.children, subject.parents, labels.level
    if labels.backward(dimension):
        out, into, level = into, out, labels.height
    first, last, low, post = (array[dimension] for array in (labels.first, labels.last, labels.low, labels.post))
    roots = np.flatnonzero(level == 0).astype(last.dtype)
    random, salt = dimension > 0, salt_of(labels.seed, dimension)
    if labels.method == "tree":
        parent = passes.drawn_parents(*into, level, random, salt)
        visits, roots = passes.turned(*out, roots, random, salt)
    else:
        parent = None
        visits, roots = passes.sorted_by_key(*out, roots, random, salt)
    node = passes.first_wrong_block(out[0], visits, roots, parent, first, last)
    if node >= 0:
        raise Broken(reasons.block(subject.graph, subject.condensation, dimension, node))
    subject.require(f"low of dimension {dimension}", low, passes.first_wrong_low(*out, last, low))
    subject.require(f"post of dimension {dimension}", post, passes.first_wrong_post(*out, last, post))
