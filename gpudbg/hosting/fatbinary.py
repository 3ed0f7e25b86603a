"""A stand-in for NVIDIA's `fatbinary`, which is in no wheel: packs cubins and PTX for clang.

`python -S fatbinary.py --create=OUT --image=profile=sm_80,file=… --image=profile=compute_80,file=…`
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from pathlib import Path

_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_PTX, _CUBIN = 1, 2
_VERSION = 0x101
_LINUX_64 = 0x11
_MAGIC = 0xBA55ED50


def pack(words: Sequence[str]) -> None:
    """Write the container that the words of a command line ask for."""
    entries, out = b"", ""
    for n, word in enumerate(words):
        key, _, value = word.partition("=")
        if key == "--create":
            out = value or words[n + 1]
        elif key in ("--image", "--image3"):
            parts = dict(part.partition("=")[::2] for part in value.split(","))
            entries += _entry(parts)
    Path(out).write_bytes(struct.pack("<IHHQ", _MAGIC, 1, 16, len(entries)) + entries)


def _entry(parts: dict[str, str]) -> bytes:
    """A cubin or PTX with what stands before it."""
    name = parts.get("profile") or parts.get("sm") or ""
    kind = _PTX if name.startswith("compute") else _CUBIN
    data = Path(parts["file"]).read_bytes() + b"\0" * (kind == _PTX)
    data += b"\0" * (-len(data) % 8)
    arch = int("".join(c for c in name if c.isdigit()))
    version = (5, 7) if kind == _PTX else (7, 1)
    size = _ENTRY.size
    head = (kind, _VERSION, size, len(data), 0, 0, *version, arch, 0, 0, _LINUX_64, 0, 0)
    return _ENTRY.pack(*head) + data


if __name__ == "__main__":
    pack(sys.argv[1:])
