"""A user's Python file: read once, so that what runs on every worker is what the step's key has."""

import ast
import io
import linecache
import sys
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any, NoReturn

from kernels.arrays import is_cupy
from kernels.graph import Graph
from kernels.library.operators import UserFunctionError
from pipeline.errors import BadInput, GraphmillError

MOST_BYTES = 2**20
SOLVE, CERTIFY = "solve", "certify"


@dataclass(frozen=True)
class UserProgram:
    """The text of a user's file; it is sent to workers, which need not have the file."""

    file: str  # absolute
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return sha256(self.text.encode()).hexdigest()

    @cached_property
    def certifies(self) -> bool:
        """Whether the file defines `certify`, by its syntax: the file is not run for it."""
        return any(isinstance(node, ast.FunctionDef) and node.name == CERTIFY for node in ast.parse(self.text).body)

    def call(self, function: str, graph: Graph, *arguments: Any) -> Any:
        """Call a function of the file with the graph and further arguments, and wait for the operators that it called.

        Raises:
            BadInput: The function is not there, or it or the file raises; with the line of the file.
            GraphmillError, MemoryError: As the function.
        """
        try:
            called: Callable[..., Any] | None = getattr(self._module, function, None)
            if not callable(called):
                raise BadInput(self.file, f"defines no function {function}")
            returned = called(graph, *arguments)
            if is_cupy(graph):
                from kernels.library.operators.gpu.compiled import check

                check()  # an operator that returns nothing does not wait for the GPU
            return returned
        except (GraphmillError, MemoryError):
            raise
        except UserFunctionError as error:
            raise BadInput(error.file, error.reason, error.line) from error
        except (Exception, SystemExit) as error:
            self._fail(error)

    @cached_property
    def _module(self) -> ModuleType:
        """The module of the file, whose text errors and the compiler of operators find although workers may lack the file."""
        linecache.cache[self.file] = (len(self.text), None, self.text.splitlines(keepends=True), self.file)
        module = ModuleType(f"graphmill_custom_{self.digest}")
        module.__file__ = self.file
        sys.modules[module.__name__] = module  # where dataclasses, for one, look for it
        exec(compile(self.text, self.file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - docs/security.md says whose code runs
        return module

    def _fail(self, error: BaseException) -> NoReturn:
        lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == self.file]
        raise BadInput(self.file, f"{type(error).__name__}: {error}", lines[-1] if lines else None) from error

    def __getstate__(self) -> dict[str, str]:
        """What is sent: not the module."""
        return {"file": self.file, "text": self.text}


def read_program(file: str) -> UserProgram:
    """Read a user's file without running it.

    Raises:
        BadInput: It is no Python, has more than MOST_BYTES bytes, or defines no `solve`; with the line.
        OSError: It cannot be read.
    """
    path = Path(file).absolute()
    with path.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadInput(path, f"has more than {MOST_BYTES:,} bytes, the limit of a custom stage's file")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = io.TextIOWrapper(io.BytesIO(content), encoding).read()
        tree = ast.parse(text, str(path))
        compile(tree, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise BadInput(path, f"is not Python: {getattr(error, 'msg', error)}", getattr(error, "lineno", None)) from None
    if not any(isinstance(node, ast.FunctionDef) and node.name == SOLVE for node in tree.body):
        raise BadInput(path, f"defines no function {SOLVE}; a custom stage needs `def solve(graph, options)`")
    return UserProgram(str(path), text)
