"""Arrays on the disk, one `.npy` file each, opened as read-only memory maps or read block by block."""

import ctypes
import math
import mmap
import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from io import BytesIO, FileIO, RawIOBase
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Self

import numpy as np
import pyarrow as pa

from kernels.arrays import is_cupy_array
from kernels.cpu.staying import StayingThreads
from kernels.graph import Array
from pipeline.errors import Damaged

_PART = 2**22  # bytes that are written at a time: of pinned memory, as much as `STAGED_BYTES`, which CuPy's pool then has
_FILES = 4  # that are saved at a time in the background, each by a thread
_OPEN = 16  # files that wait to be saved in the background, at most; each of a GPU has pinned two parts
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


def save_array(path: Path, array: Array) -> None:
    """Save a NumPy or CuPy array as `np.save` does; an error of the file names its cause, such as a full disk."""
    with path.open("wb", buffering=0) as file:
        _write(file, array, _parts(array))


def _write(file: RawIOBase, array: Array, parts: Iterator[memoryview]) -> None:
    """Write a file in large parts: the kernel lets only one thread write to it, and each part may have to wait for the GIL."""
    for part in chain([memoryview(_header(array.dtype, array.shape))], parts):
        rest = part
        while rest:
            rest = rest[file.write(rest) or 0 :]


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
    """Saves arrays, which do not change, while other work goes on. At the end of the block all files are complete.

    Who opens a file by `load_array` in this process waits until it is complete; its folder may get another name.
    """

    def __init__(self) -> None:
        self._pool = StayingThreads(_FILES)
        self._saving: dict[Path, Future[None]] = {}
        self._digests: dict[Path, Array] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def save(self, path: Path, array: Array) -> None:
        """Begin to save an array; the file has its size at once. The GPU hashes one of CuPy.

        Raises MemoryError if memory of the host or the GPU that this takes is missing.
        """
        header = _header(array.dtype, array.shape)
        if is_cupy_array(array):
            from kernels.gpu.blake3.digests import digest_of

            self._digests[path] = digest_of(header, array)
        if len(waiting := [saving for saving in self._saving.values() if not saving.done()]) >= _OPEN:
            wait(waiting, return_when=FIRST_COMPLETED)
        parts, file = _parts(array), path.open("wb", buffering=0)
        file.truncate(len(header) + array.nbytes)
        key = _begun(file)
        try:
            self._saving[path] = self._pool.submit(_save_opened, file, array, parts, key)
        except RuntimeError:  # no thread can be started: nobody must wait for this file
            del _unfinished[key]
            file.close()
            raise

    def digests(self) -> dict[Path, str]:
        """The digests of CuPy's arrays as files, which need not be complete; they are given once."""
        if not self._digests:
            return {}
        from kernels.gpu.blake3.digests import text_of

        digests, self._digests = self._digests, {}  # whose memory is the GPU's
        return {path: text_of(digest) for path, digest in digests.items()}

    def finish(self) -> None:
        """Wait for all files. Raises what saving them raised."""
        for saving in self._saving.values():
            saving.result()


_unfinished: dict[tuple[int, int], Future[None]] = {}  # by device and inode: files that this process is saving


def _begun(file: FileIO) -> tuple[int, int]:
    """Make those who open a file wait until it is complete."""
    status = os.fstat(file.fileno())
    _unfinished[status.st_dev, status.st_ino] = Future()
    return status.st_dev, status.st_ino


def _save_opened(file: FileIO, array: Array, parts: Iterator[memoryview], key: tuple[int, int]) -> None:
    """Write an array into an open file, which is then closed, and let those go on who wait for it."""
    written = _unfinished[key]
    with file:  # while it is open, no other file has its inode
        try:
            _write(file, array, parts)
        except BaseException as error:
            with suppress(OSError):
                file.truncate(0)  # so that nobody takes it for an array whose last entries are 0
            written.set_exception(error)
            raise
        else:
            written.set_result(None)
        finally:
            del _unfinished[key]


def _parts(array: Array) -> Iterator[memoryview]:
    """The bytes of an array in parts, each valid until the next one is asked for; pinned arrays are not copied."""
    if not is_cupy_array(array):
        flat = array.reshape(-1)
        step = max(1, _PART // max(1, array.itemsize))
        return (np.ascontiguousarray(flat[at : at + step]).view(np.uint8).data for at in range(0, array.size, step))
    from kernels.distributed.gpu.memory import fetched_ahead, in_host_memory

    there = in_host_memory(array.reshape(-1))
    if not is_cupy_array(there):
        return _parts(there)
    return (part.view(np.uint8).data for part in fetched_ahead(there, _PART))


def bytes_of_arrays(folder: Path) -> int:
    """Bytes of all arrays in a folder and the folders in it, such as those of a stored graph."""
    return sum(path.stat().st_size for path in folder.rglob("*.npy"))


def load_array(path: Path, dtype: np.dtype[Any], *shape: int) -> Array:
    """Map an array as a plain read-only ndarray without a copy. Raises Damaged if its type or shape differs."""
    expected = _header(dtype, shape)
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if written := _unfinished.get((status.st_dev, status.st_ino)):
                written.result()
            if file.read(len(expected)) == expected:  # parsing it is slow, and one thread at a time can
                count = math.prod(shape)
                mapped = mmap.mmap(file.fileno(), len(expected) + count * dtype.itemsize, access=mmap.ACCESS_READ)
                return np.frombuffer(mapped, dtype, count, len(expected)).reshape(shape)
        with _parsing:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
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
