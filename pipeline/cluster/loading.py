"""What a worker imports before its first task."""

import sys
from collections.abc import Sequence
from importlib import import_module

from pipeline.runtime.backend import Backend
from pipeline.runtime.early import hide_pandas, load_kernels
from pipeline.runtime.interpreter import prepare_interpreter


def loaded_modules() -> list[str]:
    """The modules of kernels and of steps that this process has imported; its workers will need most of them."""
    return [name for name in sys.modules.copy() if name.startswith(("kernels.", "pipeline.steps."))]


def load(backend: Backend, modules: Sequence[str]) -> None:
    """Import the compiler of kernels, and modules."""
    prepare_interpreter()
    hide_pandas()
    load_kernels(backend)
    for name in modules:
        import_module(name)
