"""NCCL between threads. A group is done when it ends: kernels, which may follow it on the stream, run when they are launched."""

from __future__ import annotations

from tests.sharded.fake_nccl import current_stream, library

globals().update(vars(library()))
_end_group = groupEnd  # noqa: F821


def groupEnd() -> None:
    _end_group()
    current_stream().synchronize()
