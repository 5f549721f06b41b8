"""Values that are computed once from an immutable owner and kept as long as the owner lives."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Value = TypeVar("Value")
_MISSING: Any = object()


class Derived:
    """Cache of one owner (a graph, a shard, an index): plans and layouts that a kernel derives from the owner's arrays.

    The owner holds it in a field, so its lifetime is the owner's. Keys are functions or tuples that begin with one, so two
    modules cannot use the same key for different values. Not safe for two threads that ask for the same key at the same time,
    beyond computing the value twice.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of `key`; the first call computes it with `make`."""
        value: Value = self._values.get(key, _MISSING)
        if value is _MISSING:
            value = self._values[key] = make()
        return value

    def put(self, key: Hashable, value: object) -> None:
        """Replace the value of `key`."""
        self._values[key] = value

    def discard(self, key: Hashable) -> None:
        """Forget the value of `key`, if there is one."""
        self._values.pop(key, None)
