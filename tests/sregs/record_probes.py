"""Record the PTX probes: one kernel per architecture that stores every PTX special register.

    GPUDBG_PTXAS=.../ptxas python -m tests.sregs.record_probes

Writes probe.<arch>.cubin and names.json (the order of the stores).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from gpudbg.regs.ptx import PTX_REGISTERS

HERE = Path(__file__).resolve().parent / "cubin"
ARCHS = ("sm_50", "sm_53", "sm_60", "sm_61", "sm_80")


def source(arch: str, names: list[str]) -> str:
    """A kernel `probe(out)`: thread t of N stores register k at out[k * N + t] as 64 bits."""
    wide = {row.name for row in PTX_REGISTERS if row.type in ("u64", "b64")}
    body = []
    for name in names:
        if name in wide:
            body.append(f"mov.u64 %v, {name};")
        else:
            body += [f"mov.u32 %w, {name};", "cvt.u64.u32 %v, %w;"]
        body += ["st.global.u64 [%p], %v;", "add.u64 %p, %p, %step;"]
    lines = "\n    ".join(body)
    return f"""
.version 8.5
.target {arch}
.address_size 64
.extern .shared .align 4 .b8 dynamic[];
.visible .entry probe(.param .u64 out) {{
    .reg .u64 %v, %p, %q, %step;
    .reg .u32 %w, %t, %a, %b, %n;
    .shared .align 4 .b8 fixed[100];
    mov.u32 %t, fixed;
    st.shared.u32 [%t], 1;
    mov.u32 %t, dynamic;
    st.shared.u32 [%t], 2;
    // number of the thread in the grid: x fastest, blocks likewise
    mov.u32 %a, %ctaid.z; mov.u32 %b, %nctaid.y; mul.lo.u32 %a, %a, %b;
    mov.u32 %b, %ctaid.y; add.u32 %a, %a, %b;
    mov.u32 %b, %nctaid.x; mul.lo.u32 %a, %a, %b;
    mov.u32 %b, %ctaid.x; add.u32 %a, %a, %b;
    mov.u32 %b, %ntid.z; mul.lo.u32 %a, %a, %b;
    mov.u32 %b, %tid.z; add.u32 %a, %a, %b;
    mov.u32 %b, %ntid.y; mul.lo.u32 %a, %a, %b;
    mov.u32 %b, %tid.y; add.u32 %a, %a, %b;
    mov.u32 %b, %ntid.x; mul.lo.u32 %a, %a, %b;
    mov.u32 %b, %tid.x; add.u32 %a, %a, %b;
    mov.u32 %n, %ntid.x;
    mov.u32 %b, %ntid.y; mul.lo.u32 %n, %n, %b;
    mov.u32 %b, %ntid.z; mul.lo.u32 %n, %n, %b;
    mov.u32 %b, %nctaid.x; mul.lo.u32 %n, %n, %b;
    mov.u32 %b, %nctaid.y; mul.lo.u32 %n, %n, %b;
    mov.u32 %b, %nctaid.z; mul.lo.u32 %n, %n, %b;
    mul.wide.u32 %step, %n, 8;
    ld.param.u64 %p, [out];
    cvta.to.global.u64 %p, %p;
    mul.wide.u32 %q, %a, 8;
    add.u64 %p, %p, %q;
    {lines}
    ret;
}}
"""


def main() -> None:
    """Assemble all of them."""
    ptxas = os.environ["GPUDBG_PTXAS"]
    names = [row.name for row in PTX_REGISTERS]
    HERE.mkdir(exist_ok=True)
    (HERE / "names.json").write_text(json.dumps(names, indent=0) + "\n")
    for arch in ARCHS:
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "probe.ptx"
            text.write_text(source(arch, names))
            target = HERE / f"probe.{arch}.cubin"
            subprocess.run([ptxas, f"-arch={arch}", "-o", str(target), str(text)], check=True)


if __name__ == "__main__":
    main()
