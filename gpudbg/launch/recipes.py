"""Launches from Python again and again: what one launch has checked serves the next of its kind.

Checking sizes, types and parameters takes longer than a short kernel runs.  A recipe is made of a
launch that was checked: kernel, sizes and the types of its arguments.  For the next launch of that
kind values are packed, and nothing else is done; a value that a recipe does not take for granted
(an integer out of range, a buffer that was freed) goes the long way, which alone complains.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpudbg.device.device import DeviceBuffer
from gpudbg.formats.initdata import dtype_of
from gpudbg.formats.launch import PLAIN, ObjectArg, ScalarArg, python_launch
from gpudbg.launch.prepare import Argument, Details, ProgramLaunch, buffer_words

if TYPE_CHECKING:
    from gpudbg.device.module import LoadedModule
    from gpudbg.formats.launch import BoundArg

MOST_RECIPES: Final = 64
"""Plans of a program that are kept."""
_INTEGERS: Final = frozenset(
    [int, *(np.dtype(f"{kind}{size}").type for kind in "iu" for size in (1, 2, 4, 8))]
)
_FLOATS: Final = frozenset([float, np.float32, np.float64])
_CODES: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
_BUFFER, _INTEGER, _FLOAT = range(3)
_named = lru_cache(256)(buffer_words)

Asked = tuple[str | None, object, object, object, object]
"""A launch's kernel, grid, block, shared bytes and cluster, as they were given."""


class RecipeArgument(NamedTuple):
    """A parameter as launches of a recipe fill it.

    Attributes:
        kind: buffer, integer or float.
        bits: of an integer.
    """

    kind: int
    bits: int = 0


class LaunchRecipe:
    """A kernel's launches with the same sizes and types of arguments."""

    __slots__ = ("_asked", "_bound", "_form", "_kernel", "_sizes", "_slots")

    def __init__(
        self, launch: ProgramLaunch, asked: Asked, slots: list[RecipeArgument], form: str
    ) -> None:
        """Args:
        launch: what was checked.
        asked: what it was made of.
        form: of the parameter area, for `struct`.
        """
        self._kernel, self._sizes, self._asked = launch.kernel, launch.sizes, asked
        self._bound = launch.details.bound
        self._slots, self._form = slots, struct.Struct(form)

    def launch(self, loaded: LoadedModule, args: Sequence[Any]) -> ProgramLaunch | None:
        """A launch with these values; None where one of them is not what a recipe takes."""
        words: list[int | float] = []
        buffers: list[DeviceBuffer] = []
        for slot, value in zip(self._slots, args, strict=True):
            if slot.kind == _BUFFER:
                if value.device is not loaded.device or value.allocation.freed:
                    return None
                buffers.append(value)
                words.append(value.allocation.base)
            elif slot.kind == _INTEGER:
                whole, bits = int(value), slot.bits
                if not -(1 << bits - 1) <= whole < 1 << bits:
                    return None
                words.append(whole & (1 << bits) - 1)
            else:
                words.append(float(value))
        try:
            params = self._form.pack(*words)
        except OverflowError:
            return None
        for number, (slot, value) in enumerate(zip(self._slots, args, strict=True)):
            if slot.kind == _BUFFER:
                value.allocation.name = _named(value.allocation.name, number)
        values = tuple(args)
        return ProgramLaunch(
            loaded, self._kernel, self._sizes, params, lambda: self._details(values), buffers
        )

    def _details(self, values: tuple[Any, ...]) -> Details:
        """What views ask for, as the long way gives it."""
        kernel, grid, block, shared_bytes, cluster = self._asked
        shared: Any = shared_bytes
        table = python_launch(kernel, grid, block, values, shared, cluster)
        arguments = []
        for number, (slot, value) in enumerate(zip(self._slots, values, strict=True)):
            if slot.kind == _BUFFER:
                arguments.append(Argument(f"arg{number}", value.address, value))
            else:
                plain = int(value) if slot.kind == _INTEGER else float(value)
                arguments.append(Argument(f"arg{number}", plain))
        return Details(table, tuple(arguments), self._bound)


class LaunchRecipes:
    """The recipes of a program, by what is asked for."""

    def __init__(self) -> None:
        self._recipes: dict[tuple[object, ...], LaunchRecipe] = {}

    def launch(
        self, loaded: LoadedModule, asked: Asked, args: Sequence[object]
    ) -> ProgramLaunch | None:
        """A launch by a recipe; None where there is none for it."""
        key = _key(asked, args) if self._recipes else None
        found = None if key is None else self._recipes.get(key)
        return None if found is None else found.launch(loaded, args)

    def learn(self, launch: ProgramLaunch, asked: Asked, args: Sequence[object]) -> None:
        """Make a recipe of a launch that has been checked, where its arguments are plain."""
        key = _key(asked, args)
        if key is None:
            return
        recipe = _recipe(launch, asked, args)
        if recipe is not None:
            if len(self._recipes) >= MOST_RECIPES:
                self._recipes.pop(next(iter(self._recipes)))
            self._recipes[key] = recipe


def _key(asked: Asked, args: Sequence[object]) -> tuple[object, ...] | None:
    """What launches of one recipe have in common; None where no recipe can be made."""
    _, grid, block, shared_bytes, cluster = asked
    for size in (grid, block, cluster, shared_bytes):
        # Not what is equal and not the same: True, 4.0.
        if type(size) is tuple:
            if not all([type(number) is int for number in size]):
                return None
        elif type(size) is not int and size is not None:
            return None
    if type(args) not in (list, tuple):
        return None
    kinds = [(a.dtype,) if type(a) is DeviceBuffer else type(a) for a in args]
    return (*asked, *kinds)


def _recipe(launch: ProgramLaunch, asked: Asked, args: Sequence[object]) -> LaunchRecipe | None:
    slots, form, end = [], "<", 0
    bound = launch.details.bound
    for item, value in zip(bound, args, strict=True):
        found = _slot(item, value)
        gap = item.param.offset - end
        if found is None or gap < 0:
            return None
        slot, code = found
        slots.append(slot)
        form += f"{gap}x{code}"
        end = item.param.offset + item.param.size
    left = launch.kernel.param_bytes - end
    return LaunchRecipe(launch, asked, slots, f"{form}{left}x") if left >= 0 else None


def _slot(item: BoundArg, value: object) -> tuple[RecipeArgument, str] | None:
    """How a parameter is filled by values of a type, and its code for `struct`."""
    arg, size = item.arg, item.param.size
    if isinstance(arg, ObjectArg):
        return (RecipeArgument(_BUFFER), "Q") if type(value) is DeviceBuffer and size == 8 else None
    if not isinstance(arg, ScalarArg) or isinstance(arg.value, bytes):
        return None
    dtype = dtype_of(f"{PLAIN[arg.dtype]}{8 * size}" if arg.dtype in PLAIN else arg.dtype)
    if dtype.itemsize != size:
        return None
    if dtype.kind == "f":
        fits = type(value) in _FLOATS and size in (4, 8)
        return (RecipeArgument(_FLOAT), "f" if size == 4 else "d") if fits else None
    # A bool that is declared takes 0 and 1 alone; as it is bound it is a byte.
    fits = type(value) in _INTEGERS and size > 1
    return (RecipeArgument(_INTEGER, 8 * size), _CODES[size]) if fits else None
