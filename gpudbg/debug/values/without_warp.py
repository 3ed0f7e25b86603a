"""What expressions see when no warp is left, or none has begun: arguments, variables, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gpudbg.debug.values.context import (
    ENTRY,
    WarpContext,
    buffer_array,
    function_pc,
    machine_name,
    typed_argument,
    void_variable,
)
from gpudbg.errors import CommandError, UsageError
from gpudbg.expr.evaluation import LANES, Place, Result, uniform
from gpudbg.expr.types import U64

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior


class BareContext(WarpContext):
    """The `expr.Context` without a machine: convenience variables, constants, what was printed."""

    def __init__(self, inferior: Inferior) -> None:
        self._inferior = inferior

    def _gone(self, what: str) -> NoReturn:
        raise CommandError("no warp has the focus", "`run` or `start` launches the kernel")

    def variables(self) -> None:
        """No warp, no variables of functions."""
        return

    def register(self, index: int) -> NDArray[np.uint32]:
        """No warp, no register."""
        self._gone("registers")

    def predicate(self, index: int) -> NDArray[np.bool_]:
        """No warp, no predicate."""
        self._gone("predicates")

    def flag(self, name: str) -> NDArray[np.bool_]:
        """No warp, no condition code."""
        self._gone("a condition code")

    def vector(self, text: str) -> dict[str, Result] | None:
        """Coordinates are a thread's."""
        return None

    def name(self, text: str) -> Result | None:
        """Variables and values that were shown."""
        if text in self._inferior.variables:
            return self._inferior.variables[text]
        if text in ("$", "$$") or (text.startswith("$") and text.lstrip("$").isdecimal()):
            return self._history(text)
        if text.startswith("$") and text[1:].isidentifier() and not machine_name(text):
            return void_variable(text)
        self._gone(text)

    def suggestions(self, text: str) -> list[str]:
        """Nothing is near."""
        return []

    def read(
        self, space: str, addresses: NDArray[np.uint64], size: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], str]:
        """No memory."""
        self._gone(f"{space} memory")

    def read_const(self, bank: int, offset: int, size: int) -> bytes:
        """Constant banks are a launch's."""
        self._gone("constant memory")

    def write_place(self, place: Place, raw: NDArray[Any]) -> None:
        """Refuse: without a warp there is nothing to write to."""
        self._gone("anything to write to")


class NoWarpContext(BareContext):
    """The `expr.Context` without a warp: everything of a warp is gone, and says so."""

    def _gone(self, what: str) -> NoReturn:
        if not self._inferior.launched:
            raise CommandError(
                f"nothing has been launched: no warp has {what} yet",
                "`run` says what a launch needs",
            )
        raise CommandError(
            f"the kernel has ended: no warp has {what} any more",
            "global memory is still there; `run` or `start` launches it again",
        )

    def name(self, text: str) -> Result | None:
        """Session variables, values that were shown, arguments and module variables."""
        if text in self._inferior.variables:
            return self._inferior.variables[text]
        if text in ("$", "$$") or (text.startswith("$") and text.lstrip("$").isdecimal()):
            return self._history(text)
        for index, argument in enumerate(self._inferior.launch.arguments):
            if argument.buffer is None:
                continue
            if text == argument.name:
                return buffer_array(argument)
            if text in (f"arg{index}", argument.name + ENTRY):
                return typed_argument(uniform(argument.buffer.address, U64), argument)
        row = self._inferior.symbols.variable(text)
        if row is not None and row.space == "global":
            return self._module_variable(text)
        if text.startswith("$") and text[1:].isidentifier() and not machine_name(text):
            return void_variable(text)
        function = function_pc(self._inferior, text)
        if function is not None:
            return function
        self._gone(text)

    def read(
        self, space: str, addresses: NDArray[np.uint64], size: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], str]:
        """Global memory; every lane reads what the first one does."""
        if space not in ("global", "generic"):
            self._gone(f"{space} memory")
        try:
            data = self._inferior.grid.gpu.memory.read(int(addresses[0]), size)
        except UsageError as error:
            return np.zeros((LANES, size), np.uint8), np.zeros(LANES, bool), str(error)
        row = np.frombuffer(bytes(data), np.uint8)
        return np.tile(row, (LANES, 1)), np.ones(LANES, bool), ""
