"""A launch table to start from: `gpudbg info PROG --launch > PROG.toml`."""

from __future__ import annotations

from math import prod

from gpudbg.debug.signatures import Parameter, parameters
from gpudbg.formats.program import Kernel, Program

BLOCK = 64
BLOCKS = 2
ZEROS = 'init = { rule = "zeros" }'
RAMP = 'init = { rule = "arange", start = 0, step = 1 }'


def template(program: Program, kernel: Kernel) -> list[str]:
    """Lines of a launch table that runs as it is: every buffer has an element for each thread.

    Integers are taken for element counts, so they get the number of threads.
    """
    rows = parameters(program, kernel)
    block = _block(kernel)
    elements = BLOCKS * prod(block)
    out = [
        f"# How gpudbg launches {kernel.name}: change sizes and contents to yours.",
        f'kernel = "{kernel.name}"',
        f"grid = {BLOCKS}",
        f"block = {block[0] if len(block) == 1 else list(block)}",
    ]
    words = [f'"{_argument(row, elements)}"' for row in rows]
    out.append(f"args = [{', '.join(words)}]")
    buffers = [row for row in rows if row.pointer]
    if buffers:
        names = ", ".join(f'"{row.name}"' for row in buffers)
        out.append(f"outputs = [{names}]   # shown at the end of a run")
    for row in buffers:
        kind = row.short or "u32"
        what = "" if row.short else f"   # {row.type or 'type not known'}"
        written = RAMP if row is buffers[0] and len(buffers) > 1 else ZEROS
        out += ["", f"[buffers.{row.name}]", f'type = "{kind}"{what}', f"count = {elements}"]
        out.append(written)
    return out


def _block(kernel: Kernel) -> tuple[int, ...]:
    """What `__launch_bounds__` or `.reqntid` ask for, else `BLOCK` threads."""
    if kernel.required_threads:
        return kernel.required_threads
    limit = kernel.max_threads
    return (min(BLOCK, prod(limit)) if limit else BLOCK,)


def _argument(row: Parameter, elements: int) -> str:
    if row.pointer:
        return row.name
    if row.size not in (1, 2, 4, 8):
        return "hex:" + "00" * row.size
    kind = row.short or f"i{row.size * 8}"
    if row.size == 1:
        return f"{kind}:1"
    return f"{kind}:1.0" if kind[0] == "f" else f"{kind}:{elements}"
