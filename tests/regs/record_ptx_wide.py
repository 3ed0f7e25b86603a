"""Record what ptxas makes of every PTX special register for targets of 128-bit instructions.

    eval "$(../shared/tools/cuda-oracle.sh --env; ../shared/tools/cuda-oracle-new.sh --env)"
    GPUDBG_PTXAS=... GPUDBG_CUOBJDUMP=... GPUDBG_PTXAS13=... GPUDBG_CUOBJDUMP13=... \
        python -m tests.regs.record_ptx_wide

Writes data/ptx_lowering_wide.json: {register: {"70 72": [instructions]}}, without the loads of the
stack pointer, the parameter and the memory descriptor, and without the store.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from gpudbg.regs.ptx import PTX_REGISTERS

OUT = Path(__file__).parent / "data/ptx_lowering_wide.json"
TARGETS = {
    **dict.fromkeys(("70", "72", "75", "80", "86", "87", "89", "90"), ("", "8.5")),
    **dict.fromkeys(("100", "120"), ("13", "8.7")),
}
"""Architecture to (suffix of the tools' variables, PTX version)."""
_AROUND = (
    r"@!PT SHFL.*|NOP|STG.*|EXIT.*|BRA.*"
    r"|(IMAD\.MOV\.U32|MOV|LDC) R1, (RZ, RZ, )?c\[0x0\]\[0x(28|37c)\]"
    r"|(IMAD\.MOV\.U32|MOV) R\d+, (RZ, RZ, )?c\[0x0\]\[0x16[04]\]"
    r"|(LDC|ULDC|LDCU)\.64 U?R\d+, c\[0x0\]\[0x(118|208|358|160|210|380)\]"
)


def _module(arch: str, version: str) -> str:
    lines = [f".version {version}", f".target sm_{arch}", ".address_size 64"]
    for number, row in enumerate(PTX_REGISTERS):
        if row.lowering(f"sm_{arch}") is None:
            continue
        kind = "u32" if row.type == "pred" else row.type
        selected = f".reg .{kind} %s; selp.u32 %s, 1, 0, %v;" if row.type == "pred" else ""
        stored = "%s" if selected else "%v"
        lines += [
            f".visible .entry k{number}(.param .u64 a) {{",
            f".reg .u64 %p; .reg .{row.type} %v; ld.param.u64 %p, [a];",
            "cvta.to.global.u64 %p, %p;",
            f"mov.{row.type} %v, {row.name}; {selected}",
            f"st.global.{kind} [%p], {stored}; ret; }}",
        ]
    return "\n".join(lines)


def _measure(arch: str, tools: str, version: str, folder: Path) -> dict[str, list[str]]:
    source, cubin = folder / "p.ptx", folder / "p.cubin"
    source.write_text(_module(arch, version))
    ptxas, cuobjdump = os.environ[f"GPUDBG_PTXAS{tools}"], os.environ[f"GPUDBG_CUOBJDUMP{tools}"]
    subprocess.run([ptxas, f"-arch=sm_{arch}", "-o", cubin, source], check=True)
    listing = subprocess.run(
        [cuobjdump, "-sass", cubin], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for part in listing.split("Function : k")[1:]:
        lines = re.findall(r"/\*[0-9a-f]{4}\*/\s+(.*?)\s*;", part)
        code = [re.sub(r"\s+", " ", line) for line in lines]
        if "UMOV UR2, 0x1" in code:
            code = code[code.index("UMOV UR2, 0x1") + 1 :]  # sm_87 sets its B registers first
        kept = [line for line in code if not re.fullmatch(_AROUND, line)]
        found[PTX_REGISTERS[int(part.split()[0])].name] = kept
    return found


def main() -> None:
    """Measure all and write the file."""
    merged: dict[str, dict[str, list[str]]] = {row.name: {} for row in PTX_REGISTERS}
    with tempfile.TemporaryDirectory() as folder:
        for arch, (tools, version) in TARGETS.items():
            for name, code in _measure(arch, tools, version, Path(folder)).items():
                same = [archs for archs, other in merged[name].items() if other == code]
                merged[name][" ".join([*(same[:1]), arch])] = code
                if same:
                    del merged[name][same[0]]
    rows = [f"{json.dumps(name)}: {json.dumps(by_arch)}" for name, by_arch in merged.items()]
    OUT.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
