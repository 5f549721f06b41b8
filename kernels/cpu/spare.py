"""Arrays that threads use one at a time, kept for the next one that needs some."""

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Spare(Generic[Value]):
    """Values that are not in use, made by `make` when there are none. Any number of threads may take and return them."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make, self._values = make, list[Value]()

    def take(self) -> Value:
        """A value that nothing else uses."""
        try:
            return self._values.pop()
        except IndexError:
            return self._make()

    def release(self, value: Value) -> None:
        """Keep a value for the next one who takes it, in the state in which `make` leaves one."""
        self._values.append(value)
