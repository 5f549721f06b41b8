"""CuPy's parts that are not documented: each test fails if CuPy changes one. CuPy's own compiler is needed for that."""

# ruff: noqa: E402  (the import below needs CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

from kernels.gpu.cupy_internals import KEEPS_SMALL_FLOATS, Versions, prepare_compiler

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
