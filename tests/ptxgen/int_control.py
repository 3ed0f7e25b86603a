"""PTX control flow: branches, indirect branches, calls, predication, early exits, loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.ptxgen.case import In, Out, Variant
from tests.ptxgen.int_kit import at, operands, program, unsigned

N = 128
BOTH = ("sm_50", "sm_61")
UNTOUCHED = 0xCDCDCDCD


def variants() -> Iterator[Variant]:
    """All of this module."""
    yield from _branches()
    yield from _loops()
    yield from _tables()
    yield from _calls()
    yield from _predicated()
    yield from _misc()


def _map(
    name: str,
    body: str,
    model: Callable[[int, int], int],
    *,
    regs: str = "",
    header: str = "",
    group: str = "control",
    values: np.ndarray | None = None,
) -> Variant:
    """A kernel from %v = a[thread] to %w; the model gets (a, thread)."""
    values = operands(["b32"], name)[0][:N] if values is None else values
    want = [unsigned(model(int(v), t), 32) for t, v in enumerate(values)]
    text = f"{at('a', 4)} ld.global.u32 %v,[%x]; {at('d', 4)} {body} st.global.u32 [%x],%w; DONE:"
    return program(
        group,
        name,
        text,
        {"a": In("b32", values)},
        {"d": Out("b32", np.array(want, np.uint32))},
        regs=".reg .u32 %v,%w,%k,%l; .reg .pred %p,%q,%r; " + regs,
        header=header,
        targets=BOTH,
    )


def _branches() -> Iterator[Variant]:
    yield _map(
        "if",
        "mov.u32 %w,%v; and.b32 %k,%v,1; setp.eq.u32 %p,%k,0; @%p bra NEXT; "
        "mad.lo.u32 %w,%v,3,1; NEXT: xor.b32 %w,%w,%t;",
        lambda v, t: (v * 3 + 1 if v & 1 else v) % 2**32 ^ t,
    )
    yield _map(
        "if.else",
        "setp.lt.s32 %p,%v,0; @%p bra NEG; shl.b32 %w,%v,1; bra.uni JOIN; "
        "NEG: neg.s32 %w,%v; JOIN: add.u32 %w,%w,%t;",
        lambda v, t: (-v if v >> 31 else v << 1) + t,
    )

    def nest(v: int, t: int) -> int:
        w = 0
        for k in range(5):
            w = w * 2 + 1 if v >> k & 1 else w + 7 * k
            if not v >> k & 1 and t >> k & 1:
                w ^= 0x55
        return w

    parts = []
    for k in range(5):
        parts.append(
            f"and.b32 %k,%v,{1 << k}; setp.ne.u32 %p,%k,0; @%p bra ONE{k}; add.u32 %w,%w,{7 * k}; "
            f"and.b32 %k,%t,{1 << k}; setp.eq.u32 %q,%k,0; @%q bra END{k}; xor.b32 %w,%w,0x55; "
            f"bra END{k}; ONE{k}: mad.lo.u32 %w,%w,2,1; END{k}:"
        )
    yield _map("if.nested", "mov.u32 %w,0; " + " ".join(parts), nest)
    yield _map(
        "return.early",
        "setp.gt.s32 %p,%v,0; @%p ret; mov.u32 %w,%v;",
        lambda v, t: UNTOUCHED if 0 < v < 1 << 31 else v,
    )
    yield _map(
        "exit.early",
        "and.b32 %k,%t,3; setp.eq.u32 %p,%k,2; @%p exit; add.u32 %w,%v,9;",
        lambda v, t: UNTOUCHED if t & 3 == 2 else v + 9,
    )
    yield _map(
        "exit.negated",
        "and.b32 %k,%t,4; setp.eq.u32 %p,%k,0; @!%p exit; add.u32 %w,%v,9;",
        lambda v, t: UNTOUCHED if t & 4 else v + 9,
    )
    yield _map(
        "unstructured",
        "and.b32 %k,%v,3; mov.u32 %w,0; setp.eq.u32 %p,%k,1; @%p bra B; "
        "setp.eq.u32 %p,%k,2; @%p bra C; A: add.u32 %w,%w,1; B: add.u32 %w,%w,16; "
        "C: add.u32 %w,%w,256; setp.lt.u32 %p,%w,700; @%p bra A;",
        lambda v, t: _unstructured(v & 3),
    )
    yield _map(
        "goto.into.loop",
        "and.b32 %k,%v,7; mov.u32 %w,0; setp.gt.u32 %p,%k,3; @%p bra IN; "
        "TOP: add.u32 %w,%w,100; IN: add.u32 %w,%w,%k; add.u32 %k,%k,1; "
        "setp.lt.u32 %q,%k,9; @%q bra TOP;",
        lambda v, t: _into(v & 7),
    )


def _unstructured(k: int) -> int:
    w, first = 0, True
    while True:
        start = k if first and k in (1, 2) else 0
        w += (1 if start == 0 else 0) + (16 if start in (0, 1) else 0) + 256
        first = False
        if w >= 700:
            return w


def _into(k: int) -> int:
    w, skip = 0, k > 3
    while True:
        w += 0 if skip else 100
        skip = False
        w += k
        k += 1
        if k >= 9:
            return w


def _loops() -> Iterator[Variant]:
    yield _map(
        "loop.trips",
        "and.b32 %k,%v,31; mov.u32 %w,1; setp.eq.u32 %p,%k,0; @%p bra OUT; "
        "TOP: mad.lo.u32 %w,%w,5,%k; sub.u32 %k,%k,1; setp.ne.u32 %p,%k,0; @%p bra TOP; "
        "OUT:",
        lambda v, t: _trips(v & 31),
    )

    def collatz(v: int, t: int) -> int:
        n, steps = (v & 63) + 1, 0
        while n != 1:
            n = 3 * n + 1 if n & 1 else n // 2
            steps += 1
        return steps

    yield _map(
        "loop.collatz",
        "and.b32 %k,%v,63; add.u32 %k,%k,1; mov.u32 %w,0; TOP: "
        "setp.eq.u32 %p,%k,1; @%p bra OUT; and.b32 %l,%k,1; setp.ne.u32 %q,%l,0; "
        "@%q bra ODD; shr.u32 %k,%k,1; bra STEP; ODD: mad.lo.u32 %k,%k,3,1; STEP: "
        "add.u32 %w,%w,1; bra TOP; OUT:",
        collatz,
    )

    def breaks(v: int, t: int) -> int:
        w = 0
        for a in range(v & 7):
            for b in range(t & 7):
                if (a * b + v) % 5 == 3:
                    break
                if b == 5:
                    continue
                w += a ^ b
            if w > 20:
                break
        return w

    yield _map(
        "loop.nested.break.continue",
        "mov.u32 %w,0; and.b32 %k,%v,7; and.b32 %l,%t,7; mov.u32 %a,0; LA: setp.ge.u32 %p,%a,%k; "
        "@%p bra OUT; mov.u32 %b,0; LB: setp.ge.u32 %p,%b,%l; @%p bra EB; cvt.u64.u32 %z,%v; "
        "mul.lo.u32 %c,%a,%b; cvt.u64.u32 %y,%c; add.u64 %z,%z,%y; rem.u64 %z,%z,5; "
        "setp.eq.u64 %q,%z,3; @%q bra EB; setp.eq.u32 %q,%b,5; @%q bra NB; xor.b32 %c,%a,%b; "
        "add.u32 %w,%w,%c; NB: add.u32 %b,%b,1; bra LB; EB: setp.gt.u32 %q,%w,20; @%q bra OUT; "
        "add.u32 %a,%a,1; bra LA; OUT:",
        breaks,
        regs=".reg .u32 %a,%b,%c; .reg .u64 %z;",
    )
    yield _map(
        "loop.uniform",
        "mov.u32 %k,0; mov.u32 %w,%v; TOP: xor.b32 %w,%w,%k; "
        "add.u32 %k,%k,1; setp.lt.u32 %p,%k,100; @%p bra.uni TOP;",
        lambda v, t: v ^ _xor_to(100),
    )


def _trips(k: int) -> int:
    w = 1
    while k:
        w = (w * 5 + k) % 2**32
        k -= 1
    return w


def _xor_to(n: int) -> int:
    out = 0
    for k in range(n):
        out ^= k
    return out


def _tables() -> Iterator[Variant]:
    for count in (2, 5, 8, 16, 33):
        labels = [f"L{k}" for k in range(count)]
        arms = "".join(
            f" L{k}: mad.lo.u32 %w,%v,{2 * k + 1},{k * k}; bra JOIN;" for k in range(count)
        )

        def by_value(v: int, t: int, n: int = count) -> int:
            return unsigned(v * (2 * (v % n) + 1) + (v % n) ** 2, 32) ^ t

        def by_block(v: int, t: int, n: int = count) -> int:
            return unsigned(v * (2 * n - 1) + (n - 1) ** 2, 32) ^ t

        yield _map(
            f"brx.idx.{count}",
            f"rem.u32 %k,%v,{count}; ts: .branchtargets "
            f"{','.join(labels)}; brx.idx %k,ts;{arms} JOIN: xor.b32 %w,%w,%t;",
            by_value,
        )
        yield _map(
            f"brx.idx.uni.{count}",
            f"mov.u32 %k,%ctaid.x; add.u32 %k,%k,{count - 1}; "
            f"ts: .branchtargets {','.join(labels)}; brx.idx.uni %k,ts;{arms} JOIN: "
            "xor.b32 %w,%w,%t;",
            by_block,
        )


FUNCTIONS = """
.func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r,a,a; ret; }
.func (.reg .u32 r) thrice(.reg .u32 a) { mul.lo.u32 r,a,3; add.u32 r,r,1; ret; }
.func (.reg .u32 r) branchy(.reg .u32 a)
{ .reg .pred p; setp.lt.s32 p,a,0; @p bra N; shr.u32 r,a,2; ret; N: not.b32 r,a; ret; }
.func (.reg .u32 r) outer(.reg .u32 a)
{ .reg .u32 x; call (x),twice,(a); call (r),branchy,(x); add.u32 r,r,a; ret; }
"""
RECURSIVE = """
.func (.param .u32 r) fact(.param .u32 a)
{
.reg .u32 x,y; .reg .pred p; .param .u32 q; .param .u32 s;
ld.param.u32 x,[a]; setp.gt.u32 p,x,1; @p bra GO; mov.u32 y,1; st.param.u32 [r],y; ret;
GO: sub.u32 y,x,1; st.param.u32 [q],y; call (s),fact,(q); ld.param.u32 y,[s];
mad.lo.u32 y,y,x,1; st.param.u32 [r],y; ret;
}
"""
POINTERS = """
.func (.param .b32 r) fa(.param .b32 a)
{ .reg .b32 x; ld.param.b32 x,[a]; add.u32 x,x,11; st.param.b32 [r],x; ret; }
.func (.param .b32 r) fb(.param .b32 a)
{ .reg .b32 x; ld.param.b32 x,[a]; mul.lo.u32 x,x,13; st.param.b32 [r],x; ret; }
.func (.param .b32 r) fc(.param .b32 a)
{ .reg .b32 x; ld.param.b32 x,[a]; not.b32 x,x; st.param.b32 [r],x; ret; }
.global .align 8 .u64 ftab[3] = {fa,fb,fc};
"""


def _branchy(a: int) -> int:
    return unsigned(~a, 32) if a >> 31 else a >> 2


def _fact(n: int) -> int:
    out = 1
    for k in range(2, n + 1):
        out = out * k + 1
    return out


def _calls() -> Iterator[Variant]:
    yield _map(
        "call",
        "call (%w),twice,(%v); call (%w),thrice,(%w);",
        lambda v, t: v * 6 + 1,
        header=FUNCTIONS,
        group="control_call",
    )
    yield _map(
        "call.divergent",
        "and.b32 %k,%v,1; setp.ne.u32 %p,%k,0; @%p bra A; "
        "call (%w),branchy,(%v); bra JOIN; A: call (%w),thrice,(%v); JOIN: "
        "add.u32 %w,%w,%t;",
        lambda v, t: (v * 3 + 1 if v & 1 else _branchy(v)) + t,
        header=FUNCTIONS,
        group="control_call",
    )
    yield _map(
        "call.predicated",
        "mov.u32 %w,%v; setp.lt.s32 %p,%v,0; @%p call (%w),twice,(%v);",
        lambda v, t: 2 * v if v >> 31 else v,
        header=FUNCTIONS,
        group="control_call",
    )
    yield _map(
        "call.nested",
        "call (%w),outer,(%v);",
        lambda v, t: _branchy(unsigned(2 * v, 32)) + v,
        header=FUNCTIONS,
        group="control_call",
    )
    yield _map(
        "call.in.loop",
        "and.b32 %k,%t,7; mov.u32 %w,%v; TOP: setp.eq.u32 %p,%k,0; "
        "@%p bra OUT; call (%w),branchy,(%w); sub.u32 %k,%k,1; bra TOP; OUT:",
        lambda v, t: _repeat(_branchy, v, t & 7),
        header=FUNCTIONS,
        group="control_call",
    )
    yield _map(
        "call.uni",
        "call.uni (%w),thrice,(%v);",
        lambda v, t: v * 3 + 1,
        header=FUNCTIONS,
        group="control_call",
    )
    yield _map(
        "call.recursive",
        "and.b32 %k,%v,7; { .param .u32 q; .param .u32 s; "
        "st.param.u32 [q],%k; call (s),fact,(q); ld.param.u32 %w,[s]; }",
        lambda v, t: _fact(v & 7),
        header=RECURSIVE,
        group="control_recursion",
    )
    chosen = [lambda a: a + 11, lambda a: a * 13, lambda a: ~a]
    yield _map(
        "call.indirect",
        "rem.u32 %k,%v,3; mov.u64 %y,ftab; mad.wide.u32 %y,%k,8,%y; "
        "ld.global.u64 %z,[%y]; { .param .b32 q; .param .b32 s; st.param.b32 [q],%v; "
        "pr: .callprototype (.param .b32 _) _ (.param .b32 _); call (s),%z,(q),pr; "
        "ld.param.b32 %w,[s]; }",
        lambda v, t: chosen[v % 3](v),
        regs=".reg .u64 %z;",
        header=POINTERS,
        group="control_pointer",
    )
    yield _map(
        "call.indirect.targets",
        "and.b32 %k,%t,1; setp.eq.u32 %p,%k,0; mov.u64 %y,fa; "
        "mov.u64 %z,fc; selp.u64 %z,%y,%z,%p; { .param .b32 q; .param .b32 s; "
        "st.param.b32 [q],%v; tt: .calltargets fa,fc; call (s),%z,(q),tt; "
        "ld.param.b32 %w,[s]; }",
        lambda v, t: chosen[2 * (t & 1)](v),
        regs=".reg .u64 %z;",
        header=POINTERS,
        group="control_pointer",
    )


def _repeat(f: Callable[[int], int], v: int, count: int) -> int:
    for _ in range(count):
        v = f(v)
    return v


def _predicated() -> Iterator[Variant]:
    yield _map(
        "guard.alu",
        "setp.lt.s32 %p,%v,0; mov.u32 %w,5; @%p add.u32 %w,%v,1; @!%p xor.b32 %w,%w,%v;",
        lambda v, t: v + 1 if v >> 31 else v ^ 5,
    )
    yield _map(
        "guard.store",
        "and.b32 %k,%t,1; setp.ne.u32 %p,%k,0; mov.u32 %w,%v; @%p st.global.u32 [%x],%t; @%p ret;",
        lambda v, t: t if t & 1 else v,
    )
    yield _map(
        "guard.load.bad",
        "and.b32 %k,%t,1; setp.ne.u32 %p,%k,0; mov.u64 %y,8; "
        "mov.u32 %w,%v; @%p mov.u64 %y,%p_a; @%p ld.global.u32 %w,[%y+4];",
        lambda v, t: _second if t & 1 else v,
        values=_known,
    )
    yield _map(
        "guard.atomic",
        "and.b32 %k,%t,3; setp.eq.u32 %p,%k,0; mov.u32 %w,%v; "
        "st.global.u32 [%x],%v; @%p atom.global.add.u32 %k,[%x],10; "
        "ld.volatile.global.u32 %w,[%x];",
        lambda v, t: v if t & 3 else v + 10,
    )
    yield _map(
        "guard.chain",
        "setp.lt.s32 %p,%v,0; setp.gt.u32 %q,%v,1000; and.pred %r,%p,%q; "
        "or.pred %p,%p,%q; not.pred %q,%q; mov.u32 %w,0; @%r add.u32 %w,%w,1; "
        "@%p add.u32 %w,%w,2; @%q add.u32 %w,%w,4;",
        lambda v, t: (v >> 31 and v > 1000) + 2 * (v >> 31 or v > 1000) + 4 * (v <= 1000),
    )


_known = operands(["b32"], "guard.load.bad")[0][:N]
_second = int(_known[1])


def _misc() -> Iterator[Variant]:
    yield _map("pmevent", "pmevent 3; mov.u32 %w,%v; pmevent.mask 0x5;", lambda v, t: v)
    yield _map(
        "prefetch",
        "prefetch.global.L1 [%x]; prefetch.global.L2 [%x]; prefetchu.L1 [%x]; mov.u32 %w,%v;",
        lambda v, t: v,
    )
    yield _map("trap.untaken", "setp.eq.u32 %p,%t,9999; @%p trap; mov.u32 %w,%v;", lambda v, t: v)
    many = "".join(f"add.u32 %r{k},%v,{k}; " for k in range(40))
    total = "".join(f"mad.lo.u32 %w,%w,3,%r{k}; " for k in range(40))
    yield _map(
        "registers.many",
        many + "mov.u32 %w,0; " + "bar.sync 0; " + total,
        _polynomial,
        regs=f".reg .u32 {','.join(f'%r{k}' for k in range(40))};",
    )
    yield _map(
        "slct.chain",
        "slct.s32.s32 %w,%v,%t,%v; slct.u32.s32 %w,%w,1,%w;",
        lambda v, t: _slct(v if v < 1 << 31 else t),
    )


def _slct(w: int) -> int:
    return w if w < 1 << 31 else 1


def _polynomial(v: int, t: int) -> int:
    w = 0
    for k in range(40):
        w = w * 3 + v + k
    return w
