"""`cupy.RawModule` and its kernels, which the emulated GPU runs."""

import itertools
import warnings
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from cupy._array import ndarray
from cupy._functions import empty
from cupy.cuda.driver import CUDADriverError
from tests.emulator.machine.architectures import PORTABLE_CLUSTER, STATIC_BYTES, current
from tests.emulator.machine.launch import EmulatedFault, Kernel, Module


class RawKernel:
    """A kernel; the driver identifies it by `kernel.ptr`."""

    of_pointer: ClassVar[dict[int, "RawKernel"]] = {}
    _numbers = itertools.count(1)

    def __init__(self, code: str, name: str, options=(), backend="nvrtc", *, enable_cooperative_groups=False):
        self._start(Module(code, options).kernel(name), enable_cooperative_groups)

    @classmethod
    def _of(cls, kernel: Kernel, cooperative: bool) -> "RawKernel":
        self = cls.__new__(cls)
        self._start(kernel, cooperative)
        return self

    def _start(self, kernel: Kernel, cooperative: bool) -> None:
        self.emulated, self._cooperative, self._shared = kernel, cooperative, STATIC_BYTES - kernel.static
        self.most_cluster = PORTABLE_CLUSTER  # blocks of a cluster that a launch may have
        self.kernel = SimpleNamespace(ptr=next(self._numbers))
        self.of_pointer[self.kernel.ptr] = self

    @property
    def shared_size_bytes(self) -> int:
        return self.emulated.static

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        return self._shared

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        if self.emulated.static + size > current().block_bytes:
            raise CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        self._shared = size

    def __call__(self, grid, block, args, *, shared_mem=0, stream=None) -> None:
        grid, block = ((*(int(size) for size in sizes), 1, 1)[:3] for sizes in (grid, block))
        if shared_mem > self._shared:
            raise EmulatedFault(f"{self.emulated.name}: {shared_mem} bytes of shared memory, where {self._shared} are allowed")
        threads, of_cluster = int(np.prod(block)), self.emulated.cluster
        if of_cluster and not self.emulated.clusters(threads, shared_mem, self.most_cluster):
            raise EmulatedFault(f"{self.emulated.name}: no clusters of {of_cluster} blocks on {current().capability}")
        resident = self.emulated.resident(threads, shared_mem)
        if self._cooperative and grid[0] > resident > 0:
            warnings.warn(f"The grid size will be reduced from {grid[0]} to {resident}", stacklevel=2)
            grid = (resident, 1, 1)
        arrays = [argument for argument in args if isinstance(argument, ndarray)]
        self.emulated.launch(grid, block, self._values(args), shared_mem)
        for array in arrays:
            if not array.data.mem.intact():
                place = next(number for number, argument in enumerate(args) if argument is array)
                raise EmulatedFault(
                    f"{self.emulated.name}: it wrote outside of argument {place}, {array.dtype}{list(array.shape)}"
                )

    def _values(self, args) -> list[bytes]:
        """Bytes of the arguments, after checking that they match the kernel's parameters; a real GPU does not check."""
        parameters = self.emulated.parameters
        if len(args) != len(parameters):
            raise EmulatedFault(f"{self.emulated.name}: {len(args)} arguments, where it has {len(parameters)}")
        values = []
        for number, (argument, (size, kind)) in enumerate(zip(args, parameters, strict=True)):
            value, of_kind = _value(argument)
            same = of_kind == kind or {of_kind, kind} <= set("iu") or (kind == "p" and (of_kind == "u" or not any(value)))
            if len(value) != size or not same:
                what = f"argument {number} is {of_kind}{len(value)}, where the kernel takes {kind}{size}"
                raise EmulatedFault(f"{self.emulated.name}: {what}")
            values.append(value)
        return values


def _value(argument: Any) -> tuple[bytes, str]:
    if argument is None:
        return bytes(8), "p"
    if isinstance(argument, ndarray):
        if not argument.flags.c_contiguous:
            raise EmulatedFault(
                f"an array that is not contiguous: {argument.dtype}{list(argument.shape)}, strides {argument.strides}"
            )
        return (argument.data.ptr if argument.size else 0).to_bytes(8, "little"), "p"
    if isinstance(argument, np.ndarray) and argument.size != 1:
        raise TypeError(f"You are trying to pass a numpy.ndarray of shape {argument.shape} as a kernel parameter.")
    if isinstance(argument, int) and not isinstance(argument, bool):
        return np.int64(argument).tobytes(), "i" if argument < 0 else "u"  # which may be an address
    number = np.asarray(argument)
    return number.tobytes(), number.dtype.kind


class RawModule:
    """A CUDA source."""

    def __init__(self, *, code=None, options=(), backend="nvrtc", enable_cooperative_groups=False):
        self._module, self._cooperative = Module(code, options), enable_cooperative_groups

    def get_function(self, name: str) -> RawKernel:
        return RawKernel._of(self._module.kernel(name), self._cooperative)


class ElementwiseKernel:
    """One thread for each element of arrays of one length. Outputs that are not given are made."""

    _TYPES: ClassVar[dict[str, str]] = {
        "int32": "int", "int64": "long long", "uint32": "unsigned int", "uint64": "unsigned long long",
        "float32": "float", "float64": "double",
    }  # fmt: skip

    def __init__(self, in_params, out_params, operation, name="kernel", **how):
        given, made = ([one.split() for one in parameters.split(",") if one] for parameters in (in_params, out_params))
        self._name, self._operation, self._inputs, self._outputs = name, operation, given, made

    @cached_property
    def _kernel(self) -> RawKernel:
        parameters = [(self._TYPES[dtype], name) for dtype, name in (*self._inputs, *self._outputs)]
        arrays = "".join(f"{dtype}* {name}_of, " for dtype, name in parameters)
        elements = "".join(f"{dtype}& {name} = {name}_of[i]; " for dtype, name in parameters)
        begin = "const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; if (i >= count) return; "
        code = f'extern "C" __global__ void {self._name}({arrays}long long count) {{ {begin}{elements}{self._operation} }}'
        return RawKernel(code, self._name)

    def __call__(self, *arguments):
        given = [*arguments[: len(self._inputs)]]
        made = [*arguments[len(self._inputs) :]] or [empty(len(given[0]), dtype) for dtype, _ in self._outputs]
        for array, (dtype, name) in zip((*given, *made), (*self._inputs, *self._outputs), strict=True):
            if array.dtype != dtype or len(array) != len(given[0]):
                raise TypeError(f"{self._name}: {name} is {array.dtype}{list(array.shape)}, not {dtype}[{len(given[0])}]")
        if len(given[0]):
            self._kernel((-(-len(given[0]) // 128),), (128,), (*given, *made, np.int64(len(given[0]))))
        return made[0] if len(made) == 1 else tuple(made)
