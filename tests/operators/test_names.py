"""Names in user functions: what they refer to at each call, and not what they usually mean."""

import builtins
import functools
import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kernels.library.operators import Frontier, UserFunctionError, compute, reduce
from kernels.library.operators.functions.tree import MOST_NESTED
from tests.operators import cases

GRAPH = cases.graph_of_arcs([], 6)
ROWS = Frontier.everything(GRAPH)
MODULES = {"math": math, "numpy": np}
CALLS = {
    "range": "x = 0\nfor k in range(3):\n    x = k", "len": "x = len(values)", "min": "x = min(row, 2)", "max": "x = max(row, 2)",
    "abs": "x = abs(row)", "int": "x = int(1.5)", "float": "x = float(row)", "bool": "x = bool(row)",
}  # fmt: skip


@pytest.fixture
def load(tmp_path):
    """Imports a text as a module of its own file."""
    number = iter(range(1000))

    def made(text: str) -> ModuleType:
        path = tmp_path / f"user_functions_{next(number)}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return made


def function_of(body: str, before: str = "", name: str = "function") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import numpy as np\nvalues = np.zeros(6)\n{before}\ndef {name}(row):\n{lines}    return x\n"


def refused(module: ModuleType, text: str, match: str | None = None) -> None:
    """The module's function is refused, with its file and the line of a text in it."""
    line = 1 + next(number for number, each in enumerate(Path(module.__file__).read_text().splitlines()) if text in each)
    with pytest.raises(UserFunctionError, match=match) as raised:
        reduce(ROWS, module.function)
    assert (raised.value.file, raised.value.line) == (module.__file__, line), raised.value


@pytest.mark.parametrize("name", CALLS)
def test_a_name_of_a_builtin_is_the_builtin_only_if_nothing_hides_it(name, load):
    body, call = CALLS[name], next(line for line in CALLS[name].splitlines() if f"{name}(" in line)
    assert reduce(ROWS, load(function_of(body)).function) == sum(map(load(function_of(body)).function, range(6)))
    refused(load(function_of(body, f"def {name}(*given):\n    return [7]\n")), call)
    refused(load(function_of(body, f"from math import trunc as {name}")), call)
    refused(load(function_of(f"{name} = 3\n{body}")), call)
    text = function_of(body).replace("\n", "\n    ")
    refused(load(f"def around({name}):\n    {text}\n    return function\nfunction = around(lambda *given: [7])\n"), call)
    names = {"__builtins__": vars(builtins) | {name: lambda *given: [7]}}
    module = load(function_of(body))
    exec(compile(function_of(body), module.__file__, "exec"), names)
    module.function = names["function"]
    refused(module, call)


def test_a_wrapped_function_is_not_called_without_its_wrapper(load):
    wrapper = "    @functools.wraps(h)\n    def wrapper(row):\n        return 2 * h(row)\n    return wrapper\n"
    wraps = f"import functools\ndef doubled(h):\n{wrapper}"
    refused(load(wraps + function_of("x = 1", "@doubled")), "2 * h(row)", "the call h is not supported")
    module = load(function_of("x = row", "def kept(h):\n    return h\n@kept"))
    assert reduce(ROWS, module.function) == 15
    for made in (functools.partial(module.function), functools.lru_cache(module.function), [].append):
        with pytest.raises(TypeError, match="is not a Python function"):
            reduce(ROWS, made)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("name", ["sqrt", "floor", "ceil", "exp", "log", "isnan", "isinf", "fabs"])
def test_functions_of_one_number(module, name, load):
    """Through the module, and by their own names; of integers and floats."""
    made = load(
        f"from {module} import {name} as own\nimport {module} as m\n" + function_of(f"x = m.{name}(row + 0.5) + own(row + 1)")
    )
    expected = sum(getattr(np, name)(row + 0.5) + float(getattr(np, name)(row + 1)) for row in range(6))
    found = reduce(ROWS, made.function)
    assert found == pytest.approx(expected, rel=1e-15 if name in ("exp", "log") else 0)


def test_functions_outside_of_their_range_are_those_of_numpy():
    found = np.zeros(6)

    def outside(row):
        found[0] = np.sqrt(-1)
        found[1] = math.log(0)
        found[2] = math.log(-1)
        found[3] = np.exp(1000)
        found[4] = math.floor(1e300)
        found[5] = np.abs(-2.5)

    compute(Frontier.of_rows(GRAPH, [0]), outside)
    np.testing.assert_array_equal(found, [np.nan, -np.inf, np.nan, np.inf, 1e300, 2.5])


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ("np.cbrt", "not supported"), ("np.int64", "not supported"), ("np.matmul", "not supported"),
        ("np.ma.masked_array([1.0] * 6)", "not supported"), ("np.dtype('int32')", "not supported"), ("np", "not supported"),
        ("type('Odd', (), {'dtype': 1, '__hash__': None, '__call__': print})()", "not supported"),
    ],
)  # fmt: skip
def test_what_is_no_function_of_one_number_is_refused(value, match, load):
    module = load(function_of("x = given(row)", f"given = {value}"))
    refused(module, "given(row)", match)
    if "masked" in value:
        refused(load(function_of("x = given[row]", f"given = {value}")), "given[row]", "not a captured array")


def test_attributes_of_modules_are_read_at_every_call(load):
    settings, other = load("level = 1\nfrom math import floor as rounded"), load("level = 70\nfrom math import ceil as rounded")
    sys.modules["settings_of_a_test"] = settings
    try:
        module = load(function_of("x = s.level + s.rounded(0.5)", "import settings_of_a_test as s"))
    finally:
        del sys.modules["settings_of_a_test"]
    assert [reduce(ROWS, module.function), reduce(ROWS, module.function)] == [6, 6]
    for level, expected in ((2, 12), (2.5, 15.0), (True, 6), (1, 6), (2**62, 6.0 * 2**62)):
        settings.level = level
        assert reduce(ROWS, module.function) == expected
    module.s = other
    assert reduce(ROWS, module.function) == 426
    settings.level = "text"
    module.s = settings
    refused(module, "s.level", "'text' is not a number")
    del settings.level
    refused(module, "s.level", "not defined")
    settings.level, settings.rounded = 1, print
    refused(module, "s.level", "the call s.rounded")


@pytest.mark.parametrize("later", [2**63, np.uint64(2**64 - 1), -(2**70), np.array(3), "text", None, len])
def test_a_global_that_is_a_number_of_64_bits_may_change_to_another_only(later, load):
    module = load(function_of("x = given + row", "given = 3"))
    for number in (3, np.uint8(3), np.uint64(3), np.int64(3), 3.0, np.float32(3)):
        module.given = number
        assert reduce(ROWS, module.function) == 33
    module.given = later
    refused(module, "given + row", "is not a number of 64 bits")


def test_a_function_that_a_name_refers_to_may_change(load):
    module = load(function_of("x = given(row + 0.5)", "from math import floor as given"))
    assert reduce(ROWS, module.function) == 15
    module.given = math.ceil
    assert reduce(ROWS, module.function) == 21
    module.given = lambda row: row
    refused(module, "given(row", "the call given is not supported")


def test_a_name_of_a_closure_without_a_value_is_refused(load):
    text = function_of("x = level").replace("\n", "\n    ")
    module = load(f"def around():\n    {text}\n    yield function\n    level = 3\n    yield function\n")
    both = module.around()
    module.function = next(both)
    refused(module, "x = level", "level may be read before it has a value")
    assert reduce(ROWS, next(both)) == 18


def test_a_file_that_has_changed_since_its_import_is_refused(load):
    module = load(function_of("x = row"))
    path, text = Path(module.__file__), function_of("x = row")
    for other in (text.replace("x = row", "x = 100"), text.replace("x = row", "x = ("), "", text + "\n"):
        path.write_text(other)
        if other.startswith(text):
            assert reduce(ROWS, module.function) == 15
        else:
            with pytest.raises(UserFunctionError, match=f"{path}, line") as raised:
                reduce(ROWS, module.function)
            assert raised.value.file == str(path)


def test_an_example_in_a_page_is_compiled(load, tmp_path):
    """The page is not Python, and its examples have lines of it."""
    text, page = function_of("x = np.floor(row) * level", "level = 2"), tmp_path / "page.md"
    page.write_text(f"Some words, and (more.\n\n```python\n{text}```\n")
    module = ModuleType("page")
    exec(compile("\n" * 3 + text, page, "exec"), vars(module))
    assert reduce(ROWS, module.function) == 30
    page.write_text(page.read_text().replace("* level", "* other"))
    exec(compile("\n" * 3 + text.replace("level", "third"), page, "exec"), vars(module))
    with pytest.raises(UserFunctionError, match=r"not what Python compiled|not defined"):
        reduce(ROWS, module.function)


LONG = {
    "sum": lambda size: "x = " + " + ".join(["row"] * size),
    "comparison": lambda size: "x = " + " <= ".join(["row"] * size),
    "product": lambda size: "x = " + "\\\n* ".join(["1"] * size) + " * row",
    "and": lambda size: "x = " + " and ".join(["row >= 0"] * (size // 10)),
}  # fmt: skip
NESTED = {
    "elif": lambda size: "x = 2\nif row < 0:\n    x = 1\n" + "".join(f"elif row == {k}:\n    x = {k}\n" for k in range(size)),
    "conditional": lambda size: "x = " + " else ".join(f"{k} if row == {k}" for k in range(size)) + " else -1",
    "parentheses": lambda size: "x = " + "(row + " * size + "1" + ")" * size,
    "sign": lambda size: "x = " + "-~" * (size // 2) + "row",
    "maximum": lambda size: "x = " + "max(row, " * size + "3" + ")" * size,
    "if": lambda size: "x = 1\n" + "".join("    " * k + "if row >= 0:\n" for k in range(size)) + "    " * size + "x = 2",
}  # fmt: skip


@pytest.mark.parametrize("kind", LONG)
def test_long_expressions(kind, load):
    module = load(function_of(LONG[kind](2000)))
    assert reduce(ROWS, module.function) == sum(map(module.function, range(6)))


@pytest.mark.parametrize("kind", NESTED)
def test_expressions_and_statements_in_each_other(kind, load):
    """As many levels as are allowed; and more, which are refused with the line where they are too many."""
    module = load(function_of(NESTED[kind](MOST_NESTED - 6)))
    assert reduce(ROWS, module.function) == sum(map(module.function, range(6)))
    if kind == "if":  # Python itself takes a hundred levels
        module = load(function_of(NESTED[kind](MOST_NESTED + 3)))
    else:
        module = load(function_of(NESTED[kind](2 * MOST_NESTED)))
    with pytest.raises(UserFunctionError, match=f"line .*more than {MOST_NESTED} levels in each other"):
        reduce(ROWS, module.function)
