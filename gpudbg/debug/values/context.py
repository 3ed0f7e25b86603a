"""What an expression sees: one warp of the stopped machine.

Names: coordinates (`threadIdx.x`, `blockIdx`, `$warp`), the pc, special registers by nvdisasm's
or the SM's name (`SR_TID.X`), PTX registers (`%tid.x`), module variables, kernel parameters
(`param0`), `__shared__` variables, and the session's own `$variables`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpudbg.debug.stops.standing import error_pc, standing_pc
from gpudbg.debug.values import access, cuda_vars, shared_registers
from gpudbg.debug.values.backtrace import Frame, frames
from gpudbg.debug.values.lanes import FLAGS, RZ, array_mask, mask_array
from gpudbg.debug.values.variables import FrameVariables, known_variables
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import (
    FUNCTION,
    LANES,
    UNTYPED_FUNCTION,
    Place,
    Result,
    decayed,
    is_register,
    load,
    per_lane,
    text_of,
    uniform,
)
from gpudbg.expr.types import (
    BOOL,
    I32,
    TYPES,
    U8,
    U32,
    U64,
    VOID,
    Array,
    CType,
    Pointer,
    Scalar,
    Struct,
)
from gpudbg.regs.ptx import find_ptx_vector
from gpudbg.symbols.mangled import function_name, short_name
from gpudbg.symbols.variable_types import (
    enumerator,
    named_type,
    open_array,
    source_name,
    variable_type,
)

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.symbols import Symbols
    from gpudbg.sm.state import WarpState

AXES = "xyz"
SHARED_FILES = (shared_registers.UNIFORM, shared_registers.PREDICATE, shared_registers.BARRIER)


ENTRY = "@entry"
"""Behind a parameter's name: what the launch passed for it (gdb's entry values)."""


class WarpContext:
    """The `expr.Context` of one warp, seen from one of its call frames."""

    def __init__(self, inferior: Inferior, warp: WarpState, level: int = 0) -> None:
        self._inferior = inferior
        self._warp = warp
        self._level = level

    @property
    def frame(self) -> Frame:
        """The call frame that names and `$pc` are looked up in."""
        rows = frames(self._inferior, self._warp)
        return rows[min(self._level, len(rows) - 1)]

    # ---- registers ---------------------------------------------------------------------
    def register(self, index: int) -> NDArray[np.uint32]:
        """R`index` in 32 lanes."""
        if index == RZ:
            return np.zeros(LANES, np.uint32)
        count = int(self._warp.R.shape[0])
        if not 0 <= index < count:
            raise CommandError(f"no register R{index}", f"the kernel has R0 to R{count - 1}")
        return np.asarray(self._warp.R[index]).copy()

    def predicate(self, index: int) -> NDArray[np.bool_]:
        """P`index` in 32 lanes; 7 is PT."""
        return mask_array(0xFFFFFFFF if index == 7 else int(self._warp.predicates[index]))

    def flag(self, name: str) -> NDArray[np.bool_]:
        """Condition-code flag Z S C or O in 32 lanes."""
        return mask_array(int(self._warp.cc[FLAGS.index(name)]))

    # ---- names -------------------------------------------------------------------------
    def variable(self, text: str) -> Result | None:
        """A variable of the selected frame's code, by the program's debug information."""
        known = self.variables()
        found = None if known is None else known.find(text)
        return found or self._enumerator(text)

    def _enumerator(self, text: str) -> Result | None:
        """`RED`, `Mode::busy`: by the program's debug information."""
        if text.startswith(("$", "%")):
            return None
        found = enumerator(self._inferior.program, text)
        return None if found is None else uniform(*found)

    def variables(self) -> FrameVariables | None:
        """Those of the selected frame; None where the program has no debug information."""
        if not known_variables(self._inferior.program).functions:
            return None
        rows = frames(self._inferior, self._warp)
        return FrameVariables(self._inferior, self._warp, self, rows, self._level)

    def no_variables(self) -> str:
        """Why the program has no variables of functions; empty where it has some."""
        return known_variables(self._inferior.program).reason

    def name(self, text: str) -> Result | None:
        """Any other name, or None."""
        variables = self._inferior.variables
        if text in variables:
            return variables[text]
        if (text.startswith("$") and text.lstrip("$").isdecimal()) or text in ("$", "$$"):
            return self._history(text)
        plain = text.removeprefix("$")
        if plain == "pc":
            return self._pc()
        found = _NAMES.get(plain)
        if found is not None:
            return found(self._inferior, self._warp)
        if plain.startswith("cuda_"):
            number = cuda_vars.read(self._inferior, plain)
            if number is not None:
                return uniform(number, U64 if number > 0xFFFFFFFF else U32)
        # `$n` is no argument n.
        readers = [self._coordinate, self._shared_register, self._special]
        if not text.startswith("$"):
            readers.append(self._symbol)
        for reader in readers:
            result = reader(plain)
            if result is not None:
                return result
        if text.startswith("$") and plain.isidentifier():
            return void_variable(text)
        return function_pc(self._inferior, text)

    def _pc(self) -> Result:
        """The selected frame's pc; only the innermost one's can be changed."""
        pc = standing_pc(self._inferior, self._warp) if self._level == 0 else self.frame.pc
        place = Place("pc") if self._level == 0 else None
        shown = np.full(LANES, self._inferior.shown_pc(pc), np.uint64)
        return per_lane(shown, U64, place)

    def _history(self, text: str) -> Result:
        """`$` `$$` `$3` `$$2`: a value that `print` showed."""
        history = self._inferior.value_history
        back = text.startswith("$$")
        digits = text.lstrip("$")
        number = parse_int(digits, "value number") if digits else int(back)
        at = len(history) - number if back or not digits else number
        if not history.first < at <= len(history):
            raise CommandError(f"the value history has no {text}", f"it has {len(history)} values")
        return history[at - 1]

    def _coordinate(self, text: str) -> Result | None:
        base, _, axis = text.partition(".")
        if base in _VECTORS and axis in (*AXES, "w") and axis:
            return _VECTORS[base](self._inferior, self._warp, AXES.find(axis))
        return None

    def _shared_register(self, text: str) -> Result | None:
        """UR4, UP0 and B0 of warps whose lanes have pcs of their own."""
        register = shared_registers.parse(self._warp, text)
        if register is None:
            return None
        values = shared_registers.read(self._warp, register)
        place = Place(register.file, register.number)
        if register.file == shared_registers.PREDICATE:
            return per_lane(values.astype(bool), BOOL, place)
        return per_lane(values, U32, place)

    def _special(self, text: str) -> Result | None:
        return access.special(self._inferior, self._warp, text)

    def _symbol(self, text: str) -> Result | None:
        if text.startswith("param") and text[5:].isdecimal():
            return self._parameter(parse_int(text[5:], "parameter number"))
        found = self._argument(text)
        found = found or self._module_variable(text) or self._shared_variable(text)
        names = [a.name for a in self._inferior.launch.arguments]
        if found is None and text in names:
            raise self._elsewhere(text, names.index(text))
        return found

    def _elsewhere(self, text: str, index: int) -> CommandError:
        """An argument's name where the frame is not the kernel's."""
        return CommandError(
            f'No symbol "{text}" in current context.',
            f"the kernel's arguments belong to {self._inferior.symbols.kernel_name}'s own frame; "
            f"arg{index} is the launch's in every frame",
        )

    def _module_variable(self, text: str) -> Result | None:
        row = self._inferior.symbols.variable(text)
        if row is None:
            return None
        address = self._inferior.launch.loaded.symbol_address(row.name)
        return self._variable(row.name, row.space, address, row.size)

    def _shared_variable(self, text: str) -> Result | None:
        kernel = self._inferior.symbols.kernel_name
        rows = self._inferior.program.shared_vars
        # A function's variables lie elsewhere in each kernel that calls it.
        for var in sorted(rows, key=lambda row: row.kernel not in ("", kernel)):
            if text in (var.name, source_name(var.name)):
                if not var.size:
                    return self._dynamic(var.name, var.offset)
                return self._variable(var.name, "shared", var.offset, var.size)
        return None

    def _dynamic(self, symbol: str, offset: int) -> Result:
        """`extern __shared__ float x[]`: all of the dynamic shared memory behind its begin."""
        config = self._inferior.grid.config
        room = config.shared_bytes - config.reserved_shared - offset
        type_ = open_array(self._inferior.program, symbol, room)
        return load(type_ or Array(U32, max(room // U32.size, 1)), "shared", offset, self)

    def _variable(self, symbol: str, space: str, address: int, size: int) -> Result:
        """A module or shared variable, by its type where that is known.

        A symbol gives a size only: without a type, 4-byte multiples are shown as words and a cast
        chooses.
        """
        type_ = variable_type(self._inferior.program, symbol, size)
        if type_ is None and size in (1, 2, 4):
            type_ = TYPES[f"u{8 * size}"]
        if type_ is None:
            kind, count = (U32, size // 4) if size % 4 == 0 else (U8, size)
            type_ = Array(kind, max(count, 1))
        return load(type_, space, address, self)

    def _argument(self, text: str) -> Result | None:
        """`arg0` everywhere; `n@entry`, and a buffer by its argument's name, in the kernel's frame.

        The line table tells no place for the kernel's variables: what the program has made of a
        parameter since is not known, so a scalar's bare name has no value.
        """
        entry = text.endswith(ENTRY)
        name = text.removesuffix(ENTRY)
        for index, argument in enumerate(self._inferior.launch.arguments):
            if text == f"arg{index}":
                return typed_argument(self._parameter(index), argument)
            if name != argument.name:
                continue
            if not self._in_kernel:
                if entry:
                    raise self._elsewhere(text, index)
                return None
            if entry:
                return typed_argument(self._parameter(index), argument)
            if argument.buffer is None:
                raise CommandError(
                    f'No symbol "{text}" in current context.',
                    f"{text}{ENTRY} is what the launch passed; where {text} is now is not known",
                )
            return buffer_array(argument)
        return None

    @property
    def _in_kernel(self) -> bool:
        return self.frame.own

    def _parameter(self, index: int) -> Result:
        kernel = self._inferior.kernel
        if index >= len(kernel.params):
            raise CommandError(
                f"no parameter {index}", f"{kernel.name} has {len(kernel.params)} parameters"
            )
        row = kernel.params[index]
        type_ = {1: U8, 2: TYPES["u16"], 4: U32, 8: U64}.get(row.size)
        raw = self.read_const(0, kernel.param_base + row.offset, row.size)
        if type_ is None:
            words = row.size // 4
            address = np.full(LANES, kernel.param_base + row.offset, np.uint64)
            place = Place("memory", space="const", addresses=address)
            return Result(Array(U32, words), address, np.ones(LANES, bool), place)
        # What a launch passes lies in constant bank 0, for every warp: an assignment changes it.
        addresses = np.full(LANES, kernel.param_base + row.offset, np.uint64)
        place = Place("memory", space="bank", addresses=addresses)
        value = uniform(int.from_bytes(raw, "little"), type_)
        return replace(value, place=place)

    def vector(self, text: str) -> dict[str, Result] | None:
        """The axes of `threadIdx`, `blockIdx`, `blockDim`, `gridDim`, `%tid` … without one."""
        base = text.strip()
        if base.startswith("%"):
            parts = [(row.name, self._special(row.name)) for row in find_ptx_vector(base)]
            return {n.rpartition(".")[2]: part for n, part in parts if part is not None} or None
        if base not in _VECTORS:
            return None
        return {a: _VECTORS[base](self._inferior, self._warp, n) for n, a in enumerate(AXES)}

    def is_function(self, name: str) -> bool:
        """Whether the program has a function of this name."""
        wanted = _without_arguments(name)
        places = self._inferior.symbols.function_places()
        return any(_without_arguments(n) == wanted for n, *_ in places)

    def function_scope(self, name: str) -> WarpContext:
        """The context of a function's innermost frame, as gdb takes `fib::n`."""
        wanted = _without_arguments(name)
        for frame in frames(self._inferior, self._warp):
            if _without_arguments(frame.function) == wanted:
                return WarpContext(self._inferior, self._warp, frame.level)
        raise CommandError(f"No frame is currently executing in block {name}.")

    def check_file(self, name: str) -> None:
        """CommandError for a file that the line table does not name."""
        self._inferior.symbols.check_file(name)

    def type(self, name: str) -> CType | None:
        """A type of the program's sources and debug information, or one of CUDA's vectors."""
        return named_type(self._inferior.program, name)

    def suggestions(self, text: str) -> list[str]:
        """Known names near `text`."""
        known = ["pc", *_NAMES, *(f"{v}.{a}" for v in _VECTORS for a in AXES)]
        known += [*self._inferior.program.globals, *self._inferior.variables]
        known += argument_names(self._inferior)
        known += access.special_names()
        return difflib.get_close_matches(text.removeprefix("$"), known, n=3)

    # ---- memory ------------------------------------------------------------------------
    def read(
        self, space: str, addresses: NDArray[np.uint64], size: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], str]:
        """`size` bytes at each lane's address in `space`."""
        out = np.zeros((LANES, size), np.uint8)
        ok = np.zeros(LANES, bool)
        why = ""
        cache: dict[int, bytes] = {}
        for lane in range(LANES):
            # Local memory, also through its generic window, is another in every lane.
            if space not in ("local", "generic") and int(addresses[lane]) in cache:
                data = cache[int(addresses[lane])]
            else:
                try:
                    data = access.read(
                        self._inferior, space, int(addresses[lane]), size, self._warp, lane
                    )
                    cache[int(addresses[lane])] = data
                except CommandError as e:
                    why = why or str(e)
                    continue
            out[lane] = np.frombuffer(data, np.uint8)
            ok[lane] = True
        return out, ok, why

    def generic(self, space: str, addresses: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Addresses of a space as pointers of the program have them."""
        layout = self._inferior.grid.gpu.layout
        window = {"shared": layout.shared_window, "local": layout.local_window}.get(space, 0)
        return addresses + np.uint64(window)

    def read_const(self, bank: int, offset: int, size: int) -> bytes:
        """Constant-bank bytes."""
        address = bank << 32 | (offset & 0xFFFFFFFF)
        return access.read(self._inferior, "bank", address, size, self._warp, 0)

    # ---- writing -----------------------------------------------------------------------
    def write_place(self, place: Place, raw: NDArray[np.uint8]) -> None:
        """Write in the lanes that the focus selects: its own lane, or all under print-lanes."""
        lanes = self._lanes()
        self._warp.note_edit()
        if place.kind == "register":
            self._write_register(place.index, raw, 0, lanes)
        elif place.kind == "pair":
            self._write_register(place.index, raw, 0, lanes)
            self._write_register(place.index + 1, raw, 4, lanes)
        elif place.kind == "apart":
            self._write_register(place.index, raw, 0, lanes)
            self._write_register(int(place.name.removeprefix("R")), raw, 4, lanes)
        elif place.kind == "cc":
            for bit, flag in enumerate(FLAGS):
                self._write_mask(Place("flag", name=flag), raw[:, 0] >> bit & 1 != 0, lanes)
        elif place.kind == "pc":
            self._move(int.from_bytes(raw[lanes[0]].tobytes(), "little"))
        elif place.kind in SHARED_FILES:
            register = shared_registers.SharedRegister(place.kind, place.index)
            for lane in lanes:
                value = int.from_bytes(raw[lane].tobytes(), "little")
                shared_registers.write(self._warp, register, value, lane)
        elif place.kind in ("predicate", "flag"):
            self._write_mask(place, raw[:, 0] != 0, lanes)
        elif place.kind == "memory":
            assert place.addresses is not None
            if place.space == "bank":
                self._inferior.arguments_changed = True
            for lane in lanes:
                access.store(
                    self._inferior,
                    place.space,
                    int(place.addresses[lane]),
                    raw[lane].tobytes(),
                    self._warp,
                    lane,
                )

    def _lanes(self) -> list[int]:
        if self._inferior.settings.shown("print-lanes") == "all":
            return [i for i in range(LANES) if self._warp.valid >> i & 1]
        focus = self._inferior.focus
        return [focus.lane if focus is not None else 0]

    def _write_register(
        self, index: int, raw: NDArray[np.uint8], at: int, lanes: list[int]
    ) -> None:
        self.register(index)
        if index == RZ:
            raise CommandError("RZ is always 0")
        width = min(4, raw.shape[1] - at)
        padded = np.zeros((LANES, 4), np.uint8)
        padded[:, :width] = raw[:, at : at + width]
        values = padded.view(np.uint32).reshape(LANES)
        for lane in lanes:
            self._warp.R[index][lane] = values[lane]

    def _move(self, shown: int) -> None:
        """The warp's active lanes go on at a pc, written as expressions show it."""
        inferior = self._inferior
        codes = inferior.settings.shown("addresses") == "code"
        found = inferior.symbols.at(shown if codes else inferior.symbols.code_address(shown))
        self._warp.pc = found.addresses[0]

    def _write_mask(self, place: Place, values: NDArray[np.bool_], lanes: list[int]) -> None:
        if place.kind == "predicate":
            if place.index == 7:
                raise CommandError("PT is always true")
            target, index = self._warp.predicates, place.index
        else:
            target, index = self._warp.cc, FLAGS.index(place.name)
        old = mask_array(int(target[index]))
        for lane in lanes:
            old[lane] = values[lane]
        target[index] = array_mask(old)

    def set_variable(self, name: str, value: Result) -> None:
        """Set a `$name` of the session."""
        kept = decayed(value)
        if isinstance(kept.type, Struct):
            raise CommandError(f"{name} cannot hold a structure", f"keep its address: {name} = &…")
        if text_of(kept) is not None:
            self._inferior.variables[name] = kept
            return
        place = Place("variable", name=name)
        self._inferior.variables[name] = Result(kept.type, kept.values, kept.valid, place, kept.why)


def void_variable(text: str) -> Result:
    """A `$name` that nothing has been given to."""
    place = Place("variable", name=text)
    values = np.zeros(LANES, np.int32)
    return Result(VOID, values, np.zeros(LANES, bool), place, f"{text} is void")


def _without_arguments(function: str) -> str:
    """`fib` of `fib(int, int)`."""
    return function.partition("(")[0].strip()


def function_pc(inferior: Inferior, text: str) -> Result | None:
    """Where the kernel or the one function of a name begins, as `$pc` is shown; or None.

    Its type is the function's, where the program has debug information.
    """
    symbols = inferior.symbols
    wanted = text.replace(" ", "")
    found = {pc for name, pc, _ in symbols.function_places() if name.replace(" ", "") == wanted}
    if len(found) != 1:
        return None
    pc = found.pop()
    section, _ = symbols.image.section_offset(pc) or ("", 0)
    scope = known_variables(inferior.program).functions.get(section)
    type_ = replace(U64, name=scope.written if scope is not None else UNTYPED_FUNCTION)
    label = function_label(symbols, pc)
    shown = np.full(LANES, inferior.shown_pc(pc), np.uint64)
    return per_lane(shown, type_, Place(FUNCTION, name=label))


def function_label(symbols: Symbols, pc: int) -> str:
    """The function that a pc is in, with the types of its parameters where they are known."""
    found = symbols.image.function_at(symbols.layout.first(pc))
    return "" if found is None else function_name(found[0].label) or short_name(found[0].label)


def machine_name(text: str) -> bool:
    """Whether a `$name` is of a warp: a register, a coordinate, the pc."""
    plain = text.removeprefix("$")
    known = plain in ("pc", "fp") or plain in _NAMES or plain.partition(".")[0] in _VECTORS
    return (
        known
        or plain.startswith(("cuda_", "SR_"))
        or is_register(text)
        or shared_registers.looks_like_one(plain)
    )


def argument_names(inferior: Inferior) -> list[str]:
    """Names that mean something in the kernel's frame: `n@entry`, and buffers by `out` alone."""
    rows = inferior.launch.arguments
    return [a.name for a in rows if a.buffer is not None] + [f"{a.name}{ENTRY}" for a in rows]


def buffer_array(argument: Any) -> Result:
    """The launch's buffer that an argument names, as an array in device memory."""
    dtype = argument.buffer.dtype
    target = TYPES.get(f"{dtype.kind}{dtype.itemsize * 8}", U8)
    count = max(argument.buffer.nbytes // target.size, 1)
    addresses = np.full(LANES, argument.buffer.address, np.uint64)
    place = Place("memory", space="global", addresses=addresses)
    return Result(Array(target, count), addresses, np.ones(LANES, bool), place)


def typed_argument(parameter: Result, argument: Any) -> Result:
    """A parameter with the type its argument was given with: a pointer to the buffer's elements."""
    if argument.buffer is not None:
        dtype = argument.buffer.dtype
        target = TYPES.get(f"{dtype.kind}{dtype.itemsize * 8}")
        if target is None:
            return parameter
        return replace(parameter, type=Pointer("global", target))
    kind = {int: "i", float: "f"}.get(type(argument.value))
    target = TYPES.get(f"{kind}{parameter.type.size * 8}")
    if target is None:
        return parameter
    return replace(parameter, type=target, values=parameter.values.view(target.dtype))


Reader = Callable[[Any, Any], Result]


def _int(value: int, type_: Scalar = I32) -> Result:
    return uniform(value, type_)


_NAMES: dict[str, Reader] = {
    "sp": lambda s, w: per_lane(
        w.R[1].astype(np.uint64) + np.uint64(s.grid.gpu.layout.local_window), U64
    ),
    "errorpc": lambda s, w: _int(s.shown_pc(error_pc(s, w)), U64),
    "sm": lambda s, w: _int(w.sm),
    "warp": lambda s, w: _int(w.slot),
    "lane": lambda s, w: per_lane(np.arange(LANES, dtype=np.int32), I32),
    "active": lambda s, w: per_lane(mask_array(w.active), TYPES["bool"]),
    "exited": lambda s, w: per_lane(mask_array(w.exited), TYPES["bool"]),
    "activemask": lambda s, w: _int(w.active, U32),
    "warpSize": lambda s, w: _int(32),
    "instructions": lambda s, w: _int(w.executed, U64),
}

Vector = Callable[[Any, Any, int], Result]


def _or(values: Any, axis: int, default: int) -> Result:
    return _int(int(values[axis]) if axis >= 0 else default, U32)


_VECTORS: dict[str, Vector] = {
    "threadIdx": lambda s, w, a: (
        per_lane(np.asarray(w.tid[a], np.uint32).copy(), U32) if a >= 0 else _int(0, U32)
    ),
    "blockIdx": lambda s, w, a: _or(w.cta.block, a, 0),
    "blockDim": lambda s, w, a: _or(s.grid.block, a, 1),
    "gridDim": lambda s, w, a: _or(s.grid.grid, a, 1),
}
