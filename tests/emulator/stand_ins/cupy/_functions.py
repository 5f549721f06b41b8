"""The CuPy functions that this project and its tests call, implemented by NumPy's."""

from typing import Any

import numpy as np

from cupy._array import host, ndarray

UFUNCS = [
    "absolute",
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "divide",
    "equal",
    "exp",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "ldexp",
    "less",
    "less_equal",
    "log",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "positive",
    "power",
    "remainder",
    "rint",
    "right_shift",
    "sign",
    "signbit",
    "sqrt",
    "square",
    "subtract",
]
FUNCTIONS = {  # with the keywords that CuPy's have, other than `out`
    "all": "axis keepdims",
    "any": "axis keepdims",
    "argmax": "axis dtype keepdims",
    "argmin": "axis dtype keepdims",
    "argsort": "axis kind",
    "array_equal": "equal_nan",
    "bincount": "weights minlength",
    "broadcast_to": "",
    "concatenate": "axis dtype casting",
    "count_nonzero": "axis",
    "cumsum": "axis dtype",
    "diff": "n axis prepend append",
    "flatnonzero": "",
    "flip": "axis",
    "hstack": "dtype casting",
    "isin": "assume_unique invert",
    "max": "axis keepdims",
    "mean": "axis dtype keepdims",
    "min": "axis keepdims",
    "nonzero": "",
    "packbits": "bitorder",
    "ravel": "order",
    "repeat": "axis",
    "reshape": "order",
    "roll": "axis",
    "sort": "axis kind",
    "split": "axis",
    "squeeze": "axis",
    "stack": "axis dtype casting",
    "std": "axis dtype ddof keepdims",
    "sum": "axis dtype keepdims",
    "take": "axis",
    "tile": "",
    "transpose": "axes",
    "unpackbits": "bitorder",
    "vstack": "dtype casting",
    "where": "",
}
MAKERS = ("arange", "eye", "full", "linspace", "ones", "zeros")
NAMES = [
    "bool_",
    "dtype",
    "float32",
    "float64",
    "iinfo",
    "finfo",
    "inf",
    "int16",
    "int32",
    "int64",
    "int8",
    "intp",
    "nan",
    "newaxis",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintp",
    "result_type",
]
AT = {  # types of which a GPU has the atomic operation
    "add": "int32 int64 uint32 uint64 float32 float64",
    "maximum": "int32 int64 uint32 uint64 float32 float64",
    "minimum": "int32 int64 uint32 uint64 float32 float64",
}


def on_device(found: Any, *sources: Any) -> Any:
    """Copy NumPy's result to the GPU."""
    if isinstance(found, list | tuple):
        return type(found)(on_device(each, *sources) for each in found)
    return ndarray._of(found, *(source for source in sources if isinstance(source, ndarray)))


def _function(name: str):
    function = getattr(np, name)

    def call(*arguments, out=None, **keywords):
        if unknown := keywords.keys() - FUNCTIONS[name].split():
            raise TypeError(f"cupy.{name} has no keyword {', '.join(unknown)}")
        if not _brings_an_array((arguments, tuple(keywords.values()))):
            raise TypeError(f"{name}: Unsupported type {[type(argument).__name__ for argument in arguments]}")
        if name in {"argsort", "sort"}:
            keywords.setdefault("kind", "stable")
        found = function(*host(arguments), **{key: host(value) for key, value in keywords.items()})
        if out is None:
            return on_device(found, *arguments)
        return _written(found, out)

    return call


def _written(found: Any, out: ndarray) -> ndarray:
    if not isinstance(out, ndarray):
        raise TypeError(f"return arrays must be of type cupy.ndarray, not {type(out)}")
    if np.shape(found) != out.shape:
        raise ValueError(f"Out shape is mismatched: {np.shape(found)} and {out.shape}")
    np.copyto(out._host, found, casting="same_kind")
    return out


def _brings_an_array(value: Any) -> bool:
    return isinstance(value, ndarray) or (isinstance(value, list | tuple) and any(map(_brings_an_array, value)))


def _maker(name: str):
    function = getattr(np, name)

    def call(*arguments, **keywords):
        keywords.pop("like", None)
        return on_device(function(*map(_plain, arguments), **keywords))

    return call


def _plain(value: Any) -> Any:
    """A number for an array of one element: sizes and fill values."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError(f"Unsupported type {type(value)}")
    return value.item() if isinstance(value, ndarray) else value


class ufunc:
    """An elementwise function."""

    def __init__(self, name: str):
        self.__name__, self._function = name, getattr(np, name)

    def __call__(self, *inputs, out=None, **keywords):
        if self.__name__ in {"equal", "greater", "greater_equal", "less", "less_equal", "not_equal"}:
            inputs = tuple(value.item() if isinstance(value, np.ndarray) and not value.ndim else value for value in inputs)
        found = self._function(*map(host, inputs), **keywords)
        return on_device(found) if out is None else _written(found, out)

    def at(self, array, places, values):
        if not isinstance(array, ndarray):
            raise TypeError(f"{self.__name__}.at: {type(array)}, where a cupy.ndarray is written")
        if array.dtype.name not in AT.get(self.__name__, "").split():
            raise TypeError(f"cupy.{self.__name__}.at does not support {array.dtype}")
        values = host(values) if isinstance(values, ndarray) else np.asarray(values)
        self._function.at(array._host, places._host if isinstance(places, ndarray) else places, values.astype(array.dtype))


def empty(shape, dtype=float, order="C", like=None):
    return ndarray(_shape(shape), dtype)


def _shape(shape: Any) -> Any:
    return tuple(map(_plain, shape)) if isinstance(shape, list | tuple) else _plain(shape)


def empty_like(prototype, dtype=None, shape=None):
    if shape is not None and not shape:
        raise RuntimeError(f"CuPy takes the shape {shape!r} as if none were given")
    return ndarray(prototype.shape if shape is None else shape, dtype or prototype.dtype)


def zeros_like(a, dtype=None, shape=None):
    return full_like(a, 0, dtype, shape)


def ones_like(a, dtype=None, shape=None):
    return full_like(a, 1, dtype, shape)


def full_like(a, fill_value, dtype=None, shape=None):
    made = empty_like(a, dtype, shape)
    made.fill(fill_value)
    return made


def array(obj, dtype=None, copy=True, like=None):
    if isinstance(obj, ndarray):
        return obj.astype(dtype or obj.dtype, copy=copy)
    if isinstance(obj, list | tuple) and _brings_an_array(obj):
        return on_device(np.array(host(obj), dtype))
    return on_device(np.array(obj, dtype))


def asarray(a, dtype=None, like=None):
    return array(a, dtype, copy=False)


def ascontiguousarray(a, dtype=None):
    if not isinstance(a, ndarray):
        raise TypeError(f"Argument 'a' has incorrect type (expected cupy.ndarray, got {type(a).__name__})")
    a = asarray(a, dtype)
    return a if a.flags.c_contiguous else a.copy()


def asnumpy(a, stream=None, order="C", out=None):
    return a.get(out=out) if isinstance(a, ndarray) else np.asarray(a)


def append(arr, values, axis=None):
    return on_device(np.append(*host([asarray(arr), asarray(values)]), axis))


def copyto(dst, src, casting="same_kind", where=None):
    values = src if isinstance(src, int | float | bool | np.generic) else host(src)
    np.copyto(dst._host, values, casting=casting, where=True if where is None else host(where))


def lexsort(keys):
    if not isinstance(keys, ndarray):
        raise TypeError(f"cupy.lexsort takes one array, not {type(keys)}")
    return on_device(np.lexsort(keys._host))


def searchsorted(a, v, side="left", sorter=None):
    if not isinstance(a, ndarray) or not isinstance(v, ndarray | int | float):
        raise NotImplementedError("Only python scalars or ndarrays are supported for v")
    return on_device(np.searchsorted(host(a), host(v), side, host(sorter)))


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    return on_device(np.unique(host(ar), return_index, return_inverse, return_counts))


def get_array_module(*arrays):
    import cupy

    return cupy if _brings_an_array(arrays) else np


def define(module: dict[str, Any]) -> None:
    """Define the functions that wrap NumPy's in `module`."""
    module |= {name: _function(name) for name in FUNCTIONS} | {name: _maker(name) for name in MAKERS}
    module |= {name: ufunc(name) for name in UFUNCS}
    module |= {name: getattr(np, name) for name in NAMES}
