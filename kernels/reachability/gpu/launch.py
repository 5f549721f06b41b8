"""How the kernels of the reachability index are launched."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import cooperative

_THREADS = 512  # as in the sources


def launch(source: str, name: str, items: int, row: np.dtype[Any], *arguments: Any) -> None:
    """Launch one thread for each item, or as many as the GPU holds at a time; none for no items."""
    if items:
        kernel, blocks = cooperative(f"reachability/gpu/cu/{source}.cu", name, _THREADS, cupy.cuda.Device().id, ROW=row)
        kernel((min(blocks, -(-items // _THREADS)),), (_THREADS,), arguments)
