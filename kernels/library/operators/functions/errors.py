"""What is wrong with a user function: before it runs (unsupported syntax), and while it runs."""

import linecache

import numpy as np

from kernels.library.operators.functions.tree import MOST_STEPS, Function


class UserFunctionError(Exception):
    """A user function cannot be compiled, or failed; the message has the file, the line and its text.

    Attributes:
        file, line: Where.
        row: The row for which it failed; the smallest one, if it failed for several.
        reason: The message without the place.
    """

    def __init__(self, file: str, line: int, reason: str, row: int | None = None) -> None:
        self.file, self.line, self.row, self.reason = file, line, row, reason
        super().__init__(f"{file}, line {line}: {reason}\n    {linecache.getline(file, line).strip()}")


def failure(function: Function, row: int, arc: int, site: int, values: tuple[int, int]) -> UserFunctionError:
    """The error of the check `site` (from 1) in a call for `row`, and for `arc` unless that is negative."""
    line, kind, name, of_type = function.sites[site - 1]
    value = np.int64(values[0]).view(np.float64) if of_type in "fd" else values[0]
    reason = {
        "index": f"index {value} is not in 0..{values[1] - 1}, the entries of {name}",
        "division": f"{value} {name} 0 divides by zero",
        "shift": f"{name} by {value} bits, where 0..63 are possible",
        "conversion": f"int({value}) is beyond int64",
        "steps": f"the loops of one call take more than {MOST_STEPS} turns",
    }[kind]
    where = f"row {row}" + (f", arc {arc}" if arc >= 0 else "")
    return UserFunctionError(function.file, line, f"{reason} ({function.name}, {where})", row)
