"""The commands on products as functions, and files of vertices for their options."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from pipeline.steps.products.commands import product_into

matrix_into, trees_into = partial(product_into, "matrix"), partial(product_into, "trees")


def listed(folder: Path, vertices: Iterable[int]) -> str:
    """A new file in a folder, with a vertex on each line."""
    folder.mkdir(exist_ok=True)
    path = folder / f"vertices-{len([*folder.glob('vertices-*')])}.txt"
    path.write_text("".join(f"{vertex}\n" for vertex in vertices))
    return str(path)
