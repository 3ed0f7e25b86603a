"""Launches whose compiled code is broken: `test_crash` runs them in processes of their own.

    python -m tests.engine.crashing HOW [JOBS] [thread]

HOW: `store` writes where nothing is, `jump` calls there, `trap` is an illegal instruction, `divide`
divides by 0, `deep` fills the stack; `else` crashes outside of compiled code, `raise` sends a
signal, anything else does not crash.  `thread`: in a thread with a small stack.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

import numpy as np

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.sm.engines.llvm.ir import builder
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.succession import ON_STACK
from tests.engine import guards

BROKEN = {
    "store": "store volatile i32 0, ptr inttoptr (i64 64 to ptr)",
    "jump": "call void inttoptr (i64 64 to ptr)()",
    "trap": "call void @llvm.trap()",
    "divide": "%none = load volatile i32, ptr %env\n%all = udiv i32 7, %none\n"
    "store volatile i32 %all, ptr %rec",
    "deep": "call void @deep(ptr %rec)",
}
DEEP = f"""define void @deep(ptr %p) noinline {ON_STACK} {{
%here = alloca [20000 x i8]
store volatile i8 1, ptr %here
call void @deep(ptr %here)
store volatile i8 2, ptr %here
ret void
}}
"""

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
        f"declare void @llvm.trap()\n{DEEP}"
        f"define i32 @warp(ptr %env, ptr %rec) {{\n{BROKEN[how]}\nret i32 0\n}}\n"
        f"define void @complete(ptr %rec) {{ ret void }}\n{builder.ODDS}"
    )


def main() -> None:
    """Crash."""
    guards.quiet()
    if sys.argv[-1] != "thread":
        crash()
        return
    threading.stack_size(256 << 10)
    small = threading.Thread(target=crash)
    small.start()
    small.join()


def crash() -> None:
    """Crash in this thread."""
    how, jobs = sys.argv[1], int(next((word for word in sys.argv[2:] if word.isdecimal()), "1"))
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
