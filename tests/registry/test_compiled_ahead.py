"""What is compiled ahead of a first run on a GPU, and who compiles it."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from kernels.gpu.ahead import begin, turn
from kernels.gpu.ahead.requests import requests
from kernels.gpu.cupy_internals import WaitingCode
from kernels.gpu.loader import C_NAMES, ROOT, code_of, constants_of

TYPES = {dtype.name for dtype in C_NAMES}


@pytest.fixture(autouse=True)
def code(tmp_path, monkeypatch):
    """An empty folder of compiled code."""
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "code"))
    turn._stem.cache_clear()
    yield tmp_path / "code"
    turn._stem.cache_clear()


@pytest.fixture
def commands(monkeypatch):
    """The commands that are started, instead of starting them, on a machine with many cores and a GPU."""
    started = []
    monkeypatch.setattr(begin, "cores", lambda: 16)
    monkeypatch.setattr(begin, "compute_capability", lambda device: "9.0")
    monkeypatch.setattr(begin, "current", lambda: 0)
    monkeypatch.setattr(begin.subprocess, "Popen", lambda command, **options: started.append((command, options)))
    return started


def test_requests_are_of_sources_that_are_there_with_the_macros_that_they_take():
    kernels = [request for request in requests() if "kernel" in request]
    assert len(kernels) > 30
    for request in kernels:
        text = code_of(request["kernel"])
        headers = "".join(path.read_text("utf-8") for path in ROOT.rglob("*.cuh"))
        for name, value in request["macros"].items():
            assert name in text + headers, (request, name)
            assert name not in dict(constants_of(request["kernel"]))
            assert isinstance(value, int) or value in TYPES
    assert len({json.dumps(request) for request in requests()}) == len(requests())


def test_kernels_of_counting_stages_are_requested():
    folders = [ROOT / name for name in ("cdlp", "triangles", "cores", "neighbours")]
    sources = {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.cu")}
    requested = {request.get("kernel") for request in requests()}
    assert {source for source in sources - requested if "sharded" not in source} == set()


def test_requests_name_no_path_of_a_machine():
    assert not [option for request in requests() for option in request.get("options", []) if "/" in option]


def test_the_first_line_of_what_is_compiled_names_the_source():
    head = code_of("gpu/radix_sort.cu").partition("\n")[0]
    assert head.startswith("// headers ") and head.endswith(" gpu/radix_sort.cu")


def test_a_process_compiles_unless_all_is_compiled(commands):
    begin.begin()
    ((command, options),) = commands
    assert command[1:] == ["-P", "-m", "kernels.gpu.ahead"] and len(options["pass_fds"]) == 1
    turn.note_done("9.0")
    begin.begin()
    assert len(commands) == 1
    assert not turn.is_done("8.0")


def test_only_one_process_of_a_machine_compiles(commands):
    held = turn.take()
    begin.begin()
    assert commands == []
    os.close(held)
    begin.begin()
    assert len(commands) == 1


def test_few_cores_compile_what_they_need_alone(commands, monkeypatch):
    monkeypatch.setattr(begin, "cores", lambda: 2)
    begin.begin()
    assert commands == []


def test_a_folder_that_cannot_be_written_is_no_error(commands, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path / "file"))
    turn._stem.cache_clear()
    begin.begin()
    assert commands == []


def test_the_lock_lasts_as_long_as_a_process_has_it():
    held = turn.take()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(held,))
    os.close(held)
    assert turn.is_compiling() and turn.take() is None
    child.kill()
    child.wait()
    assert not turn.is_compiling()


class Kept:
    """Compiled code in memory."""

    def __init__(self):
        self.codes = {}

    def load(self, name):
        return self.codes.get(name)

    def save(self, name, cubin, source):
        self.codes[name] = cubin


def test_code_that_is_being_compiled_is_waited_for():
    kept, held = Kept(), turn.take()
    threading.Timer(0.2, kept.save, ("a", b"code", "")).start()
    assert WaitingCode(kept).load("a") == b"code"
    os.close(held)


def test_code_that_nobody_compiles_is_not_waited_for():
    kept, held = Kept(), turn.take()
    began = time.monotonic()
    threading.Timer(0.2, os.close, (held,)).start()
    assert WaitingCode(kept).load("a") is None
    assert time.monotonic() - began > 0.1
    assert WaitingCode(kept).load("b") is None
    WaitingCode(kept).save("b", b"own", "")
    assert WaitingCode(kept).load("b") == b"own"
