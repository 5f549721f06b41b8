"""The back ends: the tree of a user function as Python for Numba, and as CUDA C++ for NVRTC."""

import math
from collections.abc import Iterable
from typing import Any, ClassVar

from kernels.library.operators.functions.accesses import NEIGHBOUR
from kernels.library.operators.functions.tree import MOST_STEPS, Function, Node, Type


class _Writer:
    """Writes statements and expressions; the subclasses have what differs between the languages."""

    types: ClassVar[dict[Type, str]]
    kept: ClassVar[dict[str, str]]  # how operations are written; {0}, {1} are values
    end = "}"

    def __init__(self, function: Function) -> None:
        self.function, self.lines, self.depth = function, list[str](), 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self, name: str) -> str:
        return ("p_" if name in self.function.parameters else "v_") + name.replace(" ", "_")

    def inner(self, statements: Iterable[Node]) -> None:
        self.depth += 1
        for each in statements:
            self.statement(each)
        self.depth -= 1

    def statement(self, node: Node) -> None:
        args = node.args
        if node.op == "set":
            self.assign(self.name(args[0]), self.value(args[1]))
        elif node.op == "store":
            self.store(*args)
        elif node.op == "if":
            self.branch(*args)
        elif node.op == "loop":
            self.loop(*args)
        elif node.op == "check":
            self.check(*args)
        elif node.op == "return":
            self.give(args[0])
        else:
            self.jump(node.op)

    def value(self, node: Node) -> str:
        args = node.args
        if node.op in ("const", "cast", "update", "math"):
            return str(getattr(self, f"of_{node.op}")(node))
        if node.op in ("variable", "scalar"):
            return self.name(args[0]) if node.op == "variable" else f"s_{args[0]}"
        if node.op == "load":
            return self.load(args[0], args[1], node.type)
        if node.op == "length":
            return self.kept["length"].format(f"a_{args[0]}")
        sign, *values = args if node.op in ("binary", "compare") else (node.op, *args)
        key = f"{sign}{node.type}" if f"{sign}{node.type}" in self.kept else sign
        texts = [self.value(each) for each in values]
        return self.kept[key].format(*texts) if key in self.kept else f"({texts[0]} {sign} {texts[1]})"

    def assign(self, name: str, value: str) -> None: ...
    def store(self, array: str, place: Node, value: Node) -> None: ...
    def branch(self, condition: Node, then: list[Node], otherwise: list[Node]) -> None: ...
    def loop(self, site: int, body: list[Node]) -> None: ...
    def check(self, holds: Node, site: int, *values: Node) -> None: ...
    def give(self, value: Node | None) -> None: ...
    def jump(self, word: str) -> None: ...
    def load(self, array: str, place: Node, of_type: Type) -> str:
        raise NotImplementedError


class _Python(_Writer):
    """A function of (parameters..., captured values, `fault`) that returns (number of the failed check or 0, result)."""

    types: ClassVar[dict[Type, str]] = {"b": "np.bool_", "i": "np.int64", "f": "np.float32", "d": "np.float64"}
    kept: ClassVar[dict[str, str]] = {
        "not": "(not {0})", "negative": "(-{0})", "invert": "(~{0})", "abs": "abs({0})", "length": "np.int64(len({0}))",
        "inside": "({0} >= 0 and {0} < {1})", "min": "({1} if {1} < {0} else {0})", "max": "({1} if {1} > {0} else {0})",
        "convertible": "(-9223372036854775808.0 <= {0} and {0} < 9223372036854775808.0)",
    }  # fmt: skip

    def text(self) -> str:
        function, captured = self.function, [*self.function.arrays, *self.function.scalars]
        names = [self.name(name) if name in function.parameters else f"unused_{name}" for name in function.offered]
        self.lines.append(f"def {function.name}({', '.join([*names, 'captured', 'fault'])}):")
        self.depth = 1
        for place, name in enumerate(captured):
            self.write(f"{'a' if name in function.arrays else 's'}_{name} = captured[{place}]")
        if any(site.kind == "steps" for site in function.sites):
            self.write("steps = 0")
        self.depth = 0
        self.inner(function.body)
        self.depth = 1
        self.give(None)
        return "\n".join(self.lines) + "\n"

    def assign(self, name: str, value: str) -> None:
        self.write(f"{name} = {value}")

    def store(self, array: str, place: Node, value: Node) -> None:
        self.write(f"a_{array}[np.uint64({self.value(place)})] = {self.value(value)}")

    def load(self, array: str, place: Node, of_type: Type) -> str:
        return f"{self.types[of_type]}(a_{array}[np.uint64({self.value(place)})])"

    def branch(self, condition: Node, then: list[Node], otherwise: list[Node]) -> None:
        self.write(f"if {self.value(condition)}:")
        self.inner(then or [Node("pass", "", ())])
        self.write("else:")
        self.inner(otherwise or [Node("pass", "", ())])

    def loop(self, site: int, body: list[Node]) -> None:
        self.write("while True:")
        self.depth += 1
        self.write("steps += 1")
        self.write(f"if steps > {MOST_STEPS}:")
        self.write(f"    return {site}, {self.zero()}")
        self.depth -= 1
        self.inner(body)

    def check(self, holds: Node, site: int, *values: Node) -> None:
        self.write(f"if not {self.value(holds)}:")
        for place, value in enumerate(values):
            bits = ".view(np.int64)" if value.type in "fd" else ""
            self.write(f"    fault[{4 + place}] = {self.types['d' if bits else 'i']}({self.value(value)}){bits}")
        self.write(f"    return {site}, {self.zero()}")

    def zero(self) -> str:
        return f"{self.types[self.function.result or 'b']}(0)"

    def give(self, value: Node | None) -> None:
        self.write(f"return 0, {self.zero() if value is None else self.value(value)}")

    def jump(self, word: str) -> None:
        self.write(word)

    def of_const(self, node: Node) -> str:
        return f"{self.types[node.type]}({node.args[0]!r})".replace("(inf)", "(np.inf)").replace("(nan)", "(np.nan)")

    def of_cast(self, node: Node) -> str:
        return f"{self.types[node.type]}({self.value(node.args[0])})"

    def of_update(self, node: Node) -> str:
        name, array, place, value = node.args
        return f"{name}(a_{array}, np.uint64({self.value(place)}), {self.value(value)})"

    def of_math(self, node: Node) -> str:
        return f"np.{node.args[0]}({self.value(node.args[1])})"


class _Cuda(_Writer):
    """A device function of (parameters..., Captured, Failure) in the namespace of its role."""

    types: ClassVar[dict[Type, str]] = {"b": "bool", "i": "int64_t", "f": "float", "d": "double"}
    elements: ClassVar[dict[str, str]] = {
        "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "int64_t", "uint8": "uint8_t",
        "uint16": "uint16_t", "uint32": "uint32_t", "float32": "float", "float64": "double",
    }  # fmt: skip
    kept: ClassVar[dict[str, str]] = {
        "not": "(!{0})", "invert": "(~{0})", "negative": "(-{0})", "negativei": "(int64_t)(0 - (uint64_t){0})",
        "abs": "fabs({0})", "absi": "({0} < 0 ? (int64_t)(0 - (uint64_t){0}) : {0})", "length": "captured.{0}_length",
        "inside": "((uint64_t){0} < (uint64_t){1})", "min": "({1} < {0} ? {1} : {0})", "max": "({1} > {0} ? {1} : {0})",
        "convertible": "(-9223372036854775808.0 <= {0} && {0} < 9223372036854775808.0)",
        "//": "floor_divided({0}, {1})", "%": "floor_remainder({0}, {1})",
        "+i": "(int64_t)((uint64_t){0} + (uint64_t){1})", "-i": "(int64_t)((uint64_t){0} - (uint64_t){1})",
        "*i": "(int64_t)((uint64_t){0} * (uint64_t){1})", "<<": "(int64_t)((uint64_t){0} << {1})",
    }  # fmt: skip

    def text(self) -> str:
        function = self.function
        taken = function.parameters
        given = [f"{self.types[of]} {self.name(name) if name in taken else ''}".strip() for name, of in function.offered.items()]
        result = self.types[function.result or "b"]
        self.write(
            f"__device__ __forceinline__ {result} call({', '.join([*given, 'const Captured& captured', 'Failure& failure'])}) {{"
        )
        self.depth = 1
        for name, of in function.variables.items():
            self.write(f"{self.types[of]} {self.name(name)} = 0;")
        for name, of in function.scalars.items():
            self.write(f"const {self.types[of]} s_{name} = captured.s_{name};")
        if any(site.kind == "steps" for site in function.sites):
            self.write("int64_t steps = 0;")
        self.depth = 0
        self.inner(function.body)
        self.depth = 1
        self.give(None)
        return "\n".join([*self.captured(), *self.lines, "}"]) + "\n"

    def captured(self) -> list[str]:
        """The struct of captured values."""
        copies = [(f"held_{name}", f"{self.elements[self.function.arrays[name].name]}*") for name in self.function.held]
        members = [f"    {of} {name};" for name, of in [*self.members(), *copies]]
        members += ["    uint32_t place;"] if copies else []  # of the neighbour in its tile
        return ["struct Captured {", *members, "};"]

    def members(self) -> list[tuple[str, str]]:
        """Names and types of the captured values: for an array, its address and its length."""
        arrays = self.function.arrays.items()
        fields = [
            pair for name, of in arrays for pair in ((f"a_{name}", f"{self.elements[of.name]}*"), (f"a_{name}_length", "int64_t"))
        ]
        return fields + [(f"s_{name}", self.types[of]) for name, of in self.function.scalars.items()]

    def assign(self, name: str, value: str) -> None:
        self.write(f"{name} = {value};")

    def store(self, array: str, place: Node, value: Node) -> None:
        of = self.elements[self.function.arrays[array].name]
        self.write(f"captured.a_{array}[{self.value(place)}] = ({of}){self.value(value)};")

    def load(self, array: str, place: Node, of_type: Type) -> str:
        return f"({self.types[of_type]}){self.entry(array, place)}"

    def entry(self, array: str, place: Node) -> str:
        held = place == NEIGHBOUR and array in self.function.held
        return f"captured.held_{array}[captured.place]" if held else f"captured.a_{array}[{self.value(place)}]"

    def branch(self, condition: Node, then: list[Node], otherwise: list[Node]) -> None:
        self.write(f"if ({self.value(condition)}) {{")
        self.inner(then)
        if otherwise:
            self.write("} else {")
            self.inner(otherwise)
        self.write("}")

    def loop(self, site: int, body: list[Node]) -> None:
        self.write("for (;;) {")
        self.write(f"    if (too_many(++steps, {MOST_STEPS}, {site}, failure)) return 0;")
        self.inner(body)
        self.write("}")

    def check(self, holds: Node, site: int, *values: Node) -> None:
        bits = [f"__double_as_longlong({self.value(each)})" if each.type in "fd" else self.value(each) for each in values]
        self.write(f"if (!{self.value(holds)}) return failed(failure, {site}, {', '.join(bits)});")

    def give(self, value: Node | None) -> None:
        self.write(f"return {0 if value is None else self.value(value)};")

    def jump(self, word: str) -> None:
        self.write(f"{word};")

    def of_const(self, node: Node) -> str:
        value: Any = node.args[0]
        if node.type in "fd":
            return f"({self.types[node.type]}){value.hex() if math.isfinite(value) else _special(value)}"
        if node.type == "b":
            return str(value).lower()
        return f"(int64_t){value}ll" if value != -(2**63) else "(-9223372036854775807ll - 1)"

    def of_cast(self, node: Node) -> str:
        return f"({self.types[node.type]}){self.value(node.args[0])}"

    def of_update(self, node: Node) -> str:
        name, array, place, value = node.args
        of = self.elements[self.function.arrays[array].name]
        return f"{name}(&{self.entry(array, place)}, ({of}){self.value(value)})"

    def of_math(self, node: Node) -> str:
        return f"{node.args[0]}({self.value(node.args[1])})"


def _special(value: float) -> str:
    bits = "7ff8000000000000" if math.isnan(value) else "7ff0000000000000" if value > 0 else "fff0000000000000"
    return f"__longlong_as_double((long long)0x{bits}ull)"


def python_of(function: Function) -> str:
    """The source of a Python function of the same name, for Numba."""
    return _Python(function).text()


def cuda_of(function: Function, role: str) -> str:
    """CUDA C++ of the function: `role::Captured` and `role::call`."""
    return f"namespace {role} {{\n{_Cuda(function).text()}}}\n"


def cuda_element(function: Function, array: str) -> str:
    """The C type of the entries of a captured array."""
    return _Cuda.elements[function.arrays[array].name]


def cuda_members(function: Function) -> list[tuple[str, str]]:
    """Names and C types of the members of `Captured`, in order."""
    return _Cuda(function).members()
