"""A user's Python file: read once, so that what runs on every worker is what the step's key has."""

import ast
import io
import linecache
import sys
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from traceback import walk_tb
from types import ModuleType
from typing import Any, NoReturn

from kernels.arrays import is_cupy
from kernels.gpu.cupy_internals import complete_cupyx
from kernels.graph import Graph
from kernels.library.operators import UserFunctionError
from pipeline.errors import BadInput, GraphmillError
from pipeline.ingest.source import locate
from pipeline.runtime.backend import Backend
from pipeline.store.facts.products import COMPARED, NOT_PROVED, PROVED

MOST_BYTES = 2**20
SOLVE, CERTIFY = "solve", "certify"


@dataclass(frozen=True)
class UserProgram:
    """The text of a user's file; it is sent to workers, which need not have the file."""

    file: str  # as the configuration names it
    text: str
    sha256: str  # of the file's bytes
    certifies: bool  # whether it defines `certify`, by its syntax: the file is not run for it

    def proof_on(self, backend: Backend) -> str:
        """How the table is proved."""
        return PROVED if self.certifies else COMPARED if backend == "gpu" else NOT_PROVED

    def call(self, function: str, graph: Graph, *arguments: Any) -> Any:
        """Run the file anew, call a function of it with the graph and further arguments, and wait for the operators it called.

        So no call sees what an earlier one left in the module, wherever it was.

        Raises:
            BadInput: The function is not there, or it or the file raises; with the line of the file.
            GraphmillError, MemoryError: As the function.
        """
        try:
            if is_cupy(graph):
                complete_cupyx()
            called: Callable[..., Any] | None = getattr(self._module(), function, None)
            if not callable(called):
                raise BadInput(self.file, f"defines no function {function}")
            try:
                return called(graph, *arguments)
            finally:
                if is_cupy(graph):
                    from kernels.library.operators.gpu.compiled import check

                    check()  # an operator that returns nothing does not wait for the GPU, and its error came before others
        except (GraphmillError, MemoryError):
            raise
        except UserFunctionError as error:
            which = "" if error.row is None else f"; row {error.row} is vertex {graph.ids[error.row]}"
            raise BadInput(error.file, error.reason + which, error.line) from error
        except (Exception, SystemExit) as error:
            self._fail(error)

    def _module(self) -> ModuleType:
        """The module of the file, whose text errors and the compiler of operators find although workers may lack the file."""
        linecache.cache[self.file] = (len(self.text), None, self.text.splitlines(keepends=True), self.file)
        module = ModuleType(f"graphmill_custom_{self.sha256}")
        module.__file__ = self.file
        sys.modules[module.__name__] = module  # where dataclasses, for one, look for it
        exec(compile(self.text, self.file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - docs/security.md says whose code runs
        return module

    def _fail(self, error: BaseException) -> NoReturn:
        lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == self.file]
        raise BadInput(self.file, f"{type(error).__name__}: {error}", lines[-1] if lines else None) from error


def read_program(file: str) -> UserProgram:
    """Read a user's file without running it.

    Raises:
        BadInput: It is a URL or not Python, has more than MOST_BYTES bytes, or defines no `solve`; with the line.
        OSError: It cannot be read.
    """
    with locate(file).require_local().open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadInput(file, f"has more than {MOST_BYTES:,} bytes, the limit of a custom stage's file")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = io.TextIOWrapper(io.BytesIO(content), encoding).read()
        tree = ast.parse(text, file)
        compile(tree, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise BadInput(file, f"is not Python: {getattr(error, 'msg', error)}", getattr(error, "lineno", None)) from None
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if SOLVE not in functions:
        raise BadInput(file, f"defines no function {SOLVE}; a custom stage needs `def solve(graph, options)`")
    return UserProgram(file, text, sha256(content).hexdigest(), CERTIFY in functions)
