"""Whether a kernel's stack grows while it runs."""

from __future__ import annotations

import pytest

from gpudbg.isa.volta import assemble
from gpudbg.sm.stackuse import grows_stack

TOP = "MOV R1, c[0x0][0x28]"


@pytest.mark.parametrize(
    ("arch", "lines", "frame", "grows"),
    [
        ("sm_80", (TOP, "IADD3 R1, R1, -0x40, RZ", "STL [R1], R0"), 64, False),
        ("sm_80", ("IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]",), 0, False),
        ("sm_90", ("LDC R1, c[0x0][0x28]", "VIADD R1, R1, 0xffffffc0"), 64, False),
        ("sm_90", (TOP, "VIADD R1, R1, 0xffffffc0"), 32, True),
        ("sm_80", (TOP, "IADD3 R1, R1, -0x20, RZ", "IADD3 R1, R1, -R4, RZ"), 64, True),
        ("sm_80", (TOP, "IADD3 R1, R1, -UR4, RZ"), 64, True),
        ("sm_80", (TOP, "IADD3 R2, R1, -0x40, RZ", "MOV R1, R2"), 64, True),
        ("sm_80", (TOP, "IADD3 R0, R1, -0x400, RZ"), 64, False),
    ],
)
def test_wide_words(arch: str, lines: tuple[str, ...], frame: int, grows: bool) -> None:
    words = [assemble(line, 16 * n, arch) for n, line in enumerate(lines)]
    code = b"".join(word.to_bytes(16, "little") for word in words)
    assert grows_stack(code, arch, frame) is grows
