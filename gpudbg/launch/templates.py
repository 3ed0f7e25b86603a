"""A launch table to start from: `gpudbg info PROG --launch > PROG.toml`."""

from __future__ import annotations

from math import prod

from gpudbg.formats.program import Kernel, Program
from gpudbg.launch.form import (
    RAMP,
    proposed_arguments,
    proposed_block,
    proposed_grid,
    proposed_shared,
)
from gpudbg.toolchain.signatures import Parameter

ZEROS = 'init = { rule = "zeros" }'
ARANGE = 'init = { rule = "arange", start = 0, step = 1 }'


def _argument(row: Parameter, text: str) -> str:
    """An argument; a pointer's buffer stands below, by its name."""
    if row.pointer:
        return row.name
    return f"{row.name}={text}" if text.startswith("tensor:") else text


def template(program: Program, kernel: Kernel) -> list[str]:
    """Lines of a launch table that runs as it is: every buffer has an element for each thread.

    Integers are taken for element counts, so they get the number of threads.
    """
    rows = proposed_arguments(program, kernel)
    block, grid = proposed_block(kernel), proposed_grid(kernel)
    out = [
        f"# How gpudbg launches {kernel.name}: change sizes and contents to yours.",
        f'kernel = "{kernel.name}"',
        f"grid = {grid[0] if grid[1:] == (1, 1) else list(grid)}",
        f"block = {block[0] if len(block) == 1 else list(block)}",
    ]
    if kernel.cluster:
        out.append(f"cluster = {list(kernel.cluster)}   # as it was compiled")
    shared = proposed_shared(program, kernel)
    if shared:
        out.append(f"shared_bytes = {shared}   # dynamic: as many as the kernel's host code gives")
    tensors = [row.name for row, text in rows if text.startswith("tensor:")]
    if tensors:
        out.append(f"# {', '.join(tensors)}: tensor maps; give shape, box, type and swizzle as the")
        out.append("# program that launches the kernel encodes them.")
    words = [f'"{_argument(row, text)}"' for row, text in rows]
    out.append(f"args = [{', '.join(words)}]")
    buffers = [(row, text) for row, text in rows if row.pointer]
    if buffers:
        names = ", ".join(f'"{row.name}"' for row, _ in buffers)
        out.append(f"outputs = [{names}]   # shown at the end of a run")
    for row, text in buffers:
        what = "" if row.short else f"   # {row.type or 'type not known'}"
        out += ["", f"[buffers.{row.name}]", f'type = "{row.short or "u32"}"{what}']
        out += [f"count = {prod(grid) * prod(block)}", ARANGE if text.endswith(RAMP) else ZEROS]
    return out
