"""Dataclasses whose methods are written when the first object is made do what others do."""

import dataclasses
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from kernels.records import dataclass

METHODS = ("__eq__", "__repr__", "__hash__", "__setattr__", "__delattr__")


def pair() -> type:
    @dataclass(frozen=True)
    class Pair:
        first: int
        second: list[int] = dataclasses.field(default_factory=list)
        third: int = 3

    return Pair


def test_the_first_object_is_as_every_other_one():
    for made in (pair()(1, [2]), *map(pair(), [1], [[2]])):
        own = type(made)
        assert made == own(1, [2]) != own(1, [2], 4)
        assert repr(made).endswith("Pair(first=1, second=[2], third=3)")
        assert hash(own(1, (2,))) == hash(own(1, (2,)))
        assert own(5).second == [] and own(5).second is not own(5).second
        assert dataclasses.asdict(dataclasses.replace(made, third=9)) == {"first": 1, "second": [2], "third": 9}
        with pytest.raises(dataclasses.FrozenInstanceError):
            made.first = 2


def test_before_the_first_object_a_class_has_fields_and_no_methods():
    own = pair()
    assert [field.name for field in dataclasses.fields(own)] == ["first", "second", "third"]
    assert own.third == 3 and not hasattr(own, "second") and own.__match_args__ == ("first", "second", "third")
    assert not {*METHODS} & {*vars(own)}
    with pytest.raises(TypeError, match="first"):  # the message of a dataclass
        own()
    assert {*METHODS} <= {*vars(own)}


def test_classes_below_another_one():
    base = pair()

    @dataclass(frozen=True)
    class Below(base):
        fourth: int = 4

    class Plain(pair()):
        def __init__(self) -> None:
            super().__init__(1)

    assert Below(1, fourth=7) == Below(1, fourth=7) != Below(1) and Plain() == Plain()


def test_what_follows_the_initialisation():
    @dataclass
    class Sum:
        first: int
        second: int = 1

        def __post_init__(self) -> None:
            self.total = self.first + self.second

    made = Sum(2)
    made.first = 5
    assert made.total == 3 and made == Sum(5)


def test_what_a_base_does_after_the_initialisation():
    class Base:
        def __post_init__(self) -> None:
            self.seen = True

    @dataclass
    class Below(Base):
        first: int

    assert Below(1).seen and Below(2).seen


def test_public_classes_have_their_signature_before_the_first_object():
    code = "import inspect, graphmill; print(*(inspect.signature(of) for of in (graphmill.Csr, graphmill.Graph)))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.startswith("(offsets: ") and "arguments" not in said


def test_options():
    @dataclass(slots=True)
    class Slotted:
        first: int

    assert not hasattr(Slotted(1), "__dict__")

    @dataclass(kw_only=True)
    class Named:
        first: int

    @dataclass(eq=False)
    class Same:
        first: int

    with pytest.raises(TypeError):
        Named(1)
    assert Named(first=1) == Named(first=1) and Same(1) != Same(1) and len({Same(1), Same(1)}) == 2


def test_objects_of_another_process(monkeypatch):
    def published() -> type:  # as another process imports the class
        own = pair()
        own.__module__, own.__qualname__ = __name__, "Published"
        monkeypatch.setattr(sys.modules[__name__], "Published", own, raising=False)
        return own

    stored = pickle.dumps(published()(1, [2]))
    published()
    made = pickle.loads(stored)
    assert made == type(made)(1, [2])
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.first = 2


def test_first_objects_of_many_threads():
    for _ in range(50):
        own, together = pair(), Barrier(8)

        def make(number: int, own: type = own, together: Barrier = together) -> object:
            together.wait()
            return own(number, third=number)

        with ThreadPoolExecutor(8) as threads:
            made = [*threads.map(make, range(8))]
        assert [(of.first, of.third) for of in made] == [(number, number) for number in range(8)]
        assert made[0] == own(0, third=0)
