"""Arrays on the disk, one `.npy` file each, opened as read-only memory maps or read block by block."""

import ctypes
import math
import mmap
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from io import BytesIO, RawIOBase
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Self

import numpy as np
import pyarrow as pa

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import over_items
from kernels.graph import Array
from pipeline.errors import Damaged
from pipeline.runtime.threads import Turns
from pipeline.store.digests import Digest

_CHUNK = 2**22  # bytes that a thread writes at a time; no more than STAGED_BYTES
_WORTH_THREADS = 2**26  # bytes
_FILES = 4  # that are saved at a time in the background, each on all cores
_WINDOW = 2**25  # bytes that the disk writes while the next ones are made
_BEGIN, _WAIT = 2, 7  # flags of `sync_file_range`: begin to write, and wait until all is written
_parsing = Lock()  # of a header: Python 3.11 counts the parser's depth for all threads together and fails where two parse

_sync_file_range = getattr(ctypes.CDLL(None), "sync_file_range", None)  # Linux's
if _sync_file_range:
    _sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)


def dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """The NumPy type of numbers, truth values or lists of an Arrow type; Arrow's own conversion may need pandas."""
    if pa.types.is_list(kind):
        return np.dtype(object)
    if pa.types.is_boolean(kind):
        return np.dtype(np.bool_)
    letter = "f" if pa.types.is_floating(kind) else "i" if pa.types.is_signed_integer(kind) else "u"
    return np.dtype(f"{letter}{kind.bit_width // 8}")


def save_array(path: Path, array: Array) -> str | None:
    """Save a NumPy or CuPy array as `np.save` does, on all cores; an error of the file names its cause, such as a full disk.

    Returns:
        The digest of the bytes of a CuPy array and its header, computed from the memory that is written; None for NumPy's.
    """
    header, hashes = _header(array.dtype, array.shape), is_cupy_array(array)
    flat, to_host = _fetched(array) if hashes else (array.reshape(-1), np.ascontiguousarray)
    end, one_at_a_time, digest, turns = len(header) + array.nbytes, Lock(), Digest(), Turns()

    def chunk(begin: int) -> list[memoryview]:
        """The bytes of the file from `begin` on; the first chunk begins with the header."""
        first, last = (max(0, at - len(header)) // array.itemsize for at in (begin, min(begin + _CHUNK, end)))
        values = [to_host(flat[first:last]).view(np.uint8).data] if first < last else []
        return values if begin else [memoryview(header), *values]

    def write(file: int, begin: int) -> None:
        number, parts = begin // _CHUNK, list[memoryview]()
        begin = max(begin, len(header)) if begin else 0
        try:
            parts = chunk(number * _CHUNK)
            for rest in parts:
                done = 0
                while done < len(rest):
                    with one_at_a_time:  # the kernel lets only one thread write to a file, and others spin
                        done += os.pwrite(file, rest[done:], begin + done)
                begin += len(rest)
        finally:  # after an error, too: other threads wait for their turn
            with turns.turn(number):
                for part in parts if hashes else ():
                    digest.update(part)

    with path.open("wb", buffering=0) as file:
        over_items(range(0, end, _CHUNK), partial(write, file.fileno()), parallel=end > _WORTH_THREADS)
    return digest.hexdigest() if hashes else None


class SteadyFile:
    """A file that is written from its begin to its end, and that the disk writes at the same time.

    Of a control group the kernel can only give up pages that are on the disk; it ends a process that has made too many others.
    """

    def __init__(self, file: RawIOBase) -> None:
        self._file, self._written = file, 0
        self._begun = self._done = 0  # where the bytes begin of which the disk has not begun to write, or has not written

    def append(self, array: Array) -> None:
        """Write the entries of an array."""
        rest = np.ascontiguousarray(array).view(np.uint8).data
        while len(rest):
            count = self._file.write(rest[:_WINDOW]) or 0
            rest, self._written = rest[count:], self._written + count
            if self._written - self._begun >= _WINDOW and _sync_file_range:
                _sync_file_range(self._file.fileno(), self._begun, self._written - self._begun, _BEGIN)
                if self._begun > self._done:  # 0 bytes would stand for all
                    _sync_file_range(self._file.fileno(), self._done, self._begun - self._done, _WAIT)
                self._begun, self._done = self._written, self._begun


class GrowingFile:
    """An array [n] that is written piece by piece, so that memory never has all of it; the file is that of `save_array`."""

    def __init__(self, path: Path, dtype: np.dtype[Any], length: int) -> None:
        self._file, self._left = path.open("wb", buffering=0), length
        self._steady = SteadyFile(self._file)
        self._steady.append(np.frombuffer(_header(dtype, (length,)), np.uint8))

    def append(self, piece: Array) -> None:
        """Write the next entries."""
        self._left -= len(piece)
        self._steady.append(piece)

    def close(self) -> None:
        """All entries have been written."""
        self._file.close()
        assert not self._left


class SpilledArray:
    """An array that is made piece by piece in a file without a name, and then mapped: the kernel removes it with its last map."""

    def __init__(self, folder: Path, dtype: np.dtype[Any]) -> None:
        self._file, self._dtype, self._length = TemporaryFile(dir=folder, buffering=0), dtype, 0  # noqa: SIM115
        self._steady = SteadyFile(self._file)

    def append(self, piece: Array) -> None:
        """Write the next entries."""
        self._length += len(piece)
        self._steady.append(piece)

    def close(self) -> Array:
        """All of it, read-only. Raises OSError if the disk could not write it; the kernel would forget what is not written."""
        with self._file:
            if not self._length:
                return np.empty(0, self._dtype)
            os.fsync(self._file.fileno())
            return np.frombuffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ), self._dtype)


class Background:
    """Saves arrays, which do not change, while other work goes on. At the end of the block all files are complete."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_FILES)
        self._saving: dict[Path, Future[str | None]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def save(self, path: Path, array: Array) -> None:
        """Begin `save_array`."""
        self._saving[path] = self._pool.submit(save_array, path, array)

    def finish(self) -> dict[Path, str]:
        """Wait for all files, and return the digests of CuPy arrays. Raises what saving them raised."""
        digests = {path: saving.result() for path, saving in self._saving.items()}
        return {path: digest for path, digest in digests.items() if digest}


def _fetched(array: Array) -> tuple[Array, Callable[[Array], Array]]:
    """A flat view of a CuPy array, and what copies a chunk of it to memory of this thread; pinned arrays are not copied."""
    from kernels.distributed.gpu.memory import Staging, in_host_memory

    there = in_host_memory(array.reshape(-1))
    return there, Staging(array.device).fetch if is_cupy_array(there) else np.ascontiguousarray


def bytes_of_arrays(folder: Path) -> int:
    """Bytes of all arrays in a folder and the folders in it, such as those of a stored graph."""
    return sum(path.stat().st_size for path in folder.rglob("*.npy"))


def load_array(path: Path, dtype: np.dtype[Any], *shape: int) -> Array:
    """Map an array as a plain read-only ndarray without a copy. Raises Damaged if its type or shape differs."""
    expected = _header(dtype, shape)
    try:
        with path.open("rb") as file:
            if file.read(len(expected)) == expected:  # parsing it is slow, and one thread at a time can
                count = math.prod(shape)
                mapped = mmap.mmap(file.fileno(), len(expected) + count * dtype.itemsize, access=mmap.ACCESS_READ)
                return np.frombuffer(mapped, dtype, count, len(expected)).reshape(shape)
        with _parsing:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise Damaged(f"{path}: {error}") from None
    if array.dtype != dtype or array.shape != shape:
        raise Damaged(f"{path}: {array.dtype} {array.shape}, the manifest says {dtype} {shape}")
    return np.asarray(array)


def create_array(path: Path, dtype: np.dtype[Any], *shape: int) -> None:
    """Create an array of zeros as `save_array` would write it, for `write_slice` to fill."""
    with path.open("wb") as file:
        file.truncate(file.write(_header(dtype, shape)) + dtype.itemsize * math.prod(shape))


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The first bytes of a file."""
    file = BytesIO()
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def write_slice(path: Path, first: int, values: Array) -> None:
    """Write consecutive entries in C order, from entry `first` on. Several processes may write different entries."""
    with path.open("r+b") as file:
        np.lib.format.read_magic(file)
        with _parsing:
            np.lib.format.read_array_header_1_0(file)
        file.seek(first * values.itemsize, os.SEEK_CUR)
        file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


class ArrayFile:
    """An array on the disk of which slices are read; the pages of a memory map would count as memory of this process.

    Raises Damaged if its type or length differs.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any], length: int) -> None:
        load_array(path, dtype, length)
        self._path, self._length, self.dtype = path, length, dtype
        self._begin = path.stat().st_size - length * dtype.itemsize

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, block: slice) -> Array:
        first, stop, _ = block.indices(self._length)
        count = max(stop - first, 0)
        return np.fromfile(self._path, self.dtype, count, offset=self._begin + first * self.dtype.itemsize)
