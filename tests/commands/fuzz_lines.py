"""Random console lines and expressions: each answers or is refused in one clear way.

    python -m tests.commands.fuzz_lines --count 100000

Lines come from three sources: expressions by grammar, command names of the table with words that
do or do not belong to them, and mutations of good lines.  Nothing but a `GpudbgError` may come
out of `session.command(line)`, and its message must be one line without a Python exception in it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import gpudbg
from gpudbg.debug.commands.families import load
from gpudbg.debug.session import DebugSession
from gpudbg.errors import GpudbgError
from tests.launching import FIRST

NUMBERS = (
    "0 1 2 3 7 31 32 63 64 65 255 256 0x0 0x10 0xffffffff 0x100000000 0x7fffffffffffffff "
    "0x8000000000000000 0xffffffffffffffff 18446744073709551616 -1 1.5 0.0 1e308 1e999 .5 1.f "
    "2147483648u 3ul 0b101 08 1e-400 'a' '\\n' " + "9" * 30 + " " + "9" * 5000 + " 0x" + "f" * 6000
).split()
NAMES = (
    "$R0 $R1 $R4 $R99 $R254 $R255 $F4 $D4 $D3 $D15 $L4 $P0 $P6 $PT $P7 $CC $CC.Z $CC.X $pc $sp $sm "
    "$warp $lane $active threadIdx threadIdx.x threadIdx.w blockIdx blockDim.y gridDim %tid.x %tid "
    "%laneid SR_TID.X SR_CLOCKLO shared local global generic param0 param9 arg0 arg1 in out n "
    "$ $$ $1 $$2 $$9999999999 $99999999999999999999 $x $y $new $_ $_exitcode nan inf NaN c main "
    "true false block_max sizeof $cuda_block $errorpc $_cuda_const_bank tile cells"
).split()
TYPES = (
    "int unsigned float double char long short half bool u8 s16 u64 f16 void size_t uint32_t"
).split()
SPACES = ("", "@shared ", "@global ", "@local ", "@generic ", "@const ", "@code ", "@nowhere ")
BINARY = "+ - * / % & | ^ << >> == != < <= > >= && || @ =".split()
UNARY = ("-", "~", "!", "*", "&", "+", "sizeof ")
FORMATS = (
    "/x /d /u /o /t /z /c /f /a /s /i /r /4xw /8bx /3i /99999999999 /-3x /0x /q /fg /2gf /1hu"
).split()
WORDS = (
    "all on off 0 1 -1 3-5 1.2 1.1 5-3 warp lane sm block thread (0,0,0) (1,2,3) kernel 0x48 *0x48 "
    "+0x10 block_max block_max+0x48 first_steps.cu:10 first_steps.cu:99999 10 if $R4>3 1/0 R0 "
    "R4 P0 step-along engine run step auto print elements radix 16 shared global -l -location "
    '" \' " ( ) [ ] , ; \\ # /x /i in out n argument 99999999999999999999 -99999999 0,32 ,'
).split()
SKIP = ("dump", "append", "save", "quit", "source", "plugin", "shell", "layout")
"""Commands that leave, or that run a file."""
ALPHABET = "$%@RrFfPpcxX0123456789abcdef+-*/%&|^~!<>()[]?:=,.'\" _;#\\²٣é\u200b\0\t{}"


def expression(dice: random.Random, depth: int = 0) -> str:
    """An expression by the grammar, mostly well formed."""
    kind = dice.random()
    if depth > 5 or kind < 0.35:
        return dice.choice(NUMBERS if dice.random() < 0.5 else NAMES)
    inner: Callable[[], str] = lambda: expression(dice, depth + 1)  # noqa: E731
    makers: tuple[Callable[[], str], ...] = (
        lambda: f"{inner()}{dice.choice(BINARY)}{inner()}",
        lambda: f"{inner()} {dice.choice(BINARY)} {inner()}",
        lambda: dice.choice(UNARY) + inner(),
        lambda: f"({inner()})",
        lambda: f"{inner()}[{inner()}]",
        lambda: f"c[{inner()}][{inner()}]",
        lambda: f"{inner()} ? {inner()} : {inner()}",
        lambda: f"({dice.choice(SPACES)}{dice.choice(TYPES)}{'*' * dice.randrange(3)}){inner()}",
        lambda: f"*({dice.choice(SPACES)}{dice.choice(TYPES)}{'*' * dice.randrange(3)}){inner()}",
        lambda: f"sizeof({dice.choice(TYPES)})",
        lambda: f"{dice.choice(('shared', 'local', 'global', 'in', 'out'))}[{inner()}]",
        lambda: deep(dice, inner()),
    )
    return dice.choice(makers)()


def deep(dice: random.Random, core: str) -> str:
    """Text that nests or goes on for long."""
    n = dice.choice((3, 40, 99, 120, 1000, 20_000))
    return dice.choice(
        (
            "(" * n + core + ")" * n,
            "-" * n + core,
            "*&" * n + core,
            "+".join([core] * min(n, 2000)) if len(core) < 40 else core,
            core + "[0]" * n,
            "1?" * n + core + ":0" * n,
            "1?1:" * n + core,
            "c[" * n + core,
            "sizeof " * min(n, 2000) + core,
            "$a=" * min(n, 2000) + core,
            "(int)" * min(n, 2000) + core,
            "1||1&&1|1^1&1==1<1<<1+1*(" * min(n, 99) + core + ")" * min(n, 99),
        )
    )


def mutated(dice: random.Random, line: str) -> str:
    """A line with characters changed, dropped, doubled or swapped."""
    text = list(line[:400])
    for _ in range(dice.randrange(1, 6)):
        at = dice.randrange(len(text) + 1)
        what = dice.randrange(4)
        if what == 0:
            text.insert(at, dice.choice(ALPHABET))
        elif text and what == 1:
            del text[min(at, len(text) - 1)]
        elif text and what == 2:
            text[min(at, len(text) - 1)] = dice.choice(ALPHABET)
        elif text:
            other = dice.randrange(len(text))
            at = min(at, len(text) - 1)
            text[at], text[other] = text[other], text[at]
    return "".join(text)


def lines(seed: int, skip: tuple[str, ...] = SKIP) -> Iterator[str]:
    """Lines without end, the same for the same seed."""
    dice = random.Random(seed)
    # Plugins of other tests in this process have commands, too: only the debugger's own are asked.
    own = [row for row in load().commands if row.handler.__module__.startswith("gpudbg.")]
    names = sorted(name for row in own if row.name.split()[0] not in skip for name in row.names)
    prints = ("print", "p", "output", "whatis", "x", "display", "info line", "info symbol", "watch")
    conditions = ("break if ", "break block_max+0x168 if ", "condition 1 ", "tbreak 10 if ")
    while True:
        kind = dice.random()
        if kind < 0.4:
            text = expression(dice)
            line = f"{dice.choice(prints)}{dice.choice(('', dice.choice(FORMATS)))} {text}"
        elif kind < 0.5:
            line = dice.choice(conditions) + expression(dice)
        elif kind < 0.55:
            line = f"set var {dice.choice(NAMES)} = {expression(dice)}"
        elif kind < 0.6:
            values = ", ".join(expression(dice) for _ in range(dice.randrange(4)))
            line = f'printf "%d %{dice.choice("dxsfcuoeg%5")}\\n", {values}'
        else:
            words = [
                dice.choice(WORDS) if dice.random() < 0.7 else expression(dice)
                for _ in range(dice.randrange(5))
            ]
            line = " ".join([dice.choice(names) + dice.choice(("", "", "/x", "/i")), *words])
        yield mutated(dice, line) if dice.random() < 0.35 else line


def make_session() -> DebugSession:
    """The shipped first program, some instructions after its entry, with values in its history."""
    program = gpudbg.load(FIRST)
    values = (np.arange(256, dtype=np.int32) * 37) % 5000
    session = program.launch(
        "block_max", grid=4, block=64, args=[values, np.zeros(4, np.int32), np.int32(250)]
    )
    session.step(20)
    session.command("print 1")
    session.command("print threadIdx.x")
    return session


def ask(session: DebugSession, line: str) -> str:
    """What is wrong with the answer to a line; empty where nothing is."""
    try:
        answer = session.command(line)
        _ = answer.printed, answer.data
    except GpudbgError as error:
        text = str(error)
        if "Error:" in text or "Traceback" in text or "object has no" in text:
            return f"a Python exception in the message: {text[:200]}"
    except Exception:
        return traceback.format_exc()
    return ""


def renewed(session: DebugSession) -> DebugSession:
    """The session, or another where it has come to its end."""
    ended = session.finished or session.faulted or session.focus is None
    return make_session() if ended or len(session.breakpoints) > 40 else session


def campaign(count: int, seed: int, seconds: float = 0.0) -> int:
    """Ask `count` lines (0: until the time is over); how many were answered badly."""
    session, bad, slow = make_session(), 0, 0.0
    seen: set[str] = set()
    began = time.process_time()
    for number, line in enumerate(lines(seed)):
        spent = time.process_time() - began
        if (count and number >= count) or (seconds and spent > seconds):
            break
        session = renewed(session)
        start = time.process_time()
        wrong = ask(session, line)
        took = time.process_time() - start
        if took > 2:
            print(f"{took:.1f} s: {line[:200]!r}", flush=True)
        slow = max(slow, took)
        if wrong:
            bad += 1
            # The same place of the program is shown once.
            key = "".join(wrong.splitlines()[-3:])[:160]
            if key not in seen:
                seen.add(key)
                print(f"--- {line[:300]!r}\n{wrong[-900:]}", flush=True)
    print(f"{number} lines of seed {seed}: {bad} answered badly; slowest {slow:.2f} s of CPU")
    return bad


def main() -> int:
    """Run a campaign; exit status 1 when a line was answered badly."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=0.0, help="of CPU; 0 is no bound")
    parser.add_argument("--seed", type=int, default=17)
    args = parser.parse_args()
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return 1 if campaign(args.count, args.seed, args.seconds) else 0
        finally:
            os.chdir(home)


if __name__ == "__main__":
    sys.exit(main())
