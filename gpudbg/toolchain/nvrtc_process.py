"""NVRTC in a process of its own: `python -I -S nvrtc_process.py LIBRARY`, asked on its input.

A request is a line of JSON: text, name, words, headers, instances.  The answer is a line of JSON,
`log` and `size`, and so many bytes of cubin behind it; `error` where LIBRARY cannot be loaded.
Nothing but the standard library is imported, so that it starts at once.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any


def compiled(lib: Any, request: dict[str, Any]) -> tuple[bytes | None, str]:
    """The cubin, or None, and the log; functions as nvrtc.h declares them."""
    handle = ctypes.c_void_p()
    headers, words = request["headers"], request["words"]
    texts = (ctypes.c_char_p * len(headers))(*(t.encode() for t in headers.values()))
    names = (ctypes.c_char_p * len(headers))(*(n.encode() for n in headers))
    text, name = request["text"].encode("utf-8", "replace"), os.fsencode(request["name"])
    made = lib.nvrtcCreateProgram(ctypes.byref(handle), text, name, len(headers), texts, names)
    if made:
        return None, f"nvrtcCreateProgram: error {made}"
    try:
        for instance in request["instances"]:
            lib.nvrtcAddNameExpression(handle, instance.encode())
        array = (ctypes.c_char_p * len(words))(*(os.fsencode(w) for w in words))
        failed = lib.nvrtcCompileProgram(handle, len(words), array)
        log = _bytes(lib, handle, "ProgramLog").rstrip(b"\0").decode("utf-8", "replace")
        if failed:
            return None, log or f"nvrtcCompileProgram: error {failed}"
        return _bytes(lib, handle, "CUBIN") or None, log
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(handle))


def _bytes(lib: Any, handle: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    if getattr(lib, f"nvrtcGet{what}Size")(handle, ctypes.byref(size)) or not size.value:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(handle, buffer)
    return buffer.raw


def main() -> None:
    """Answer requests until there are no more."""
    # What the library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        lib = ctypes.CDLL(sys.argv[1])
    except OSError as error:
        answers.write(json.dumps({"error": str(error)}).encode() + b"\n")
        return
    for line in sys.stdin.buffer:
        cubin, log = compiled(lib, json.loads(line))
        header = {"log": log, "size": None if cubin is None else len(cubin)}
        answers.write(json.dumps(header).encode() + b"\n" + (cubin or b""))
        answers.flush()


if __name__ == "__main__":
    main()
