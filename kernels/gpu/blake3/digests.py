"""BLAKE3 digests of files whose bytes are those of an array on the GPU, so that the host need not read them (blake3.cu)."""

import cupy
import numpy as np

from kernels.gpu.blake3.constants import BLAKE3_CHUNK_WORDS, BLAKE3_DIGEST_WORDS, BLAKE3_THREADS
from kernels.gpu.loader import launch, to_host
from kernels.graph import Array

_SOURCE = "gpu/blake3/blake3.cu"
_WORD = np.dtype("<u4")
_PART = 1 << 20  # leaves that are joined at a time, a power of two: their nodes take 48 MiB


def digest_of(header: bytes, array: Array, part: int = _PART) -> Array:
    """The BLAKE3 digest of a file that has a header, and then an array: uint32 [8] on the GPU, which may still compute it.

    Args:
        header: A positive multiple of 64 bytes.
        array: Contiguous, of CuPy, its elements a multiple of 4 bytes; in the GPU's memory or in pinned memory of the host.
        part: Leaves that are joined at a time, a power of two; a leaf has 1024 bytes.
    """
    first = cupy.asarray(np.frombuffer(header, _WORD))
    words = len(first) + array.nbytes // _WORD.itemsize
    leaves = -(-words // BLAKE3_CHUNK_WORDS)
    begins = range(0, leaves, part)
    tops = cupy.empty((len(begins), BLAKE3_DIGEST_WORDS), _WORD)
    for number, begin in enumerate(begins):
        count = min(part, leaves - begin)
        nodes = cupy.empty((count, BLAKE3_DIGEST_WORDS), _WORD)
        sizes = np.int64(words), np.int64(begin), np.int64(count), np.int32(leaves == 1)
        launch(_SOURCE, "hash_leaves", BLAKE3_THREADS, count, first, np.int64(len(first)), array, *sizes, nodes)
        tops[number] = _joined(nodes, len(begins) == 1)
    return _joined(tops, True)


def text_of(digest: Array) -> str:
    """A digest in hexadecimal digits; waits for it."""
    return bytes(to_host(digest).data).hex()


def _joined(nodes: Array, to_root: bool) -> Array:
    """The node above all of these, uint32 [8]; `to_root`: it is the tree's root."""
    while (count := len(nodes)) > 1:
        above = cupy.empty((-(-count // 2), BLAKE3_DIGEST_WORDS), _WORD)
        root = np.int32(to_root and count == 2)
        launch(_SOURCE, "join_nodes", BLAKE3_THREADS, len(above), nodes, np.int64(count), root, above)
        nodes = above
    top: Array = nodes[0]
    return top
