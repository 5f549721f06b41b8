"""How a run calls its steps: as functions, or as the tasks of a flow."""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Call(Protocol):
    """How a run calls its steps."""

    def __call__(self, name: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return `step(*args, **kwargs)`; `name` is for people."""


def directly(_: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a step as a function."""
    return step(*args, **kwargs)
