"""`cupy.ndarray`: a NumPy array in the emulated GPU's memory that refuses to be used as a NumPy array."""

import ctypes
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from cupy import _memory

_SCALARS = int | float | complex | bool | np.generic


class ndarray(NDArrayOperatorsMixin):
    """An array on the GPU. `data` points to it; `_host` is a NumPy view of it, which never leaves the substitute."""

    __module__ = "cupy"
    __hash__ = None

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        dtype, shape = np.dtype(dtype), tuple(shape) if isinstance(shape, list | tuple) else (int(shape),)
        if dtype.kind not in "biufc" or dtype == np.longdouble:
            raise ValueError(f"Unsupported dtype {dtype}")
        size = prod(shape) * dtype.itemsize
        self.data = _memory.alloc(size) if memptr is None else memptr
        self._host = _seen(self.data, shape, dtype, strides)

    @classmethod
    def _of(cls, found: Any, *sources: "ndarray") -> "ndarray":
        """Wrap NumPy's result: a view of a source if it shares its memory, otherwise a new array."""
        found = np.asarray(found)
        place = found.__array_interface__["data"][0]
        for source in sources:
            memory = source.data.mem
            if found.size and memory.ptr <= place < memory.ptr + memory.size:
                return cls(found.shape, found.dtype, _memory.MemoryPointer(memory, place - memory.ptr), found.strides)
        new = cls(found.shape, found.dtype)
        new._host[...] = found
        return new

    shape = property(lambda self: self._host.shape)
    strides = property(lambda self: self._host.strides)
    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    itemsize = property(lambda self: self._host.itemsize)
    nbytes = property(lambda self: self._host.nbytes)
    flags = property(lambda self: self._host.flags)
    T = property(lambda self: self._of(self._host.T, self))

    @property
    def device(self):
        from cupy.cuda import Device

        return Device(0)

    def get(self, stream=None, order="C", out=None, blocking=True):
        if out is None:
            return self._host.copy()
        if not isinstance(out, np.ndarray) or (out.shape, out.dtype) != (self.shape, self.dtype):
            raise TypeError("`out` has to be a numpy.ndarray of the same shape and type")
        out[...] = self._host
        return out

    def set(self, arr, stream=None):
        if not isinstance(arr, np.ndarray) or (arr.shape, arr.dtype) != (self.shape, self.dtype):
            raise ValueError("only a numpy.ndarray of the same shape and type can be set")
        self._host[...] = arr

    def item(self):
        return self._host.item()

    def tolist(self):
        return self._host.tolist()

    def tobytes(self):
        return self._host.tobytes()

    def fill(self, value):
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        self._host.fill(host(value) if isinstance(value, ndarray) else value)

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True):
        return self if not copy and np.dtype(dtype) == self.dtype else self._of(_converted(self._host, np.dtype(dtype)))

    def copy(self, order="C"):
        return self._of(self._host.copy())

    def view(self, dtype=None):
        return self._of(self._host if dtype is None else self._host.view(dtype), self)

    def reshape(self, *shape):
        return self._of(self._host.reshape(*shape), self)

    def sort(self):
        self._host.sort(kind="stable")

    def __len__(self):
        return len(self._host)

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    def __getitem__(self, places):
        return self._of(self._host[_indices(places)], self)

    def __setitem__(self, places, value):
        if isinstance(value, np.ndarray) and value.ndim:
            each = places if isinstance(places, tuple) else (places,)
            if type(places) is slice and places == slice(None):
                self.set(value)
                return
            if not any(isinstance(place, ndarray | np.ndarray | list) for place in each):
                raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        places, value = _indices(places), value._host if isinstance(value, ndarray) else value
        _refuse_contest(places, value)
        self._host[places] = value

    def __bool__(self):
        return bool(self._host)

    def __int__(self):
        return int(self._host)

    def __index__(self):
        return self._host.__index__()

    def __float__(self):
        return float(self._host)

    def __repr__(self):
        return repr(self._host)

    def __format__(self, how):
        return format(self.get(), how)

    def __reduce__(self):
        from cupy import array

        return array, (self.get(),)

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        import cupy

        if ufunc.__name__ not in cupy.UFUNCS or method not in {"__call__", "at"}:
            return NotImplemented
        (out,) = keywords.pop("out", (None,))
        if method == "at":
            return getattr(cupy, ufunc.__name__).at(*inputs, **keywords)
        for value in (*inputs, *([] if out is None else [out])):
            if not isinstance(value, ndarray | np.ndarray | _SCALARS):
                return NotImplemented
        return getattr(cupy, ufunc.__name__)(*inputs, out=out, **keywords)

    def __array_function__(self, function, types, arguments, keywords):
        import cupy

        if function in (np.full, np.ones):  # with `like=`, of which NumPy 2.5 refuses them for other arrays than its own
            return NotImplemented
        if function.__module__ != "numpy" or not hasattr(cupy, function.__name__):
            return NotImplemented
        if not all(issubclass(kind, ndarray | np.ndarray) for kind in types):
            return NotImplemented
        return getattr(cupy, function.__name__)(*arguments, **keywords)


def _method(name: str):
    def call(self, *arguments, **keywords):
        import cupy

        return getattr(cupy, name)(self, *arguments, **keywords)

    return call


for _name in (
    "all", "any", "argmax", "argmin", "argsort", "cumsum", "max", "mean", "min", "nonzero", "ravel", "repeat", "searchsorted",
    "squeeze", "std", "sum", "take", "transpose",
):  # fmt: skip
    setattr(ndarray, _name, _method(_name))


def host(value: Any) -> Any:
    """NumPy views of GPU arrays, also in lists; NumPy's own arrays are refused, as CuPy refuses them."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, list | tuple):
        return type(value)(host(each) for each in value)
    return value


def _converted(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The values in another type; a GPU makes a float that an integer type cannot hold the nearest integer that it can hold."""
    with np.errstate(invalid="ignore"):
        found = values.astype(dtype)
    if values.dtype.kind == "f" and dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        found[values <= np.float64(least)] = least
        found[values >= np.float64(most)] = most
        found[np.isnan(values)] = 0 if dtype.itemsize < 8 else 1 << 63 if dtype.kind == "u" else least
    return found


def _seen(data: Any, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None) -> np.ndarray:
    """NumPy's view of memory from `data` on, which it keeps alive."""
    if 0 in shape:
        return np.empty(shape, dtype)
    if strides is None:
        strides = _strides(shape, dtype)
    before = -sum((length - 1) * step for length, step in zip(shape, strides, strict=True) if step < 0)
    size = sum((length - 1) * abs(step) for length, step in zip(shape, strides, strict=True)) + dtype.itemsize
    bytes_there = (ctypes.c_char * size).from_address(data.ptr - before)
    bytes_there.memory = data.mem
    return np.ndarray(shape, dtype, bytes_there, offset=before, strides=strides)


def _strides(shape: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    return tuple(accumulate(shape[:0:-1], mul, initial=dtype.itemsize))[::-1] if shape else ()


def _indices(places: Any) -> Any:
    """NumPy's index for CuPy's index, which may contain arrays of both kinds, also 0-d ones."""
    if isinstance(places, tuple):
        return tuple(_indices(place) for place in places)
    return places._host if isinstance(places, ndarray) else places


def _refuse_contest(places: Any, value: Any) -> None:
    """Refuse several values for one element: on a GPU it is undefined which one is stored."""
    if isinstance(places, np.ndarray) and places.ndim == 1 and places.dtype.kind in "iu" and np.ndim(value):
        values = np.broadcast_to(value, (len(places), *np.shape(value)[1:]))
        order = np.argsort(places, kind="stable")
        repeats = places[order[1:]] == places[order[:-1]]
        if (values[order[1:]][repeats] != values[order[:-1]][repeats]).any():
            raise RuntimeError("an element is assigned several values at once: which of them stays is undefined on a GPU")
