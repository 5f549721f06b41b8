"""The memory of a GPU that this process does not use yet: what is free, as NVIDIA's management library tells, and all of it."""

import sys
from types import SimpleNamespace
from uuid import UUID

from kernels.gpu import devices, loader

OWN = UUID("2ec8d626-c8e8-69cc-e3a2-26b5c5741327")


class Library:
    """The functions that are called, with one GPU; `failing` is the one that returns an error."""

    def __init__(self, failing=""):
        self.failing = failing

    def __getattr__(self, name):
        return lambda *arguments: getattr(self, f"_{name}")(*arguments) or int(name == self.failing)

    def _nvmlInit_v2(self):
        return 0

    def _nvmlDeviceGetHandleByUUID(self, name, _):
        return 0 if name == b"GPU-2ec8d626-c8e8-69cc-e3a2-26b5c5741327" else 6

    def _nvmlDeviceGetMemoryInfo(self, _, memory):
        memory._obj.total, memory._obj.free, memory._obj.used = 80, 70, 10
        return 0


def free(monkeypatch, library, uuid=OWN):
    monkeypatch.setattr(devices, "CDLL", library)
    monkeypatch.setattr(devices, "_ask", lambda *_: SimpleNamespace(bytes=uuid.bytes))
    return devices.free_without_context(0)


def test_what_the_library_says(monkeypatch):
    assert free(monkeypatch, lambda _: Library()) == 70


def test_a_library_that_cannot_say(monkeypatch):
    for failing in ("nvmlInit_v2", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetMemoryInfo"):
        assert free(monkeypatch, lambda _, failing=failing: Library(failing)) is None
    assert free(monkeypatch, lambda _: Library(), UUID(int=1)) is None  # such as a part of a GPU


def test_no_library(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    assert free(monkeypatch, missing) is None


def test_all_memory_is_known_without_cupy(monkeypatch):
    """Every run asks, also one in which nothing has changed; CuPy and a context would take it half a second."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "cupy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(devices, "_ask", lambda function, *_: {"cuDeviceTotalMem": 80, "cuCtxGetDevice": 0}[function])
    assert loader.total_bytes() == 80
    assert "cupy" not in sys.modules


def test_cupys_own_limit_of_memory_holds(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", cupy_with_limit(60))
    monkeypatch.setattr(devices, "_ask", lambda function, *_: {"cuDeviceTotalMem": 80, "cuCtxGetDevice": 0}[function])
    assert loader.total_bytes() == 60
    assert loader.free_bytes() == 55


def test_cupys_own_limit_holds_before_cupy_is_imported(monkeypatch, tmp_path):
    """It is in a variable of the environment until then."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "cupy"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "cupy.py").write_text(f"from {__name__} import cupy_with_limit\nglobals().update(vars(cupy_with_limit(60)))\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(loader, "free_without_context", lambda _: 70)
    monkeypatch.setattr(devices, "_ask", lambda function, *_: {"cuDeviceTotalMem": 80, "cuCtxGetDevice": 0}[function])
    assert loader.free_bytes() == 70
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", "60")
    assert loader.free_bytes() == 55
    monkeypatch.delitem(sys.modules, "cupy")


def cupy_with_limit(limit):
    """What is called of CuPy, whose pool has 5 bytes in use."""
    pool = SimpleNamespace(get_limit=lambda: limit, free_bytes=lambda: 0, used_bytes=lambda: 5)
    runtime = SimpleNamespace(memGetInfo=lambda: (70, 80))
    return SimpleNamespace(get_default_memory_pool=lambda: pool, cuda=SimpleNamespace(runtime=runtime))
