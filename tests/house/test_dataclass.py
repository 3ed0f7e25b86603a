"""`gpudbg.dataclass` makes what the standard library's decorator makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from gpudbg.dataclass import dataclass

Decorator = Callable[..., Any]


def kinds(make: Decorator) -> dict[str, type[Any]]:
    """Classes of every sort that the product has, by one decorator."""

    @make(frozen=True, slots=True)
    class Point:
        """Two numbers."""

        x: int
        y: int = 2

        @property
        def sum(self) -> int:
            return self.x + self.y

    @make(frozen=True, slots=True)
    class Named(Point):
        """With more fields than its base."""

        name: str = "n"
        note: list[int] = field(default_factory=list, compare=False)
        hidden: int = field(default=5, repr=False, hash=False)

    @make(frozen=True, slots=True, repr=False)
    class Shown:
        """With a text of its own."""

        x: int

        def __repr__(self) -> str:
            return f"<{self.x}>"

    @make(frozen=True, slots=True, eq=False)
    class Identity:
        """Equal to itself alone."""

        x: int

    @make(slots=True)
    class Counter:
        """May change."""

        x: int
        made: dict[str, int] = field(default_factory=dict)
        total: int = field(init=False)
        late: int = field(default=3, init=False)

        def __post_init__(self) -> None:
            self.total = self.x + 1

    @make(frozen=True)
    class Open:
        """Without slots, with a hash of its own, and a field given by keyword."""

        x: int
        y: int = field(default=1, kw_only=True)

        def __hash__(self) -> int:
            return 7

    @make(frozen=True, slots=True)
    class Nothing:
        """Without fields."""

    return {k.__name__: k for k in (Point, Named, Shown, Identity, Counter, Open, Nothing)}


OURS, THEIRS = kinds(dataclass), kinds(dataclasses.dataclass)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Point", (1,), {}),
    ("Point", (1,), {"y": 3}),
    ("Named", (1, 2, "q", [4]), {}),
    ("Named", (1,), {"hidden": 6}),
    ("Shown", (4,), {}),
    ("Identity", (4,), {}),
    ("Counter", (4,), {}),
    ("Counter", (4, {"a": 1}), {}),
    ("Open", (1,), {"y": 2}),
    ("Nothing", (), {}),
]


@pytest.mark.parametrize("name", OURS)
def test_classes_look_alike(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [f.name for f in dataclasses.fields(ours)] == [
        f.name for f in dataclasses.fields(theirs)
    ]
    assert ours.__match_args__ == theirs.__match_args__
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert ours.__init__.__qualname__ == theirs.__init__.__qualname__
    assert hasattr(ours, "__slots__") == hasattr(theirs, "__slots__")
    assert ours.__dataclass_params__.frozen == theirs.__dataclass_params__.frozen


@pytest.mark.parametrize(("name", "args", "kw"), CALLS)
def test_instances_are_alike(name: str, args: Any, kw: Any) -> None:
    ours, theirs = OURS[name](*args, **kw), THEIRS[name](*args, **kw)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    again, other = OURS[name](*args, **kw), THEIRS[name](*args, **kw)
    assert (ours == again, ours == theirs) == (theirs == other, False)
    for f in dataclasses.fields(ours):
        changed = [copy.copy(one) for one in (ours, theirs)]
        for one in changed:
            object.__setattr__(one, f.name, "other")
        assert (changed[0] == ours) == (changed[1] == theirs), f.name
        if ours.__hash__ is not None and name != "Identity":
            # Fields left out of the hash leave it as it is.
            same = [
                hash(one) == hash(was) for one, was in zip(changed, (ours, theirs), strict=True)
            ]
            assert same[0] == same[1], f.name
        assert _assigned(copy.copy(ours), f.name) == _assigned(copy.copy(theirs), f.name)
    assert repr(copy.deepcopy(ours)) == repr(ours)


def _assigned(instance: Any, name: str) -> str:
    """What comes of an assignment and a deletion."""
    said = ""
    for change, more in ((setattr, (1,)), (delattr, ())):
        try:
            change(instance, name, *more)
        except dataclasses.FrozenInstanceError as e:
            said += str(e)
    return said


@pytest.mark.parametrize(
    ("name", "args", "kw"), [("Point", (), {}), ("Point", (1, 2, 3), {}), ("Open", (1, 2), {})]
)
def test_wrong_arguments_are_refused_alike(name: str, args: Any, kw: Any) -> None:
    said = []
    for made in (OURS, THEIRS):
        with pytest.raises(TypeError) as e:
            made[name](*args, **kw)
        said.append(str(e.value))
    assert said[0] == said[1]


@dataclass(frozen=True, slots=True)
class Sent:
    """Goes to another process."""

    x: int
    y: tuple[int, ...] = ()


def test_records_are_copied_replaced_and_sent() -> None:
    sent = Sent(1, (2,))
    assert pickle.loads(pickle.dumps(sent)) == copy.copy(sent) == sent
    assert dataclasses.replace(sent, x=5) == Sent(5, (2,))
    array = float("nan")
    assert Sent(array) == Sent(array)  # type: ignore[arg-type]


def test_frozen_classes_extend_those_of_either_decorator() -> None:
    @dataclasses.dataclass(frozen=True)
    class Theirs(Sent):
        z: int = 0

    @dataclass(frozen=True)
    class Ours(Theirs):
        w: int = 1

    ours = Ours(1)
    assert (ours.x, ours.z, ours.w) == (1, 0, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        ours.z = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):

        @dataclass
        class Loose(Sent):  # type: ignore[misc]
            v: int = 0
