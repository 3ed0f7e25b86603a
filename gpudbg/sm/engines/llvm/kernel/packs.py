"""Where masks are packed, on hosts that keep them as vectors.

The emitter writes a call of a function, one statement for the passes over a kernel's text.  The
code generator takes longer over what it does than over all else that an exit stores, so exits and
what makes final registers call it; `in_place` writes it out elsewhere.
"""

from __future__ import annotations

import re
from functools import cache

from gpudbg.sm.engines.llvm.ir.builder import Builder, vector
from gpudbg.sm.engines.llvm.ir.values import PACK, packed

CALLED = f" = call i32 @{PACK}("
"""In statements that call the function."""
_CALL = re.compile(rf"  (%[\w.]+){re.escape(CALLED)}{re.escape(vector('i32'))} (.*)\)$")
_EXIT = re.compile(r"[xs]\d+:$")
"""The label of an exit."""
_WORDS, _NAME = "%words", "%name"
_MADE = re.compile(r"%v(\d+)")


@cache
def _statements() -> str:
    """Statements that pack `_WORDS`, with `_NAME` for the name of the result."""
    ir = Builder()
    result = packed(ir, _WORDS)
    names = {result: _NAME}
    text = "\n".join(ir.lines)
    return _MADE.sub(lambda found: names.get(found[0], f"{_NAME}.p{found[1]}"), text)


def in_place(lines: list[str]) -> list[str]:
    """Blocks in which masks are packed in place but for exits."""
    out: list[str] = []
    away = False
    for line in lines:
        if line[0] != " ":
            away = _EXIT.match(line) is not None
        elif not away and CALLED in line and (found := _CALL.match(line)) is not None:
            text = _statements().replace(_NAME, found[1])
            out += text.replace(_WORDS, found[2]).split("\n")
            continue
        out.append(line)
    return out


def function() -> str:
    """The function that packs a mask."""
    ir = Builder()
    ir.line(f"ret i32 {packed(ir, _WORDS)}")
    return ir.close(f"define private i32 @{PACK}({vector('i32')} {_WORDS}) noinline")
