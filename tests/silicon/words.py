"""Single instructions of every form, with operands that are special: pack part `words`.

A kernel fills registers, predicates and uniform registers, executes one word and stores what the
word may have changed.  128 lanes have inputs of their own.  Words are random ones of forms that
have semantics and touch registers alone; compilers make few of them.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator

import numpy as np

from gpudbg.assembler import assemble_file
from gpudbg.errors import AssembleError, DecodeError
from gpudbg.isa.control import Control
from gpudbg.isa.volta import ARCHS as TABLES
from gpudbg.isa.volta import CONTROL_MASK, WideControl, decode
from gpudbg.isa.volta.assemble import assemble
from gpudbg.isa.volta.insn import WideInstruction
from gpudbg.isa.volta.latency import TIMING
from gpudbg.isa.volta.spec import WideForm
from tests.engine.random_modern import _GAPS, GLOBAL, SHARED, _filled, _pool, _put
from tests.engine.random_programs import SPECIALS
from tests.silicon.pack import Pack, one_launch

BLOCKS = 4
FIRST, LAST = 16, 63
"""Registers with inputs."""
RESULT, BEHIND = 64, 88
"""Registers that a word may write."""
WORDS = BEHIND - FIRST
"""Input words of a lane."""
STRIDE, OUT_STRIDE = 4 * WORDS, 128
UNIFORM, UNIFORM_RESULT = range(4, 20), range(24, 28)
CONSTANTS = 0x220
"""In c[0x0]: 16 words."""
MARK = 0x000FE20000000F00DEADBEEF00407802
"""A word that the frame holds once: MOV R64, 0xdeadbeef."""
EACH = 5
"""Words of a form."""
APART = frozenset(
    (
        *GLOBAL,
        *SHARED,
        *"LDL STL LDGSTS LDC ULDC NOP DEPBAR MEMBAR ERRBAR FENCE PMTRIG MOVM CGAERRBAR"
        " LDGDEPBAR QSPC AL2P ATOMS FOOTPRINT PREEXIT BMOV".split(),
    )
)
WAIT, SLEEP = "NOP [B012345:R-:W-:Y:S15]", "NOP [B------:R-:W-:Y:S15]"
TENSOR = ("HMMA", "IMMA", "BMMA", "DMMA")


def inputs(seed: int) -> np.ndarray:
    """A buffer: special words, pairs of them, and some that are random."""
    rng = np.random.default_rng(seed)
    count = BLOCKS * 32 * WORDS
    pairs = SPECIALS[: SPECIALS.size // 2 * 2].reshape(-1, 2)
    data = pairs[rng.integers(0, len(pairs), count // 2)].copy()
    plain = rng.random(len(data)) < 0.4
    data[plain] = rng.integers(0, 1 << 32, (int(plain.sum()), 2), np.uint32)
    return data.reshape(-1)


def kernel(name: str, word: int) -> str:
    """Text of a kernel around a word."""
    lines = [
        f".kernel {name}",
        ".registers 96",
        ".param 8, 8, 64",
        "S2R R0, SR_TID.X",
        "S2R R1, SR_CTAID.X",
        "ULDC.64 UR40, c[0x0][0x208]",
        "IMAD R0, R1, 0x20, R0",
        "MOV R2, c[0x0][0x210]",
        "MOV R3, c[0x0][0x214]",
        "MOV R4, c[0x0][0x218]",
        "MOV R5, c[0x0][0x21c]",
        f"IMAD.WIDE.U32 R2, R0, 0x{STRIDE:x}, R2",
        f"IMAD.WIDE.U32 R4, R0, 0x{OUT_STRIDE:x}, R4",
        *(f"ULDC UR{n}, c[0x0][0x{CONSTANTS + 4 * k:x}]" for k, n in enumerate(UNIFORM)),
        *(f"ULDC UR{n}, c[0x0][0x{CONSTANTS + 4 * k:x}]" for k, n in enumerate(UNIFORM_RESULT)),
        *(
            f"UISETP.{c} UP{n}, UPT, UR{4 + n}, UR{9 + n}, UPT"
            for n, c in enumerate(
                ("GE.AND", "LT.AND", "GE.AND", "LT.AND", "NE.AND", "EQ.AND", "GE.AND")
            )
        ),
        *(f"LDG.E.128 R{FIRST + n}, desc[UR40][R2.64+0x{4 * n:x}]" for n in range(0, WORDS, 4)),
        f"R2P PR, R{LAST - 1}, 0x7f",
        WAIT,
        SLEEP,
        f".word 0x{word:032x}",
        WAIT,
        *[SLEEP] * 4,
        "P2R R6, PR, RZ, 0x7f",
        "UP2UR UR30, UPR, URZ, 0x7f",
        "MOV R7, UR30",
        *(f"MOV R{8 + k}, UR{n}" for k, n in enumerate(UNIFORM_RESULT)),
        *(
            f"STG.E.128 desc[UR40][R4.64+0x{4 * n:x}], R{RESULT + n}"
            for n in range(0, BEHIND - RESULT, 4)
        ),
        f"STG.E.64 desc[UR40][R4.64+0x{4 * (BEHIND - RESULT):x}], R6",
        f"STG.E.128 desc[UR40][R4.64+0x{4 * (BEHIND - RESULT) + 16:x}], R8",
        "EXIT",
    ]
    return "\n".join(lines)


def controlled(word: int, insn: WideInstruction) -> int:
    """With control bits that wait long enough, and a barrier where the unit sets one."""
    barrier = 0 if TIMING.unit(insn).variable else None
    control = Control(15, True, barrier, None, 0, 0)
    return word & ~CONTROL_MASK | WideControl.decode(control.encode()).bits


def _shaped(form: WideForm, arch: str, rng: random.Random) -> int:
    """A word with operands where inputs and results are."""
    word = _filled(form, arch, rng)
    even = 2 if rng.random() < 0.9 else 1
    width = 8 if form.op in TENSOR else 4 if even == 2 else 1
    word = _put(word, 16, 8, RESULT + rng.randrange(0, 16, width))
    for low in (24, 32, 64):
        value = 255 if rng.random() < 0.08 else FIRST + rng.randrange(0, 40, width)
        if value != 255 and rng.random() < 0.05:
            value = RESULT
        word = _put(word, low, 8, value)
    for part in form.parts(TABLES[arch])[0]:
        for field in part.registers:
            if field.letter == "U":
                known = UNIFORM_RESULT if field.low == 16 else UNIFORM
                value = 63 if rng.random() < 0.08 else rng.choice(known) & (~1 if even == 2 else ~0)
                word = _put(word, field.low, 6, value)
    if form.op in TENSOR:
        word = _put(word, 12, 4, 7)
    return word & ~form.mask | form.value | 0x7E1 << 105


def _fits(insn: WideInstruction) -> bool:
    """Whether it reads and writes what the kernel fills and stores."""
    reads, writes = insn.reads(), insn.writes()
    return (
        all(FIRST <= n < BEHIND for n in reads.registers)
        and all(RESULT <= n < BEHIND for n in writes.registers)
        and all(n in UNIFORM or n in UNIFORM_RESULT for n in reads.uniform)
        and all(n in UNIFORM_RESULT for n in writes.uniform)
        and not reads.barriers
        and not writes.barriers
    )


def random_word(form: WideForm, arch: str, rng: random.Random) -> int | None:
    """A word of a form for the kernel, or None."""
    word = _shaped(form, arch, rng)
    try:
        insn = decode(word, arch)
        if "c[" in insn.text():
            word = _put(_put(word, 54, 5, 0), 40, 14, CONSTANTS // 4 + 2 * rng.randrange(8))
            insn = decode(word, arch)
    except DecodeError:
        return None
    text = insn.text()
    if insn.op != form.op or _GAPS.search(text) or not _fits(insn):
        return None
    if re.search(r"\bSR_|cx\[|c\[0x[^0]|c\[0x0\]\[U?R", text):
        return None
    # Bits that no text shows are as compilers set them.
    try:
        word = assemble(text, 0, arch)
        insn = decode(word, arch)
    except (AssembleError, DecodeError):
        return None
    return controlled(word, insn) if insn.text() == text else None


def words(
    arch: str, seed: int = 0, each: int = EACH, share: tuple[int, int] = (0, 1)
) -> Iterator[int]:
    """Words of every form, or of each nth form."""
    for op, forms in sorted(_pool(arch).items()):
        if op in APART:
            continue
        for number, form in enumerate(forms):
            if zlib.crc32(f"{op}/{number}".encode()) % share[1] != share[0]:
                continue
            rng = random.Random(f"{arch}/{seed}/{op}/{number}")
            found: dict[int, None] = {}
            for _ in range(200 * each):
                word = random_word(form, arch, rng)
                if word is not None:
                    found[word] = None
                if len(found) == each:
                    break
            yield from found


def fill(
    pack: Pack, arch: str, seed: int = 0, each: int = EACH, share: tuple[int, int] = (0, 1)
) -> None:
    """Cases named after the word and its text."""
    made = list(words(arch, seed, each, share))
    rng = np.random.default_rng(seed)
    buffers = [pack.buffer(inputs(n)) for n in range(4)]
    constants = [SPECIALS[rng.integers(0, SPECIALS.size, 16)].tobytes().hex() for _ in range(8)]
    frame = assemble_file(f".arch {arch}\n{kernel('word', MARK)}", path="words.sass").cubin()
    mark = MARK.to_bytes(16, "little")
    assert frame.count(mark) == 1
    for n, word in enumerate(made):
        image = frame.replace(mark, word.to_bytes(16, "little"))
        args = [{"buffer": "in"}, {"buffer": "out"}, {"bytes": constants[n % len(constants)]}]
        row = {
            "in": buffers[n % len(buffers)],
            "out": {"fill": 0xCD, "size": BLOCKS * 32 * OUT_STRIDE},
        }
        name = f"word {word:032x} {decode(word, arch).text()}"
        pack.add(name, image, one_launch("word", (BLOCKS, 1, 1), (32, 1, 1), args), buffers=row)
