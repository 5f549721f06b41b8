"""The types and shapes of labels, and the rule about roots, on either backend."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kernels.answers import Labels
from kernels.arrays import frozen, is_cupy_array
from kernels.certificate.rules import Broken, require_form
from kernels.graph import Array
from kernels.reachability.constants import NUM_SUPPORTS
from kernels.reachability.definitions import METHODS
from kernels.reachability.keys import key

Arcs = TypeVar("Arcs")


def require_labels(labels: Any, num_nodes: int, index: np.dtype[Any], kind: Any = np.ndarray) -> Labels:
    """The labels with contiguous arrays, or Broken unless these are arrays of this kind (NumPy's or CuPy's), type and shape.

    NumPy arrays are frozen.
    """
    if not isinstance(labels, Labels) or not isinstance(labels.method, str) or labels.method not in METHODS:
        raise Broken(f"labels are not by a method of {', '.join(METHODS)}")
    if not isinstance(labels.seed, int) or not 0 <= labels.seed < 2**64:
        raise Broken(f"seed {labels.seed!r} is not in 0..{2**64 - 1}")
    if not isinstance(labels.low, kind) or labels.low.ndim != 2 or not len(labels.low):
        raise Broken("low is not an array of two dimensions")
    _require_flags(labels)
    forms: dict[str, tuple[int, Any]] = {
        "level": (num_nodes, np.int32),
        "height": (num_nodes, np.int32),
        "supports": (NUM_SUPPORTS, index),
        "reaches": (num_nodes, np.uint64),
        "reached": (num_nodes, np.uint64),
    }
    arrays: dict[str, Any] = {
        name: require_form(name, getattr(labels, name), length, np.dtype(dtype), kind) for name, (length, dtype) in forms.items()
    }
    for name in ("low", "post", "first", "last"):
        array, shape = getattr(labels, name), (len(labels.low), num_nodes)
        if not isinstance(array, kind) or array.shape != shape or array.dtype != index:
            raise Broken(f"{name} is not an array of {shape} {index}")
        arrays[name] = array
    contiguous: dict[str, Any] = {name: _contiguous(array) for name, array in arrays.items()}
    return replace(labels, **contiguous)


def of_dimension(labels: Labels, dimension: int, children: Arcs, parents: Arcs) -> tuple[Arcs, Arcs, Array, tuple[Array, ...]]:
    """A dimension: the arcs along which it visits nodes, those back, the depths of nodes; and their first, last, low and post."""
    numbers = tuple(array[dimension] for array in (labels.first, labels.last, labels.low, labels.post))
    if labels.backward(dimension):
        return parents, children, labels.height, numbers
    return children, parents, labels.level, numbers


def _require_flags(labels: Labels) -> None:
    """`compared_paths` only records how the parents were found, so only its form is checked; "tree" compares no paths."""
    flags = labels.compared_paths if isinstance(labels.compared_paths, tuple) else ()
    if [type(flag) for flag in flags] != [bool] * labels.dimensions or (labels.method == "tree" and any(flags)):
        raise Broken(f"compared_paths is {labels.compared_paths!r}")


def _contiguous(array: Array) -> Array:
    array = array if array.flags.c_contiguous else array.copy()
    return array if is_cupy_array(array) else frozen(array)


def turned_roots(roots: Array, salt: np.uint64, num_nodes: int) -> Array:
    """Roots in the order of visits by "tree": rotated and perhaps reversed by the virtual node's key."""
    drawn, places = int(key(salt, num_nodes, num_nodes)), np.arange(len(roots), like=roots)
    start = (drawn >> 1) % max(len(roots), 1)
    turned: Array = roots[(start - places if drawn & 1 else start + places) % max(len(roots), 1)]
    return turned


def are_roots_wrong(roots: Array, first: Array, last: Array) -> bool:
    """Whether the blocks of the roots, in the order of visits, are not consecutive from 1 to the number of nodes."""
    ends = np.zeros_like(roots, np.int64, shape=(len(roots) + 1,))
    ends[1:] = last[roots]
    starts_wrong = (first[roots] != ends[:-1] + 1).any() or (ends[1:] <= ends[:-1]).any()
    return bool(starts_wrong) or int(ends[-1]) != len(last)
