"""A plugin of pytest that records the calls which the tests of NetworkX make of its functions.

RECORDED names the file that receives them: a pickled list of pairs (name, arguments), the latter pickled, by parameter. Calls
that NetworkX makes itself are left out. Arguments that cannot be pickled, such as weights that are functions, are empty bytes.
"""

import inspect
import os
import pickle
from pathlib import Path
from typing import Any

from networkx.utils.backends import _dispatchable

from tests.recorded.questions import FAMILIES

_calls: list[tuple[str, bytes]] = []
_true = _dispatchable.__call__
_depth = 0


def _recording(self: Any, /, *arguments: Any, **keywords: Any) -> Any:
    global _depth  # noqa: PLW0603  (the tests run in one thread)
    if _depth == 0 and self.name in FAMILIES:
        _record(self, arguments, {name: value for name, value in keywords.items() if name != "backend"})
    _depth += 1
    try:
        return _true(self, *arguments, **keywords)
    finally:
        _depth -= 1


def _record(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    try:
        bound = inspect.signature(function.orig_func).bind(*arguments, **keywords)
        bound.apply_defaults()
        _calls.append((function.name, pickle.dumps(bound.arguments)))
    except (TypeError, AttributeError, pickle.PicklingError):  # a wrong call, or one with a function
        _calls.append((function.name, b""))


_dispatchable.__call__ = _recording


def pytest_sessionfinish() -> None:
    Path(os.environ["RECORDED"]).write_bytes(pickle.dumps(_calls))
