"""NCCL between threads. A group completes when it ends, because kernels run synchronously when they are launched."""

from tests.sharded.fake_nccl import current_stream, library

globals().update(vars(library()))
_end_group = groupEnd  # noqa: F821


def groupEnd() -> None:
    _end_group()
    current_stream().synchronize()
