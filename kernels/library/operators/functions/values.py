"""The values of a user function: expressions to the tree, with their types and checks."""

import ast
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from kernels.library.operators.functions.captured import Read, is_array, is_integer
from kernels.library.operators.functions.errors import UserFunctionError
from kernels.library.operators.functions.tree import ELEMENTS, MOST_NESTED, Node, Site, Type, joined, type_of

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_ROWS = {"row", "neighbour"}  # parameters that are rows of the graph
KEPT = "kept "  # begins the names of intermediate values, each of which is set once
_CHAIN = 8  # terms, or levels, after which an intermediate value is kept: what is written has few parentheses in each other
MISSING = object()  # what a name refers to that has no value
_OF_ZERO: dict[Type, Any] = {"b": False, "i": 0, "f": 0.0, "d": 0.0}


class Values:
    """Lowers expressions, with the types of variables that the pass before found; statements that they need come before them."""

    def __init__(
        self, file: str, parameters: dict[str, Type], captured: Mapping[str, Any], types: dict[str, Type], rows: int
    ) -> None:
        self.file, self.parameters, self.captured, self.types, self.rows = file, parameters, captured, types, rows
        self.arrays, self.whole, self.scalars = dict[str, np.dtype[Any]](), set[str](), dict[str, Type]()
        self.sites: list[Site] = []
        self.body: list[Node] = []
        self.reads = dict[Read, None]()
        self.into, self.assigned, self.number, self.level = self.body, set(parameters), 0, 0

    def refused(self, node: ast.AST, reason: str) -> UserFunctionError:
        """The error for something that is not supported."""
        return UserFunctionError(self.file, getattr(node, "lineno", 1), reason)

    def emit(self, op: str, *args: Any, type: Type = "") -> None:
        """Append a statement."""
        self.into.append(Node(op, type, args))

    def set(self, name: str, value: Node) -> None:
        """Assign to a variable, whose type grows if it has to."""
        self.types[name] = joined(value.type, self.types.get(name, ""))
        self.emit("set", name, self.cast(value, self.types[name]))
        self.assigned.add(name)

    def value(self, node: ast.expr) -> Node:
        """Lower an expression."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None or isinstance(node, ast.stmt):
            raise self.refused(node, f"{type(node).__name__} is not supported in a user function")
        self.deeper(node)
        lowered: Node = method(node)
        self.level -= 1
        return self.kept(lowered) if self.level % _CHAIN == _CHAIN - 1 else lowered

    def deeper(self, node: ast.AST) -> None:
        """Enter a level of statements or expressions."""
        self.level += 1
        if self.level > MOST_NESTED:
            raise self.refused(node, f"more than {MOST_NESTED} levels in each other: assign parts to names, or divide it")

    def kept(self, value: Node) -> Node:
        """The same value, computed once: a new variable, unless it is one that does not change."""
        unchanging = value.op in ("const", "scalar") or (value.op == "variable" and value.args[0] in self.parameters)
        return value if unchanging else self.fresh(value)

    def fresh(self, value: Node) -> Node:
        """A new variable with this value."""
        self.number += 1
        name = f"{KEPT}{self.number}"
        self.set(name, value)
        return Node("variable", self.types[name], (name,))

    def cast(self, value: Node, to: Type) -> Node:
        """The value in another type."""
        return value if value.type == to else Node("cast", to, (value,))

    def boolean(self, value: Node) -> Node:
        """Whether the value is not zero."""
        zero = Node("const", value.type, (_OF_ZERO[value.type],))
        return value if value.type == "b" else Node("compare", "b", ("!=", value, zero))

    def integer(self, node: ast.AST, value: Node) -> Node:
        """The value as int64; a float is refused."""
        if value.type not in "bi":
            raise self.refused(node, "a float where an integer is needed; use int()")
        return self.cast(value, "i")

    def number_of(self, node: ast.AST, value: Any) -> Node:
        """A Python number as a constant."""
        if isinstance(value, bool | np.bool_):
            return Node("const", "b", (bool(value),))
        if is_integer(value):
            return Node("const", "i", (int(value),))
        if isinstance(value, float | np.floating):
            return Node("const", "d", (float(value),))
        raise self.refused(node, f"{value!r} is not a number of 64 bits")

    def _constant(self, node: ast.Constant) -> Node:
        return self.number_of(node, node.value)

    def _name(self, node: ast.Name) -> Node:
        name = node.id
        if name in self.parameters:
            return Node("variable", self.parameters[name], (name,))
        if name in self.types:
            if name not in self.assigned:
                raise self.refused(node, f"{name} may be read before it has a value")
            return Node("variable", self.types[name], (name,))
        if name not in self.captured:
            raise self.refused(node, f"{name} may be read before it has a value, or is not defined")
        value = self.captured[name]
        if is_array(value) and value.ndim:
            raise self.refused(node, f"{name} is an array: read {name}[index] or len({name})")
        self.scalars[name] = self.number_of(node, value).type
        return Node("scalar", self.scalars[name], (name,))

    def _attribute(self, node: ast.Attribute) -> Node:
        value = self.object(node)
        if value is MISSING:
            raise self.refused(node, f"{ast.unparse(node)} is not defined")
        return self.number_of(node, value)

    def object(self, node: ast.expr) -> Any:
        """The Python object that a dotted name of the surroundings refers to; MISSING if there is none."""
        if isinstance(node, ast.Attribute):
            owner = self.object(node.value)
            if not isinstance(owner, ModuleType):
                raise self.refused(node, f"{ast.unparse(node)} is not a name of a module")
            self.reads[owner, node.attr] = None
            return getattr(owner, node.attr, MISSING)
        return self.captured.get(node.id, MISSING) if isinstance(node, ast.Name) else MISSING

    def _binop(self, node: ast.BinOp) -> Node:
        def combined(so_far: Node, of: ast.BinOp) -> Node:
            return self.binary(of, of.op, so_far, self.value(of.right))

        chain, first = [node], node.left
        while isinstance(first, ast.BinOp):  # a sum of thousands of terms is as many levels
            chain.append(first)
            first = first.left
        return self.chained(self.value(first), chain[::-1], combined)

    def chained(self, first: Node, rest: list[Any], combine: Callable[[Node, Any], Node]) -> Node:
        """The values of a chain combined from the left."""
        for number, each in enumerate(rest, 1):
            first = combine(first, each)
            first = first if number % _CHAIN else self.kept(first)
        return first

    def binary(self, node: ast.AST, op: ast.operator, left: Node, right: Node) -> Node:
        """An operation of two values, with its checks."""
        sign = _BINARY.get(type(op))
        if sign is None:
            raise self.refused(node, f"the operation {type(op).__name__} is not supported")
        of_type = joined(left.type, right.type)
        if sign in ("&", "|", "^", "<<", ">>"):
            if of_type not in "bi":
                raise self.refused(node, f"{sign} of floats")
            of_type = of_type if sign in "&|^" else "i"
        elif of_type == "b" or (sign == "/" and of_type == "i"):
            of_type = "d" if sign == "/" else "i"
        if of_type in "fd" and sign in ("//", "%"):
            raise self.refused(node, f"{sign} of floats; use floor() and /")
        left, right = self.cast(left, of_type), self.cast(right, of_type)
        if sign in ("/", "//", "%", "<<", ">>"):
            left, right = self.kept(left), self.kept(right)
            zero = Node("const", of_type, (_OF_ZERO[of_type],))
            if sign in ("<<", ">>"):
                least = Node("compare", "b", (">=", right, zero))
                most = Node("compare", "b", ("<", right, Node("const", "i", (64,))))
                self.check(Node("binary", "b", ("&", least, most)), self.site(node, "shift", sign, "i"), right, zero)
            else:
                name = "/" if of_type in "fd" else sign
                self.check(Node("compare", "b", ("!=", right, zero)), self.site(node, "division", name, of_type), left, right)
        return Node("binary", of_type, (sign, left, right))

    def _unaryop(self, node: ast.UnaryOp) -> Node:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Node("not", "b", (self.boolean(value),))
        if isinstance(node.op, ast.UAdd):
            return value
        value = self.cast(value, "i") if value.type == "b" else value
        if isinstance(node.op, ast.Invert):
            return Node("invert", "i", (self.integer(node, value),))
        if value.op == "const":
            return Node("const", value.type, (-value.args[0],))
        return Node("negative", value.type, (value,))

    def _boolop(self, node: ast.BoolOp) -> Node:
        result, outer = self.fresh(self.boolean(self.value(node.values[0]))), self.into
        for number, each in enumerate(node.values[1:]):
            self.into = self.into if number % _CHAIN else outer
            inner: list[Node] = []
            self.emit("if", result, *((inner, []) if isinstance(node.op, ast.And) else ([], inner)))
            known, self.into = set(self.assigned), inner
            self.set(result.args[0], self.boolean(self.value(each)))
            self.assigned = known
        self.into = outer
        return result

    def _compare(self, node: ast.Compare) -> Node:
        parts: list[Node] = []
        several = len(node.ops) > 1
        values = [self.kept(v) if several else v for v in map(self.value, (node.left, *node.comparators))]
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise self.refused(node, f"the comparison {type(op).__name__} is not supported")
            parts.append(self.compared(_COMPARISONS[type(op)], left, right))
        return self.chained(parts[0], parts[1:], lambda so_far, part: Node("binary", "b", ("&", so_far, part)))

    def compared(self, sign: str, left: Node, right: Node) -> Node:
        """A comparison in the type that holds both."""
        of_type = joined(left.type, right.type)
        return Node("compare", "b", (sign, self.cast(left, of_type), self.cast(right, of_type)))

    def _ifexp(self, node: ast.IfExp) -> Node:
        condition, outer = self.boolean(self.value(node.test)), self.into
        name, branches = f"if {node.lineno} {node.col_offset}", list[list[Node]]()
        for each in (node.body, node.orelse):
            self.into = list[Node]()
            branches.append(self.into)
            self.set(name, self.value(each))
        self.into = outer
        self.emit("if", condition, *branches)
        return Node("variable", self.types[name], (name,))

    def entry(self, node: ast.Subscript, written: bool = False) -> tuple[str, Node]:
        """Array and checked index of `array[index]`."""
        array, place = self.array(node.value, written), self.integer(node, self.value(node.slice))
        return array, self.checked(node, array, place)

    def checked(self, node: ast.AST, array: str, place: Node) -> Node:
        """An index that has been compared with the length of the array; a row of the graph is inside of an array for all rows."""
        if place.op == "variable" and place.args[0] in _ROWS & {*self.parameters} and len(self.captured[array]) >= self.rows:
            self.whole.add(array)
            return place
        place, length = self.kept(place), Node("length", "i", (array,))
        self.emit("check", Node("inside", "b", (place, length)), self.site(node, "index", array, "i"), place, length)
        return place

    def array(self, node: ast.expr, written: bool = False) -> str:
        """The name of a captured array that an expression refers to."""
        value: Any = self.captured.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(node, ast.Name) or not is_array(value) or value.ndim != 1:
            raise self.refused(node, f"{ast.unparse(node)} is not a captured array of one dimension")
        if value.dtype not in ELEMENTS:
            raise self.refused(node, f"{node.id} has entries of type {value.dtype}; supported: {', '.join(ELEMENTS.values())}")
        if written and not getattr(value.flags, "writeable", True):
            raise self.refused(node, f"{node.id} is read-only")
        self.arrays[node.id] = value.dtype
        return node.id

    def _subscript(self, node: ast.Subscript) -> Node:
        array, place = self.entry(node)
        return self.kept(Node("load", type_of(self.arrays[array]), (array, place)))

    def check(self, holds: Node, site: int, *values: Node) -> None:
        """Fail unless a condition holds."""
        self.emit("check", holds, site, *values)

    def site(self, node: ast.AST, kind: str, name: str, of_type: Type) -> int:
        """The number of a new check."""
        self.sites.append(Site(getattr(node, "lineno", 1), kind, name, of_type))
        return len(self.sites)
