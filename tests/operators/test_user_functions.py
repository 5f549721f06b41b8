"""User functions: what they compute, what is refused with its line, and failures, which name the line and the values."""

import inspect
import linecache
import math

import numpy as np
import pytest

from kernels.library.operators import (
    Frontier,
    UserFunctionError,
    advance,
    atomic_add,
    atomic_max,
    atomic_min,
    atomic_or,
    compute,
    reduce,
)
from tests.operators import cases

GRAPH = cases.graph_of_arcs([(i, i + 1) for i in range(9)] + [(4, 4)], 10)
ROWS = Frontier.everything(GRAPH)
HALF = 0.5


def floats(row):
    x = 3.5
    if row > 4:
        x = -x
    y = x * HALF if row % 2 else float(row)
    return max(abs(x), y, 1) + min(row, 2) - math.sqrt(row) + math.floor(x) / 4


def loops(row):
    total = 0
    for k in range(10, row, -3):
        if k == 4:
            continue
        for j in range(k):
            if j > row:
                break
            total += j
    while total > 20 and not total % 7 < 1:
        total -= 1
    return total


def divisions(row):
    other = row - 5
    if other == 0:
        return 0
    return (17 // other) * 100 + -17 % other + (row << 3) + (row >> 1) + (row & 3) + (row ^ 5) + (row | 8) + ~row


def chains(row):
    if 2 <= row < 7 != row:
        return row + 1 if (row > 3 and row != 5) or row == 2 else -row
    return +row * (row == 1) + True


@pytest.mark.parametrize("function", [floats, loops, divisions, chains])
def test_it_computes_what_python_computes(function):
    assert reduce(ROWS, function) == pytest.approx(sum(map(function, range(10))), rel=1e-15)


def test_entries_of_every_type():
    kinds = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64")
    given, kept = ([make(10).astype(kind) for kind in kinds] for make in (np.arange, np.zeros))
    names = {"compute": compute, "ROWS": ROWS} | {f"a{k}": array for k, array in enumerate(given)}
    names |= {f"b{k}": array for k, array in enumerate(kept)}
    body = "".join(f"    b{k}[row] = a{k}[row]\n    b{k}[row] += a{k}[row]\n" for k in range(len(kinds)))
    source = f"def double(row):\n{body}"
    linecache.cache["<double>"] = len(source), None, source.splitlines(True), "<double>"
    exec(compile(source, "<double>", "exec"), names)
    compute(ROWS, names["double"])
    for array, found in zip(given, kept, strict=True):
        np.testing.assert_array_equal(found, np.add(array, array))


def test_updates():
    arrays = [np.array([100, 100, -100, -100], kind) for kind in ("int32", "int64", "float32", "float64")]
    a, b, c, d = arrays
    changed = np.zeros(10, np.bool_)

    def update(row):
        one = atomic_min(a, row % 2, row - 3) or atomic_max(a, 2 + row % 2, row)
        two = atomic_min(b, row % 2, row - 3) or atomic_max(b, 2 + row % 2, row)
        atomic_max(a, 2 + row % 2, row)
        atomic_max(b, 2 + row % 2, row)
        for k in range(2):
            if k:
                atomic_min(c, row % 2, row - 3)
                atomic_min(d, row % 2, row - 3)
            else:
                atomic_max(c, 2 + row % 2, row)
                atomic_max(d, 2 + row % 2, row)
        changed[row] = one and two

    compute(ROWS, update)
    assert [array.tolist() for array in arrays] == [[-3, -2, 8, 9]] * 4
    assert changed.all()


def test_updates_of_integers():
    bits, count, before = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(10, np.int64)

    def update(row):
        if atomic_or(bits, 0, 1 << row % 3):
            before[row] = -1
        else:
            before[row] = atomic_add(count, 0, 2)

    compute(ROWS, update)
    assert (bits[0], count[0], sorted(before.tolist())) == (7, 14, [-1, -1, -1, 0, 2, 4, 6, 8, 10, 12])
    least, most = np.array([3, 4]), np.array([3, 4])
    assert atomic_min(least, 0, 2)
    assert not atomic_max(most, 0, 2)
    assert (atomic_add(least, 1, 5), least.tolist(), most.tolist()) == (4, [2, 9], [3, 4])


def test_captured_values_are_read_at_every_call():
    made, level = np.zeros(10, np.int64), 1

    def mark(row):
        made[row] = level

    compute(ROWS, mark)
    level = 2
    assert made.tolist() == [1] * 10
    compute(ROWS, mark)
    assert made.tolist() == [2] * 10
    level = 2.5
    with pytest.raises(UserFunctionError, match=r"use int\(\)"):
        compute(ROWS, mark)


def refused(body, line=1):
    """Functions whose body is refused at a line."""
    return pytest.param(body, line, id=body.splitlines()[line - 1].strip())


@pytest.mark.parametrize(
    ("body", "line"),
    [
        refused("try:\n    pass\nfinally:\n    pass"),
        refused("a, b = row, row"),
        refused("a = b = row"),
        refused("row = 3"),
        refused("x = row\ny = missing", 2),
        refused("if row:\n    x = 1\ny = x", 3),
        refused("for k in array:\n    pass"),
        refused("for k in range(0, 9, row):\n    pass"),
        refused("for k in range(3):\n    pass\nelse:\n    pass"),
        refused("x = array"),
        refused("x = array[0.5]"),
        refused("array[row] = 0.5"),
        refused("x = table[0]"),
        refused("x = words[0]"),
        refused("x = row ** 2"),
        refused("x = 1.5 // row"),
        refused("x = 1.5 & row"),
        refused("x = [row]"),
        refused("x = len(row)"),
        refused("x = print(row)"),
        refused("x = math.gamma(row)"),
        refused("x = row in (1, 2)"),
        refused("x = 2 ** 70"),
        refused("x = 18446744073709551616"),
        refused("x = 'text'"),
        refused("x = None"),
        refused("atomic_add(reals, 0, 1)"),
        refused("atomic_min(array, 0, 1.5)"),
        refused("atomic_min(bytes_, 0, 1)"),
        refused("atomic_min(array, 0)"),
        refused("if row:\n    return 3", 0),
    ],
)
def test_what_is_not_supported_is_refused_with_its_line(tmp_path, body, line):
    lines = ["def function(row):", *("    " + text for text in body.splitlines())]
    names = {
        "array": np.zeros(3, np.int64), "reals": np.zeros(3), "bytes_": np.zeros(3, np.int8), "table": np.zeros((2, 2)),
        "words": np.zeros(3, np.uint64), "math": math, "atomic_add": atomic_add, "atomic_min": atomic_min,
    }  # fmt: skip
    path = tmp_path / "functions.py"
    path.write_text("\n".join(lines) + "\n")
    exec(compile(path.read_text(), path, "exec"), names)
    with pytest.raises(UserFunctionError, match=rf"functions.py, line {line + 1}: .*\n    \S") as raised:
        compute(ROWS, names["function"])
    assert (raised.value.file, raised.value.line) == (str(path), line + 1)


def test_functions_that_are_not_plain_are_refused():
    def defaults(row, other=3):
        return row

    def several(*rows):
        return 1

    for function in (defaults, several, lambda row: row, eval("lambda row: row")):
        with pytest.raises(UserFunctionError):
            reduce(ROWS, function)
    with pytest.raises(TypeError, match="built-in"):
        reduce(ROWS, len)


def test_arrays_that_are_read_only_are_not_written():
    values = np.zeros(ROWS.size, np.int64)

    def assign(row):
        values[row] = 1

    def add(row):
        atomic_add(values, row, 1)

    for function in (assign, add):
        values.flags.writeable = True
        compute(ROWS, function)
        values.flags.writeable = False
        with pytest.raises(UserFunctionError, match=f"line {line_of(function, 'values')}: values is read-only"):
            compute(ROWS, function)
    assert (values == 2).all()


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def failing():
    """Functions with what their failure says: the text of the line, the reason, the row."""
    values = np.zeros(7)

    def beyond(row):
        return values[row]

    def negative(row):
        return values[2 - row]

    def divides(row):
        return 12 // (row - 6)

    def rests(row):
        return 12 % (row - 6)

    def divides_floats(row):
        return 1.5 / (row - 3)

    def shifts(row):
        return 1 << (row * 10)

    def converts(row):
        return int(1e18 * row)

    def endless(row):
        k = 0
        while row > 1:
            k += 1
        return k

    yield beyond, "values[row]", "index 7 is not in 0..6, the entries of values", 7
    yield negative, "values[2 - row]", "index -1 is not in 0..6", 3
    yield divides, "12 //", "12 // 0 divides by zero", 6
    yield rests, "12 %", "12 % 0 divides by zero", 6
    yield divides_floats, "1.5 /", r"1.5 / 0 divides by zero", 3
    yield shifts, "1 <<", "<< by 70 bits", 7
    yield converts, "int(", r"int\(1e\+19\) is beyond int64", None
    yield endless, "while", "take more than 1048576 turns", 2


@pytest.mark.parametrize(("function", "text", "reason", "row"), list(failing()), ids=lambda each: getattr(each, "__name__", ""))
def test_a_failure_names_the_line_the_values_and_the_smallest_row(function, text, reason, row):
    frontier = ROWS
    if row is None:
        frontier, row = Frontier.of_rows(cases.graph_of_arcs([], 11), [3, 10]), 10
    with pytest.raises(UserFunctionError, match=reason) as raised:
        reduce(frontier, function)
    assert (raised.value.line, raised.value.row) == (line_of(function, text), row)
    assert text in str(raised.value)


def test_failures_of_an_advance_name_the_arc():
    values = np.zeros(10)

    def edge(row, neighbour):
        return values[neighbour + 5]

    with pytest.raises(UserFunctionError, match=r"index 10 is not in 0..9.*row 4, arc 5"):
        advance(ROWS, edge, collect="sum")

    def before(row):
        return 1 // (row - 4)

    def after(row, total):
        return total > 1 // (row - 3) or total > 1 // (row - 6)

    with pytest.raises(UserFunctionError, match="before, row 4"):
        advance(ROWS, edge, before=before, collect="sum")

    def one(row):
        return row

    with pytest.raises(UserFunctionError, match="after, row 3"):
        advance(ROWS, one, after=after, collect="sum")
    assert advance(ROWS, one, direction="in").size == 0
