"""gpudbg info: what a program contains; gpudbg info isa: what the model covers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from gpudbg.answers import Table, column, lines_of, typed_row
from gpudbg.api import SASS_SUFFIX
from gpudbg.code_layout import layout_of
from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.formats.files import held_images
from gpudbg.formats.lines import LineTable, read_lines
from gpudbg.formats.program import Kernel, Program
from gpudbg.frontends.verbs.common import Parser, emit_json, known_names, plain_kernel
from gpudbg.toolchain import add_compile_flags, flag_options, is_source, parameters


def main(argv: list[str]) -> int:
    """Run the verb."""
    p = Parser(
        prog="gpudbg info",
        description="What a program contains: kernels, registers, parameters, memory, lines.",
    )
    p.add_argument(
        "program",
        help="a program; or `isa` (what the model covers), `schema` (of --json), `policy` (what it "
        "assumes), `engine`, `special` (registers), `nsight` (the path of a cuda-gdb)",
    )
    p.add_argument("words", nargs="*", help="of policy and special: what to look for")
    p.add_argument("--kernel", "-k", metavar="NAME", help="only this kernel")
    p.add_argument(
        "--launch",
        action="store_true",
        help="print a launch table to start from (gpudbg info PROG --launch > PROG.toml)",
    )
    p.add_argument("--json", action="store_true")
    p.add_argument("--arch", default=None, help="of a source file; with `isa`: one architecture")
    add_compile_flags(p)
    args = p.parse_args(argv)
    if args.program == "isa":
        from gpudbg.frontends.verbs.info_isa import show

        return show(args.arch, args.json)
    if args.program == "schema":
        from gpudbg.debug.views import schema

        emit_json(schema())
        return EXIT_CLEAN
    from gpudbg.frontends.verbs.info_topics import TOPICS, show_topic

    if args.program in TOPICS:
        return show_topic(args.program, args.words, args.json)
    if args.words:
        raise UsageError(f"info takes one program, not {args.words[0]!r} beside it")
    from gpudbg.api import open_programs

    programs = open_programs(args.program, args.arch, flag_options(args))
    if args.kernel is None and not args.launch:
        return _whole(args, programs)
    program, args.kernel = _with_kernel(args.program, programs, args.kernel)
    if args.launch:
        from gpudbg.launch import template

        print("\n".join(template(program, program.kernels[args.kernel])))
        return EXIT_CLEAN
    return _show(args, describe(program, args.kernel), {args.kernel: program})


def _whole(args: argparse.Namespace, programs: Iterator[Program]) -> int:
    """All programs of a file as one; their parameters where it has one program only."""
    first = next(programs)
    data = describe(first)
    several = False
    for program in programs:
        several = True
        for key, value in describe(program).items():
            if isinstance(value, list):
                data[key] += [row for row in value if row not in data[key]]
            elif isinstance(value, dict):
                data[key] |= value
    return _show(args, data, {} if several else dict.fromkeys(first.kernels, first))


def _with_kernel(path: str, programs: Iterator[Program], wanted: str | None) -> tuple[Program, str]:
    """The program of a file that has a kernel, and the kernel's name in it.

    Raises:
        UsageError: none has it; the error lists the nearest names.
    """
    names: list[str] = []
    for program in programs:
        names += program.kernels
        name = plain_kernel(program, wanted) or next(iter(program.kernels), None)
        if name in program.kernels:
            assert name is not None
            return program, name
    if wanted is None:
        raise UsageError(f"{path} has no kernel")
    raise UsageError(f"{path} has no kernel {wanted!r}", known_names(wanted, names))


def _show(args: argparse.Namespace, data: dict[str, Any], known: dict[str, Program]) -> int:
    """Print; `known` are the programs of kernels whose parameters are shown."""
    made = is_source(args.program) or args.program.lower().endswith(SASS_SUFFIX)
    data["holds"] = [] if made else _holds(args.program)
    if args.json:
        emit_json(data)
    else:
        print("\n".join(_lines(data, known)))
    return EXIT_CLEAN


def describe(program: Program, only: str | None = None) -> dict[str, Any]:
    """The program as plain data."""
    lines = read_lines(program)
    kernels = [k for k in program.kernels.values() if only in (None, k.name)]
    return {
        "path": program.path,
        "arch": program.arch,
        "toolkit": program.toolkit,
        "debug": program.debug,
        "kernels": [_kernel(k, program, lines) for k in kernels],
        "functions": [
            {
                "name": f.name,
                "label": f.label,
                "section": f.section,
                "offset": f.offset,
                "size": f.size,
            }
            for f in program.functions.values()
            if not f.is_kernel
        ],
        "variables": [
            {"name": g.name, "space": g.space, "bytes": g.size} for g in program.globals.values()
        ],
        "shared_variables": [
            {"name": v.name, "kernel": v.kernel, "offset": v.offset, "bytes": v.size}
            for v in program.shared_vars
        ],
        "externs": list(program.externs),
        "images": dict(program.images),
        "source_files": list(lines.files),
    }


def _kernel(k: Kernel, program: Program, lines: LineTable) -> dict[str, Any]:
    rows = [r for r in lines.rows if r.section == k.section]
    numbers = sorted({r.line for r in rows})
    files = sorted({PurePath(lines.files[r.file]).name for r in rows})
    return {
        "name": k.name,
        "code_bytes": len(k.code),
        "instructions": layout_of(program.arch).count(len(k.code)),
        "registers": k.num_regs,
        "barriers": k.num_barriers,
        "parameters": [
            {"ordinal": p.ordinal, "offset": p.offset, "bytes": p.size} for p in k.params
        ],
        "parameter_bytes": k.param_bytes,
        "shared_static_bytes": k.shared_static_bytes,
        "local_bytes": k.local_bytes,
        "stack_unknown": k.min_stack_bytes is None,
        "constant_banks": {str(b): n for b, n in sorted(k.bank_sizes.items())},
        "max_threads": list(k.max_threads) if k.max_threads else None,
        "source_files": files,
        "lines": [numbers[0], numbers[-1]] if numbers else None,
    }


def _holds(path: str) -> list[dict[str, str]]:
    """What a fat binary or host file holds, each kind and architecture once."""
    found = dict.fromkeys((i.kind, i.arch) for i in held_images(path))
    return [{"kind": "cubin" if kind == "elf" else kind, "arch": arch} for kind, arch in found]


def _lines(data: dict[str, Any], known: dict[str, Program]) -> list[str]:
    made = f", CUDA {data['toolkit']}" if data["toolkit"] else ""
    debug = ", debug build" if data["debug"] else ""
    out = [f"{data['path']}: {data['arch']}{made}{debug}"]
    if data["holds"]:
        held = ", ".join(f"{i['kind']} for {i['arch']}" for i in data["holds"])
        out.append(f"holds {held}; --arch picks")
    out.append("")
    out += lines_of(Table(KernelLine, tuple(map(KernelLine.of, data["kernels"]))))
    for k in data["kernels"]:
        if k["parameters"] and k["name"] in known:
            out += ["", f"Parameters of {k['name']}", *_parameters(known[k["name"]], k)]
    out += _sections(data)
    return out


@typed_row
class KernelLine:
    """A kernel of a program, as people see it in a list."""

    name: str = column("Kernel")
    instructions: int = column("Insns")
    registers: int = column("Regs")
    barriers: int = column("Bars")
    shared: int = column("Shared")
    local: str = column("Local")
    constants: str = column("Constants")
    lines: str = column("Lines")

    @classmethod
    def of(cls, k: dict[str, Any]) -> KernelLine:
        """The line of a kernel's data."""
        span = "-"
        if k["lines"]:
            span = f"{'/'.join(k['source_files'])}:{k['lines'][0]}-{k['lines'][1]}"
        return cls(
            k["name"],
            k["instructions"],
            k["registers"],
            k["barriers"],
            k["shared_static_bytes"],
            "?" if k["stack_unknown"] else str(k["local_bytes"]),
            " ".join(f"c[{b}]:{n}" for b, n in k["constant_banks"].items()),
            span,
        )


@typed_row
class ParameterLine:
    """A parameter of a kernel."""

    name: str = column("  Name")
    type: str = column("Type")
    size: str = column("Size")
    place: str = column("Constant")


def _parameters(program: Program, data: dict[str, Any]) -> list[str]:
    """A line a parameter: name and type where a source tells them, size, place."""
    kernel = program.kernels[data["name"]]
    named = parameters(program, kernel)
    rows = []
    for row, p in zip(data["parameters"], named, strict=True):
        star = "*" if p.pointer and p.type else ""
        place = f"c[0x0][0x{kernel.param_base + row['offset']:x}]"
        rows.append(ParameterLine(f"  {p.name}", f"{p.type}{star}", f"{p.size} bytes", place))
    return lines_of(Table(ParameterLine, tuple(rows)))


def _sections(data: dict[str, Any]) -> list[str]:
    out: list[str] = []
    if data["functions"]:
        out += ["", "Device functions"]
        out += [
            f"  {f['label']}  {f['section']}+0x{f['offset']:x}, {f['size']} bytes"
            for f in data["functions"]
        ]
    if data["variables"]:
        out += ["", "Variables"]
        out += [f"  {v['name']}  {v['space']}, {v['bytes']} bytes" for v in data["variables"]]
    if data["shared_variables"]:
        out += ["", "Shared variables"]
        out += [
            f"  {v['name']}  offset 0x{v['offset']:x}, {v['bytes']} bytes"
            for v in data["shared_variables"]
        ]
    if data["images"]:
        out += ["", "Bound textures and surfaces"]
        out += [f"  {name}  {kind}" for name, kind in data["images"].items()]
    if data["externs"]:
        out += ["", "Undefined functions: " + ", ".join(data["externs"])]
    return out
