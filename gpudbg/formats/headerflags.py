"""e_flags of a cubin in the words of nvdisasm's `.headerflags`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from gpudbg.architectures import age

if TYPE_CHECKING:
    from gpudbg.formats.program import Program

_ABI_AT, _NEW_ABI = 7, 0x41
"""EI_OSABI, and its value in files of the new layout: all of sm_100 and later, and of CUDA 13."""
_FLAGS_AT = 0x30
_NAMES = ((0x100, "TEXMODE_UNIFIED"), (0x400, "64BIT_ADDRESS"))
"""Flags of the layout up to sm_90."""
_VERSION_NOTE = ".note.nv.cuver"
_VIRTUAL_AT = 26
"""Where that note has the architecture that the PTX was for."""


def has_new_layout(program: Program) -> bool:
    """Whether a program's file has the ELF layout that came with sm_100."""
    return program.data[_ABI_AT : _ABI_AT + 1] == bytes((_NEW_ABI,))


def header_flags(program: Program) -> str:
    """The flags of a program's file."""
    number = age(program.arch)[0]
    data = program.data
    flags = struct.unpack_from("<I", data, _FLAGS_AT)[0] if len(data) > _FLAGS_AT + 4 else 0
    new = has_new_layout(program)
    names = [f"EF_CUDA_{name}" for bit, name in (() if new else _NAMES) if flags & bit]
    names += ["EF_CUDA_ACCELERATORS"] if program.arch.endswith("a") else []
    virtual = _virtual(program, number) if new else flags >> 16 & 0xFF
    return " ".join([*names, f"EF_CUDA_SM{number}", f"EF_CUDA_VIRTUAL_SM(EF_CUDA_SM{virtual})"])


def _virtual(program: Program, number: int) -> int:
    note = program.sections.get(_VERSION_NOTE)
    if note is None or len(note.data) < _VIRTUAL_AT + 2:
        return number
    return int.from_bytes(note.data[_VIRTUAL_AT : _VIRTUAL_AT + 2], "little")
