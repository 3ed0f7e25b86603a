"""Directed rounding: the host's own rounding mode, set for one operation.

The mode is a register of the host's thread.  What runs under another mode than to nearest is a
function of its own, with operations that the compiler may not move or fold, and it sets the mode
back: nothing else ever sees it changed.

A host with AVX2 alone sets the mode of its vectors, not that of the x87 as well, and does so for
f32, too, whose results are computed with doubles elsewhere: FFMA.RM of a warp takes 10 ns, not 41,
on a Zen 3, DFMA.RM 31, not 76.  What is set is a constant, and what was before is only stored: to
read it and change some bits takes 10 ns more.
"""

from __future__ import annotations

from typing import Final

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, vector
from gpudbg.sm.engines.llvm.ir.floats import F32, INF32, NAN32

F64 = "<32 x double>"
_MODES: Final = {"RZ": 0, "RP": 2, "RM": 3}
"""Rounding -> argument of `llvm.set.rounding`."""
NEAREST: Final = 1
_CONTROL: Final = {"RZ": 0x7F80, "RP": 0x5F80, "RM": 0x3F80}
"""Rounding -> MXCSR: all exceptions masked, subnormals as they are."""
_FLUSH: Final = 0x8000
"""The same: what is tiny after rounding becomes zero."""
OPERATIONS: Final = {"dadd": ("fadd", 2), "dmul": ("fmul", 2), "dfma": ("fma", 3)}
"""Operation -> the compiler's name, operands."""
_SINGLE: Final = {"fadd": ("fadd", 2), "fmul": ("fmul", 2), "ffma": ("fma", 3)}
"""The same of f32."""

ROUNDINGS: Final = tuple(_MODES)


def symbol(operation: str, rnd: str) -> str:
    """The function of an operation."""
    return f"gpudbg_directed_{operation}_{rnd}"


def directed_functions(of_vectors: bool) -> list[str]:
    """A function for each operation and rounding: vectors in, a vector out.

    Args:
        of_vectors: the mode that is set is that of vectors alone.
    """
    function = _function_of_vectors if of_vectors else _function
    return [
        function(operation, count, rnd)
        for operation, count in OPERATIONS.values()
        for rnd in _MODES
    ]


def _function(operation: str, count: int, rnd: str) -> str:
    names = [f"%x{n}" for n in range(count)]
    listed = ", ".join(f"{F64} {name}" for name in names)
    return "\n".join(
        [
            f"define private {F64} @{symbol(operation, rnd)}({listed}) noinline strictfp {{",
            f"  call void @llvm.set.rounding(i32 {_MODES[rnd]}) strictfp",
            f"  %r = call {F64} @llvm.experimental.constrained.{operation}.v32f64({listed}, "
            'metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp',
            f"  call void @llvm.set.rounding(i32 {NEAREST}) strictfp",
            f"  ret {F64} %r",
            "}",
        ]
    )


def _function_of_vectors(operation: str, count: int, rnd: str) -> str:
    names = [f"%x{n}" for n in range(count)]
    ir = Builder()
    ir.line(f"ret {F64} {_under(ir, F64, operation, names, _CONTROL[rnd])}")
    listed = ", ".join(f"{F64} {name}" for name in names)
    return ir.close(f"define private {F64} @{symbol(operation, rnd)}({listed}) noinline strictfp")


def _under(ir: Builder, kind: str, operation: str, operands: list[str], mode: int) -> str:
    """Emit an operation under a mode, a value of MXCSR, in a function that is `strictfp`."""
    before, control = ir.op("alloca i32"), ir.op("alloca i32")
    ir.put("i32", mode, control)
    ir.line(f"call void @llvm.x86.sse.stmxcsr(ptr {before}) strictfp")
    ir.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {control}) strictfp")
    listed = ", ".join(f"{kind} {operand}" for operand in operands)
    suffix = "v32f64" if kind == F64 else "v32f32"
    result = ir.op(
        f"call {kind} @llvm.experimental.constrained.{operation}.{suffix}({listed}, "
        'metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp'
    )
    ir.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {before}) strictfp")
    return result


def is_single(name: str) -> bool:
    """Whether a library function is an operation on f32 with a rounding mode."""
    return name.partition(".")[0] in _SINGLE


def single_function(name: str) -> str:
    """Such a function: pointers to rows of operands, and to that of the result."""
    operation, rnd, *flush = name.split(".")
    what, count = _SINGLE[operation]
    mode = _CONTROL[rnd] | (_FLUSH if flush else 0)
    ir, words = Builder(), vector("i32")
    operands = [ir.get(F32, f"%a{n}", 0, 64) for n in range(count)]
    result = _under(ir, F32, what, operands, mode)
    bits = ir.op(f"bitcast {F32} {result} to {words}")
    size = ir.op(f"and {words} {bits}, splat (i32 {NAN32})")
    nan = ir.op(f"icmp ugt {words} {size}, splat (i32 {INF32})")
    both = f"{words} splat (i32 {NAN32}), {words} {bits}"
    ir.put(words, ir.op(f"select {vector('i1')} {nan}, {both}"), "%r", 0, 64)
    ir.line("ret void")
    listed = ", ".join([*(f"ptr %a{n}" for n in range(count)), "ptr %r"])
    return ir.close(f"define void @{layout.symbol(name)}({listed}) strictfp")
