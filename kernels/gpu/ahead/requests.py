"""What is compiled ahead: sources of the project with their macros, and sources that CuPy makes, with their options."""

import json
from contextlib import suppress
from typing import Any

import numpy as np

from kernels.gpu.ahead.turn import REQUESTS

Request = dict[str, Any]  # `kernel` and `macros` of a source of the project, or `text` and `options` of one that CuPy makes


def requests() -> list[Request]:
    """The requests of `requests.json`, those of more kinds of runs first, and then in the order in which they are needed."""
    stored: list[Request] = json.loads(REQUESTS.read_text(encoding="utf-8"))
    return stored


def compile_one(request: Request) -> None:
    """Compile a request for the current GPU, and keep the code. One that fails is left to the process that needs it."""
    from kernels.gpu.cupy_internals import keep_compiled
    from kernels.gpu.loader import code_of, options

    with suppress(Exception):
        if "kernel" in request:
            macros = {name: value if isinstance(value, int) else np.dtype(value) for name, value in request["macros"].items()}
            keep_compiled(code_of(request["kernel"]), options(request["kernel"], **macros))
        else:
            keep_compiled(request["text"], tuple(request["options"]))
