"""Functions with which a user function changes an entry that other calls may change at the same time.

Their result does not depend on the order of the calls, except for the value that `atomic_add` returns. Called from Python they do
the same, one call after another.
"""

from typing import Any

from kernels.graph import Array


def atomic_min(array: Array, place: int, value: Any) -> bool:
    """Lower `array[place]` to `value`; whether that changed it."""
    return _set(array, place, value, value < array[place])


def atomic_max(array: Array, place: int, value: Any) -> bool:
    """Raise `array[place]` to `value`; whether that changed it."""
    return _set(array, place, value, value > array[place])


def atomic_or(array: Array, place: int, value: int) -> bool:
    """Set bits of an integer; whether that changed it."""
    return _set(array, place, array[place] | value, array[place] | value != array[place])


def atomic_add(array: Array, place: int, value: int) -> int:
    """Add to an integer; what it was before, which depends on the order of the calls."""
    before = int(array[place])
    array[place] += value
    return before


def _set(array: Array, place: int, value: Any, changes: Any) -> bool:
    if changes:
        array[place] = value
    return bool(changes)


UPDATES = {function: function.__name__ for function in (atomic_min, atomic_max, atomic_or, atomic_add)}
