"""Integer, warp and memory instructions of sm_70 and later: PTX ISA 6.0 to 8.5."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from tests.ptxgen.case import In, Out, Variant
from tests.ptxgen.int_kit import at, clamp, elementwise, operands, program, signed, unsigned

Targets = tuple[str, ...]
TURING: Targets = ("sm_75", "sm_80", "sm_89", "sm_90")
AMPERE = TURING[1:]
HOPPER = ("sm_90",)
N = 128
FULL = "0xffffffff"
MASK = 0xFFFFFFFF


def variants() -> list[Variant]:
    """All of this module."""
    families = (_bits, _packed, _collect, _matrices, _loads, _atomics, _vectors, _others)
    return [v for family in families for v in family()]


# ---- bits --------------------------------------------------------------------------------
def _bits() -> Iterator[Variant]:
    for mode, type_ in product(("clamp", "wrap"), ("u32", "s32")):

        def szext(a: int, b: int, mode: str = mode, type_: str = type_) -> int:
            n = b & 31 if mode == "wrap" else min(b, 32)
            low = a & ((1 << n) - 1)
            return unsigned(signed(low, n), 32) if type_ == "s32" and n else low

        name = f"szext.{mode}.{type_}"
        yield elementwise(
            "modern_bits",
            name,
            f"{name} %d,%a,%b;",
            "a:b32 b:count",
            "d:b32",
            szext,
            targets=TURING,
        )
    for mode in ("clamp", "wrap"):

        def bmsk(a: int, b: int, mode: str = mode) -> int:
            first, length = (a & 31, b & 31) if mode == "wrap" else (min(a, 32), min(b, 32))
            return (((1 << length) - 1) << first) & MASK

        name = f"bmsk.{mode}.b32"
        yield elementwise(
            "modern_bits",
            name,
            f"{name} %d,%a,%b;",
            "a:count b:count",
            "d:b32",
            bmsk,
            targets=TURING,
        )
    for op, table in product(("or", "and"), (0x80, 0x96, 0xE8, 0x3C)):

        def lop3(
            a: int, b: int, c: int, q: int, op: str = op, table: int = table
        ) -> tuple[int, int]:
            result = 0
            for n in range(32):
                index = (a >> n & 1) << 2 | (b >> n & 1) << 1 | c >> n & 1
                result |= (table >> index & 1) << n
            test = result != 0
            return result, int(test or q) if op == "or" else int(test and q)

        name = f"lop3.{op}.b32.{table:02x}"
        yield elementwise(
            "modern_bits",
            name,
            f"lop3.{op}.b32 %d|%p,%a,%b,%c,0x{table:x},%q;",
            "a:b32 b:b32 c:b32 q:pred",
            "d:b32 p:pred",
            lop3,
            targets=TURING,
        )
    for dst, src in product(("u16", "s16"), ("s32", "u32")):

        def pack(a: int, b: int, dst: str = dst, src: str = src) -> int:
            parts = [signed(v, 32) if src == "s32" else v for v in (a, b)]
            high, low = (clamp(v, 16, dst == "s16") for v in parts)
            return high << 16 | low

        if src == "s32":
            name = f"cvt.pack.sat.{dst}.{src}"
            yield elementwise(
                "modern_bits",
                name,
                f"{name} %d,%a,%b;",
                "a:b32 b:b32",
                "d:b32",
                pack,
                targets=TURING,
            )
    for dst in ("u8", "s8", "u4", "s4", "u2", "s2"):
        bits = int(dst[1:])

        def pack3(a: int, b: int, c: int, dst: str = dst, bits: int = bits) -> int:
            high, low = (clamp(signed(v, 32), bits, dst[0] == "s") for v in (a, b))
            return (c << 2 * bits | high << bits | low) & MASK

        name = f"cvt.pack.sat.{dst}.s32.b32"
        yield elementwise(
            "modern_bits",
            name,
            f"{name} %d,%a,%b,%c;",
            "a:b32 b:b32 c:b32",
            "d:b32",
            pack3,
            targets=TURING,
        )


def _halves(value: int, is_signed: bool) -> list[int]:
    parts = [value & 0xFFFF, value >> 16]
    return [signed(p, 16) for p in parts] if is_signed else parts


def _packed() -> Iterator[Variant]:
    """DPX: packed sums, minima and maxima, `.relu`."""
    for type_ in ("u16x2", "s16x2"):

        def add(a: int, b: int) -> int:
            low, high = (
                x + y & 0xFFFF for x, y in zip(_halves(a, False), _halves(b, False), strict=True)
            )
            return high << 16 | low

        yield elementwise(
            "modern_packed",
            f"add.{type_}",
            f"add.{type_} %d,%a,%b;",
            "a:b32 b:b32",
            "d:b32",
            add,
            targets=HOPPER,
        )
    for op, type_, relu in product(("min", "max"), ("u16x2", "s16x2", "s32"), ("", ".relu")):
        if type_ == "u16x2" and relu:
            continue
        choose: Callable[..., int] = min if op == "min" else max

        def extreme(
            a: int,
            b: int,
            choose: Callable[..., int] = choose,
            type_: str = type_,
            relu: str = relu,
        ) -> int:
            if type_ == "s32":
                found = choose(signed(a, 32), signed(b, 32))
                return unsigned(max(found, 0) if relu else found, 32)
            both = zip(_halves(a, type_[0] == "s"), _halves(b, type_[0] == "s"), strict=True)
            low, high = (max(choose(x, y), 0) if relu else choose(x, y) for x, y in both)
            return (high & 0xFFFF) << 16 | low & 0xFFFF

        if type_ == "s32" and not relu:
            continue
        name = f"{op}{relu}.{type_}"
        yield elementwise(
            "modern_packed",
            name,
            f"{name} %d,%a,%b;",
            "a:b32 b:b32",
            "d:b32",
            extreme,
            targets=HOPPER,
        )


# ---- a warp together ---------------------------------------------------------------------
def _warp(values: np.ndarray) -> Iterator[tuple[int, list[int]]]:
    for w in range(0, len(values), 32):
        yield w, [int(v) for v in values[w : w + 32]]


def _collective(
    name: str,
    ptx: str,
    a: np.ndarray,
    results: dict[str, np.ndarray],
    type_: str,
    targets: tuple[str, ...],
    regs: str = "",
) -> Variant:
    """An instruction of all lanes: %a in, %d or %p out."""
    size = a.itemsize
    body = [at("a", size), f"ld.global.{type_} %a,[%x];", ptx]
    outs = {}
    for n, v in results.items():
        if n == "p":
            body.append("selp.u32 %i,1,0,%p;")
        body += [at(n, 4), f"st.global.b32 [%x],{'%i' if n == 'p' else '%' + n};"]
        outs[n] = Out("b32", v)
    regs = f".reg .{type_} %a; .reg .b32 %d; .reg .pred %p; " + regs
    return program(
        "modern_warp",
        name,
        "\n".join(body),
        {"a": In(type_, a)},
        outs,
        regs=regs,
        block=(N,),
        targets=targets,
        ptx=ptx,
    )


def _collect() -> Iterator[Variant]:
    rng = np.random.default_rng(8)
    few = rng.integers(0, 5, N).astype(np.uint32) * np.uint32(0x01010101)
    few[32:64] = 7
    wide = few.astype(np.uint64) << np.uint64(rng.integers(0, 2)) * np.uint64(32)
    for type_, a in (("b32", few), ("b64", wide)):
        every, same, truth = (np.zeros(N, np.uint32) for _ in range(3))
        for w, lanes in _warp(a):
            for n, v in enumerate(lanes):
                every[w + n] = sum(1 << k for k, x in enumerate(lanes) if x == v)
            if len(set(lanes)) == 1:
                same[w : w + 32], truth[w : w + 32] = MASK, 1
        yield _collective(
            f"match.any.{type_}",
            f"match.any.sync.{type_} %d,%a,{FULL};",
            a,
            {"d": every},
            type_,
            TURING,
        )
        yield _collective(
            f"match.all.{type_}",
            f"match.all.sync.{type_} %d|%p,%a,{FULL};",
            a,
            {"d": same, "p": truth},
            type_,
            TURING,
        )
    a = rng.integers(0, 1 << 32, N).astype(np.uint32)
    for op, type_ in (
        *product(("add", "min", "max"), ("u32", "s32")),
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
    ):
        want = np.zeros(N, np.uint32)
        for w, lanes in _warp(a):
            numbers = [signed(v, 32) if type_ == "s32" else v for v in lanes]
            total = numbers[0]
            for v in numbers[1:]:
                total = {
                    "add": total + v,
                    "min": min(total, v),
                    "max": max(total, v),
                    "and": total & v,
                    "or": total | v,
                    "xor": total ^ v,
                }[op]
            want[w : w + 32] = total & MASK
        ptx = f"redux.sync.{op}.{type_} %d,%a,{FULL};"
        yield _collective(f"redux.{op}.{type_}", ptx, a, {"d": want}, "b32", AMPERE)
    # Lanes whose number is odd take part alone: the mask is theirs.
    want = np.zeros(N, np.uint32)
    for w, lanes in _warp(a):
        want[w + 1 : w + 32 : 2] = sum(lanes[1::2]) & MASK
    ptx = (
        "and.b32 %i,%t,1; setp.eq.u32 %p,%i,1; mov.b32 %d,0; @!%p bra E; "
        "redux.sync.add.u32 %d,%a,0xaaaaaaaa; E:"
    )
    yield _collective("redux.add.part", ptx, a, {"d": want}, "b32", AMPERE)
    want = np.zeros(N, np.uint32)
    want[1::2] = 0xAAAAAAAA
    ptx = "and.b32 %i,%t,1; setp.eq.u32 %p,%i,1; mov.b32 %d,0; @!%p bra E; activemask.b32 %d; E:"
    yield _collective("activemask.part", ptx, a, {"d": want}, "b32", TURING)
    lane = np.arange(N, dtype=np.uint32) % 32
    ptx = f"elect.sync %d|%p,{FULL};"
    yield _collective("elect", ptx, a, {"p": (lane == 0).astype(np.uint32)}, "b32", HOPPER)
    for mode, test in (("all", all), ("any", any), ("uni", lambda v: len(set(v)) == 1)):
        want = np.zeros(N, np.uint32)
        b = rng.integers(0, 2, N).astype(np.uint32)
        b[:32], b[32:64] = 1, 0
        for w, lanes in _warp(b):
            want[w : w + 32] = int(test([bool(v) for v in lanes]))
        ptx = f"setp.ne.u32 %q,%a,0; vote.sync.{mode}.pred %p,%q,{FULL};"
        yield _collective(f"vote.{mode}", ptx, b, {"p": want}, "b32", TURING, ".reg .pred %q; ")
    want = np.zeros(N, np.uint32)
    for w, lanes in _warp(b):
        want[w : w + 32] = sum(1 << n for n, v in enumerate(lanes) if v)
    ptx = f"setp.ne.u32 %q,%a,0; vote.sync.ballot.b32 %d,%q,{FULL};"
    yield _collective("vote.ballot", ptx, b, {"d": want}, "b32", TURING, ".reg .pred %q; ")
    # A spin in one half of the warp that the other half ends.
    ptx = (
        ".shared .b32 flag; setp.ge.u32 %p,%t,16; mov.u32 %i,0; st.shared.u32 [flag],%i; "
        "bar.sync 0; mov.b32 %d,1; @%p bra W; nanosleep.u32 40; mov.u32 %i,9; "
        "st.volatile.shared.u32 [flag],%i; bra E; "
        "W: ld.volatile.shared.u32 %d,[flag]; setp.ne.u32 %p,%d,9; @%p bra W; E: bar.warp.sync "
        "0xffffffff;"
    )
    want = np.where(np.arange(N) < 16, 1, 9).astype(np.uint32)
    yield _collective("spin", ptx, a, {"d": want}, "b32", TURING)


# ---- matrices ----------------------------------------------------------------------------
def _matrices() -> Iterator[Variant]:
    """ldmatrix, stmatrix and movmatrix of one warp."""
    rng = np.random.default_rng(12)
    halves = rng.integers(0, 1 << 16, (4, 8, 8)).astype(np.uint32)
    rows = (halves[:, :, 0::2] | halves[:, :, 1::2] << np.uint32(16)).reshape(32, 4)
    lane = np.arange(32)
    g, t = lane >> 2, lane & 3
    for count, trans in product((1, 2, 4), ("", ".trans")):
        want = np.zeros((32, count), np.uint32)
        for m in range(count):
            low, high = (
                (halves[m, 2 * t, g], halves[m, 2 * t + 1, g])
                if trans
                else (halves[m, g, 2 * t], halves[m, g, 2 * t + 1])
            )
            want[:, m] = low | high << np.uint32(16)
        names = ",".join(f"%d{n}" for n in range(count))
        head = ".shared .align 16 .b8 sh[512]; mov.u32 %i,sh; mad.lo.u32 %i,%t,16,%i; "
        regs = ".reg .b32 %d<4>; .reg .b32 %v<4>;"
        load = at("a", 16) + " ld.global.v4.b32 {%v0,%v1,%v2,%v3},[%x]; "
        kind = f"m8n8.x{count}{trans}.shared.b16"
        body = head + load + "st.shared.v4.b32 [%i],{%v0,%v1,%v2,%v3}; bar.sync 0; "
        body += f"ldmatrix.sync.aligned.{kind} {{{names}}},[%i];\n" + at("d", 4 * count)
        body += "".join(f" st.global.b32 [%x+{4 * n}],%d{n};" for n in range(count))
        yield program(
            "modern_matrix",
            f"ldmatrix.{kind}",
            body,
            {"a": In("b32", rows.reshape(-1))},
            {"d": Out("b32", want.reshape(-1))},
            regs=regs,
            block=(32,),
            targets=TURING,
        )
        body = head + at("a", 4 * count)
        body += "".join(f" ld.global.b32 %d{n},[%x+{4 * n}];" for n in range(count))
        body += " mov.b32 %v0,0; st.shared.v4.b32 [%i],{%v0,%v0,%v0,%v0}; bar.sync 0; "
        body += f"stmatrix.sync.aligned.{kind} [%i],{{{names}}}; bar.sync 0; "
        body += "ld.shared.v4.b32 {%v0,%v1,%v2,%v3},[%i]; " + at("d", 16)
        body += " st.global.v4.b32 [%x],{%v0,%v1,%v2,%v3};"
        back = rows.copy()
        back[8 * count :] = 0
        yield program(
            "modern_matrix",
            f"stmatrix.{kind}",
            body,
            {"a": In("b32", want.reshape(-1))},
            {"d": Out("b32", back.reshape(-1))},
            regs=regs,
            block=(32,),
            targets=HOPPER,
        )
    one = (halves[0, g, 2 * t] | halves[0, g, 2 * t + 1] << np.uint32(16)).astype(np.uint32)
    turned = (halves[0, 2 * t, g] | halves[0, 2 * t + 1, g] << np.uint32(16)).astype(np.uint32)
    body = at("a", 4) + " ld.global.b32 %i,[%x]; movmatrix.sync.aligned.m8n8.trans.b16 %j,%i; "
    body += at("d", 4) + " st.global.b32 [%x],%j;"
    yield program(
        "modern_matrix",
        "movmatrix",
        body,
        {"a": In("b32", one)},
        {"d": Out("b32", turned)},
        block=(32,),
        targets=TURING,
    )


# ---- loads and stores --------------------------------------------------------------------
LOADS = (
    "ld.relaxed.cta.global",
    "ld.relaxed.gpu.global",
    "ld.relaxed.sys.global",
    "ld.acquire.cta.global",
    "ld.acquire.gpu.global",
    "ld.acquire.sys.global",
    "ld.volatile.global",
    "ld.weak.global",
    "ld.global.ca",
    "ld.global.cg",
    "ld.global.cs",
    "ld.global.lu",
    "ld.global.cv",
    "ld.global.nc",
    "ld.global.ca.nc",
    "ld.global.cg.nc",
    "ld.global.cs.nc",
    "ld.global.L1::evict_normal",
    "ld.global.L1::evict_unchanged",
    "ld.global.L1::evict_first",
    "ld.global.L1::evict_last",
    "ld.global.L1::no_allocate",
    "ld.global.nc.L1::evict_last",
    "ld.global.nc.L1::no_allocate",
    "ld.global.L1::evict_last.L2::128B",
    "ld.global.L2::64B",
    "ld.global.L2::128B",
    "ld.global.L2::256B",
    "ld.global.nc.L2::256B",
    "ldu.global",
    "ld.mmio.relaxed.sys.global",
    "ld",
    "ld.relaxed.gpu",
    "ld.volatile",
)
STORES = (
    "st.relaxed.cta.global",
    "st.relaxed.gpu.global",
    "st.relaxed.sys.global",
    "st.release.cta.global",
    "st.release.gpu.global",
    "st.release.sys.global",
    "st.volatile.global",
    "st.weak.global",
    "st.global.wb",
    "st.global.cg",
    "st.global.cs",
    "st.global.wt",
    "st.global.L1::evict_first",
    "st.global.L1::evict_last",
    "st.global.L1::no_allocate",
    "st.global.L1::evict_normal",
    "st.mmio.relaxed.sys.global",
    "st",
    "st.release.gpu",
)
WIDTHS = (
    ("u8", 1, 1),
    ("u16", 2, 1),
    ("u32", 4, 1),
    ("b64", 8, 1),
    ("v2.u16", 2, 2),
    ("v2.u32", 4, 2),
    ("v4.u32", 4, 4),
    ("v2.b64", 8, 2),
    ("v4.u8", 1, 4),
)


def _copy(
    name: str, load: str, store: str, size: int, count: int, targets: Targets, policy: str = ""
) -> Variant:
    """A load and a store of each thread's own element."""
    rng = np.random.default_rng(size * 10 + count)
    bits = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[size]
    values = rng.integers(0, 1 << 8 * size - 1, N * count).astype(f"u{size}")
    wide = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}[size]
    names = ",".join(f"%v{n}" for n in range(count))
    names = f"{{{names}}}" if count > 1 else names
    total = size * count
    hint = ",%h" if policy else ""
    body = policy + " " + at("a", total) + f" {load} {names},[%x]{hint}; " + at("d", total)
    body += f" {store} [%x],{names}{hint};"
    return program(
        "modern_memory",
        name,
        body,
        {"a": In(bits, values)},
        {"d": Out(bits, values)},
        regs=f".reg .{wide} %v<4>; .reg .b64 %h;",
        block=(N,),
        targets=targets,
    )


def _loads() -> Iterator[Variant]:
    newer = {"ld.mmio.relaxed.sys.global", "st.mmio.relaxed.sys.global"}
    for n, load in enumerate(LOADS):
        for k, (type_, size, count) in enumerate(WIDTHS):
            if (n + k) % 3 and type_ != "u32":
                continue
            targets = TURING
            if "L2::" in load or "L2" in load:
                targets = AMPERE
            if load in newer:
                if count > 1:
                    continue
                targets = AMPERE
            yield _copy(
                f"{load}.{type_}", f"{load}.{type_}", f"st.global.{type_}", size, count, targets
            )
    for n, store in enumerate(STORES):
        for k, (type_, size, count) in enumerate(WIDTHS):
            if (n + k) % 3 and type_ != "u32":
                continue
            targets = AMPERE if store in newer else TURING
            if store in newer and count > 1:
                continue
            yield _copy(
                f"{store}.{type_}", f"ld.global.{type_}", f"{store}.{type_}", size, count, targets
            )
    for kind in ("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"):
        policy = f"createpolicy.fractional.{kind}.b64 %h,1.0;"
        yield _copy(
            f"policy.{kind}",
            "ld.global.L2::cache_hint.u32",
            "st.global.L2::cache_hint.u32",
            4,
            1,
            AMPERE,
            policy,
        )
    policy = "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %h,[%p_a],256,512;"
    yield _copy(
        "policy.range",
        "ld.global.L2::cache_hint.v4.u32",
        "st.global.L2::cache_hint.v4.u32",
        4,
        4,
        AMPERE,
        policy,
    )
    policy = "createpolicy.cvt.L2.b64 %h,0x10F0000000000000;"
    yield _copy(
        "policy.cvt",
        "ld.global.nc.L2::cache_hint.u32",
        "st.global.L2::cache_hint.u32",
        4,
        1,
        AMPERE,
        policy,
    )
    for text in (
        "prefetch.global.L1",
        "prefetch.global.L2",
        "prefetch.global.L2::evict_last",
        "prefetch.global.L2::evict_normal",
        "prefetchu.L1",
    ):
        yield _copy(text, f"{text} [%p_a]; ld.global.u32", "st.global.u32", 4, 1, AMPERE)
    yield _copy(
        "applypriority",
        "applypriority.global.L2::evict_normal [%p_a],128; ld.global.u32",
        "st.global.u32",
        4,
        1,
        AMPERE,
    )
    for scope, sem in product(("cta", "gpu", "sys", "cluster"), ("sc", "acq_rel")):
        targets = HOPPER if scope == "cluster" else TURING
        yield _copy(
            f"fence.{sem}.{scope}",
            f"fence.{sem}.{scope}; ld.global.u32",
            "st.global.u32",
            4,
            1,
            targets,
        )
    for text in ("membar.cta", "membar.gl", "membar.sys", "fence.proxy.alias"):
        yield _copy(text, f"{text}; ld.global.u32", "st.global.u32", 4, 1, TURING)
    for text in (
        "fence.proxy.async",
        "fence.proxy.async.global",
        "fence.mbarrier_init.release.cluster",
        "fence.acquire.gpu",
        "fence.release.cluster",
    ):
        yield _copy(text, f"{text}; ld.global.u32", "st.global.u32", 4, 1, HOPPER)


# ---- atomics -----------------------------------------------------------------------------
def _atomic(
    name: str,
    ptx: str,
    type_: str,
    before: Sequence[object],
    wanted: Sequence[object],
    operand: Sequence[object],
    targets: Targets,
    space: str = "global",
    regs: str = "",
) -> Variant:
    """Every thread's `%a` on one of eight places; sums are exact, so their order does not count."""
    dtype = {"f16": np.uint16, "bf16": np.uint16}.get(
        type_,
        {2: np.uint16, 8: np.uint64}.get(
            int("".join(c for c in type_ if c.isdigit())[:2]) // 8, np.uint32
        ),
    )
    if type_.endswith("x2"):
        dtype = np.uint32
    size = np.dtype(dtype).itemsize
    reg = {2: "b16", 4: "b32", 8: "b64"}[size]
    body = at("a", size) + f" ld.global.{reg} %a,[%x]; and.b32 %i,%n,7; "
    if space == "shared":
        body += (
            f".shared .align 16 .b8 sh[64]; mov.u32 %j,sh; mad.lo.u32 %j,%i,{size},%j; "
            + at("d", size, "%i")
            + f" ld.global.{reg} %v,[%x]; st.shared.{reg} [%j],%v; bar.sync 0; "
        )
        body += ptx.replace("[%x]", "[%j]") + f" bar.sync 0; ld.shared.{reg} %v,[%j]; "
        body += at("d", size, "%i") + f" st.global.{reg} [%x],%v;"
    else:
        body += at("d", size, "%i") + " " + ptx
    out = Out(reg, np.array(wanted, dtype), before=np.array(before, dtype))
    return program(
        "modern_atomic",
        name,
        body,
        {"a": In(reg, np.array(operand, dtype))},
        {"d": out},
        regs=f".reg .{reg} %a,%v; " + regs,
        block=(N,),
        targets=targets,
        ptx=ptx,
    )


def _half(value: float, kind: str) -> int:
    if kind == "f16":
        return int(np.float16(value).view(np.uint16))
    return int(np.float32(value).view(np.uint32)) >> 16


def _atomics() -> Iterator[Variant]:
    rng = np.random.default_rng(31)
    start, add = rng.integers(-3, 4, (2, 8)), rng.integers(-2, 3, (2, N))
    total = [[int(start[h][n] + add[h][n::8].sum()) for n in range(8)] for h in (0, 1)]
    for kind, space, op in product(
        ("f16", "bf16"), ("global", "shared", "generic"), ("atom", "red")
    ):
        targets = TURING if kind == "f16" else HOPPER
        where = f".{space}" if space != "generic" else ""
        for packed in (False, True):
            type_ = kind + ("x2" if packed else "")

            def words(
                rows: Sequence[Sequence[float]] | np.ndarray,
                kind: str = kind,
                packed: bool = packed,
            ) -> list[int]:
                low = [_half(v, kind) for v in rows[0]]
                high = [_half(v, kind) for v in rows[1]]
                return [x | y << 16 for x, y in zip(low, high, strict=True)] if packed else low

            result = "%v," if op == "atom" else ""
            ptx = f"{op}{where}.add.noftz.{type_} " + (
                f"{result}[%x],%a;" if op == "atom" else "[%x],%a;"
            )
            yield _atomic(
                f"{op}.{space}.add.{type_}",
                ptx,
                type_,
                words(start),
                words(total),
                words(add),
                targets,
                "shared" if space == "shared" else "global",
            )
    doubles = [np.float64(v).view(np.uint64) for v in start[0]]
    sums = [np.float64(v).view(np.uint64) for v in total[0]]
    terms = [np.float64(v).view(np.uint64) for v in add[0]]
    singles = [
        [int(np.float32(v).view(np.uint32)) for v in x] for x in (start[0], total[0], add[0])
    ]
    for space in ("global", "shared", "generic"):
        where = f".{space}" if space != "generic" else ""
        kind = "shared" if space == "shared" else "global"
        for scope in ("", ".relaxed.cta", ".acq_rel.gpu", ".release.sys", ".acquire.gpu"):
            yield _atomic(
                f"atom{scope}.{space}.add.f64",
                f"atom{scope}{where}.add.f64 %v,[%x],%a;",
                "f64",
                doubles,
                sums,
                terms,
                TURING,
                kind,
            )
            yield _atomic(
                f"atom{scope}.{space}.add.f32",
                f"atom{scope}{where}.add.f32 %v,[%x],%a;",
                "f32",
                singles[0],
                singles[1],
                singles[2],
                TURING,
                kind,
            )
    integers = rng.integers(0, 1 << 62, N)
    table = (
        ("min", "s64", min),
        ("max", "s64", max),
        ("min", "u64", min),
        ("max", "u64", max),
        ("and", "b64", lambda *v: int(np.bitwise_and.reduce(v))),
        ("or", "b64", lambda *v: int(np.bitwise_or.reduce(v))),
        ("xor", "b64", lambda *v: int(np.bitwise_xor.reduce(v))),
    )
    first = rng.integers(0, 1 << 62, 8)
    for (op, type_, f), space in product(table, ("global", "shared")):
        want = [f(int(first[n]), *(int(v) for v in integers[n::8])) for n in range(8)]
        yield _atomic(
            f"atom.{space}.{op}.{type_}",
            f"atom.{space}.{op}.{type_} %v,[%x],%a;",
            type_,
            first.tolist(),
            want,
            integers.tolist(),
            TURING,
            space,
        )
    # One thread for each place swaps it.
    for space, type_ in product(("global", "shared", "generic"), ("b16", "b32", "b64")):
        bits = int(type_[1:])
        where = f".{space}" if space != "generic" else ""
        before = [0x1111 + n for n in range(8)]
        given = [0x2000 + n for n in range(N)]
        ptx = f"cvt.u{bits}.u32 %w,%i; add.u{bits} %w,%w,0x1111; "
        ptx += f"atom{where}.cas.{type_} %v,[%x],%w,%a;"
        guard = f"setp.lt.u32 %q,%n,8; @!%q bra E; {ptx} E:"
        yield _atomic(
            f"atom.{space}.cas.{type_}",
            guard,
            type_,
            before,
            given[:8],
            given,
            TURING,
            "shared" if space == "shared" else "global",
            f".reg .pred %q; .reg .b{bits} %w; ",
        )


def _vectors() -> Iterator[Variant]:
    """Atomics and reductions of vectors, and of 128 bits (sm_90)."""
    rng = np.random.default_rng(41)
    for kind, count in (
        ("f32", 2),
        ("f32", 4),
        ("f16", 2),
        ("f16", 4),
        ("f16", 8),
        ("bf16", 2),
        ("bf16", 4),
        ("bf16", 8),
        ("f16x2", 2),
        ("f16x2", 4),
        ("bf16x2", 2),
        ("bf16x2", 4),
    ):
        base = kind.removesuffix("x2")
        each = count * (2 if kind.endswith("x2") else 1)
        start, add = rng.integers(-3, 4, (8, each)), rng.integers(-2, 3, (N, each))
        total = start + np.array([add[n::8].sum(0) for n in range(8)])

        def words(rows: np.ndarray, base: str = base) -> np.ndarray:
            if base == "f32":
                return np.array(rows, np.float32).view(np.uint32).reshape(-1)
            halves = np.array([[_half(float(v), base) for v in row] for row in rows], np.uint16)
            return halves.reshape(-1).view(np.uint32)

        size = each * (4 if base == "f32" else 2)
        regs = ".reg .b32 %a<4>,%v<4>; .reg .b16 %h<8>,%g<8>;"
        if kind in ("f16", "bf16"):
            names, back = (",".join(f"%{x}{n}" for n in range(count)) for x in "hg")
            load = f"ld.global.v{min(count, 4)}.b16"
            lists = [
                ",".join(f"%h{n}" for n in range(k, min(k + 4, count))) for k in range(0, count, 4)
            ]
            loads = " ".join(f"{load} {{{x}}},[%x+{8 * k}];" for k, x in enumerate(lists))
        else:
            names, back = (",".join(f"%{x}{n}" for n in range(count)) for x in "av")
            loads = f"ld.global.v{count}.b32 {{{names}}},[%x];"
        flag = "" if base == "f32" else ".noftz"
        for op in ("atom", "red"):
            ptx = f"{op}.global.add{flag}.v{count}.{kind} "
            ptx += f"{{{back}}},[%x],{{{names}}};" if op == "atom" else f"[%x],{{{names}}};"
            body = at("a", size) + f" {loads} and.b32 %i,%n,7; " + at("d", size, "%i") + " " + ptx
            yield program(
                "modern_vector",
                f"{op}.v{count}.{kind}",
                body,
                {"a": In("b32", words(add))},
                {"d": Out("b32", words(total), before=words(start))},
                regs=regs,
                block=(N,),
                targets=HOPPER,
                ptx=ptx,
            )
    pairs = rng.integers(0, 1 << 62, (2, N, 2)).astype(np.uint64)
    regs = ".reg .b64 %a<2>,%b<2>; .reg .b128 %q,%r,%s;"
    for op in ("exch", "cas"):
        body = at("a", 16) + " ld.global.v2.b64 {%a0,%a1},[%x]; mov.b128 %q,{%a0,%a1}; "
        old, new = pairs[0].copy(), pairs[1].copy()
        if op == "cas":
            # Every other thread compares with what is there.
            body += (
                at("d", 16)
                + " ld.global.v2.b64 {%b0,%b1},[%x]; and.b32 %i,%n,1; cvt.u64.u32 %y,%i; "
            )
            body += "add.u64 %b1,%b1,%y; mov.b128 %r,{%b0,%b1}; atom.global.cas.b128 %s,[%x],%r,%q;"
            new = np.where((np.arange(N) % 2 == 0)[:, None], pairs[1], old)
        else:
            body += at("d", 16) + " atom.global.exch.b128 %s,[%x],%q;"
        yield program(
            "modern_vector",
            f"atom.{op}.b128",
            body,
            {"a": In("b64", pairs[1].reshape(-1))},
            {"d": Out("b64", new.reshape(-1), before=old.reshape(-1))},
            regs=regs,
            block=(N,),
            targets=HOPPER,
        )


def _others() -> Iterator[Variant]:
    """Spaces of addresses, special registers, calls through tables."""
    (a,) = operands(["b32"], "others", N)
    for space, truth in (
        ("global", 1),
        ("shared", 0),
        ("shared::cta", 0),
        ("shared::cluster", 0),
        ("local", 0),
        ("const", 0),
        ("param", 0),
    ):
        targets = HOPPER if "::" in space else AMPERE
        body = (
            f"isspacep.{space} %p,%p_a; selp.u32 %i,1,0,%p; "
            + at("d", 4)
            + " st.global.u32 [%x],%i;"
        )
        yield program(
            "modern_other",
            f"isspacep.{space}",
            body,
            {"a": In("b32", a)},
            {"d": Out("b32", np.full(N, truth, np.uint32))},
            regs=".reg .pred %p;",
            block=(N,),
            targets=targets,
        )
    body = (
        ".shared .align 8 .b8 sh[512]; " + at("a", 4) + " ld.global.u32 %j,[%x]; mov.u32 %i,sh; "
        "mad.lo.u32 %i,%t,4,%i; cvt.u64.u32 %y,%i; cvta.shared.u64 %y,%y; isspacep.shared %p,%y; "
        "@%p st.u32 [%y],%j; bar.sync 0; cvta.to.shared.u64 %y,%y; cvt.u32.u64 %i,%y; "
        "ld.shared.u32 %j,[%i]; " + at("d", 4) + " st.global.u32 [%x],%j;"
    )
    yield program(
        "modern_other",
        "cvta.shared",
        body,
        {"a": In("b32", a)},
        {"d": Out("b32", a)},
        regs=".reg .pred %p;",
        block=(N,),
        targets=TURING,
    )
    for text in ("barrier.sync 0;", "barrier.sync.aligned 1,128;", "barrier.cta.sync 2,128;"):
        body = (
            at("a", 4) + f" ld.global.u32 %j,[%x]; {text} " + at("d", 4) + " st.global.u32 [%x],%j;"
        )
        yield program(
            "modern_other",
            text[:-1],
            body,
            {"a": In("b32", a)},
            {"d": Out("b32", a)},
            block=(N,),
            targets=TURING,
        )
    reductions: dict[str, Callable[[np.ndarray], int]] = {
        "popc": lambda v: int(v.sum()),
        "and": lambda v: int(v.all()),
        "or": lambda v: int(v.any()),
    }
    for op, f in reductions.items():
        bits = (a >> np.uint32(3) & np.uint32(1)).astype(np.uint32)
        want = np.full(N, f(bits), np.uint32)
        body = at("a", 4) + " ld.global.u32 %j,[%x]; and.b32 %j,%j,8; setp.ne.u32 %p,%j,0; "
        if op == "popc":
            body += "barrier.cta.red.popc.u32 %i,5,128,%p; "
        else:
            body += f"barrier.cta.red.{op}.pred %q,5,128,%p; selp.u32 %i,1,0,%q; "
        body += at("d", 4) + " st.global.u32 [%x],%i;"
        yield program(
            "modern_other",
            f"barrier.red.{op}",
            body,
            {"a": In("b32", a)},
            {"d": Out("b32", want)},
            regs=".reg .pred %p,%q;",
            block=(N,),
            targets=TURING,
        )
