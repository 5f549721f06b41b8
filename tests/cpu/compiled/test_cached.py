"""Functions that Numba keeps: compiled again where anything changes that they are made of, not for a copy of the project."""

import errno
import importlib
import sys
from pathlib import Path

import pytest

SOURCES = {
    "used.py": """
from kernels.cpu.compiled import njit

STEP = 3


@njit(cache=True)
def further(value):
    return value + STEP
""",
    "user.py": """
from typing import NamedTuple

from kernels.cpu.compiled import njit
from used import further


class Pair(NamedTuple):
    left: int
    right: int


@njit(cache=True)
def left_of(pair: Pair):
    return pair.left


def left_of_two():
    return left_of(Pair(1, 2))

class Sides(NamedTuple):
    pair: Pair


@njit(cache=True)
def total(pair: Pair):
    return pair.left + pair.right


@njit(cache=True)
def total_of_sides(sides: Sides):
    return total(sides.pair)


@njit(cache=True, nogil=True)
def twice(value):
    return 2 * further(value)
""",
}


@pytest.fixture
def copy_of(tmp_path, monkeypatch):
    """Write a copy of two modules, with a replaced text, and import the function that calls the other."""

    def write(name: str, *change: str):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for file, source in SOURCES.items():
            text = source.replace(*change) if change else source
            if not (folder / file).exists() or (folder / file).read_text() != text:  # Numba itself compares times
                (folder / file).write_text(text)
            sys.modules.pop(Path(file).stem, None)
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        importlib.invalidate_caches()
        return importlib.import_module("user").twice

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield write
    for file in SOURCES:
        sys.modules.pop(Path(file).stem, None)


def compiled(function) -> bool:
    """Whether it was compiled, and not loaded."""
    return bool(sum(function.dispatcher.stats.cache_misses.values()))


def test_a_full_disk_is_an_error_that_names_the_folder(copy_of, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_data", full)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path / 'cache'}/"):
        copy_of("one")(1)


def test_a_compiler_that_cannot_be_loaded_says_why(copy_of, monkeypatch):
    loads = []

    def load():
        loads.append(0)
        raise OSError("could not load a shared object file")

    function = copy_of("one")
    monkeypatch.setattr("kernels.cpu.compiled._numba", load)
    with pytest.raises(OSError, match=r"^could not load a shared object file$"):
        function(1)
    assert len(loads) == 1


def test_a_changed_constant_of_another_file_is_noticed(copy_of):
    assert copy_of("one")(1) == 8
    assert copy_of("one", "STEP = 3", "STEP = 4")(1) == 10


def test_a_copy_of_the_project_compiles_nothing_again(copy_of):
    for name, expected in (("one", True), ("two", False)):
        function = copy_of(name)
        assert function(1) == 8
        assert compiled(function) == expected


def test_a_renamed_class_of_arguments_is_noticed(copy_of):
    for name, *change in (("one",), ("two", "Pair", "Couple")):
        copy_of(name, *change)
        module = sys.modules["user"]
        pair = getattr(module, change[-1] if change else "Pair")(1, 2)
        assert module.total(pair) == module.total_of_sides(module.Sides(pair)) == 3
        assert compiled(module.total_of_sides)


@pytest.mark.parametrize("change", [("value + STEP", "value - STEP"), ("cache=True, nogil=True", "cache=True")])
def test_changed_code_and_options_are_noticed(copy_of, change):
    first = copy_of("one")
    first(1)
    changed = copy_of("one", *change)
    changed(1)
    assert compiled(changed)


@pytest.mark.parametrize(
    ("change", "left"), [(("Pair", "Couple"), 1), (("left: int\n    right: int", "right: int\n    left: int"), 2)]
)
def test_another_name_or_order_of_an_arguments_fields_is_noticed(copy_of, change, left):
    copy_of("one")
    assert sys.modules["user"].left_of_two() == 1
    copy_of("one", *change)
    assert sys.modules["user"].left_of_two() == left
