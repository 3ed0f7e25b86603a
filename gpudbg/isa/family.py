"""Instructions of any architecture: decoding, and what both families of them say."""

from __future__ import annotations

from ..architectures import is_wide
from . import spa5, volta

Instruction = spa5.Instruction | volta.Instruction


def decode(word: int, arch: str) -> Instruction:
    """The instruction that a word encodes: of 64 bits, or of 128 from sm_70 on.

    Raises:
        DecodeError: no instruction of the architecture; `reason` says why.
    """
    return volta.decode(word, arch) if is_wide(arch) else spa5.decode(word, arch)
