"""Parameters that are tensor maps, by their size and by what the kernel's code copies."""

from __future__ import annotations

from collections import Counter
from typing import Final

from gpudbg.architectures import age
from gpudbg.code_layout import layout_of
from gpudbg.errors import DecodeError
from gpudbg.formats.program import Kernel, Program
from gpudbg.formats.tensor_map import SIZE
from gpudbg.isa.family import decode
from gpudbg.toolchain.signatures import Parameter

TYPE: Final = "CUtensorMap"
"""What a parameter's type is called where no source tells it."""
_SIDE: Final = 32
"""Elements of a proposed box along the innermost axis: 128 bytes of f32."""


def rank_of_copies(program: Program, kernel: Kernel) -> int:
    """Axes of the tensors that the kernel's code copies; 0: it copies none by tensor maps."""
    if age(program.arch)[0] < 90 or all(p.size != SIZE for p in kernel.params):
        return 0
    layout = layout_of(program.arch)
    found: Counter[int] = Counter()
    for place in range(0, len(kernel.code), layout.word_bytes):
        try:
            insn = decode(layout.word_at(kernel.code, place), program.arch)
        except DecodeError:
            continue
        if insn.op.startswith("UTMA"):
            found.update(int(word[0]) for word in insn.m if word in _RANKS)
    return found.most_common(1)[0][0] if found else 0


_RANKS: Final = ("1D", "2D", "3D", "4D", "5D")


def proposed_tensor(rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and box of a tensor that is proposed: what they are, only the host's code says."""
    box = (*((1,) * (rank - 2)), *((16,) if rank > 1 else ()), _SIDE)
    return tuple(n * 4 for n in box), box


def is_tensor_map(row: Parameter, rank: int) -> bool:
    """Whether a parameter of a kernel whose copies have a rank is taken for a tensor map."""
    return row.size == SIZE and not row.pointer and rank > 0 and row.type in ("", TYPE)
