"""CuPy's parts that are not documented: each test fails if CuPy changes one. CuPy's own compiler is needed for that."""

# ruff: noqa: E402  (the import below needs CuPy)
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

from kernels.gpu.ahead.requests import compile_one, requests
from kernels.gpu.cupy_internals import KEEPS_SMALL_FLOATS, Versions, WaitingCode, prepare_compiler
from kernels.gpu.loader import load

pytestmark = pytest.mark.real_gpu(reason="the emulated CuPy has no compiler")
TWICE = 'extern "C" __global__ void twice(const float* given, float* result) { *result = 2 * *given; }'


@pytest.mark.parametrize(("options", "kept"), [((KEEPS_SMALL_FLOATS,), True), ((), False)])
def test_small_floats_are_kept_by_the_option_alone(options, kept):
    prepare_compiler()
    given, result = cupy.asarray(np.array([1e-40], np.float32)), cupy.empty(1, np.float32)
    twice = cupy.RawModule(code=TWICE, options=options, backend="nvrtc").get_function("twice")
    twice((1,), (1,), (given, result))
    assert (result.get()[0] > 0) == kept


def test_the_compiler_is_asked_once_for_its_version():
    prepare_compiler()
    for number in (1, 2):
        cupy.RawModule(code=TWICE, options=(f"-DNUMBER={number}",), backend="nvrtc").get_function("twice")
    versions = cupy.cuda.compiler._empty_file_preprocess_cache
    assert isinstance(versions, Versions)
    assert len(versions) == 1


def test_code_that_was_compiled_ahead_is_what_a_launch_loads(tmp_path, monkeypatch):
    from cupy.cuda._compiler_cache import DiskKernelCacheBackend

    compiler = cupy.cuda.compiler
    prepare_compiler()
    monkeypatch.setattr(compiler, "_kernel_cache_backend", WaitingCode(DiskKernelCacheBackend(str(tmp_path))))
    kernel = next(request for request in requests() if "kernel" in request)
    text = next(request for request in requests() if "text" in request)
    for request in (kernel, text):
        before = len([*tmp_path.glob("*.cubin")])
        compile_one(request)
        assert len([*tmp_path.glob("*.cubin")]) == before + 1
    monkeypatch.setattr(compiler, "_compile_using_nvrtc_no_warning", lambda *given, **named: pytest.fail("compiled again"))
    load.cache_clear()
    load(kernel["kernel"], **{name: np.dtype(kind) if isinstance(kind, str) else kind for name, kind in kernel["macros"].items()})
    load.cache_clear()


def test_scipy_is_imported_when_a_part_of_cupyx_that_needs_it_is_used():
    code = """
import sys
from kernels.gpu.cupy_internals import import_cupyx
import_cupyx()
import cupyx
assert cupyx.empty_pinned and "scipy" not in sys.modules
from cupyx.scipy.sparse import csr_matrix
assert csr_matrix((2, 2), dtype="float32").get().shape == (2, 2) and "scipy" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_all_of_cupyx_is_imported_by_one_thread_before_user_functions_use_it():
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
from kernels.gpu.cupy_internals import complete_cupyx, import_cupyx
import_cupyx()
assert "scipy" not in sys.modules
with ThreadPoolExecutor(8) as pool:
    [*pool.map(lambda _: complete_cupyx(), range(8))]
import cupyx
assert "scipy" in sys.modules and type(cupyx.scipy).__name__ == type(cupyx.linalg).__name__ == "module" and cupyx.linalg.invh
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
