"""Differential fuzzing against llvm-mc 19: `python -m tests.plugins.amdgpu.fuzz_llvm_mc
[SECONDS] [SEED]`.

Prints every source on which the plugin and llvm-mc disagree.  Not collected by pytest;
what it finds is recorded in `llvm_mc_cases.json`.
"""

from __future__ import annotations

import dataclasses
import random
import sys
import time
from collections.abc import Iterator

from gpudbg.plugin import discover
from tests.plugins.amdgpu import amdgpu_llvm_mc as llvm_mc

discover().import_module("amdgpu", "errors")

from gpudbg_plugins.amdgpu import errors, registers, source  # noqa: E402

CPUS = ("gfx600", "gfx700", "gfx803", "gfx801", "gfx900", "gfx90a", "gfx940", "gfx1010",
        "gfx1030", "gfx1100", "gfx1200")  # fmt: skip
NAMES = (*sorted(registers.known_names()), "HW_REG_FOO", "hw_reg_mode", "MODE", "foo")
SCALARS = tuple(
    """s0 s1 s5 s100 s101 s102 s103 s104 s105 s106 s255 s00 ttmp0 ttmp7 ttmp11 ttmp12 ttmp15 ttmp16
    vcc vcc_lo vcc_hi exec exec_lo exec_hi m0 null flat_scratch flat_scratch_lo flat_scratch_hi
    xnack_mask xnack_mask_lo tba_lo tma_hi tba tma v0 v255 v256 a0 s s[2:3] s[0:3] v[0:1] ttmp[0:3]
    0 1 -1 x S0""".split()
)
INTEGERS = ("0", "1", "2", "4", "5", "7", "16", "31", "32", "33", "63", "64", "-1", "0x1881",
            "0xffff", "0x10000", "017", "0b101", "0xffffffffffffffff", "0x10000000000000000",
            "9223372036854775808", "-9223372036854775808", "foo", "_a")  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "%", "<<", ">>", "|", "&", "^", "==", "!=", "<", "<=", ">", ">=",
             "<>", "&&", "||", "!")  # fmt: skip


BATCH = 40
SOURCES = 8
ALONE = frozenset("'\"=:/`#\n")
"""Characters that may touch the lines around, or that stop llvm-mc."""


class Generator:
    """Random sources from the grammar that is read here."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, choices: tuple[str, ...]) -> str:
        return self.random.choice(choices)

    def expression(self, depth: int = 0) -> str:
        kind = self.random.random()
        if depth > 3 or kind < 0.5:
            return self.pick((*INTEGERS, *map(str, range(70))))
        if kind < 0.75:
            parts = [self.expression(depth + 1), self.pick(OPERATORS), self.expression(depth + 1)]
            return self.pick(("", " ")).join(parts)
        if kind < 0.85:
            return f"({self.expression(depth + 1)})"
        return self.pick(("-", "~", "+", "!", "- ")) + self.expression(depth + 1)

    def small(self, limit: int) -> str:
        if self.random.random() < 0.7:
            return str(self.random.randrange(limit))
        return self.expression()

    def hwreg(self) -> str:
        kind = self.random.random()
        if kind < 0.15:
            return self.expression()
        if kind < 0.25:
            return str(self.random.randrange(1 << 16))
        if kind < 0.4:
            keys = self.random.sample(("id", "offset", "size"), self.random.randrange(4))
            if self.random.random() < 0.2:
                keys.append(self.pick(("id", "foo", "", "size")))
            return "{" + ", ".join(f"{key}: {self.small(64)}" for key in keys) + "}"
        register = self.pick(NAMES) if self.random.random() < 0.5 else self.small(64)
        if kind < 0.7:
            return f"hwreg({register})"
        return f"hwreg({register}, {self.small(32)}, {self.small(33)})"

    def literal(self) -> str:
        if self.random.random() < 0.5:
            return self.expression()
        value = self.random.choice((self.random.getrandbits(32), self.random.randrange(-40, 90)))
        return self.random.choice((str(value), hex(value)))

    def line(self) -> str:
        mnemonic = self.pick(("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"))
        operands = {
            "s_getreg_b32": (self.pick(SCALARS), self.hwreg()),
            "s_setreg_b32": (self.hwreg(), self.pick(SCALARS)),
            "s_setreg_imm32_b32": (self.hwreg(), self.literal()),
        }[mnemonic]
        return f"{mnemonic} {', '.join(operands)}"

    def assignment(self) -> str:
        name = self.pick(("x", "foo", "y", "_a", "s0", "hwreg", "HW_REG_FOO", "max"))
        value = self.pick(("1", "7", str(self.random.randrange(70)), "3 + 4 << 1"))
        if self.random.random() < 0.4:
            return f"{self.pick(('.set', '.equ'))} {name}, {value}"
        return f"{name} = {value}"

    def source(self) -> str:
        """Assignments, then an instruction that uses them."""
        lines = [self.assignment() for _ in range(self.random.randrange(1, 5))]
        symbols = ("x", "foo", "y", "_a", "s0", "hwreg", "HW_REG_FOO", "max", "x+y", "1")
        operand = self.pick(("{}", "hwreg({})", "hwreg({}, {}, {})", "{{id: {}}}"))
        filled = operand.format(*(self.pick(symbols) for _ in range(3)))
        return "\n".join([*lines, f"s_getreg_b32 s1, {filled}"])


def mine(text: str, mcpu: str) -> llvm_mc.Answer:
    """The answer of the plugin."""
    processor = registers.processor(mcpu)
    try:
        found = source.read_instructions(text, processor)
    except errors.AsmError as error:
        return llvm_mc.Answer("", "", error.error, error.line, error.column)
    if not found:
        return llvm_mc.Answer()
    last = found[-1]
    return llvm_mc.Answer(last.encoding(processor).hex(), last.text(processor))


def answers(program: str, lines: list[str], mcpu: str) -> Iterator[tuple[str, llvm_mc.Answer]]:
    """What llvm-mc says to each line; lines it must see alone are asked alone."""
    together = [text for text in lines if text.startswith("s_") and not ALONE & set(text)]
    try:
        found = llvm_mc.ask_lines(program, together, mcpu)
        for text, answer in zip(together, found, strict=True):
            yield text, dataclasses.replace(answer, line=min(answer.line, 1))
        rest = [text for text in lines if text not in together]
    except ValueError:
        rest = lines
    for text in rest:
        alone = llvm_mc.ask(program, text, mcpu)
        if alone is not None:
            yield text, alone


def main() -> int:
    """Fuzz for a while; 1 when something differed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    program = llvm_mc.find()
    if program is None:
        print("no llvm-mc 19 with the AMDGPU target")
        return 2
    generator, asked, differ = Generator(seed), 0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        mcpu = generator.pick(CPUS)
        lines = [generator.line() for _ in range(BATCH)]
        lines += [generator.source() for _ in range(SOURCES)]
        for text, answer in answers(program, lines, mcpu):
            asked += 1
            ours = mine(text, mcpu)
            other = ours.error == answer.error.partition(",")[0] == "invalid instruction"
            if ours != answer and not other:  # the names of all instructions are not known here
                differ += 1
                print(f"{mcpu} {text!r}\n  llvm-mc {answer}\n  here    {ours}")
    print(f"{asked} asked, {differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
