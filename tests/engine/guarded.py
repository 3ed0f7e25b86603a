"""Whole launches on the run engine with all memory between protected pages.

    python -m tests.engine.guarded

ends with the signal of an access outside, or writes a line for each launch.
"""

from __future__ import annotations

import functools
import sys

import numpy as np

import gpudbg
from gpudbg.assembler import assemble_file
from tests.engine import guards
from tests.kernels_own import kit
from tests.variants import some

KERNELS = ("shared_neighbours",)

MANY_BLOCKS = """
.arch sm_50
.kernel blocks
.param out 8
    MOV R4, c[0x0][out] ;
    MOV R5, c[0x0][out+4] ;
    S2R R0, SR_TID.X ;
    ISETP.GT.AND P0, PT, R0, 0x10, PT ;
{body}
end:
    EXIT ;
"""


def many_blocks(count: int = 14) -> str:
    """A kernel of small blocks with accesses, of which the compiler makes many copies."""
    body = []
    for n in range(count):
        loads = (f"    LDG.E R{8 + k}, [R4+{4 * (n + k):#x}] ;" for k in range(2))
        body += [f"at{n}:", *loads]
        body.append(f"    @{'!' * (n % 2)}P0 BRA {f'at{n + 1}' if n + 1 < count else 'end'} ;")
    return MANY_BLOCKS.replace("{body}", "\n".join(body))


def main() -> int:
    """Run all; 1 when a result is wrong."""
    guards.quiet()
    made = guards.Guards()
    made.install()
    wrong = 0
    known = {kernel.name: kernel for kernel in kit.all_kernels()}
    for made.at_end, jobs in ((True, 1), (False, 2)):
        load = functools.partial(gpudbg.load, engine="run", jobs=jobs)
        for name in KERNELS:
            kernel = known[name]
            for variant in some(name, kernel.variants, 1):
                found = kit.run(kernel.make(), kernel.cubin(variant), load)
                wrong += bool(found)
                print(name, variant, found, flush=True)
        program = load(assemble_file(many_blocks()).cubin())
        out = program.device.buffer(np.zeros(64, np.uint32))
        stop = program.launch("blocks", grid=2, block=64, args=[out]).run()
        print("blocks", stop.kind, flush=True)
        wrong += stop.kind != "exited"
    print(made.made, "allocations")
    return int(wrong > 0 or made.made < 40)


if __name__ == "__main__":
    sys.exit(main())
