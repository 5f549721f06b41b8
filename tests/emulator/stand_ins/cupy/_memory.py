"""Memory of the emulated GPU: each allocation ends at a page without access rights, and is poisoned before its first use."""

import ctypes
import mmap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

_PAGE = mmap.PAGESIZE
_ALIGNED = 16
_POISON = 0xCB
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Memory:
    """`size` bytes at `ptr`, which is 0 if `size` is 0."""

    def __init__(self, size: int):
        self.size, self.ptr, self._reserved = size, 0, 0
        if not size:
            return
        self._reserved = -(-size // _PAGE) * _PAGE
        self._pages = _libc.mmap(
            None, self._reserved + _PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
        )
        if self._pages == ctypes.c_void_p(-1).value:
            self._reserved = 0
            raise MemoryError(f"the emulated GPU cannot allocate {size} bytes")
        _libc.mprotect(self._pages + self._reserved, _PAGE, 0)
        ctypes.memset(self._pages, _POISON, self._reserved)
        self.ptr = self._pages + (self._reserved - size) // _ALIGNED * _ALIGNED

    def intact(self) -> bool:
        """Whether the bytes before and after it are unchanged."""
        before, behind = self.ptr - self._pages if self._reserved else 0, 0
        if self._reserved:
            behind = self._pages + self._reserved - self.ptr - self.size
        poison = bytes([_POISON])
        return not self._reserved or (
            ctypes.string_at(self._pages, before) == poison * before
            and ctypes.string_at(self.ptr + self.size, behind) == poison * behind
        )

    def __del__(self):
        if self._reserved:
            _libc.munmap(self._pages, self._reserved + _PAGE)


class UnownedMemory:
    """Memory that belongs to `owner`."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1):
        self.ptr, self.size, self._owner = ptr, size, owner

    def intact(self) -> bool:
        return True


class PinnedMemory:
    """Host memory that a GPU can access."""

    places: ClassVar[dict[int, int]] = {}  # sizes by place, of what there is

    def __init__(self, size: int):
        self._memory = Memory(size)
        self.ptr, self.size = self._memory.ptr, size
        self.places[self.ptr] = size

    def __del__(self):
        del self.places[self.ptr]


class PinnedMemoryPool:
    """Counts blocks as CuPy's pool does: freed blocks stay there until all of them are given back."""

    def __init__(self):
        self._free = 0

    def malloc(self, size: int) -> PinnedMemory:
        return _PooledPinned(size, self)

    def n_free_blocks(self) -> int:
        return self._free

    def free_all_blocks(self) -> None:
        self._free = 0

    def take_back(self) -> None:
        self._free += 1


class _PooledPinned(PinnedMemory):
    """Pinned memory of a pool, which is notified when it is freed."""

    def __init__(self, size: int, pool: PinnedMemoryPool):
        super().__init__(size)
        self._pool = pool

    def __del__(self):
        super().__del__()
        self._pool.take_back()


default_pinned_pool = PinnedMemoryPool()


def pinned_memory_pointer(memory: PinnedMemory, offset: int):
    """The buffer protocol of `cupy.cuda.PinnedMemoryPointer`."""
    buffer = (ctypes.c_char * (memory.size - offset)).from_address(memory.ptr + offset)
    buffer.memory = memory
    return buffer


class MemoryPointer:
    """A pointer into memory, which it keeps alive."""

    def __init__(self, mem, offset: int):
        self.mem, self.ptr = mem, mem.ptr + offset

    def memset_async(self, value: int, size: int) -> None:
        ctypes.memset(self.ptr, value, size)

    def copy_from_device_async(self, src: "MemoryPointer", size: int) -> None:
        ctypes.memmove(self.ptr, src.ptr, size)


class _Pooled(Memory):
    """Memory of a pool, which is notified when it is freed."""

    def __init__(self, size: int, pool: "MemoryPool"):
        super().__init__(size)
        self._pool, self._taken = pool, -(-size // 512) * 512
        pool._take(self._taken)

    def __del__(self):
        super().__del__()
        if hasattr(self, "_taken"):
            self._pool._take(-self._taken)


class OutOfMemoryError(MemoryError):
    pass


class MemoryPool:
    """Counts bytes as CuPy's pool does: freed memory stays in the pool, and what is used does not exceed a limit."""

    def __init__(self):
        self._used = self._total = self._limit = 0
        self._lock = threading.RLock()

    def malloc(self, size: int) -> MemoryPointer:
        if self._limit and self._used + -(-size // 512) * 512 > self._limit:
            raise OutOfMemoryError(f"Out of memory allocating {size} bytes (limit set to: {self._limit} bytes)")
        return MemoryPointer(_Pooled(size, self), 0)

    def set_limit(self, size: int) -> None:
        self._limit = size

    def get_limit(self) -> int:
        return self._limit

    def used_bytes(self) -> int:
        return self._used

    def total_bytes(self) -> int:
        return self._total

    def free_bytes(self) -> int:
        return self._total - self._used

    def free_all_blocks(self) -> None:
        self._total = self._used

    def _take(self, size: int) -> None:
        with self._lock:
            self._used += size
            self._total = max(self._total, self._used)
        for hook in MemoryHook.entered:
            (hook.malloc_postprocess if size > 0 else hook.free_postprocess)(mem_size=abs(size))


default_pool = MemoryPool()
_allocator: Callable[[int], MemoryPointer] = default_pool.malloc
_of_thread = threading.local()


def alloc(size: int) -> MemoryPointer:
    return (getattr(_of_thread, "allocator", None) or _allocator)(size)


def set_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> None:
    global _allocator  # noqa: PLW0603
    _allocator = allocator or (lambda size: MemoryPointer(Memory(size), 0))


@contextmanager
def using_allocator(allocator: Callable[[int], MemoryPointer]) -> Iterator[None]:
    _of_thread.allocator = allocator
    try:
        yield
    finally:
        _of_thread.allocator = None


class MemoryHook:
    """Its methods are called for what the pools give and take back, while it is entered."""

    entered: ClassVar[list["MemoryHook"]] = []

    def __enter__(self):
        self.entered.append(self)
        return self

    def __exit__(self, *_):
        self.entered.remove(self)

    def malloc_postprocess(self, **block: int) -> None:
        pass

    def free_postprocess(self, **block: int) -> None:
        pass
