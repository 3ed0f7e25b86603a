"""Loops whose warps end their turns in them, with registers that follow from a few scalars.

A program has a loop over elements, such as every grid-stride loop, with random statements in it:
indices, 64-bit addresses with carries, comparisons, selects, sums of what was loaded, constants.
Several warps take turns, so that code keeps the loop's state where a turn ends (`turn_states`).
Both engines are stopped after the same random numbers of instructions, and must have the same
registers, masks and memory then.

    python -m tests.engine.fuzz_turns --start 1 --count 200 --arch sm_50
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import gpudbg
from gpudbg.architectures import age, is_wide
from gpudbg.assembler import assemble_file
from tests.engine import machines

ARCHITECTURES = ("sm_50", "sm_61", "sm_75", "sm_80", "sm_90")
TURNS = 24
"""Most rounds of a loop."""
ELEMENTS = 1 << 14
_WHOLE = range(8, 16)
"""Registers for whole numbers; what is loaded is in others."""
_SINGLE = range(16, 20)


class _Program:
    """Makes one program.

    Attributes:
        wide: of the 128-bit instruction sets.
    """

    def __init__(self, rng: random.Random, arch: str) -> None:
        self.rng, self.arch, self.wide = rng, arch, is_wide(arch)
        self.carried = False

    def _reg(self, among: range = _WHOLE) -> str:
        return f"R{self.rng.choice(among)}"

    def _number(self) -> str:
        return hex(self.rng.choice((0, 1, 2, 3, 7, 31, 32, 0x40, 0x7FFF, self.rng.getrandbits(19))))

    def _any(self) -> str:
        """An operand: an index, a register, a number, or what the launch gives."""
        return self.rng.choice((self._reg(), "R2", "R0", self._number(), "c[0x0][0x8]"))

    def _sum(self) -> list[str]:
        if self.wide:
            return [f"IADD3 {self._reg()}, {self._reg()}, {self._any()}, RZ ;"]
        return [f"IADD {self._reg()}, {self._reg()}, {self._any()} ;"]

    def _index(self) -> list[str]:
        """A number that follows from the index."""
        count = hex(self.rng.randrange(6))
        if self.wide:
            return [f"SHF.L.U32 {self._reg()}, R2, {count}, RZ ;"]
        return [f"SHL {self._reg()}, R2, {count} ;"]

    def _pair(self) -> list[str]:
        """A 64-bit sum, with its carry."""
        low, high = self.rng.sample(list(_WHOLE), 2)
        if self.wide:
            return [
                f"IADD3 R{low}, P3, R2, {self._any()}, RZ ;",
                f"IADD3.X R{high}, R{high}, RZ, RZ, P3, !PT ;",
            ]
        return [f"IADD R{low}.CC, R2, {self._any()} ;", f"IADD.X R{high}, RZ, c[0x0][0x8] ;"]

    def _constant(self) -> list[str]:
        return [f"MOV {self._reg()}, {self.rng.choice(('c[0x0][0x8]', 'RZ', 'R0'))} ;"]

    def _compared(self) -> list[str]:
        how = self.rng.choice(("LT", "GT", "EQ", "GE"))
        kind = self.rng.choice(("", ".U32"))
        place = self.rng.choice((1, 2))
        one = self.rng.choice((self._reg(), "R2"))
        return [f"ISETP.{how}{kind}.AND P{place}, PT, {one}, {self._any()}, PT ;"]

    def _selected(self) -> list[str]:
        chosen = self.rng.choice(("P1", "!P2"))
        return [f"SEL {self._reg()}, {self._reg()}, {self._any()}, {chosen} ;"]

    def _guarded(self) -> list[str]:
        (line,) = self._sum()
        return [f"@{self.rng.choice(('P1', '!P2'))} {line}"]

    def _float(self) -> list[str]:
        goal, one, other = (self._reg(_SINGLE) for _ in range(3))
        if self.rng.random() < 0.5:
            return [f"FADD {goal}, {one}, {other} ;"]
        return [f"FFMA {goal}, {one}, {other}, R20 ;"]

    def _loaded(self) -> list[str]:
        return [f"FADD {self._reg(_SINGLE)}, R20, {self._reg(_SINGLE)} ;"]

    def _statements(self, most: int) -> list[str]:
        kinds: tuple[Callable[[], list[str]], ...] = (
            self._sum, self._index, self._index, self._pair, self._constant, self._compared,
            self._selected, self._guarded, self._float, self._loaded,
        )  # fmt: skip
        count = self.rng.randrange(most)
        return [line for _ in range(count) for line in self.rng.choice(kinds)()]

    def _address(self) -> list[str]:
        """R4, R5: the address of element R2 of the array."""
        if self.wide:
            return ["MOV R6, 0x4 ;", "IMAD.WIDE R4, R2, R6, c[0x0][data] ;"]
        return [
            "SHR R5, R2, 0x1e ;",
            "ISCADD R4.CC, R2, c[0x0][data], 0x2 ;",
            "IADD.X R5, R5, c[0x0][data+4] ;",
        ]

    def text(self, rounds: int, step: int) -> str:
        """The program.

        Args:
            rounds: of the loop; step: from an element to the next.
        """
        number = age(self.arch)[0]
        place = "[R4.64]" if number >= 80 else "[R4]"
        if number >= 90:
            place = f"desc[UR4]{place}"
        scope = ".SYS" if self.wide and number < 80 else ""
        loads, stores = f"LDG.E{scope} R20, {place} ;", f"STG.E{scope} {place}, R20 ;"
        begin = (
            ["IMAD R2, R0, c[0x0][0x0], R1 ;", "MOV R3, R2 ;"]
            if self.wide
            else ["XMAD R2, R0, c[0x0][0x8], R1 ;", "MOV R3, R2 ;"]
        )
        onward = f"IADD3 R2, R2, {step:#x}, RZ ;" if self.wide else f"IADD R2, R2, {step:#x} ;"
        counts = "IADD3 R21, R21, 0x1, RZ ;" if self.wide else "IADD R21, R21, 0x1 ;"
        by_index = self.rng.random() < 0.5
        ends = (
            f"ISETP.LT.AND P0, PT, R2, {rounds * step:#x}, PT ;"
            if by_index
            else f"ISETP.LT.AND P0, PT, R21, {rounds:#x}, PT ;"
        )
        body = [*self._address(), loads, *self._statements(7)]
        if self.rng.random() < 0.4:
            body += [stores, *self._statements(3)]
        if self.rng.random() < 0.2:
            body.append("BAR.SYNC 0x0 ;")
        clear = [f"MOV R{n}, {self.rng.choice(('RZ', 'R2', 'R1', 'R0'))} ;" for n in _WHOLE]
        clear += [f"MOV R{n}, RZ ;" for n in (*_SINGLE, 20, 21)]
        lines = [
            "S2R R0, SR_CTAID.X ;",
            "S2R R1, SR_TID.X ;",
            *begin,
            *clear,
            *self._statements(4),
            "again:",
            *body,
            onward,
            counts,
            ends,
            *self._statements(3),
            "@P0 BRA again ;",
            *self._statements(3),
            "MOV R2, R3 ;",
            *self._address(),
            "FADD R20, R16, R17 ;",
            stores,
            "EXIT ;",
        ]
        return "\n".join([f".arch {self.arch}", ".kernel probe", ".param data 8", *lines, ""])


def program(seed: int, arch: str) -> tuple[str, int, int]:
    """(Text, blocks, threads of a block) of a program."""
    rng = random.Random(seed)
    threads = rng.choice((32, 64, 96, 128, 256))
    blocks = rng.choice((1, 2, 3))
    step = rng.choice((32, 64, blocks * threads))
    return _Program(rng, arch).text(rng.randrange(3, TURNS), step), blocks, threads


def difference(seed: int, arch: str) -> str:
    """Where the engines differ at random stops of a program; "" nowhere."""
    text, blocks, threads = program(seed, arch)
    image = assemble_file(text).cubin()
    rng = random.Random(-seed)
    stops = sorted(rng.sample(range(1, 300 * threads // 32 * blocks), 4))
    sessions: list[Any] = []
    for engine in ("step", "run"):
        loaded = gpudbg.load(image, engine=engine, num_sms=1)
        data = np.random.default_rng(seed).standard_normal(ELEMENTS).astype(np.float32)
        buffer = loaded.device.buffer(data)
        sessions.append(loaded.launch("probe", grid=blocks, block=threads, args=[buffer]))
    done = 0
    for stop in [*stops, None]:
        kinds = [
            (session.run() if stop is None else session.run(max_instructions=stop - done)).kind
            for session in sessions
        ]
        done = stop or 0
        step, run = (machines.grid_state(session.grid) for session in sessions)
        found = machines.difference(step, run)
        if found or kinds[0] != kinds[1]:
            return f"seed {seed}, {arch}, after {stop}: {kinds}, {found}"
        if kinds[0] != "limit":
            break
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--arch", choices=ARCHITECTURES, default="sm_50")
    chosen = parser.parse_args()
    found = [
        why
        for seed in range(chosen.start, chosen.start + chosen.count)
        if (why := difference(seed, chosen.arch))
    ]
    print(*found, f"{chosen.count} programs: {len(found)} differ", sep="\n")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
