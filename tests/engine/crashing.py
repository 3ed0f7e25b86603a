"""Launches whose compiled code is broken: `test_crash` runs them in processes of their own.

    python -m tests.engine.crashing HOW [JOBS]

HOW: `store` writes where nothing is, `jump` calls there, `trap` is an illegal instruction, `divide`
divides by 0; `else` crashes outside of compiled code, `raise` sends a signal, anything else does
not crash.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

import numpy as np

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.ir import builder
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from tests.engine import guards

BROKEN = {
    "store": "store volatile i32 0, ptr inttoptr (i64 64 to ptr)",
    "jump": "call void inttoptr (i64 64 to ptr)()",
    "trap": "call void @llvm.trap()",
    "divide": "%none = load volatile i32, ptr %env\n%all = udiv i32 7, %none\n"
    "store volatile i32 %all, ptr %rec",
}

SOURCE = """
.arch sm_50
.kernel broken
.param out 8
    S2R R0, SR_TID.X ;
    MOV R4, c[0x0][out] ;
    MOV R5, c[0x0][out+4] ;
    STG.E [R4], R0 ;
    EXIT ;
"""


def broken(how: str) -> str:
    """A kernel's function that crashes."""
    return (
        "declare void @llvm.trap()\n"
        f"define i32 @warp(ptr %env, ptr %rec) {{\n{BROKEN[how]}\nret i32 0\n}}\n{builder.ODDS}"
    )


def main() -> None:
    """Crash."""
    guards.quiet()
    how, jobs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    real = Emitter.text
    if how in BROKEN:

        def made(self: Emitter, name: str) -> str:
            real(self, name)
            return broken(how)

        Emitter.text = made  # type: ignore[method-assign]
    program = gpudbg.load(assemble_file(SOURCE).cubin(), engine="run", jobs=jobs, num_sms=2)
    out = program.device.buffer(np.zeros(64, np.uint32))
    session = program.launch("broken", grid=64 * jobs, block=64, args=[out])
    print("begin", flush=True)
    session.run()
    if how == "raise":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "else":
        ctypes.string_at(64)
    print("end", flush=True)


if __name__ == "__main__":
    main()
