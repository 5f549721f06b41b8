"""How a function of arcs uses the captured arrays: what a tiled sweep may hold in shared memory (gpu/tiles)."""

from collections.abc import Iterator
from typing import Any

from kernels.library.operators.functions.tree import Function, Node

_MERGED = ("atomic_min", "atomic_max", "atomic_or")  # updates that can be made in a copy first, and then in the array
NEIGHBOUR = Node("variable", "i", ("neighbour",))  # as an index: the parameter


def held_arrays(function: Function) -> dict[str, str] | None:
    """The arrays that a block can hold for its tile of neighbours: the update of each, "" if it is only read.

    An array is held if it is read or updated at exactly `neighbour`. None if a sweep in the order of tiles would not do what
    others do: a held array is changed in another way too, or the function takes the number of an arc. Empty if none is held.
    """
    if {"arc", "place"} & {*function.parameters}:
        return None
    held: dict[str, set[str]] = {}
    changed: dict[str, set[str]] = {}
    for node in _nodes(function.body):
        if node.op not in ("load", "store", "update"):
            continue
        array, place = node.args[1:3] if node.op == "update" else node.args[:2]
        how = {"load": "", "store": "store", "update": node.args[0]}[node.op]
        here = place == NEIGHBOUR and array in function.whole
        if how:
            changed.setdefault(array, set()).add(how if here else f"{how} elsewhere")
        if here:
            held.setdefault(array, set()).add(how)
    ways_of = {array: changed.get(array, {""}) for array in held}
    if any(len(ways) > 1 or not ways <= {"", *_MERGED} for ways in ways_of.values()):
        return None
    return {array: next(iter(ways)) for array, ways in ways_of.items()}


def _nodes(values: Any) -> Iterator[Node]:
    """All nodes of a tree."""
    for value in values:
        if isinstance(value, Node):
            yield value
            yield from _nodes(value.args)
        elif isinstance(value, list | tuple):
            yield from _nodes(value)
