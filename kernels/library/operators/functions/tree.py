"""The tree of a user function: what the front end produces and both back ends emit.

A value has one of four types: `b` bool, `i` int64, `f` float32, `d` float64. Elements of integer arrays are widened to int64 when
they are read and cut to the array's type when they are written.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Type: TypeAlias = str  # "b", "i", "f" or "d"; "" for no value
ELEMENTS = {np.dtype(name): name for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}
ELEMENTS |= {np.dtype(name): name for name in ("float32", "float64")}
MOST_STEPS = 1 << 20  # turns of all loops in one call of a user function
MOST_NESTED = 90  # levels of statements and expressions: Python compiles 100 levels of what the back end writes


class Node(NamedTuple):
    """An expression or a statement: `op` names it; the type is that of its value."""

    op: str
    type: Type
    args: tuple[Any, ...]


class Site(NamedTuple):
    """A place where a call can fail: the line, what is checked, the name of the array or operation, the type of the value."""

    line: int
    kind: str
    name: str
    type: Type


@dataclass(frozen=True)
class Function:
    """A typed user function."""

    name: str
    offered: dict[str, Type]  # names and types of what a call passes, in order
    parameters: dict[str, Type]  # those of them that the function takes
    # arrays, scalars: the captured names, with the arrays' dtypes and the scalars' types.
    arrays: dict[str, np.dtype[Any]]
    scalars: dict[str, Type]
    variables: dict[str, Type]  # types of the local variables
    body: tuple[Node, ...]  # statements
    result: Type  # type of what it returns
    sites: tuple[Site, ...]  # what its checks report, by number
    file: str  # of the source
    whole: frozenset[str]  # captured arrays with an entry for each row, which are read or written at a row without a check
    # Captured arrays of whose entries, at `neighbour`, the CUDA form uses copies: those that a block holds of a tile.
    held: tuple[str, ...] = ()
    reads: tuple[tuple[ModuleType, str], ...] = ()  # attributes of modules, whose numbers are constants in it


def type_of(dtype: np.dtype[Any]) -> Type:
    """Type of the elements of an array when they are read."""
    return {"b": "b", "i": "i", "u": "i"}.get(dtype.kind, "f" if dtype == np.float32 else "d")


def joined(one: Type, other: Type) -> Type:
    """The type that holds values of both: integers and float32 meet in float64, as in NumPy."""
    if one == other or not other:
        return one
    if not one:
        return other
    pair = {one, other}
    return "d" if "d" in pair or pair == {"i", "f"} else "f" if "f" in pair else "i"
