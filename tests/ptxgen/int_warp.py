"""PTX warp exchange and votes, barriers, special registers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ptxgen.case import In, Out, Variant
from tests.ptxgen.int_kit import at, operands, program

N = 128
BOTH = ("sm_50", "sm_61")
FULL = "0xffffffff"


def variants() -> Iterator[Variant]:
    """All of this module."""
    yield from _shuffles()
    yield from _votes()
    yield from _barriers()
    yield from _special()


def shuffle(mode: str, values: list[int], lane: int, b: int, c: int) -> tuple[int, int]:
    """PTX shfl in one lane: (value, predicate)."""
    clamp, segment = c & 31, c >> 8 & 31
    first = lane & segment
    last = first | (clamp & ~segment & 31)
    b &= 31
    if mode == "up":
        j = lane - b
        inside = j >= last
    elif mode == "down":
        j = lane + b
        inside = j <= last
    elif mode == "bfly":
        j = lane ^ b
        inside = j <= last
    else:
        j = first | (b & ~segment & 31)
        inside = j <= last
    return values[j if inside else lane], int(inside)


def _shuffles() -> Iterator[Variant]:
    values = operands(["b32"], "shfl")[0][:N]
    lanes = operands(["count"], "shfl lane")[0][:N]
    modes = {
        "up": (0x0, 0x1800, 0x1C00, 0x1000, 0x1E00),
        "down": (0x1F, 0x181F, 0x1C1F, 0x101F, 0x1807),
        "bfly": (0x1F, 0x181F, 0x1C03, 0x101F, 0x000F),
        "idx": (0x1F, 0x181F, 0x1C03, 0x1E1F, 0x000A),
    }
    for mode, controls in modes.items():
        for c in controls:
            for sync in ("", ".sync"):
                member = f",{FULL}" if sync else ""
                for b in (None, 1, 3, 16):
                    want = []
                    for t in range(N):
                        warp = values[t & ~31 : (t & ~31) + 32].tolist()
                        step = int(lanes[t]) if b is None else b
                        want.append(shuffle(mode, warp, t & 31, step, c))
                    amount = "%k" if b is None else str(b)
                    body = (
                        f"{at('a', 4)} ld.global.b32 %v,[%x]; {at('k', 4)} ld.global.b32 %k,[%x]; "
                        f"shfl{sync}.{mode}.b32 %w|%p,%v,{amount},{c}{member}; "
                        f"selp.u32 %k,1,0,%p; {at('d', 4)} st.global.b32 [%x],%w; {at('f', 4)} "
                        "st.global.b32 [%x],%k;"
                    )
                    yield program(
                        "warp_shfl",
                        f"shfl{sync}.{mode}.{'r' if b is None else b}.{c:x}",
                        body,
                        {"a": In("b32", values), "k": In("b32", lanes)},
                        {
                            "d": Out("b32", np.array([w for w, _ in want], np.uint32)),
                            "f": Out("b32", np.array([p for _, p in want], np.uint32)),
                        },
                        regs=".reg .b32 %v,%w,%k; .reg .pred %p;",
                        targets=BOTH if b is None else ("sm_50",),
                    )
    control = np.array([(0x1F, 0x1C1F, 0x181F, 0x100F)[t // 32] for t in range(N)], np.uint32)
    words = [
        shuffle("down", values[t & ~31 : (t & ~31) + 32].tolist(), t & 31, int(lanes[t]),
                int(control[t]))[0]
        for t in range(N)
    ]  # fmt: skip
    yield program(
        "warp_shfl",
        "shfl.down.register.control",
        f"{at('a', 4)} ld.global.b32 %v,[%x]; {at('k', 4)} ld.global.b32 %k,[%x]; {at('c', 4)} "
        f"ld.global.b32 %w,[%x]; shfl.down.b32 %w,%v,%k,%w; {at('d', 4)} st.global.b32 [%x],%w;",
        {"a": In("b32", values), "k": In("b32", lanes), "c": In("b32", control)},
        {"d": Out("b32", np.array(words, np.uint32))},
        regs=".reg .b32 %v,%w,%k;",
    )
    # Only lanes 0..15 are active; they exchange among themselves.
    half = [values[(t & ~31) | ((t & 31) ^ 5)] if t & 31 < 16 else 0xCDCDCDCD for t in range(N)]
    yield program(
        "warp_shfl",
        "shfl.sync.bfly.halfwarp",
        f"{at('a', 4)} ld.global.b32 %v,[%x]; and.b32 %i,%t,31; setp.ge.u32 %p,%i,16; @%p ret; "
        f"shfl.sync.bfly.b32 %w,%v,5,0x1f,0xffff; {at('d', 4)} st.global.b32 [%x],%w;",
        {"a": In("b32", values)},
        {"d": Out("b32", np.array(half, np.uint32))},
        regs=".reg .b32 %v,%w; .reg .pred %p;",
        targets=BOTH,
    )


def _votes() -> Iterator[Variant]:
    rng = np.random.default_rng(5)
    patterns = [
        rng.integers(0, 2, N), np.zeros(N, int), np.ones(N, int),
        np.array([t // 32 % 2 for t in range(N)]), np.array([int(t % 32 == 9) for t in range(N)]),
    ]  # fmt: skip
    for number, pattern in enumerate(patterns):
        for part, member in (("all", 0xFFFFFFFF), ("third", 0x49249249), ("low", 0x0000FFFF)):
            lanes = [t for t in range(N) if member >> (t & 31) & 1]
            groups = {t: [u for u in lanes if u // 32 == t // 32] for t in lanes}
            guard = (
                ""
                if part == "all"
                else (
                    f"shr.u32 %k,{member},%l; and.b32 %k,%k,1; setp.eq.u32 %q,%k,0; @%q bra DONE;"
                )
            )
            for op in ("all", "any", "uni", "ballot"):
                for sync in ("", ".sync"):
                    for negated in ("", "!"):
                        want = np.full(N, 0xCDCDCDCD, np.uint32)
                        for t in lanes:
                            votes = [int(pattern[u]) ^ (negated == "!") for u in groups[t]]
                            want[t] = {
                                "all": int(all(votes)), "any": int(any(votes)),
                                "uni": int(len(set(votes)) == 1),
                                "ballot": sum(v << (u & 31)
                                              for v, u in zip(votes, groups[t], strict=True)),
                            }[op]  # fmt: skip
                        tail = f",{member}" if sync else ""
                        if op == "ballot":
                            act = f"vote{sync}.ballot.b32 %w,{negated}%p{tail};"
                        else:
                            act = f"vote{sync}.{op}.pred %q,{negated}%p{tail}; selp.u32 %w,1,0,%q;"
                        body = (
                            f"{at('a', 4)} ld.global.b32 %v,[%x]; setp.ne.u32 %p,%v,0; "
                            f"mov.u32 %l,%laneid; {guard} {act} {at('d', 4)} "
                            "st.global.b32 [%x],%w; DONE:"
                        )
                        sign = "not" if negated else "is"
                        yield program(
                            "warp_vote",
                            f"vote{sync}.{op}.{sign}.{part}.{number}",
                            body,
                            {"a": In("b32", pattern.astype(np.uint32))},
                            {"d": Out("b32", want)},
                            regs=".reg .b32 %v,%w,%l,%k; .reg .pred %p,%q;",
                            targets=BOTH if number == 0 else ("sm_50",),
                        )
    third = np.array([0x49249249 if 0x49249249 >> (t & 31) & 1 else 0x92492492 if t % 32 % 3 == 1
                      else 0x24924924 for t in range(N)], np.uint32)  # fmt: skip
    third = np.array([sum(1 << u for u in range(32) if u % 3 == t % 32 % 3) for t in range(N)])
    yield program(
        "warp_vote",
        "activemask.divergent",
        "mov.u32 %l,%laneid; rem.u32 %l,%l,3; setp.eq.u32 %p,%l,0; setp.eq.u32 %q,%l,1; "
        "@%p bra A; @%q bra B; activemask.b32 %w; bra C; A: activemask.b32 %w; bra C; "
        f"B: activemask.b32 %w; C: {at('d', 4)} st.global.b32 [%x],%w;",
        {},
        {"d": Out("b32", third.astype(np.uint32))},
        regs=".reg .b32 %w,%l; .reg .pred %p,%q;",
        targets=BOTH,
    )


def _barriers() -> Iterator[Variant]:
    values = operands(["b32"], "bar")[0][:N]
    flags = np.array([int(t * 7 % 5 < 3) for t in range(N)], np.uint32)
    for name, form in (
        ("bar.sync", "bar.sync 0;"),
        ("bar.sync.15", "bar.sync 15;"),
        ("bar.sync.count", "bar.sync 1,128;"),
        ("bar.sync.register", "mov.u32 %i,%nctaid.x; add.u32 %i,%i,2; bar.sync %i;"),
        ("bar.sync.register.count", "mov.u32 %i,%nctaid.x; add.u32 %i,%i,2; mov.u32 %j,%ntid.x; "
         "bar.sync %i,%j;"),
        ("bar.sync.imm.register", "mov.u32 %j,%ntid.x; bar.sync 4,%j;"),
        ("bar.sync.register.imm", "mov.u32 %i,%nctaid.x; bar.sync %i,128;"),
        ("barrier.sync.aligned", "barrier.sync.aligned 3;"),
        ("bar.cta.sync", "bar.cta.sync 2,128;"),
        ("barrier.sync", "barrier.sync 7;"),
        ("barrier.cta.sync.count", "barrier.cta.sync 7,128;"),
        ("barrier.cta.sync.aligned", "barrier.cta.sync.aligned 5;"),
    ):  # fmt: skip
        body = (
            f".shared .b32 sm[{N}]; {at('a', 4)} ld.global.b32 %v,[%x]; mov.u32 %k,sm; "
            f"mad.lo.u32 %l,%t,4,%k; st.shared.b32 [%l],%v; {form} xor.b32 %l,%t,127; "
            f"mad.lo.u32 %l,%l,4,%k; ld.shared.b32 %v,[%l]; {at('d', 4)} st.global.b32 [%x],%v;"
        )
        yield program(
            "warp_bar",
            name,
            body,
            {"a": In("b32", values)},
            {"d": Out("b32", values[::-1].copy())},
            regs=".reg .b32 %v,%k,%l;",
            targets=BOTH,
        )
    total = int(flags.sum())
    for threads in ("", ",128"):
        for ident in ("1", "%k"):
            for op, want in (
                ("popc.u32", total),
                ("and.pred", int(flags.all())),
                ("or.pred", int(flags.any())),
            ):
                result = "%w" if op[0] == "p" else "%q"
                tail = "" if op[0] == "p" else "selp.u32 %w,1,0,%q;"
                for negated in ("", "!"):
                    count = N - total if negated else total
                    truth = flags ^ 1 if negated else flags
                    want = {"popc.u32": count, "and.pred": int(truth.all()),
                            "or.pred": int(truth.any())}[op]  # fmt: skip
                    body = (
                        f"{at('a', 4)} ld.global.b32 %v,[%x]; setp.ne.u32 %p,%v,0; "
                        f"mov.u32 %k,%nctaid.x; bar.red.{op} {result},{ident}{threads},"
                        f"{negated}%p; {tail} {at('d', 4)} st.global.b32 [%x],%w;"
                    )
                    kind = "r" if ident == "%k" else "i"
                    sign = "not" if negated else "is"
                    for word in ("bar.red", "barrier.cta.red", "barrier.red"):
                        if word != "bar.red" and ident == "%k":
                            continue
                        full = f"{word}.{op.replace('.', '.aligned.')}"
                        yield program(
                            "warp_bar",
                            f"{word}.{op}.{kind}{threads.replace(',', '.')}.{sign}",
                            body if word == "bar.red" else body.replace(f"bar.red.{op}", full),
                            {"a": In("b32", flags)},
                            {"d": Out("b32", np.full(N, want, np.uint32))},
                            regs=".reg .b32 %v,%w,%k; .reg .pred %p,%q;",
                            targets=BOTH,
                        )
    # Two halves of the CTA use two barriers by register; each warp pair counts on its own.
    halves = [int(flags[t // 64 * 64 : t // 64 * 64 + 64].sum()) for t in range(N)]
    yield program(
        "warp_bar",
        "bar.red.popc.two.groups",
        f"{at('a', 4)} ld.global.b32 %v,[%x]; setp.ne.u32 %p,%v,0; shr.u32 %k,%t,6; "
        f"add.u32 %k,%k,6; bar.red.popc.u32 %w,%k,64,%p; {at('d', 4)} st.global.b32 [%x],%w;",
        {"a": In("b32", flags)},
        {"d": Out("b32", np.array(halves, np.uint32))},
        regs=".reg .b32 %v,%w,%k; .reg .pred %p;",
        targets=BOTH,
    )
    # The same with the thread count in a register, beside an immediate and a register id.
    for name, wait in (
        ("imm", "@%q bra HIGH; bar.red.popc.u32 %w,3,%l,%p; bra OUT; "
         "HIGH: bar.red.popc.u32 %w,4,%l,%p; OUT:"),
        ("reg", "bar.red.popc.u32 %w,%k,%l,%p;"),
    ):  # fmt: skip
        yield program(
            "warp_bar",
            f"bar.red.popc.two.groups.count.{name}",
            f"{at('a', 4)} ld.global.b32 %v,[%x]; setp.ne.u32 %p,%v,0; shr.u32 %k,%t,6; "
            f"setp.ge.u32 %q,%t,64; add.u32 %k,%k,6; mov.u32 %l,%ntid.x; shr.u32 %l,%l,1; {wait} "
            f"{at('d', 4)} st.global.b32 [%x],%w;",
            {"a": In("b32", flags)},
            {"d": Out("b32", np.array(halves, np.uint32))},
            regs=".reg .b32 %v,%w,%k,%l; .reg .pred %p,%q;",
            targets=BOTH,
        )
    ones = "".join(
        f"bar.red.popc.u32 %w,{k % 3},%p; add.u32 %k,%k,%w; not.pred %p,%p; " for k in range(6)
    )
    yield program(
        "warp_bar",
        "bar.red.repeated",
        f"{at('a', 4)} ld.global.b32 %v,[%x]; setp.ne.u32 %p,%v,0; mov.u32 %k,0; {ones} "
        f"{at('d', 4)} st.global.b32 [%x],%k;",
        {"a": In("b32", flags)},
        {"d": Out("b32", np.full(N, 3 * N, np.uint32))},
        regs=".reg .b32 %v,%w,%k; .reg .pred %p;",
        targets=BOTH,
    )
    # Producers arrive, consumers wait.
    sums = [int(values[t - 64]) if t >= 64 else 0xCDCDCDCD for t in range(N)]
    yield program(
        "warp_bar",
        "bar.arrive",
        f".shared .b32 sm[64]; {at('a', 4)} ld.global.b32 %v,[%x]; mov.u32 %k,sm; "
        "and.b32 %l,%t,63; mad.lo.u32 %l,%l,4,%k; setp.ge.u32 %p,%t,64; @%p bra TAKE; "
        "st.shared.b32 [%l],%v; membar.cta; bar.arrive 1,128; bra OUT; TAKE: bar.sync 1,128; "
        f"ld.shared.b32 %v,[%l]; {at('d', 4)} st.global.b32 [%x],%v; OUT:",
        {"a": In("b32", values)},
        {"d": Out("b32", np.array(sums, np.uint32))},
        regs=".reg .b32 %v,%k,%l; .reg .pred %p;",
        targets=BOTH,
    )
    for fence in (
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "bar.warp.sync 0xffffffff",
        "membar.proxy.alias",
    ):
        yield program(
            "warp_bar",
            fence.replace(" ", "."),
            f"{at('a', 4)} ld.global.b32 %v,[%x]; {at('d', 4)} st.global.b32 [%x],%v; {fence}; "
            "ld.volatile.global.b32 %k,[%x]; add.u32 %k,%k,1; st.global.b32 [%x],%k;",
            {"a": In("b32", values)},
            {"d": Out("b32", values + np.uint32(1))},
            regs=".reg .b32 %v,%k;",
            targets=BOTH[1:] if "proxy" in fence else BOTH,
        )


def _special() -> Iterator[Variant]:
    block, grid = (8, 4, 3), (3, 2, 2)
    threads, ctas = 8 * 4 * 3, 3 * 2 * 2
    index = np.arange(threads * ctas)
    cta, thread = index // threads, index % threads
    known = {
        "tid.x": thread % 8, "tid.y": thread // 8 % 4, "tid.z": thread // 32,
        "ntid.x": 8, "ntid.y": 4, "ntid.z": 3, "ctaid.x": cta % 3, "ctaid.y": cta // 3 % 2,
        "ctaid.z": cta // 6, "nctaid.x": 3, "nctaid.y": 2, "nctaid.z": 2, "laneid": thread % 32,
        "lanemask_eq": 1 << (thread % 32), "lanemask_le": (2 << (thread % 32)) - 1,
        "lanemask_lt": (1 << (thread % 32)) - 1, "tid.w": 0, "ntid.w": 0, "nwarpid": 64,
        "lanemask_ge": 0x100000000 - (1 << (thread % 32)),
        "lanemask_gt": 0x100000000 - (2 << (thread % 32)),
    }  # fmt: skip
    place = (
        "mov.u32 %i,%ctaid.z; mov.u32 %j,%ctaid.y; mad.lo.u32 %i,%i,2,%j; mov.u32 %j,%ctaid.x; "
        "mad.lo.u32 %i,%i,3,%j; mov.u32 %j,%tid.z; mad.lo.u32 %i,%i,3,%j; mov.u32 %j,%tid.y; "
        "mad.lo.u32 %i,%i,4,%j; mov.u32 %j,%tid.x; mad.lo.u32 %n,%i,8,%j;"
    )
    for name, value in known.items():
        want = np.broadcast_to(np.asarray(value), index.shape).astype(np.uint32)
        yield program(
            "special",
            name,
            f"{place} mov.u32 %i,%{name}; {at('d', 4)} st.global.u32 [%x],%i;",
            {},
            {"d": Out("b32", want)},
            block=block,
            grid=grid,
            targets=BOTH,
        )
    yield program(
        "special",
        "dynamic_smem_size",
        f"mov.u32 %i,%dynamic_smem_size; {at('d', 4)} st.global.u32 [%x],%i;",
        {},
        {"d": Out("b32", np.full(N, 512, np.uint32))},
        shared=512,
        targets=BOTH,
    )
    for clock, t in (("clock", "u32"), ("clock64", "u64"), ("globaltimer", "u64")):
        n = t[1:]
        test = "ge" if clock == "globaltimer" else "gt"
        yield program(
            "special",
            f"{clock}.rises",
            f"mov.{t} %c,%{clock}; mov.u32 %j,0; LOOP: add.u32 %j,%j,1; setp.lt.u32 %p,%j,%i; "
            f"@%p bra LOOP; mov.{t} %e,%{clock}; setp.{test}.{t} %p,%e,%c; selp.u32 %i,1,0,%p; "
            f"{at('d', 4)} st.global.u32 [%x],%i;",
            {},
            {"d": Out("b32", np.ones(N, np.uint32))},
            regs=f".reg .b{n} %c,%e; .reg .pred %p;",
            targets=BOTH,
        )
