"""Compile the kernels of this folder: python tests/hopper/build.py [NAME...]

libnvrtc (12.9) is the one that `gpudbg` finds for `.cu` files (GPUDBG_NVRTC).  A source `NAME.cu`
becomes `cubin/NAME.cubin` for sm_90a; `// arch: sm_80 sm_120` in its first line adds
`cubin/NAME.sm_80.cubin` and so on.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from gpudbg.toolchain.installed import find_nvrtc
from gpudbg.toolchain.nvrtc import Nvrtc

HERE = Path(__file__).resolve().parent
QUIET = "--diag-suppress=177"


def compiled(source: Path, arch: str) -> bytes:
    """A source with the header in its place."""
    header = (HERE / "src" / "ptx.cuh").read_text()
    text = source.read_text().replace('#include "ptx.cuh"\n', header)
    words = [f"--gpu-architecture={arch}", QUIET]
    with Nvrtc(str(find_nvrtc())) as nvrtc:
        cubin, log = nvrtc.compile(text, source.name, words, {})
    if cubin is None:
        raise SystemExit(f"{source.name}: {log}")
    return cubin


def main(names: list[str]) -> None:
    """Compile all sources, or those named."""
    (HERE / "cubin").mkdir(exist_ok=True)
    for source in sorted((HERE / "src").glob("*.cu")):
        if names and source.stem not in names:
            continue
        first = source.read_text().splitlines()[0]
        found = re.match(r"// arch: (.*)", first)
        for arch in ("sm_90a", *(found[1].split() if found else ())):
            suffix = "" if arch == "sm_90a" else f".{arch}"
            (HERE / "cubin" / f"{source.stem}{suffix}.cubin").write_bytes(compiled(source, arch))


if __name__ == "__main__":
    main(sys.argv[1:])
