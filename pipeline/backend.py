"""Where the arrays of a step live: in this machine's memory, or in its GPU's. The tables do not depend on it."""

from __future__ import annotations

from typing import Literal

from kernels.cuda import device_count
from pipeline.errors import BadConfig

Backend = Literal["cpu", "gpu"]
Choice = Literal["auto", "cpu", "gpu"]


def choose(choice: Choice) -> Backend:
    """The backend of a run: `auto` takes the GPU where CuPy is installed and finds one.

    Raises
    ------
    BadConfig
        `gpu` is asked for, and there is none.
    """
    if choice == "auto":
        return "gpu" if device_count() else "cpu"
    if choice == "gpu" and not device_count():
        raise BadConfig("backend: a GPU is asked for, but CuPy is not installed (pip install 'graphmill[gpu]') or finds none")
    return choice
