"""Compile the surface probes: one kernel per PTX surface instruction form, into probes.cubin.

    GPUDBG_PTXAS=ptxas python -m tests.images.make_probes

Every kernel reads three coordinates and four operand words of its thread, does one surface
instruction, and stores the four words a load gave.  `probes.json` says what each kernel does.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CLAMPS = {"trap": "TRAP", "clamp": "NEAR", "zero": "IGN"}
GEOMETRY = {
    "1d": ("1D", "{%c0}"),
    "2d": ("2D", "{%c0, %c1}"),
    "3d": ("3D", "{%c0, %c1, %c2, %c2}"),
    "a1d": ("1D_ARRAY", "{%c1, %c0}"),
    "a2d": ("2D_ARRAY", "{%c2, %c0, %c1, %c1}"),
}
RAW = {
    "b8": ("U8", "%h0", 1), "b16": ("U16", "%h0", 2), "b32": ("32", "%v0", 4),
    "b64": ("64", "%d0", 8), "v2.b32": ("64", "{%v0, %v1}", 8),
    "v4.b32": ("128", "{%v0, %v1, %v2, %v3}", 16),
}  # fmt: skip
REDUCTIONS = {
    "add.u32": ("ADD", "U32"), "add.s32": ("ADD", "S32"), "add.u64": ("ADD", "U64"),
    "min.u32": ("MIN", "U32"), "min.s32": ("MIN", "S32"), "max.u32": ("MAX", "U32"),
    "max.s32": ("MAX", "S32"), "min.u64": ("MIN", "U64"), "max.s64": ("MAX", "S64"),
    "and.b32": ("AND", "U32"), "or.b32": ("OR", "U32"),
}  # fmt: skip
SAMPLED = {
    "add.b32": ("ADD", "U32"), "and.b32": ("AND", "U32"), "or.b32": ("OR", "U32"),
    "min.b32": ("MIN", "SD32"), "max.b32": ("MAX", "SD32"), "min.b64": ("MIN", "SD64"),
    "max.b64": ("MAX", "SD64"),
}  # fmt: skip

KERNEL = """
.visible .entry {name}(.param .u64 s, .param .u64 coords, .param .u64 values, .param .u64 out)
{{
    .reg .b32 %c<3>, %v<4>, %t;
    .reg .b16 %h<1>;
    .reg .b64 %d<1>, %s, %a, %b, %o, %k;
    ld.param.u64 %s, [s];
    ld.param.u64 %a, [coords];
    ld.param.u64 %b, [values];
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %k, %t, 16;
    add.u64 %a, %a, %k;
    add.u64 %b, %b, %k;
    add.u64 %o, %o, %k;
    ld.global.v4.u32 {{%c0, %c1, %c2, %v0}}, [%a];
    ld.global.v4.u32 {{%v0, %v1, %v2, %v3}}, [%b];
    mov.b64 %d0, {{%v0, %v1}};
    cvt.u16.u32 %h0, %v0;
    {body}
    {after}
    st.global.v4.u32 [%o], {{%v0, %v1, %v2, %v3}};
    ret;
}}
"""
AFTER = {"%h0": "cvt.u32.u16 %v0, %h0;", "%d0": "mov.b64 {%v0, %v1}, %d0;"}


def probes() -> list[dict[str, Any]]:
    """What each kernel does, and its PTX instruction."""
    out: list[dict[str, Any]] = []

    def add(op: str, text: str, geometry: str, clamp: str, **more: Any) -> None:
        name = text.split(" ")[0].replace(".", "_")
        row = {"name": name, "op": op, "dim": GEOMETRY[geometry][0], "clamp": CLAMPS[clamp]}
        out.append(row | {"ptx": text} | more)

    for n, (geometry, (_, coords)) in enumerate(GEOMETRY.items()):
        for m, (size, (sass, registers, nbytes)) in enumerate(RAW.items()):
            clamp = list(CLAMPS)[(n + m) % 3]
            cached = "" if size != "b32" or geometry != "2d" else ".cg"
            facts = {"size": sass, "bytes": nbytes}
            add("SULD", f"suld.b.{geometry}{cached}.{size}.{clamp} {registers}, [%s, {coords}];",
                geometry, clamp, result=registers, **facts)  # fmt: skip
            stored = {"b8": ".cs", "b16": ".wt", "b64": ".cg"}.get(size, "")
            add("SUST", f"sust.b.{geometry}{stored}.{size}.{clamp} [%s, {coords}], {registers};",
                geometry, clamp, **facts)  # fmt: skip
        for m, (vector, mask) in enumerate((("", "R"), (".v2", "RG"), (".v4", "RGBA"))):
            clamp = list(CLAMPS)[(n + m + 1) % 3]
            registers = {"": "{%v0}", ".v2": "{%v0, %v1}", ".v4": "{%v0, %v1, %v2, %v3}"}[vector]
            add("SUST.P", f"sust.p.{geometry}{vector}.b32.{clamp} [%s, {coords}], {registers};",
                geometry, clamp, mask=mask)  # fmt: skip
    for n, geometry in enumerate(("1d", "2d", "3d")):
        coords = GEOMETRY[geometry][1]
        for mode, table in (("b", REDUCTIONS), ("p", SAMPLED)):
            for m, (word, (op, size)) in enumerate(table.items()):
                clamp = list(CLAMPS)[(n + m) % 3]
                operand = "%d0" if word.endswith("64") else "%v0"
                add("SURED", f"sured.{mode}.{geometry and word.split('.')[0]}.{geometry}."
                    f"{word.split('.')[1]}.{clamp} [%s, {coords}], {operand};",
                    geometry, clamp, reduction=op, size=size, ba=mode == "b")  # fmt: skip
    return out


def source(rows: list[dict[str, Any]]) -> str:
    """The PTX module."""
    kernels = [
        KERNEL.format(name=r["name"], body=r["ptx"], after=AFTER.get(r.get("result", ""), ""))
        for r in rows
    ]
    return ".version 8.1\n.target sm_50\n.address_size 64\n" + "".join(kernels)


def main() -> None:
    """Write the recorded files."""
    rows = probes()
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(source(rows))
        file.flush()
        ptxas = os.environ.get("GPUDBG_PTXAS", "ptxas")
        target = HERE / "probes.cubin"
        subprocess.run([ptxas, "-arch=sm_50", file.name, "-o", str(target)], check=True)
    keep = [{k: v for k, v in row.items() if k != "result"} for row in rows]
    (HERE / "probes.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in keep) + "\n]\n")


if __name__ == "__main__":
    main()
