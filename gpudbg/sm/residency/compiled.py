"""Residency in compiled code: a CTA that ends makes room for the next one in its place."""

from __future__ import annotations

from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.layout import FIELD
from gpudbg.sm.engines.llvm.runtime.control import ControlCode
from gpudbg.sm.record import FIELDS
from gpudbg.sm.residency import arena

_RESET = (
    "exited",
    "depth",
    "budget",
    "status",
    "saved",
    "quad",
    "executed",
    "trap_seen",
    "bar_count",
    "bar_pred",
    "bar_wait",
    "crs",
    "came_from",
    "lmem",
    "flags",
)


def _renew() -> str:
    """Begin CTA `%number` in the place of one that ended."""
    f = ControlCode()
    number = "%number"
    f.put("i64", number, "%cta", arena.NUMBER)
    f.put("i64", f.get("i64", "%cta", arena.WARPS), "%cta", arena.LIVE)
    f.put("i64", 1, "%cta", arena.RENEWED)
    with f.when(f.op(f"icmp ne i64 {f.get('i64', '%cta', arena.IN_USE)}, 0")):
        # A barrier for a number of threads may have waited for more to come.
        for table in arena.PHASE:
            for part in range(0, 64, 16):
                f.put("<4 x i32>", "zeroinitializer", "%cta", table + part, 8)
    f.put("i64", 0, "%cta", arena.IN_USE)
    shared, size = f.get("ptr", "%cta", arena.SHARED), f.get("i64", "%cta", arena.SHARED_SIZE)
    f.clear(shared, size)
    apart = f.get("i64", "%env", layout.SHARED_MARKS)
    with f.when(f.op(f"icmp ne i64 {apart}, 0")):
        f.clear(f.at(shared, apart), size)
    width, height = f.loop_get("grid_x"), f.loop_get("grid_y")
    row = f.op(f"udiv i64 {number}, {width}")
    place = (
        f.op(f"urem i64 {number}, {width}"),
        f.op(f"urem i64 {row}, {height}"),
        f.op(f"udiv i64 {row}, {height}"),
    )
    local = f.op(f"mul i64 {f.loop_get('local_bytes')}, 32")
    epoch, wipe = f.loop_get("epoch"), f.loop_get("wipe")
    with f.each_warp("%cta") as record:
        # What code writes is zero then, and is written once, when the warp ends or leaves its
        # first block.
        f.set("pc", f.op(f"or i64 {f.loop_get('entry')}, {layout.FRESH}"), record)
        f.set("active", f.field("valid", record), record)
        for name in _RESET:
            f.set(name, 0, record)
        for n, value in enumerate(place):
            short = f.op(f"trunc i64 {value} to i32")
            f.put("i32", short, record, FIELDS["ctaid"].offset + 4 * n)
        with f.when(f.op(f"icmp ne i64 {wipe}, 0")):
            f.line(f"call void @wipe(ptr {record})")
        clear = f.op(f"icmp ne i64 {f.get('i64', record, layout.LOCAL_CLEAR)}, {epoch}")
        with f.when(clear):
            pointer = f.get("ptr", record, layout.LOCAL_POINTER)
            f.clear(pointer, local, 128)
            apart = f.get("i64", "%env", layout.LOCAL_MARKS)
            with f.when(f.op(f"icmp ne i64 {apart}, 0")):
                f.clear(f.at(pointer, apart), local, 128)
            f.put("i64", epoch, record, layout.LOCAL_CLEAR)
    f.line("ret void")
    return f.close("define private void @renew(ptr %env, ptr %cta, i64 %number)")


def _wipe() -> str:
    """Zero all registers, predicates and flags of a warp."""
    f = ControlCode()
    registers = f.op(f"zext i32 {f.field('registers')} to i64")
    size = f.op(f"mul i64 {registers}, {rec.ROW_BYTES}")
    f.clear(f.at("%rec", rec.HEADER_BYTES), size, rec.ROW_BYTES)
    for name, count in (("pred", 7), ("cc", 5)):
        for n in range(count):
            f.put("i32", 0, "%rec", FIELDS[name].offset + 4 * n)
    f.line("ret void")
    return f.close("define private void @wipe(ptr %rec)")


def _remove() -> str:
    """Take a finished CTA's warps out of the ring."""
    f = ControlCode()
    f.put("i64", -1, "%cta", arena.NUMBER)
    ring, count = f.get("ptr", "%env", FIELD["ring"]), f.loop_get("ring_count")
    n, kept = f.var("i64", 0), f.var("i64", 0)
    with f.loop() as (_, after):
        at = f.get("i64", n)
        f.unless(f.op(f"icmp uge i64 {at}, {count}"), after)
        f.put("i64", f.op(f"add i64 {at}, 1"), n)
        record = f.element(ring, at)
        owner = f.get("ptr", record, layout.CTA_POINTER)
        with f.when(f.op(f"icmp ne ptr {owner}, %cta")):
            place = f.get("i64", kept)
            f.put("ptr", record, f.op(f"getelementptr ptr, ptr {ring}, i64 {place}"))
            f.put("i64", f.op(f"add i64 {place}, 1"), kept)
    f.loop_put("ring_count", f.get("i64", kept))
    f.line("ret void")
    return f.close("define private void @remove(ptr %env, ptr %cta)")


def _finished() -> str:
    """A warp has exited: barriers, and the CTA if it was the last; false: Python must do it."""
    f = ControlCode()
    with f.returning(f.op(f"icmp ne i64 {f.loop_get('tell')}, 0")):
        f.line("ret i1 false")
    in_use = f.op(f"icmp ne i64 {f.get('i64', '%cta', arena.IN_USE)}, 0")
    with f.when(in_use):
        for n in range(16):
            arrived = f.get("i32", "%cta", arena.ARRIVED + 4 * n)
            special = f.get("i32", "%cta", arena.SPECIAL + 4 * n)
            with f.returning(f.op(f"icmp ne i32 {f.op(f'and i32 {arrived}, {special}')}, 0")):
                f.line("ret i1 false")
    live = f.op(f"sub i64 {f.get('i64', '%cta', arena.LIVE)}, 1")
    f.put("i64", live, "%cta", arena.LIVE)
    with f.when(in_use):
        for n in range(16):
            arrived = f.get("i32", "%cta", arena.ARRIVED + 4 * n)
            threads = f.get("i32", "%cta", arena.THREADS + 4 * n)
            some = f.op(f"icmp ne i32 {arrived}, 0")
            every = f.op(f"icmp eq i32 {threads}, 0")
            with f.when(f.op(f"and i1 {some}, {every}")):
                f.line(f"call void @settle(ptr %cta, i64 {n})")
    with f.returning(f.op(f"icmp ne i64 {live}, 0")):
        f.line("ret i1 true")
    f.loop_put("ended", f.op(f"add i64 {f.loop_get('ended')}, 1"))
    own = f.loop_get("own")
    with f.returning(f.op(f"icmp ult i64 {own}, {f.loop_get('own_end')}")):
        f.loop_put("own", f.op(f"add i64 {own}, 1"))
        f.line(f"call void @renew(ptr %env, ptr %cta, i64 {own})")
        f.line("ret i1 true")
    ctas, chunk, spread = (f.loop_get(name) for name in ("ctas", "chunk", "spread"))
    following = f.get("ptr", "%env", FIELD["next"])
    with f.returning(f.op(f"icmp eq i64 {chunk}, 0")):
        # An atomic addition would wait for all that has been stored.
        number = f.get("i64", following)
        with f.returning(f.op(f"icmp ult i64 {number}, {ctas}")):
            f.put("i64", f.op(f"add i64 {number}, 1"), following)
            f.line(f"call void @renew(ptr %env, ptr %cta, i64 {number})")
            f.line("ret i1 true")
        f.line("call void @remove(ptr %env, ptr %cta)")
        f.line("ret i1 true")
    waiting = f.op(f"sub i64 {ctas}, {f.get('i64', following)}")
    some = f.op(f"sdiv i64 {waiting}, {spread}")
    some = f.op(f"select i1 {f.op(f'icmp sgt i64 {some}, 1')}, i64 {some}, i64 1")
    chunk = f.op(f"select i1 {f.op(f'icmp slt i64 {some}, {chunk}')}, i64 {some}, i64 {chunk}")
    number = f.op(f"atomicrmw add ptr {following}, i64 {chunk} monotonic")
    with f.returning(f.op(f"icmp ult i64 {number}, {ctas}")):
        end = f.op(f"add i64 {number}, {chunk}")
        f.loop_put("own", f.op(f"add i64 {number}, 1"))
        whole = f.op(f"icmp ult i64 {end}, {ctas}")
        f.loop_put("own_end", f.op(f"select i1 {whole}, i64 {end}, i64 {ctas}"))
        f.line(f"call void @renew(ptr %env, ptr %cta, i64 {number})")
        f.line("ret i1 true")
    f.line("call void @remove(ptr %env, ptr %cta)")
    f.line("ret i1 true")
    return f.close("define private i1 @finished(ptr %env, ptr %cta)")


def residency_functions() -> list[str]:
    """What the grid loop calls when a warp has exited."""
    return [_wipe(), _renew(), _remove(), _finished()]
