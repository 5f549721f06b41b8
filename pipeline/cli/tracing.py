"""The file of a run's timeline, in the format of Chrome's traces, which ui.perfetto.dev and chrome://tracing show.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernels.spans import Span, recorded
from pipeline.errors import BadConfig


@contextmanager
def traced(file: Path) -> Iterator[None]:
    """Write what happens in this block to a file, also if it fails. Raises BadConfig before the block."""
    if not file.name.endswith((".json", ".json.gz")):
        raise BadConfig(f"--trace {file}: must end in .json or .json.gz")
    if file.is_dir() or not os.access(file.parent, os.W_OK | os.X_OK):
        raise BadConfig(f"--trace {file}: cannot be written; is {file.parent} a folder in which you may write?")
    with recorded() as recorder:
        try:
            yield
        finally:
            _write(file, recorder.taken())


def _write(file: Path, spans: list[Span]) -> None:
    """Replace a file by the trace of some spans."""
    content = json.dumps({"displayTimeUnit": "ms", "traceEvents": [*_names(spans), *_events(spans)]}, allow_nan=False).encode()
    part = file.with_name(f"{file.name}.part")
    part.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    part.replace(file)


def _events(spans: list[Span]) -> Iterator[dict[str, Any]]:
    """The spans in the order in which they began; times are microseconds since the first."""
    first = min((span.begin for span in spans), default=0)
    for span in sorted(spans, key=lambda span: (span.begin, -span.duration)):
        yield {
            "ph": "X", "name": span.name, "cat": span.category, "pid": span.process, "tid": span.thread,
            "ts": (span.begin - first) / 1000, "dur": span.duration / 1000,
        }  # fmt: skip


def _names(spans: Iterable[Span]) -> Iterator[dict[str, Any]]:
    """What processes and threads are called."""
    threads = {(span.process, span.thread): span.thread_name for span in spans}
    for process in sorted({process for process, _ in threads}):
        name = "graphmill run" if process == os.getpid() else "worker"
        yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
    for (process, thread), name in sorted(threads.items()):
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": name}}
