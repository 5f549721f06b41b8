"""Parse a block of lines without the bad ones among them."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pipeline.errors import BadInput
from pipeline.ingest.fields import Fault
from pipeline.ingest.formats.text import CARRIAGE_RETURN, FEW_LINES, Block, Tidied, halved_at
from pipeline.ingest.values.rejects import Rejected, shortened

T = TypeVar("T")


def sift(
    file: str,
    block: Block,
    tidy: Callable[[bytes], Tidied],
    read: Callable[[bytes], T | None],
    explain: Callable[[bytes], Fault | None],
) -> tuple[list[T], list[Rejected]]:
    """As `parse`, in parts, without the bad lines, which are returned, too. Raises BadInput for a structural fault only."""
    parts: list[T] = []
    rejected: list[Rejected] = []

    def read_lines(lines: bytes, numbers: npt.NDArray[np.int64]) -> None:
        if b"\r" not in lines and (content := read(lines)) is not None:
            parts.append(content)
        elif len(numbers) > FEW_LINES:
            cut, half = halved_at(lines, numbers)
            read_lines(lines[:cut], numbers[:half])
            read_lines(lines[cut:], numbers[half:])
        else:
            parts.append(read_good(lines, numbers))

    def read_good(lines: bytes, numbers: npt.NDArray[np.int64]) -> T:
        good = []
        for number, line in zip(numbers, lines.split(b"\n"), strict=False):
            if fault := Fault(CARRIAGE_RETURN, value=line) if b"\r" in line else explain(line):
                if fault.structural:
                    raise BadInput(file, fault.reason, block.line + int(number))
                rejected.append(Rejected(block.line + int(number), fault.reason, fault.column, shortened(fault.value)))
            else:
                good.append(line + b"\n")
        if (content := read(b"".join(good))) is None:
            raise BadInput(file, "cannot be read", block.line + int(numbers[0]))
        return content

    read_lines(*tidy(block.data.replace(b"\r\n", b"\n") if b"\r" in block.data else block.data))
    return parts, rejected
