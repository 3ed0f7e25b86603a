"""Random loops whose lanes part and meet again: nested `if`, `if` with `else`, exits of the loop.

Each is between a BSSY and a BSYNC, as compilers emit them; conditions compare hashes of the lane
and the turn.  Sides count in registers, write uniform registers and memory.
"""

from __future__ import annotations

import random

HEAD = """
.arch {arch}
.kernel apart
.registers 255
.shared 4096
.local 1024
.param 8, 8, 8, 8
.barriers 16
    S2R R0, SR_TID.X
    MOV R4, RZ
    MOV R6, RZ
    MOV R7, RZ
    MOV R8, RZ
    BSSY B0, `(AFTER)
TURN:
    IADD3 R4, R4, 0x1, RZ
"""
TAIL = """
    ISETP.LT.AND P6, PT, R4, {turns:#x}, PT
    @P6 BRA `(TURN)
OUT:
    BSYNC B0
AFTER:
    IADD3 R6, R6, R7, R8
    EXIT
    NOP
"""
WORK = (
    "IADD3 R6, R6, R4, RZ",
    "IADD3 R7, R7, R6, R0",
    "IADD3 R8, R8, 0x3, R7",
    "R2UR UR4, R4",
    "IADD3 R6, R6, UR4, RZ",
    "STS [R244], R6",
    "LDS R8, [R244]",
    "STS [R244+0x40], R7",
    "NOP",
)
"""What sides do; R244 is an address in shared memory (`random_modern.begin`)."""
DEEPEST = 3


class _Writer:
    """Writes the body of a loop."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.labels, self.lines = rng, 0, list[str]()

    def _label(self, hint: str) -> str:
        self.labels += 1
        return f"{hint}{self.labels}"

    def work(self) -> None:
        """A few instructions."""
        self.lines += [f"    {self.rng.choice(WORK)}" for _ in range(self.rng.randrange(4))]

    def condition(self) -> str:
        """The guard of a branch that some lanes take."""
        rng, index = self.rng, self.rng.randrange(5)
        self.lines += [
            f"    IMAD R9, R0, {rng.choice((1, 3, 5, 7)):#x}, R4",
            f"    LOP3.LUT R9, R9, {rng.choice((1, 3, 7, 8)):#x}, RZ, 0xc0, !PT",
            f"    ISETP.EQ.AND P{index}, PT, R9, {rng.choice((0, 1, 2)):#x}, PT",
        ]
        return f"@{'!' * rng.randrange(2)}P{index}"

    def body(self, depth: int) -> None:
        """Pieces one after the other, with others in them."""
        rng = self.rng
        for _ in range(rng.randrange(2, 4) if depth == 1 else rng.randrange(1, 3)):
            self.work()
            if depth == 1 or (depth <= DEEPEST and rng.randrange(3) == 0):
                rng.choice((self.either, self.one, self.one, self.out))(depth)
        self.work()

    def one(self, depth: int) -> None:
        """`if`: lanes go to the BSYNC past the others."""
        end = self._label("MEET")
        self.lines.append(f"    BSSY B{depth}, `({end})")
        self.lines.append(f"    {self.condition()} BRA `(AT{end})")
        self.body(depth + 1)
        self.lines += [f"AT{end}:", f"    BSYNC B{depth}", f"{end}:"]

    def either(self, depth: int) -> None:
        """`if` with `else`."""
        end, other = self._label("MEET"), self._label("ELSE")
        self.lines.append(f"    BSSY B{depth}, `({end})")
        self.lines.append(f"    {self.condition()} BRA `({other})")
        self.body(depth + 1)
        self.lines += [f"    BRA `(AT{end})", f"{other}:"]
        self.body(depth + 1)
        self.lines += [f"AT{end}:", f"    BSYNC B{depth}", f"{end}:"]

    def out(self, depth: int) -> None:
        """Lanes leave the loop, where no barrier but the loop's is theirs, or end."""
        if depth == 1:
            goal = self.rng.choice(("BRA `(OUT)", "BRA `(OUT)", "EXIT"))
            self.lines.append("    IADD3 R9, R0, R4, RZ")
            self.lines.append(f"    ISETP.EQ.AND P5, PT, R9, {self.rng.randrange(60):#x}, PT")
            self.lines.append(f"    @P5 {goal}")


def generate(seed: int, arch: str) -> str:
    """A program's text."""
    writer = _Writer(random.Random(seed))
    writer.body(1)
    turns = writer.rng.choice((5, 20, 40))
    return HEAD.format(arch=arch) + "\n".join(writer.lines) + TAIL.format(turns=turns)
