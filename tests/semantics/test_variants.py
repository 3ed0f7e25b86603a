"""Variants of 128-bit instructions that `gpudbg info isa` lists as stopping by name do so."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpudbg
from gpudbg.isa.volta import assemble
from gpudbg.sm.semantics.variants import VARIANTS, Variant


def program(path: Path, arch: str, *lines: str) -> gpudbg.DebugSession:
    """A launch of a few lines."""
    words = [assemble(line, 16 * n, arch) for n, line in enumerate((*lines, "EXIT"))]
    path.write_bytes(b"".join(word.to_bytes(16, "little") for word in words))
    loaded = gpudbg.load(str(path), arch=arch, engine="step")
    return loaded.launch(path.stem, grid=1, block=32, args=[])


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.ops[0]} {v.what}")
def test_listed_variants_stop(variant: Variant, tmp_path: Path) -> None:
    session = program(tmp_path / "v.bin", variant.arch, variant.sample)
    with pytest.raises(gpudbg.ModelGap, match=r"v\+0x0: "):
        session.run(max_instructions=3)


def test_an_accumulator_of_zeros_needs_no_predicate(tmp_path: Path) -> None:
    """`RZ, !UPT`: it adds nothing either way."""
    found = []
    for tail in ("", ", !UPT"):
        session = program(
            tmp_path / "v.bin",
            "sm_90",
            "MOV R4, 0x3c003c00",
            "MOV R5, 0x40003c00",
            "MOV R6, 0x3c004000",
            "MOV R7, R4",
            f"HMMA.16816.F32 R8, R4, R6, RZ{tail}",
        )
        for _ in range(5):
            session.step()
        found.append([session.warp(0).state.R[8 + n].tolist() for n in range(4)])
    assert found[0] == found[1]
    assert any(found[0][0])
