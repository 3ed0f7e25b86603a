"""`dataclass` as the standard library's, made at a fifth of the cost.

Up to Python 3.12 the standard library writes and compiles six functions for each frozen class:
some 0.9 ms, for more than two hundred classes before a first stop.  Here one function is compiled,
`__init__`; `__eq__`, `__hash__`, `__repr__` and what refuses assignments are closures.  Fields,
defaults, slots, inheritance and `__match_args__` are still the standard library's, so that
`dataclasses.fields`, `replace` and `is_dataclass` take these classes as any other.

An instance is also made faster: `__init__` of a frozen class writes its slots directly.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

MISSING = dataclasses.MISSING


class _Factory:
    """Stands in a signature for a default that is made anew each time."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _make(
    kind: type, *, frozen: bool, slots: bool, eq: bool, shown: bool, weakref_slot: bool
) -> type[Any]:
    own = set(vars(kind))
    hashed = vars(kind).get("__hash__", MISSING)
    explicit_hash = hashed is not MISSING and not (hashed is None and "__eq__" in own)
    made: Any = dataclasses.dataclass(
        init=False,
        repr=False,
        eq=False,
        # It writes two functions for this; without it here, classes above cannot be frozen.
        frozen=frozen and any(_is_frozen(base) for base in kind.__mro__[1:]),
        slots=slots,
        weakref_slot=weakref_slot,
    )(kind)
    params = made.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = True, shown, eq, frozen
    fields = dataclasses.fields(made)
    methods: dict[str, Any] = {"__init__": _Unmade(made, fields, frozen)}
    if shown:
        methods["__repr__"] = _repr(tuple(f.name for f in fields if f.repr))
    if eq:
        methods["__eq__"] = _eq(_key([f.name for f in fields if f.compare]))
        if not explicit_hash:
            own.discard("__hash__")
            hashing = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
            methods["__hash__"] = _hash(_key(hashing)) if frozen else None
    if frozen:
        methods |= _refusals(made, frozenset(f.name for f in fields))
        if slots:
            methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    for name, method in methods.items():
        if name not in own:
            if callable(method):
                method.__name__ = name
                method.__qualname__ = f"{made.__qualname__}.{name}"
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _is_frozen(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore


class _Unmade:
    """Stands for `__init__` until somebody asks for it: most classes get no instance before a
    first stop, and a function's compilation is half of what a class costs."""

    def __init__(self, made: type, fields: tuple[dataclasses.Field[Any], ...], frozen: bool):
        self._all = made, fields, frozen

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        made = self._all[0]
        init = vars(made)["__init__"]
        if init is self:
            init = _init(*self._all)
            init.__name__ = "__init__"
            init.__qualname__ = f"{made.__qualname__}.__init__"
            type.__setattr__(made, "__init__", init)
        return init.__get__(instance, owner)


def _init(made: type, fields: tuple[dataclasses.Field[Any], ...], frozen: bool) -> Any:
    """`__init__`, compiled; parameters in the order of the fields, those by keyword last."""
    known: dict[str, Any] = {"_FACTORY": _FACTORY}
    plain: list[str] = []
    keywords: list[str] = []
    body = []
    for f in fields:
        value = f.name
        parameter = f.name
        if f.default_factory is not MISSING:
            known[f"_make_{f.name}"] = f.default_factory
            parameter += "=_FACTORY"
            value = f"_make_{f.name}()"
            if f.init:
                value += f" if {f.name} is _FACTORY else {f.name}"
        elif f.default is not MISSING:
            known[f"_default_{f.name}"] = f.default
            parameter += f"=_default_{f.name}"
            value = f.name if f.init else f"_default_{f.name}"
        elif not f.init:
            continue
        if f.init:
            (keywords if f.kw_only else plain).append(parameter)
        body.append(_assignment(made, f.name, value, frozen, known))
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    heads = ["self", *plain, *(["*", *keywords] if keywords else [])]
    text = f"def __init__({', '.join(heads)}):\n " + "\n ".join(body or ["pass"])
    exec(text, known)
    init = known["__init__"]
    init.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    init.__module__ = made.__module__
    return init


def _assignment(made: type, name: str, value: str, frozen: bool, known: dict[str, Any]) -> str:
    if not frozen:
        return f"self.{name} = {value}"
    slot: Any = getattr(made, name, None)
    if type(slot) is _SLOT:
        known[f"_set_{name}"] = slot.__set__
        return f"_set_{name}(self, {value})"
    known["_set"] = object.__setattr__
    return f"_set(self, {name!r}, {value})"


class _WithSlot:
    __slots__ = ("slot",)


_SLOT = type(vars(_WithSlot)["slot"])


def _key(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """An instance -> the tuple of some of its fields."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda instance: ()
    get = attrgetter(names[0])
    return lambda instance: (get(instance),)


def _eq(key: Callable[[Any], tuple[Any, ...]]) -> Any:
    def equal(self: Any, other: object) -> Any:
        if other.__class__ is self.__class__:
            return key(self) == key(other)
        return NotImplemented

    return equal


def _hash(key: Callable[[Any], tuple[Any, ...]]) -> Any:
    def hashed(self: Any) -> int:
        return hash(key(self))

    return hashed


def _repr(names: tuple[str, ...]) -> Any:
    @reprlib.recursive_repr()
    def shown(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"

    return shown


def _refusals(made: Any, names: frozenset[str]) -> dict[str, Any]:
    """What keeps a frozen instance from changing; a class below that is not frozen adds its own
    attributes."""

    def assign(self: Any, name: str, value: object) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    return {"__setattr__": assign, "__delattr__": delete}


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(kind=None, /, *, repr=True, **options):  # noqa: A002
        """Decorator: the class with methods made from its annotated fields.

        Args:
            kind: the class.
            repr: as of `dataclasses.dataclass`, like the options.
            options: `frozen`, `slots`, `eq`, `weakref_slot`; the others are not needed here.
        """
        chosen = {"frozen": False, "slots": False, "eq": True, "weakref_slot": False} | options

        def make(kind):
            return _make(kind, shown=repr, **chosen)

        return make if kind is None else make(kind)
