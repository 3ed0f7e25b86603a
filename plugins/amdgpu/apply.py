"""What the instructions do: reads and writes of a file of hardware register values.

s_getreg gives (register >> offset) cut to `size` bits, zero-extended.  s_setreg replaces those
bits by the low bits of its source, where the register can be written at the privilege the code
has; bits past 31 fall off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpudbg.bits import mask
from gpudbg.errors import UsageError

from .instruction import GETREG, GcnInstruction
from .operand import HwReg
from .registers import DEFAULT_PROCESSOR, Processor, Register, processor
from .scalars import scalar_name

WORD = mask(32)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a read gave.

    Args:
        register: what was read.
        value: the whole register.
        result: the bits asked for.
        destination: scalar register that gets them; "" when only the operand was read.
    """

    register: Register
    value: int
    result: int
    destination: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a JSON-able dict."""
        return {
            "kind": "read",
            "register": register_label(self.register),
            "value": self.value,
            "result": self.result,
            "destination": self.destination or None,
        }

    def lines(self) -> list[str]:
        """As text."""
        to = f"{self.destination} = " if self.destination else "reads "
        name = register_label(self.register)
        return [f"{to}0x{self.result:x} ({self.result}), from {name} = 0x{self.value:08x}"]


@dataclass(frozen=True, slots=True)
class Write:
    """What a write changed.

    Args:
        register: what was written.
        before: its value.
        after: its value then.
        asked: bits the operand names.
        written: those of them that can be written.
        certainty: how it is known which bits can be written.
        source: what that rests on.
        privileged: the privilege assumed.
    """

    register: Register
    before: int
    after: int
    asked: int
    written: int
    certainty: str
    source: str
    privileged: bool

    @property
    def ignored(self) -> int:
        """Bits asked for that stay as they were."""
        return self.asked & ~self.written

    def changes(self) -> list[tuple[str, int, int, str]]:
        """Fields that changed: name, before, after, meaning of the new value."""
        return [
            (row.name, row.bits.get(self.before), row.bits.get(self.after),
             row.explain(row.bits.get(self.after)))
            for row in self.register.fields
            if row.bits.get(self.before) != row.bits.get(self.after)
        ]  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """As a JSON-able dict."""
        return {
            "kind": "write",
            "register": register_label(self.register),
            "before": self.before,
            "after": self.after,
            "asked_mask": self.asked,
            "written_mask": self.written,
            "ignored_mask": self.ignored,
            "privileged": self.privileged,
            "certainty": self.certainty,
            "source": self.source,
            "changes": [
                {"name": name, "before": before, "after": after, "meaning": meaning}
                for name, before, after, meaning in self.changes()
            ],
        }

    def lines(self) -> list[str]:
        """As text."""
        name = register_label(self.register)
        lines = [f"{name}: 0x{self.before:08x} -> 0x{self.after:08x}"]
        for field, before, after, meaning in self.changes():
            words = f"  ({meaning})" if meaning else ""
            lines.append(f"  {field}: {before:#x} -> {after:#x}{words}")
        if self.ignored:
            who = "privileged" if self.privileged else "user"
            lines.append(
                f"  bits 0x{self.ignored:08x} stay: not writable by {who} code "
                f"({self.certainty}: {self.source})"
            )
        return lines


def register_label(register: Register) -> str:
    """How a register is called in output: its name where it has one, else `hwreg(id)`."""
    if register.printed != str(register.id):
        return register.printed
    return f"hwreg({register.id})" + (f" {register.name}" if register.name else "")


class HwRegFile:
    """The hardware registers of one wave, with its scalar registers as far as they are known.

    Args:
        mcpu: processor name, or the processor.
        values: register name -> value; hardware registers with or without prefix, or scalars.
        privileged: whether writes come from the trap handler.

    Raises:
        UsageError: unknown names or values that do not fit 32 bits.
    """

    def __init__(
        self,
        mcpu: str | Processor = DEFAULT_PROCESSOR,
        values: Mapping[str, int] | None = None,
        privileged: bool = False,
    ) -> None:
        self.processor = processor(mcpu) if isinstance(mcpu, str) else mcpu
        self.privileged = privileged
        self._values: dict[int, int] = {}
        self._scalars: dict[int, int] = {}
        self._codes = {scalar_name(code, self.processor): code for code in range(128)}
        for name, value in (values or {}).items():
            self.write(name, value)

    def names(self) -> Sequence[str]:
        """Every hardware register that has a name, in order of id."""
        return [r.name for r in self.processor.registers.values() if r.name]

    def read(self, name: str) -> int:
        """A register's value.

        Raises:
            UsageError: unknown name, or no value is known.
        """
        if name in self._codes:
            return self.scalar(self._codes[name])
        return self._value(self._register(name))

    def write(self, name: str, value: int) -> None:
        """Give a register a value, as a debugger does: every bit of it.

        Raises:
            UsageError: unknown name, or the value does not fit 32 bits.
        """
        if not 0 <= value <= WORD:
            raise UsageError(f"{name} = {value:#x} does not fit 32 bits")
        if name in self._codes:
            self._scalars[self._codes[name]] = value
        else:
            self._values[self._register(name).id] = value

    def scalar(self, code: int) -> int:
        """A scalar register by its 7-bit code; `null` reads as zero.

        Raises:
            UsageError: no value is known.
        """
        name = scalar_name(code, self.processor)
        if name == "null":
            return 0
        if code not in self._scalars:
            raise UsageError(f"no value is known for {name}", f"give {name}=VALUE")
        return self._scalars[code]

    def getreg(self, operand: HwReg | int) -> ReadResult:
        """What a read of an operand gives.

        Raises:
            UsageError: the register's value is not known.
        """
        hwreg = HwReg.decode(operand) if isinstance(operand, int) else operand
        register = self.processor.registers[hwreg.id]
        value = self._value(register)
        return ReadResult(register, value, value >> hwreg.offset & mask(hwreg.size))

    def setreg(self, operand: HwReg | int, value: int) -> Write:
        """Write the low bits of `value` to an operand, and say what changed.

        Raises:
            UsageError: the register's value is not known.
        """
        hwreg = HwReg.decode(operand) if isinstance(operand, int) else operand
        register = self.processor.registers[hwreg.id]
        before = self._value(register)
        writable = register.writable(self.privileged)
        asked = mask(hwreg.size) << hwreg.offset & WORD
        written = asked & writable.bits
        after = (before & ~written) | (value << hwreg.offset & written)
        self._values[hwreg.id] = after
        return Write(
            register, before, after, asked, written, writable.certainty, writable.source,
            self.privileged,
        )  # fmt: skip

    def execute(self, instruction: GcnInstruction) -> ReadResult | Write:
        """Carry out one instruction.

        Raises:
            UsageError: a value it needs is not known.
        """
        if instruction.mnemonic == GETREG:
            read = self.getreg(instruction.simm16)
            self._scalars[instruction.scalar] = read.result
            name = scalar_name(instruction.scalar, self.processor)
            return ReadResult(read.register, read.value, read.result, name)
        if instruction.literal is not None:
            return self.setreg(instruction.simm16, instruction.literal)
        return self.setreg(instruction.simm16, self.scalar(instruction.scalar))

    def _register(self, name: str) -> Register:
        register = self.processor.by_name(name)
        if register is None and name.isdigit() and int(name) in self.processor.registers:
            register = self.processor.registers[int(name)]
        if register is None:
            raise UsageError(
                f"{self.processor.name} has no register '{name}'",
                f"hardware registers: {', '.join(self.names())}",
            )
        return register

    def _value(self, register: Register) -> int:
        if register.id not in self._values:
            label = register_label(register)
            name = register.name or str(register.id)
            raise UsageError(f"no value is known for {label}", f"give {name}=VALUE")
        return self._values[register.id]
