"""Records what llvm-mc 19 answers: `python -m tests.plugins.amdgpu.record_llvm_mc`.

Run where it is installed.  Writes `llvm_mc_cases.json` (hand-picked and random sources) and
`llvm_mc_processors.json` (names, ids and scalar registers of every processor, equal processors
grouped).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.plugins.amdgpu import amdgpu_llvm_mc as llvm_mc
from tests.plugins.amdgpu.fuzz_llvm_mc import CPUS, NAMES, SCALARS, Generator, mine

HERE = Path(__file__).parent
RANDOM_CASES = 300

SOURCES = r"""
s_getreg_b32 s2, {id: 1, offset: 2, size: 4}
s_getreg_b32 s2, {size: 4, id: 1}
s_getreg_b32 s2, {}
s_getreg_b32 s2, {id: HW_REG_MODE}
s_getreg_b32 s2, {id: 1, id: 2}
s_getreg_b32 s2, {id: 64}
s_getreg_b32 s2, {foo: 64}
s_getreg_b32 s2, {id 1}
s_getreg_b32 s2, {id: 1,}
s_getreg_b32 s2, {id: 1
s_getreg_b32 s2, {id: 1; offset: 2}
s_getreg_b32 s2, {1}
s_getreg_b32 s2, { , }
s_getreg_b32 s2, {id: 1, size: 33, offset: 32}
s_getreg_b32 s2, {id: 1} + 1
s_getreg_b32 s0, {id: 1}, {id: 2}
s_getreg_b32 s2, hwreg(64, 32, 33)
s_getreg_b32 s2, hwreg(-1)
s_getreg_b32 s2, hwreg(1, -1, 1)
s_getreg_b32 s2, hwreg(1, 31, 32)
s_getreg_b32 s2, hwreg (1)
s_getreg_b32 s2, hwreg(1) s3
s_getreg_b32 s2 hwreg(1)
s_getreg_b32 s2, hwreg(1),
s_getreg_b32 s2,, hwreg(1)
s_getreg_b32 , s2, hwreg(1)
s_getreg_b32 s2, hwreg(1), s3
s_getreg_b32 s2, hwreg(1), 5
s_getreg_b32 s2, hwreg(1) gds
s_getreg_b32
s_getreg_b32 s2
s_getreg_b32 s2,
s_setreg_b32 hwreg(1)
s_setreg_imm32_b32 hwreg(1)
S_GETREG_B32 s2, hwreg(1)
s_getreg_b32 S2, hwreg(1)
s_getreg_b32_e32 s2, hwreg(1)
s_getreg_b32 hwreg(1), s2
s_setreg_b32 s2, hwreg(1)
s_getreg_b32 s2, s3
s_getreg_b32 s2, hwreg(1
s_getreg_b32 s2, hwreg(1, 2
s_getreg_b32 s2, hwreg(1, 2, 3
s_getreg_b32 s2, hwreg(1, 2, 3, 4)
s_getreg_b32 s2, hwreg(1 2)
s_getreg_b32 s2, hwreg(,)
s_getreg_b32 s2, hwreg()
s_getreg_b32 s2, hwreg(
s_getreg_b32 s2, hwreg
s_getreg_b32 s2, HW_REG_MODE
s_getreg_b32 s2, hwreg(hw_reg_mode)
s_getreg_b32 s2, sym
s_getreg_b32 s2, -1
s_getreg_b32 s2, -32769
s_getreg_b32 s2, 1 +
s_getreg_b32 s2, 1 + )
s_getreg_b32 s2, (1
s_getreg_b32 s2, 1)
s_getreg_b32 s2, 1 2
s_setreg_imm32_b32 hwreg(1), 64
s_setreg_imm32_b32 hwreg(1), 65
s_setreg_imm32_b32 hwreg(1), -16
s_setreg_imm32_b32 hwreg(1), -17
s_setreg_imm32_b32 hwreg(1), 0x3f800000
s_setreg_imm32_b32 hwreg(1), 0x3e22f983
s_setreg_imm32_b32 hwreg(1), 0xffffffff
s_setreg_imm32_b32 hwreg(1), 0x100000000
s_setreg_imm32_b32 hwreg(1), -2147483649
s_setreg_imm32_b32 hwreg(1), 0x10000000000000000
s_setreg_imm32_b32 hwreg(1), foo-bar
foo=7\ns_setreg_imm32_b32 hwreg(1), foo
s_getreg_b32 s0, foo\nfoo=7
.set a, 7\ns_getreg_b32 s0, hwreg(a)
.equ a, 7\ns_getreg_b32 s0, hwreg(a)
.set a, 7\n.set a, 8\ns_getreg_b32 s0, hwreg(a)
a=7\na=a+1\ns_getreg_b32 s0, hwreg(a)
a==7\ns_getreg_b32 s0, hwreg(1)
a=
a=1 2
a=1,2
.set a 5
.set 5, 5
.set a,
.set
1=5
s0=5\ns_getreg_b32 s0, s0
s0=5\ns_getreg_b32 s1, hwreg(s0)
hwreg=5\ns_getreg_b32 s1, hwreg + 1
hwreg=5\ns_getreg_b32 s1, hwreg(hwreg)
max=5\ns_getreg_b32 s1, hwreg(max+1)
HW_REG_FOO=3\ns_getreg_b32 s0, hwreg(HW_REG_FOO)
HW_REG_MODE=3\ns_getreg_b32 s0, hwreg(HW_REG_MODE)
HW_REG_MODE=3\ns_getreg_b32 s0, hwreg(HW_REG_MODE+0)
HW_REG_MODE=3\ns_getreg_b32 s0, hwreg(0+HW_REG_MODE)
a.b$c=3\ns_getreg_b32 s0, a.b$c
a?=3\ns_getreg_b32 s0, hwreg(a?)
.a=3\ns_getreg_b32 s0, hwreg(.a)
s_getreg_b32 s0, .
s_getreg_b32 s0, hwreg(max(foo))
s_getreg_b32 s0, hwreg(-max(1,2))
s_getreg_b32 s0, 1 // c
s_getreg_b32 s0, 1 ; c
s_getreg_b32 s0, 1 # c
s_getreg_b32 s0, /* c */ 1
s_getreg_b32 s0, hwreg(1 /* x */, 2, /**/ 3)
s_getreg_b32 s/* c */[1], hwreg(1)
s_getreg_b32 s0, hwreg(max/* c */(1, 2))
s_getreg_b32 s0, hwreg(/* c */ 1 /* d */)
s_setreg_imm32_b32 1, abs/* c */(1)
s_setreg_imm32_b32 1, -/* c */s1
s_getreg_b32 s0, 017
s_getreg_b32 s0, 1/0
s_getreg_b32 s0, 1%0
s_getreg_b32 s0, 1<<64
s_getreg_b32 s0, 1<<-1
s_getreg_b32 s0, -1>>60
s_getreg_b32 s0, -7/2+10
s_getreg_b32 s0, -7%4+10
s_getreg_b32 s0, (1==1)+2
s_getreg_b32 s0, (1<>1)+2
s_getreg_b32 s0, 3&&4
s_getreg_b32 s0, 3||0&&0
s_getreg_b32 s0, !5
s_getreg_b32 s0, ~-5
s_getreg_b32 s0, 3!-5
s_getreg_b32 s0, 1|2+3
s_getreg_b32 s0, 2*3<<2
s_getreg_b32 s0, - - 5
s_getreg_b32 s0, foo@rel32@lo
s_getreg_b32 s0, 0xffffffffffffffff
s_getreg_b32 s0, 9223372036854775808+9223372036854775808
s_getreg_b32 s0, \x01
s_getreg_b32 s0, ?
s_getreg_b32 s0, abs(1)
s_getreg_b32 s0, |1|
s_getreg_b32 s0, -s1
s_getreg_b32 s0, hwreg(1):
s_getreg_b32 s0:, hwreg(1)
*
5
foo
foo bar
s_getreg_b32 s0, 1\n\n  \n  s_getreg_b32 s0, hwreg(99)
	s_getreg_b32	s0,	hwreg(99)
"""


def source_texts() -> list[str]:
    """The hand-picked sources; `\\n` in a line stands for a new line between statements."""
    lines = [line for line in SOURCES.split("\n") if line.strip()]
    return [re.sub(r"(?<!')\\n", "\n", line) for line in lines]


def row(mcpu: str, text: str, answer: llvm_mc.Answer) -> list[object]:
    """A recorded case: processor, source, then encoding and text, or error, line and column."""
    if answer.error:
        return [mcpu, text, answer.error, answer.line, answer.column]
    return [mcpu, text, answer.encoding, answer.text]


def record_cases(program: str) -> list[list[object]]:
    """Hand-picked sources on four processors, then random ones."""
    rows: list[list[object]] = []
    for text in source_texts():
        for mcpu in ("gfx1010", "gfx900", "gfx90a", "gfx1200"):
            answer = llvm_mc.ask(program, text, mcpu)
            if answer is not None and (mcpu == "gfx1010" or answer.text != rows[-1][-1]):
                rows.append(row(mcpu, text, answer))
    generator = Generator(19)
    while len(rows) < RANDOM_CASES + 200:
        mcpu = generator.pick(CPUS)
        text = generator.source() if len(rows) % 4 == 0 else generator.line()
        answer = llvm_mc.ask(program, text, mcpu)
        if answer is not None and not answer.error.startswith("invalid instruction"):
            rows.append(row(mcpu, text, answer))
    return rows


def processor_names(program: str) -> list[str]:
    """Every processor llvm-mc knows."""
    done = subprocess.run(
        [program, "-arch=amdgcn", "-mcpu=help", "/dev/null"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return re.findall(r"^  (\S+)\s+- Select the", done.stdout + done.stderr, re.MULTILINE)


def record_processors(program: str) -> list[object]:
    """A list of lines, then the answers of every processor, equal processors together."""
    lines = ["s_setreg_b32 hwreg(1), s0", "s_setreg_imm32_b32 hwreg(1), 0x12345678"]
    lines += [f"s_getreg_b32 s0, hwreg({number})" for number in range(64)]
    lines += [f"s_getreg_b32 s0, hwreg({name})" for name in NAMES]
    lines += [f"s_getreg_b32 {name}, hwreg(1)" for name in SCALARS]
    groups: dict[str, list[str]] = {}
    for mcpu in processor_names(program):
        answers = llvm_mc.ask_lines(program, lines, mcpu)
        rows = [
            [answer.error, answer.column] if answer.error else [answer.encoding, answer.text]
            for answer in answers
        ]
        groups.setdefault(json.dumps(rows), []).append(mcpu)
    return [lines, *([names, json.loads(text)] for text, names in groups.items())]


def dump(path: Path, rows: list[object]) -> None:
    """One row a line."""
    body = ",\n".join(json.dumps(one) for one in rows)
    path.write_text(f"[\n{body}\n]\n", encoding="utf-8")


def main() -> int:
    """Record, then say how many the plugin answers otherwise."""
    program = llvm_mc.find()
    if program is None:
        print("no llvm-mc 19 with the AMDGPU target")
        return 2
    cases = record_cases(program)
    dump(HERE / "llvm_mc_cases.json", list(cases))
    dump(HERE / "llvm_mc_processors.json", record_processors(program))
    wrong = 0
    for recorded in cases:
        mcpu, text = str(recorded[0]), str(recorded[1])
        if (here := row(mcpu, text, mine(text, mcpu))) != recorded:
            print(recorded, "here:", here)
            wrong += 1
    print(f"{len(cases)} cases, {wrong} differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
