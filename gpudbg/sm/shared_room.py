"""Where a block's shared memory ends for kernels that load vectors from it.

Devices allocate in units of 128 bytes and more (*documented*), and compilers rely on it: the last
three of seven words come by one instruction that loads four.  Memory of such a kernel ends where a
vector does; that of others is exact (policy stray-shared-access).
"""

from __future__ import annotations

from dataclasses import replace

from gpudbg.architectures import is_wide
from gpudbg.errors import DecodeError
from gpudbg.isa.family import decode
from gpudbg.sm.launch import LaunchConfig

VECTOR_BYTES = 16


def with_room(config: LaunchConfig, code: bytes, arch: str) -> LaunchConfig:
    """A launch whose shared memory ends behind a vector, where `code` loads some."""
    over = config.shared_bytes % VECTOR_BYTES
    if not over or config.reserved_shared or not loads_vectors(code, arch):
        return config
    return replace(config, shared_bytes=config.shared_bytes + VECTOR_BYTES - over)


def loads_vectors(code: bytes, arch: str) -> bool:
    """Whether code has a load of 8 or 16 bytes from shared memory."""
    size = 16 if is_wide(arch) else 8
    return any(_is_vector(code[at : at + size], arch) for at in range(0, len(code), size))


def _is_vector(word: bytes, arch: str) -> bool:
    try:
        text = decode(int.from_bytes(word, "little"), arch).text()
    except DecodeError:
        return False
    return "LDS" in text and (".64 " in text or ".128 " in text)
