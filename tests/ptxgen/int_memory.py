"""PTX loads, stores, address spaces, vector moves and integer conversions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ptxgen.case import DTYPES, In, Out, Variant, width
from tests.ptxgen.int_kit import (
    at,
    clamp,
    elementwise,
    operands,
    program,
    typed,
    unsigned,
)

LOADS = ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "f32", "u64", "s64", "b64",
         "f64")  # fmt: skip
LOAD_CACHE = ("", ".ca", ".cg", ".cs", ".lu", ".cv", ".nc", ".volatile", ".relaxed.gpu")
STORE_CACHE = ("", ".wb", ".cg", ".cs", ".wt", ".volatile")
N = 128
BOTH = ("sm_50", "sm_61")


def variants() -> Iterator[Variant]:
    """All of this module."""
    yield from _loads()
    yield from _stores()
    yield from _vectors()
    yield from _shared()
    yield from _local()
    yield from _constant()
    yield from _generic()
    yield from _parameters()
    yield from _addresses()
    yield from _packing()
    yield from _convert()


def _bits(t: str) -> int:
    return 8 * width(t)


def _registers(t: str) -> list[int]:
    """Widths of registers that a load of type t may target."""
    if t[0] == "f":
        return [_bits(t)]
    return [n for n in (16, 32, 64) if n >= _bits(t)]


def _extend(value: int, t: str, bits: int) -> int:
    return unsigned(typed(value, t), bits) if t[0] == "s" else value


def _loads() -> Iterator[Variant]:
    for k, t in enumerate(LOADS):
        n = _bits(t)
        for bits in _registers(t):
            cache = LOAD_CACHE[(k + bits // 16) % 6]
            for op in dict.fromkeys((f"ld.global{cache}.{t}", f"ld.global.{t}")):
                yield elementwise(
                    "mem_load",
                    f"{op}.b{bits}",
                    f"{op} %d,[%q_a];",
                    f"a:b{n}",
                    f"d:b{bits}",
                    lambda a, t=t, b=bits: _extend(a, t, b),
                    targets=BOTH,
                )
    for cache in LOAD_CACHE:
        for t in ("u8", "s16", "b32", "b64"):
            op = f"ld{cache}.global.{t}" if cache == ".volatile" else f"ld.global{cache}.{t}"
            if cache == ".relaxed.gpu":
                continue
            bits = max(32, _bits(t))
            yield elementwise(
                "mem_load",
                f"cache.{op}",
                f"{op} %d,[%q_a];",
                f"a:b{_bits(t)}",
                f"d:b{bits}",
                lambda a, t=t, b=bits: _extend(a, t, b),
            )
    for t in ("u32", "u64", "s8"):
        bits = max(32, _bits(t))
        yield elementwise(
            "mem_load",
            f"ldu.{t}",
            f"ldu.global.{t} %d,[%q_a];",
            f"a:b{_bits(t)}",
            f"d:b{bits}",
            lambda a, t=t, b=bits: _extend(a, t, b),
        )
    for step in (-16, 4, 2044, -2048):
        values = operands(["b32"], step)[0]
        shifted = np.roll(values, -(step // 4))
        yield elementwise(
            "mem_load",
            f"ld.offset.{step}".replace("-", "m"),
            f"sub.u64 %q_a,%q_a,{step}; ld.global.b32 %d,[%q_a+{step}];",
            "a:b32",
            "d:b32",
            lambda a: a,
            values=[shifted],
        )


def _stores() -> Iterator[Variant]:
    for t in LOADS:
        bits = _bits(t)
        for source in _registers(t):
            values = operands([f"b{source}"], t)[0][:N]
            want = (values & np.array((1 << bits) - 1, values.dtype)).astype(DTYPES[bits // 8])
            for cache in STORE_CACHE if source == max(32, bits) else ("",):
                op = f"st{cache}.global.{t}" if cache == ".volatile" else f"st.global{cache}.{t}"
                yield program(
                    "mem_store",
                    f"{op}.b{source}",
                    f"{at('a', source // 8)} ld.global.b{source} %v,[%x]; {at('d', bits // 8)} "
                    f"{op} [%x],%v;",
                    {"a": In(f"b{source}", values)},
                    {"d": Out(f"b{bits}", want)},
                    regs=f".reg .b{source} %v;",
                    targets=BOTH if not cache else ("sm_50",),
                )


def _vectors() -> Iterator[Variant]:
    for count in (2, 4):
        for t in ("u8", "s8", "u16", "s16", "b32", "f32", "b64"):
            bits = _bits(t)
            if bits * count > 128:
                continue
            wide = max(bits, 32) if t[0] != "s" else 32
            values = operands([f"b{bits}"], (t, count))[0][:N]
            names = [f"%v{k}" for k in range(count)]
            order = names[::-1]
            rows = values.reshape(-1, count)[:, ::-1]
            body = (
                f"setp.ge.u32 %p,%n,{N // count}; @%p ret; {at('a', bits * count // 8)} "
                f"ld.global.v{count}.{t} {{{','.join(names)}}},[%x]; {at('d', bits * count // 8)} "
                f"st.global.v{count}.{'b' + str(bits)} [%x],{{{','.join(order)}}};"
            )
            yield program(
                "mem_vector",
                f"v{count}.{t}",
                body,
                {"a": In(f"b{bits}", values)},
                {"d": Out(f"b{bits}", rows.reshape(-1).copy())},
                regs=f".reg .pred %p; .reg .b{wide} {','.join(names)};",
                targets=BOTH,
            )
            for op in ("ldu.global", "ld.global.nc", "ld.global.cs"):
                yield program(
                    "mem_vector",
                    f"{op}.v{count}.{t}",
                    body.replace("ld.global", op),
                    {"a": In(f"b{bits}", values)},
                    {"d": Out(f"b{bits}", rows.reshape(-1).copy())},
                    regs=f".reg .pred %p; .reg .b{wide} {','.join(names)};",
                )
            for space, decl in (("shared", ".shared"), ("local", ".local")):
                size = bits * count // 8
                place = f"mul.lo.u32 %i,%n,{size};" if space == "shared" else "mov.u32 %i,16;"
                body = (
                    f"setp.ge.u32 %p,%n,{N // count}; @%p ret; {decl} .align 16 .b8 m[{N * 16}]; "
                    f"{at('a', size)} ld.global.v{count}.{t} {{{','.join(names)}}},[%x]; {place} "
                    f"mov.u32 %j,m; add.u32 %j,%j,%i; st.{space}.v{count}.b{bits} [%j],"
                    f"{{{','.join(order)}}}; ld.{space}.v{count}.{t} {{{','.join(names)}}},[%j]; "
                    f"{at('d', size)} st.global.v{count}.b{bits} [%x],{{{','.join(names)}}};"
                )
                yield program(
                    "mem_vector",
                    f"{space}.v{count}.{t}",
                    body,
                    {"a": In(f"b{bits}", values)},
                    {"d": Out(f"b{bits}", rows.reshape(-1).copy())},
                    regs=f".reg .pred %p; .reg .b{wide} {','.join(names)};",
                )


def _exchange(space: str, t: str) -> Variant:
    """Store per thread, load a neighbour's (shared) or own earlier (local) element."""
    bits = _bits(t)
    size, wide = bits // 8, max(32, bits)
    values = operands([f"b{bits}"], (space, t))[0][:N]
    if space.startswith("shared"):
        # Thread t reads what thread (t + 37) mod N wrote.
        body = (
            f".shared .align 8 .b8 m[{N * 8}]; {at('a', size)} ld.global.{_raw(t)} %v,[%x]; "
            f"mov.u32 %j,m; mad.lo.u32 %i,%t,{size},%j; st.{space}.{t} [%i],%v; bar.sync 0; "
            f"add.u32 %i,%t,37; and.b32 %i,%i,{N - 1}; mad.lo.u32 %i,%i,{size},%j; "
            f"ld.{space}.{t} %v,[%i]; {at('d', wide // 8)} st.global.b{wide} [%x],%v;"
        )
        source = np.roll(values, -37)
    else:
        # Every thread fills eight elements with a, a+1, ... and reads one by its index.
        body = (
            f".local .align 8 .b8 m[64]; {at('a', size)} ld.global.{_raw(t)} %v,[%x]; "
            "mov.u32 %j,m;"
            + "".join(
                f" add.u{wide} %w,%v,{k}; st.local.{_raw(t)} [%j+{k * size}],%w;" for k in range(8)
            )
            + f" and.b32 %i,%t,7; mad.lo.u32 %i,%i,{size},%j; ld.local.{t} %v,[%i]; "
            f"{at('d', wide // 8)} st.global.b{wide} [%x],%v;"
        )
        index = np.arange(N, dtype=np.uint64) & np.uint64(7)
        source = (values.astype(np.uint64) + index).astype(values.dtype)
    want = np.array([_extend(int(v), t, wide) for v in source], dtype=DTYPES[wide // 8])
    group = f"mem_{space.partition(':')[0]}"
    return program(
        group,
        f"{space}.{t}",
        body,
        {"a": In(f"b{bits}", values)},
        {"d": Out(f"b{wide}", want)},
        regs=f".reg .b{wide} %v,%w;",
        targets=BOTH,
    )


def _raw(t: str) -> str:
    return f"u{_bits(t)}" if _bits(t) < 32 else f"b{_bits(t)}"


def _shared() -> Iterator[Variant]:
    for t in ("u8", "s8", "u16", "s16", "u32", "b32", "u64", "s64"):
        yield _exchange("shared", t)
        yield _exchange("shared::cta", t)
    values = operands(["b32"], "dynamic")[0][:N]
    yield program(
        "mem_shared",
        "extern.dynamic",
        f"{at('a', 4)} ld.global.u32 %v,[%x]; mov.u32 %j,dyn; mad.lo.u32 %i,%t,4,%j; "
        f"st.shared.u32 [%i+512],%v; bar.sync 0; xor.b32 %i,%t,127; mad.lo.u32 %i,%i,4,%j; "
        f"ld.volatile.shared.u32 %v,[%i+512]; {at('d', 4)} st.global.u32 [%x],%v;",
        {"a": In("b32", values)},
        {"d": Out("b32", values[::-1].copy())},
        regs=".reg .b32 %v;",
        shared=1024,
        header=".extern .shared .align 16 .b8 dyn[];",
        targets=BOTH,
    )


def _local() -> Iterator[Variant]:
    for t in ("u8", "s8", "u16", "s16", "u32", "u64", "s64"):
        yield _exchange("local", t)


def _constant() -> Iterator[Variant]:
    data = operands(["b32"], "table")[0]
    raw = data.tobytes()
    listed = ",".join(str(v) for v in raw)
    header = f".const .align 16 .b8 ctab[{len(raw)}] = {{{listed}}};"
    glob = f".global .align 16 .b8 gtab[{len(raw)}] = {{{listed}}};"
    for t in ("u8", "s8", "u16", "s16", "u32", "b64"):
        size, wide = _bits(t) // 8, max(32, _bits(t))
        table = np.frombuffer(raw, DTYPES[size])
        index = operands(["small"], t)[0][:N].astype(np.uint32) % np.uint32(len(table))
        want = np.array([_extend(int(table[i]), t, wide) for i in index], DTYPES[wide // 8])
        for space, text, name in (("const", header, "ctab"), ("global", glob, "gtab")):
            yield program(
                "mem_const",
                f"{space}.{t}",
                f"{at('a', 4)} ld.global.u32 %i,[%x]; mov.u64 %y,{name}; "
                f"mad.wide.u32 %y,%i,{size},%y; ld.{space}.{t} %v,[%y]; {at('d', wide // 8)} "
                f"st.global.b{wide} [%x],%v;",
                {"a": In("b32", index)},
                {"d": Out(f"b{wide}", want)},
                regs=f".reg .b{wide} %v;",
                header=text,
                targets=BOTH,
            )
        yield program(
            "mem_const",
            f"const.imm.{t}",
            f"ld.const.{t} %v,[ctab+64]; {at('d', wide // 8)} st.global.b{wide} [%x],%v;",
            {},
            {
                "d": Out(
                    f"b{wide}",
                    np.full(N, _extend(int(table[64 // size]), t, wide), DTYPES[wide // 8]),
                )
            },
            regs=f".reg .b{wide} %v;",
            header=header,
        )


def _generic() -> Iterator[Variant]:
    """Generic accesses with global, shared and local lanes in one warp; cvta and isspacep."""
    spaces = np.array([(k * 7 // 3) % 3 for k in range(N)], dtype=np.uint32)
    values = operands(["b32"], "generic")[0][:N]
    choose = (
        ".shared .align 16 .b8 sm[2048]; .local .align 16 .b8 lm[64]; "
        f"{at('s', 4)} ld.global.u32 %k,[%x]; "
        "mov.u64 %y,sm; cvta.shared.u64 %gs,%y; mul.wide.u32 %y,%t,8; add.u64 %gs,%gs,%y; "
        f"mov.u64 %y,lm; cvta.local.u64 %gl,%y; {at('m', 8)} cvta.global.u64 %gg,%x; "
        "setp.eq.u32 %p,%k,0; setp.eq.u32 %q,%k,1; selp.u64 %g,%gs,%gl,%q; selp.u64 %g,%gg,%g,%p;"
    )
    regs = ".reg .u64 %g,%gs,%gl,%gg; .reg .u32 %k,%v,%w; .reg .pred %p,%q,%r;"
    memory = np.full(N * 8, 0xCD, np.uint8).view(np.uint64)
    for t in ("u8", "s8", "u16", "s16", "u32", "u64"):
        size = _bits(t) // 8
        wide = max(32, _bits(t))
        stored = memory.view(np.uint8).reshape(N, 8).copy()
        piece = values.astype(np.uint64).view(np.uint8).reshape(N, 8)[:, :size]
        stored[:, :size] = np.where((spaces == 0)[:, None], piece, stored[:, :size])
        low = values.astype(np.uint64) & np.uint64((1 << 8 * size) - 1)
        want = np.array([_extend(int(v), t, wide) for v in low], DTYPES[wide // 8])
        convert = "cvt.u64.u32 %z,%v;" if wide == 64 else "mov.b32 %z,%v;"
        yield program(
            "mem_generic",
            f"st+ld.{t}",
            f"{choose} {at('a', 4)} ld.global.u32 %v,[%x]; {convert} st.{_raw(t)} [%g],%z; "
            f"ld.{t} %z,[%g]; {at('d', wide // 8)} st.global.b{wide} [%x],%z;",
            {"s": In("b32", spaces), "a": In("b32", values)},
            {
                "d": Out(f"b{wide}", want),
                "m": Out("b64", stored.reshape(-1).view(np.uint64), before=memory),
            },
            regs=regs + f" .reg .b{wide} %z;",
            targets=BOTH,
        )
    for number, space in enumerate(("global", "shared", "local")):
        yield program(
            "mem_generic",
            f"isspacep.{space}",
            f"{choose} isspacep.{space} %r,%g; selp.u32 %v,1,0,%r; {at('d', 4)} "
            "st.global.u32 [%x],%v;",
            {"s": In("b32", spaces), "m": In("b64", memory)},
            {"d": Out("b32", (spaces == number).astype(np.uint32))},
            regs=regs,
            targets=BOTH,
        )
    back = {"shared": "sm", "local": "lm"}
    for space, symbol in back.items():
        number = 1 if space == "shared" else 2
        offset = np.arange(N) * 8 if space == "shared" else np.zeros(N, int)
        yield program(
            "mem_generic",
            f"cvta.to.{space}",
            f"{choose} cvta.to.{space}.u64 %y,%g; mov.u64 %x,{symbol}; sub.u64 %y,%y,%x; "
            f"{at('d', 8)} st.global.u64 [%x],%y;",
            {"s": In("b32", np.full(N, number, np.uint32)), "m": In("b64", memory)},
            {"d": Out("b64", offset.astype(np.uint64))},
            regs=regs,
            targets=BOTH,
        )


def _parameters() -> Iterator[Variant]:
    """Kernel parameters of every type, in a row that needs alignment."""
    for t in LOADS:
        n = _bits(t)
        value = {8: 0x9C, 16: 0x8765, 32: 0xFEDCBA98, 64: 0x8BCDEF0123456789}[n]
        wide = max(32, n)
        memory = f"u{n}" if t[0] != "f" else t
        name = f"ld.param.{t}"
        entry = "t_" + name.replace(".", "_")
        text = (
            f".visible .entry {entry}(.param .u8 p_z,.param .{memory} p_a,.param .u64 p_d)\n{{\n"
            f".reg .b{wide} %v; .reg .u32 %i; .reg .u64 %x; ld.param.{t} %v,[p_a]; "
            f"mov.u32 %i,%tid.x; ld.param.u64 %x,[p_d]; mad.wide.u32 %x,%i,{wide // 8},%x; "
            f"st.global.b{wide} [%x],%v;\nret;\n}}\n"
        )
        want = np.full(N, _extend(value, t, wide), DTYPES[wide // 8])
        scalar = {
            "z": In("u8", np.array([7], np.uint8), param=True),
            "a": In(f"b{n}", np.array([value], DTYPES[n // 8]), param=True),
        }
        yield Variant(
            "mem_param",
            name,
            f"{name} %d,[a];",
            scalar,
            {"d": Out(f"b{wide}", want)},
            targets=BOTH,
            text=text,
            extra={"grid": [1, 1, 1], "block": [N, 1, 1]},
        )


def _addresses() -> Iterator[Variant]:
    """Generic addresses of constants, variables in memory, dynamic stack."""
    header = (
        ".const .align 8 .b32 cvar[16] = {10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25}; "
        ".global .align 8 .b32 gvar[16] = {30,31,32,33,34,35,36,37,38,39}; "
        ".global .align 8 .u64 gptr[2] = {generic(gvar)+8, gvar+16};"
    )
    thread = np.arange(N) & 15
    yield program(
        "mem_address",
        "cvta.const",
        "mov.u64 %y,cvar; cvta.const.u64 %y,%y; and.b32 %i,%t,15; mad.wide.u32 %y,%i,4,%y; "
        f"ld.u32 %j,[%y]; {at('d', 4)} st.global.u32 [%x],%j;",
        {},
        {"d": Out("b32", (thread + 10).astype(np.uint32))},
        header=header,
        targets=BOTH,
    )
    yield program(
        "mem_address",
        "isspacep.const",
        "mov.u64 %y,cvar; cvta.const.u64 %y,%y; and.b32 %i,%t,1; setp.ne.u32 %p,%i,0; "
        "@%p cvta.global.u64 %y,%p_d; isspacep.const %q,%y; selp.u32 %j,1,0,%q; "
        f"isspacep.global %q,%y; @%q add.u32 %j,%j,2; {at('d', 4)} st.global.u32 [%x],%j;",
        {},
        {"d": Out("b32", np.where(np.arange(N) & 1, 2, 1).astype(np.uint32))},
        header=header,
        regs=".reg .pred %p,%q;",
        targets=BOTH,
    )
    yield program(
        "mem_address",
        "cvta.to.const",
        "mov.u64 %y,cvar; cvta.const.u64 %y,%y; cvta.to.const.u64 %y,%y; and.b32 %i,%t,15; "
        f"mad.wide.u32 %y,%i,4,%y; ld.const.u32 %j,[%y]; {at('d', 4)} st.global.u32 [%x],%j;",
        {},
        {"d": Out("b32", (thread + 10).astype(np.uint32))},
        header=header,
        targets=BOTH,
    )
    for k, first in ((0, 32), (1, 34)):
        yield program(
            "mem_address",
            f"global.pointer.{k}",
            f"ld.global.u64 %y,[gptr+{8 * k}]; and.b32 %i,%t,3; mad.wide.u32 %y,%i,4,%y; "
            f"ld.global.u32 %j,[%y]; {at('d', 4)} st.global.u32 [%x],%j;",
            {},
            {"d": Out("b32", ((np.arange(N) & 3) + first).astype(np.uint32))},
            header=header,
            targets=BOTH,
        )
    yield program(
        "mem_address",
        "stacksave",
        "stacksave.u64 %z; mov.u32 %k,0; AGAIN: alloca.u64 %y,32,16; cvta.local.u64 %y,%y; "
        "st.u32 [%y+4],%k; ld.volatile.u32 %j,[%y+4]; stackrestore.u64 %z; add.u32 %k,%k,1; "
        "add.u32 %n,%n,%j; setp.lt.u32 %p,%k,200; @%p bra AGAIN; "
        f"{at('d', 4, '%t')} st.global.u32 [%x],%n;",
        {},
        {"d": Out("b32", np.arange(N, dtype=np.uint32) + np.uint32(199 * 100))},
        regs=".reg .u64 %z; .reg .u32 %k; .reg .pred %p;",
        targets=("sm_61",),
    )
    yield program(
        "mem_address",
        "alloca",
        "alloca.u64 %y,64,8; cvta.local.u64 %y,%y; and.b32 %i,%t,7; mad.wide.u32 %y,%i,8,%y; "
        f"st.u32 [%y],%t; ld.volatile.u32 %j,[%y]; {at('d', 4)} st.global.u32 [%x],%j;",
        {},
        {"d": Out("b32", np.arange(N, dtype=np.uint32))},
        targets=("sm_61",),
    )


def _packing() -> Iterator[Variant]:
    yield elementwise(
        "mem_mov",
        "mov.b32.2x16",
        "mov.b32 %d,{%b,%a};",
        "a:b16 b:b16",
        "d:b32",
        lambda a, b: a << 16 | b,
    )
    yield elementwise(
        "mem_mov",
        "mov.2x16.b32",
        "mov.b32 {%d,%f},%a;",
        "a:b32",
        "d:b16 f:b16",
        lambda a: (a & 0xFFFF, a >> 16),
    )
    yield elementwise(
        "mem_mov",
        "mov.b64.2x32",
        "mov.b64 %d,{%b,%a};",
        "a:b32 b:b32",
        "d:b64",
        lambda a, b: a << 32 | b,
    )
    yield elementwise(
        "mem_mov",
        "mov.2x32.b64",
        "mov.b64 {%d,%f},%a;",
        "a:b64",
        "d:b32 f:b32",
        lambda a: (a & 0xFFFFFFFF, a >> 32),
    )
    yield elementwise(
        "mem_mov",
        "mov.b64.4x16",
        "mov.b64 %d,{%a,%b,%c,%e};",
        "a:b16 b:b16 c:b16 e:b16",
        "d:b64",
        lambda a, b, c, e: a | b << 16 | c << 32 | e << 48,
    )
    yield elementwise(
        "mem_mov",
        "mov.4x16.b64",
        "mov.b64 {%d,%f,%g,%h},%a;",
        "a:b64",
        "d:b16 f:b16 g:b16 h:b16",
        lambda a: tuple(a >> 16 * k & 0xFFFF for k in range(4)),
    )
    for t in ("b16", "u16", "b32", "s32", "f32", "b64", "f64"):
        b = f"b{_bits(t)}"
        yield elementwise("mem_mov", f"mov.{t}", f"mov.{t} %d,%a;", f"a:{b}", f"d:{b}", lambda a: a)
    yield elementwise("mem_mov", "mov.pred", "mov.pred %p,%a;", "a:pred", "p:pred", lambda a: a)


def _holds(source: str, target: str) -> bool:
    """Whether every source value fits the target; ptxas then refuses .sat."""
    if source[0] == "s" and target[0] == "u":
        return False
    return _bits(target) - (target[0] == "s") >= _bits(source) - (source[0] == "s")


def _convert() -> Iterator[Variant]:
    types = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
    for source in types:
        for target in types:
            ni, no = _bits(source), _bits(target)
            for sat in ("", ".sat"):
                if sat and _holds(source, target):
                    continue

                def model(
                    a: int, s: str = source, t: str = target, sat: str = sat, no: int = no
                ) -> int:
                    value = typed(a, s)
                    return clamp(value, no, t[0] == "s") if sat else unsigned(value, no)

                yield elementwise(
                    "int_cvt",
                    f"cvt{sat}.{target}.{source}",
                    f"cvt{sat}.{target}.{source} %d,%a;",
                    f"a:u{ni}",
                    f"d:u{no}",
                    model,
                )
