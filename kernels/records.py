"""`dataclass`, whose methods are written when the first object is made.

Python compiles the text of six methods for each frozen dataclass. A run that finds all its steps valid imports a hundred and
forty classes, and makes objects of a third of them: the methods of all took an eighth of its CPU time.
"""

import dataclasses
import inspect
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 (mypy exports what is renamed to itself)
else:
    _LOCK = RLock()
    _waiting: dict[type, Callable[[], None]] = {}  # what writes the methods of a class
    _OWN = ("__init__", "__setstate__")
    _OTHER = ("slots", "weakref_slot")  # options that make another class

    def dataclass(class_: type | None = None, /, **options: Any) -> Any:
        """`dataclasses.dataclass`; until an object is made, the class has its fields, but not its methods. Thread-safe."""
        return _prepared(class_, options) if class_ else lambda decorated: _prepared(decorated, options)

    def _prepared(class_: type, options: dict[str, Any]) -> type:
        for base in class_.__mro__[1:]:
            _complete(base)
        own = any(name in class_.__dict__ for name in _OWN) or any(options.get(name) for name in _OTHER)
        if dataclasses.is_dataclass(class_) or own:  # the first: one of its bases
            return dataclasses.dataclass(**options)(class_)
        names = ("__module__", "__annotations__", *inspect.get_annotations(class_))
        stated = {name: class_.__dict__[name] for name in names if name in class_.__dict__}  # before fields leave the class
        following = {"__post_init__": class_.__post_init__} if hasattr(class_, "__post_init__") else {}  # also of a base
        keywords = {"kw_only": options.get("kw_only", False)}
        dataclasses.dataclass(init=False, repr=False, eq=False, **keywords)(class_)

        def write() -> None:
            frozen = options.get("frozen", False)
            copy = type(class_.__name__, (), {"__doc__": "", **following, **stated})
            initialise = dataclasses.dataclass(repr=False, eq=False, frozen=frozen, **keywords)(copy).__init__
            initialise.__qualname__ = f"{class_.__qualname__}.__init__"
            for name, value in stated.items():
                setattr(class_, name, value)
            dataclasses.dataclass(**options | {"init": False})(class_)
            class_.__init__ = initialise  # in one step: threads that come late wait for the lock in the old one
            del class_.__setstate__

        def begin(self: Any, *arguments: object, **named: object) -> None:
            _complete(class_)
            class_.__init__(self, *arguments, **named)

        def restore(self: Any, state: dict[str, object]) -> None:  # of an object that another process has made
            _complete(class_)
            for name, value in state.items():
                object.__setattr__(self, name, value)  # also of a frozen object

        class_.__init__, class_.__setstate__ = begin, restore
        _waiting[class_] = write
        return class_

    def _complete(class_: type) -> None:
        with _LOCK:
            if write := _waiting.get(class_):
                write()
                del _waiting[class_]
