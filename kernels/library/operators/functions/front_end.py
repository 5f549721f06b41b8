"""The front end: the source of a user function to a typed tree. docs/abstractions.md lists what a function may contain."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from tokenize import TokenError
from types import CodeType
from typing import Any

from kernels.library.operators.functions.calls import Calls
from kernels.library.operators.functions.errors import UserFunctionError
from kernels.library.operators.functions.tree import Function, Node, Type, joined, type_of
from kernels.library.operators.functions.values import KEPT


def lower(function: Callable[..., Any], parameters: Mapping[str, Type], captured: Mapping[str, Any], rows: int) -> Function:
    """Check and type a function.

    Args:
        parameters: types of all values that a call passes; the function takes those that it names.
        captured: what its free names refer to: arrays, numbers, modules and functions.
        rows: number of rows of the graph, which the parameters `row` and `neighbour` are below.
        UserFunctionError: Something in it is not supported, with the line.
    """
    file, definition = _definition(function)
    given = definition.args
    names = [argument.arg for argument in given.args]
    captured = {name: value for name, value in captured.items() if name not in function.__code__.co_varnames}
    if given.posonlyargs or given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
        raise UserFunctionError(file, definition.lineno, "a user function can have plain parameters only")
    for name in names:
        if name not in parameters:
            raise UserFunctionError(file, definition.lineno, f"no parameter {name}: it may take {', '.join(parameters)}")
    types: dict[str, Type] = {}
    while True:  # types of variables only grow, and there are four of them
        lowering = _Lowering(file, {name: parameters[name] for name in names}, captured, dict(types), rows)
        falls_through = lowering.lower_block(definition.body, lowering.body)
        refined = {name: of for name, of in lowering.types.items() if not name.startswith(KEPT)}
        if refined == types:
            break
        types = refined
    if not _is_source_of(definition, function.__code__):
        reason = "this text is not what Python compiled: the file has changed since its import, or a tool rewrote the function"
        raise UserFunctionError(file, definition.lineno, reason)
    types, result = lowering.types, lowering.types.get("return", "")
    if falls_through and result not in ("", "b"):
        raise UserFunctionError(file, definition.lineno, "not every path returns a value")
    variables = {name: of for name, of in types.items() if name != "return" and name not in names}
    taken = {name: parameters[name] for name in names}
    arrays, scalars = lowering.arrays, lowering.scalars
    body, sites = tuple(lowering.body), tuple(lowering.sites)
    whole, reads, name = frozenset(lowering.whole), tuple(lowering.reads), definition.name
    return Function(name, dict(parameters), taken, arrays, scalars, variables, body, result, sites, file, whole, reads=reads)


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the parameters."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def _definition(function: Callable[..., Any]) -> tuple[str, ast.FunctionDef]:
    code = function.__code__
    file = code.co_filename
    try:
        lines, first = inspect.getsourcelines(code)  # of the code: a wrapped function's source is not the wrapper's
        (definition,) = ast.parse(textwrap.dedent("".join(lines))).body
    except (OSError, TypeError, SyntaxError, ValueError, TokenError):
        definition, first = None, code.co_firstlineno
    if not isinstance(definition, ast.FunctionDef):
        raise UserFunctionError(file, first, "a user function must be written with `def`, in a file")
    ast.increment_lineno(definition, max(first, 1) - 1)
    return file, definition


def _is_source_of(definition: ast.FunctionDef, code: CodeType) -> bool:
    """Whether the file, as it is now, compiles to this code: it may have been edited, or the code rewritten on import.

    Of a file that is not Python as a whole, such as a page with examples, only names and constants are compared.
    """
    lines, _ = inspect.findsource(code)
    try:
        module = compile("".join(lines), code.co_filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        waiting, same = [module], _whole
    except SyntaxError:
        waiting, same = [compile(ast.Module([definition], []), code.co_filename, "exec", dont_inherit=True)], _parts
    while waiting:
        if same(inner := waiting.pop()) == same(code):
            return True
        waiting += [each for each in inner.co_consts if isinstance(each, CodeType)]
    return False


def _whole(code: CodeType) -> Any:
    return code


def _parts(code: CodeType) -> Any:
    """Names and constants, apart from texts, whose indentation may differ."""
    constants = [repr(each) for each in code.co_consts if not isinstance(each, str)]
    return code.co_name, {*code.co_names, *code.co_freevars}, code.co_varnames, constants


class _Lowering(Calls):
    """One pass over a function."""

    def lower_block(self, statements: list[ast.stmt], into: list[Node]) -> bool:
        """Lower statements; whether control reaches their end."""
        outer, self.into, reached = self.into, into, True
        self.deeper(statements[0] if statements else ast.Pass())
        for statement in statements:
            method: Any = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if method is None:
                raise self.refused(statement, f"{type(statement).__name__.lower()} is not supported in a user function")
            reached = method(statement) is not False and reached
        self.level -= 1
        self.into = outer
        return reached

    def _pass(self, node: ast.Pass) -> None: ...

    def _expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring is one
            self.value(node.value)

    def _return(self, node: ast.Return) -> bool:
        value = None if node.value is None else self.value(node.value)
        if value is not None:
            self.types["return"] = joined(value.type, self.types.get("return", ""))
            value = self.cast(value, self.types["return"])
        self.emit("return", value)
        return False

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.refused(node, "a user function can assign to one target at a time only")
        self.assign(node.targets[0], self.value(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        read = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node.target)
        for part in ast.walk(read):
            ast.copy_location(part, node)
        self.assign(node.target, self.binary(node, node.op, self.value(read), self.value(node.value)))

    def assign(self, target: ast.expr, value: Node) -> None:
        if isinstance(target, ast.Name):
            if target.id in self.parameters:
                raise self.refused(target, f"{target.id} is a parameter and cannot be assigned")
            self.set(target.id, value)
        elif isinstance(target, ast.Subscript):
            name, place = self.entry(target, written=True)
            if value.type in "fd" and type_of(self.arrays[name]) in "bi":
                raise self.refused(target, f"a float is written to {name}, whose entries are {self.arrays[name]}; use int()")
            self.emit("store", name, place, self.cast(value, type_of(self.arrays[name])))
        else:
            raise self.refused(target, "a user function can only assign to a name or to an entry of an array")

    def _if(self, node: ast.If) -> bool:
        condition, before = self.boolean(self.value(node.test)), set(self.assigned)
        branches: list[list[Node]] = [[], []]
        ends, known = [], []
        for statements, into in zip((node.body, node.orelse), branches, strict=True):
            self.assigned = set(before)
            ends.append(self.lower_block(statements, into))
            if ends[-1]:
                known.append(self.assigned)
        self.assigned = set.intersection(*known) if known else before
        self.emit("if", condition, *branches)
        return any(ends)

    def _while(self, node: ast.While) -> None:
        self.loop(node, lambda: self.emit("if", self.boolean(self.value(node.test)), [], [Node("break", "", ())]))

    def _for(self, node: ast.For) -> None:
        call = node.iter
        if not isinstance(call, ast.Call) or self.object(call.func) is not range or not isinstance(node.target, ast.Name):
            raise self.refused(node, "a loop must run over Python's range(...) with one variable")
        given = [self.integer(each, self.value(each)) for each in call.args]
        if not 1 <= len(given) <= 3 or call.keywords:
            raise self.refused(node, "range takes one to three numbers")
        step = given[2].args[0] if len(given) == 3 and given[2].op == "const" else 1
        if not step or (len(given) == 3 and given[2].op != "const"):
            raise self.refused(node, "the step of a range must be an integer constant other than 0")
        start, stop = (Node("const", "i", (0,)), given[0]) if len(given) == 1 else given[:2]
        upcoming, end = self.fresh(start), self.kept(stop)
        target = node.target.id
        if target in self.parameters:
            raise self.refused(node, f"{target} is a parameter and cannot be assigned")

        def begin() -> None:
            more = Node("compare", "b", ("<" if step > 0 else ">", upcoming, end))
            self.emit("if", more, [], [Node("break", "", ())])
            self.set(target, upcoming)
            self.emit("set", upcoming.args[0], Node("binary", "i", ("+", upcoming, Node("const", "i", (step,)))))

        self.loop(node, begin)

    def loop(self, node: ast.While | ast.For, begin: Callable[[], None]) -> None:
        if node.orelse:
            raise self.refused(node, "a loop cannot have an else")
        site = self.site(node, "steps", "", "i")
        before, body = set(self.assigned), list[Node]()
        outer, self.into = self.into, body
        begin()
        self.lower_block(node.body, body)
        self.into, self.assigned = outer, before
        self.emit("loop", site, body)

    def _break(self, node: ast.Break) -> bool:
        self.emit("break")
        return False

    def _continue(self, node: ast.Continue) -> bool:
        self.emit("continue")
        return False
