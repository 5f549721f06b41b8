"""Calls in a user function: builtins, functions of `math` and NumPy, and updates."""

import ast
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from kernels.library.operators.functions.tree import Node, joined, type_of
from kernels.library.operators.functions.updates import UPDATES
from kernels.library.operators.functions.values import MISSING, Values

_MATHS = {"sqrt": "d", "floor": "d", "ceil": "d", "exp": "d", "log": "d", "isnan": "b", "isinf": "b"}
# What a call may call: the object itself, so that a user's own function of one of these names is not taken for it.
_FUNCTIONS: dict[Any, str] = {each: each.__name__ for each in (len, min, max, abs, int, float, bool)}
_FUNCTIONS |= {getattr(module, name): name for module in (math, np) for name in (*_MATHS, "fabs")} | {np.absolute: "abs"}


class Calls(Values):
    """Lowers calls."""

    def _call(self, node: ast.Call) -> Node:
        if node.keywords:
            raise self.refused(node, "a call cannot have keyword arguments")
        target = self.object(node.func)
        if not isinstance(target, Hashable):
            target = MISSING
        if target in UPDATES:
            return self.update(node, UPDATES[target])
        name = _FUNCTIONS.get(target, "")
        if name == "len" and len(node.args) == 1:
            return Node("length", "i", (self.array(node.args[0]),))
        values = [self.value(each) for each in node.args]
        if name in ("min", "max") and len(values) >= 2:
            result = values[0]
            for value in values[1:]:
                of_type = joined(result.type, value.type)
                result = Node(name, of_type, (self.kept(self.cast(result, of_type)), self.kept(self.cast(value, of_type))))
            return result
        if len(values) == 1 and name not in ("", "len", "min", "max"):
            return self.of_one(node, name, values[0])
        raise self.refused(node, f"the call {ast.unparse(node.func)} is not supported in a user function")

    def of_one(self, node: ast.AST, name: str, value: Node) -> Node:
        """A function of one number."""
        if name == "int":
            if value.type not in "fd":
                return self.cast(value, "i")
            value = self.kept(self.cast(value, "d"))
            self.check(Node("convertible", "b", (value,)), self.site(node, "conversion", "", "d"), value, value)
            return Node("cast", "i", (value,))
        if name in ("float", "bool"):
            return self.cast(value, "d") if name == "float" else self.boolean(value)
        if name in ("abs", "fabs"):
            of_type = value.type if value.type in "fd" else "d" if name == "fabs" else "i"
            return Node("abs", of_type, (self.cast(value, of_type),))
        return Node("math", _MATHS[name], (name, self.cast(value, "d")))

    def update(self, node: ast.Call, name: str) -> Node:
        """A call of a function of `updates.py`; its result is kept, so that it happens once."""
        if len(node.args) != 3:
            raise self.refused(node, f"{name}(array, index, value)")
        array = self.array(node.args[0], written=True)
        dtype, place = self.arrays[array], self.checked(node, array, self.integer(node, self.value(node.args[1])))
        value = self.value(node.args[2])
        if dtype.name not in ("int32", "int64", "float32", "float64"):
            raise self.refused(node, f"{name} on {dtype}; it needs int32, int64, float32 or float64")
        if dtype.kind == "f" and name in ("atomic_add", "atomic_or"):
            raise self.refused(node, f"{name} on floats: the sum would depend on the order; use collect")
        value = self.cast(self.integer(node, value) if dtype.kind == "i" else value, type_of(dtype))
        return self.kept(Node("update", "i" if name == "atomic_add" else "b", (name, array, place, value)))
