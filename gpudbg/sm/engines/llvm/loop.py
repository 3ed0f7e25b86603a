"""The grid loop: `Schedule.next` with seed 0, turns, barriers and new CTAs in compiled code.

It takes the turns of the step engine's schedule exactly (`gpudbg.sm.scheduler`, `gpudbg.sm.turns`)
and returns when Python is needed: an instruction for the step engine, a mark, no warp ready, or
enough instructions.  A CTA that ends makes room for the next one in the same records and memory.

A CTA here is its block (`gpudbg.sm.arena`).
"""

from __future__ import annotations

from typing import Final

from gpudbg.sm import arena
from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.stack import Function
from gpudbg.sm.record import FIELDS
from gpudbg.sm.scheduler import STAY

# Environment fields of the loop, i64 each.  `next` points to the number of the next CTA, which all
# threads share; `tell`: Python wants to know of every warp that ends; `epoch`: a number for the
# time since Python last changed anything; `before`: instructions of the launch at the call; from
# `own` before `own_end`: numbers of CTAs that this thread has taken for itself, `chunk` at a time,
# or 0: no other thread takes any.
_NAMES = (
    "ring",
    "ring_count",
    "position",
    "current",
    "left",
    "quantum",
    "total",
    "limit",
    "next",
    "ended",
    "ctas",
    "grid_x",
    "grid_y",
    "entry",
    "stay",
    "tell",
    "epoch",
    "before",
    "voted",
    "voters",
    "own",
    "own_end",
    "chunk",
)
FIELD: Final = {name: layout.LOOP + 8 * n for n, name in enumerate(_NAMES)}
"""Field of the loop -> offset in the environment."""

assert layout.LOOP + 8 * len(_NAMES) <= layout.TRACE

IDLE: Final = 256
LIMIT: Final = 257
"""Results of the loop that are not a `Left`."""

SYMBOL: Final = "gpudbg_grid"
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


class Loop(Function):
    """The loop's function, with names for its fields."""

    def loop_get(self, name: str) -> str:
        return self.get("i64", "%env", FIELD[name])

    def loop_put(self, name: str, value: int | str) -> None:
        self.put("i64", value, "%env", FIELD[name])

    def element(self, table: str, index: str) -> str:
        """Pointer number `index` of a table of pointers."""
        return self.get("ptr", self.op(f"getelementptr ptr, ptr {table}, i64 {index}"))

    def clear(self, pointer: str, count: str, step: int = 16) -> None:
        """Zero bytes, `step` at a time; there is room for the last ones."""
        n = self.var("i64", 0)
        with self.loop() as (_, after):
            at = self.get("i64", n)
            self.unless(self.op(f"icmp uge i64 {at}, {count}"), after)
            self.put(f"<{step // 4} x i32>", "zeroinitializer", self.at(pointer, at), 0, 4)
            self.put("i64", self.op(f"add i64 {at}, {step}"), n)

    def each_warp(self, cta: str) -> _Each:
        """Loop over a CTA's warps; the body sees the record."""
        return _Each(self, self.at(cta, arena.BLOCK_BYTES), self.get("i64", cta, arena.WARPS))


class _Each:
    """`with loop.each_warp(cta) as record:`"""

    def __init__(self, f: Loop, table: str, count: str) -> None:
        self._f, self._table, self._count = f, table, count

    def __enter__(self) -> str:
        f = self._f
        self._n = f.op("alloca i64")
        f.put("i64", 0, self._n)
        self._head, self._after = f.fresh("warp"), f.fresh("warps")
        f.br(self._head)
        f.label(self._head)
        at = f.get("i64", self._n)
        f.unless(f.op(f"icmp uge i64 {at}, {self._count}"), self._after)
        f.put("i64", f.op(f"add i64 {at}, 1"), self._n)
        return f.element(self._table, at)

    def __exit__(self, *_: object) -> None:
        self._f.br(self._head)
        self._f.label(self._after)


def _renew() -> str:
    """Begin CTA `%number` in the place of one that ended."""
    f = Loop()
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
    f.clear(f.get("ptr", "%cta", arena.SHARED), f.get("i64", "%cta", arena.SHARED_SIZE))
    width, height = f.loop_get("grid_x"), f.loop_get("grid_y")
    row = f.op(f"udiv i64 {number}, {width}")
    place = (
        f.op(f"urem i64 {number}, {width}"),
        f.op(f"urem i64 {row}, {height}"),
        f.op(f"udiv i64 {row}, {height}"),
    )
    local = f.op(f"mul i64 {f.get('i64', '%env', layout.LOCAL_BYTES)}, 32")
    epoch = f.loop_get("epoch")
    with f.each_warp("%cta") as record:
        # What is zero then is written once, when the warp ends or leaves its first block.
        f.set("pc", f.op(f"or i64 {f.loop_get('entry')}, {layout.FRESH}"), record)
        f.set("active", f.field("valid", record), record)
        for name in _RESET:
            f.set(name, 0, record)
        for n, value in enumerate(place):
            short = f.op(f"trunc i64 {value} to i32")
            f.put("i32", short, record, FIELDS["ctaid"].offset + 4 * n)
        clear = f.op(f"icmp ne i64 {f.get('i64', record, layout.LOCAL_CLEAR)}, {epoch}")
        with f.when(clear):
            f.clear(f.get("ptr", record, layout.LOCAL_POINTER), local, 128)
            f.put("i64", epoch, record, layout.LOCAL_CLEAR)
    f.line("ret void")
    return f.close("define private void @renew(ptr %env, ptr %cta, i64 %number)")


def _remove() -> str:
    """Take a finished CTA's warps out of the ring."""
    f = Loop()
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
    f = Loop()
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
    ctas, chunk = f.loop_get("ctas"), f.loop_get("chunk")
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


def _spend(f: Loop, record: str, cta: str, spent: str) -> None:
    """Count instructions of a warp."""
    f.set("executed", f.op(f"add i64 {f.field('executed', record)}, {spent}"), record)
    issued = f.get("ptr", cta, arena.ISSUED)
    f.put("i64", f.op(f"add i64 {f.get('i64', issued)}, {spent}"), issued)
    f.loop_put("total", f.op(f"add i64 {f.loop_get('total')}, {spent}"))
    f.loop_put("stay", f.op(f"sub i64 {f.loop_get('stay')}, {spent}"))


def _place(f: Loop) -> tuple[str, str, str]:
    """(ring place of its block's first warp, warp index, block's warps) of the last turn."""
    ring, count = f.get("ptr", "%env", FIELD["ring"]), f.loop_get("ring_count")
    last, wrapped = f.op("alloca i64"), f.op(f"sub i64 {f.loop_get('position')}, 1")
    f.put("i64", wrapped, last)
    # Beyond the end only after the ring got shorter.
    with f.when(f.op(f"icmp uge i64 {wrapped}, {count}")):
        back = f.op(f"add i64 {wrapped}, {count}")
        f.put("i64", f.op(f"urem i64 {back}, {count}"), last)
    last = f.get("i64", last)
    record = f.element(ring, last)
    index = f.op(f"zext i32 {f.field('index', record)} to i64")
    warps = f.get("i64", f.get("ptr", record, layout.CTA_POINTER), arena.WARPS)
    return f.op(f"sub i64 {last}, {index}"), index, warps


def _below(f: Loop, number: str, limit: str) -> str:
    """A number below twice the limit, modulo the limit."""
    less = f.op(f"sub i64 {number}, {limit}")
    return f.op(f"select i1 {f.op(f'icmp uge i64 {number}, {limit}')}, i64 {less}, i64 {number}")


def _try(f: Loop, place: str, ready: str, stay: bool) -> None:
    """Take the warp at a ring place if it is ready."""
    record = f.element(f.get("ptr", "%env", FIELD["ring"]), place)
    with f.returning(f.op(f"icmp eq i32 {f.field('status', record)}, {rec.READY}")):
        if not stay:
            f.loop_put("stay", STAY)
        f.loop_put("position", f.op(f"add i64 {place}, 1"))
        f.loop_put("current", place)
        f.loop_put("left", f.loop_get("quantum"))
        f.br(ready)


def _choose(f: Loop, ready: str) -> None:
    """`Schedule.next`: set `current`; returns IDLE when no warp is ready."""
    n, start = f.op("alloca i64"), f.op("alloca i64")
    f.put("i64", 0, start)
    count = f.loop_get("ring_count")
    with f.returning(f.op(f"icmp eq i64 {count}, 0")):
        f.line(f"ret i32 {IDLE}")
    f.choose(f.op(f"icmp eq i64 {f.loop_get('position')}, 0"), "move", "placed")
    f.label("placed")
    first, index, warps = _place(f)
    f.put("i64", f.op(f"add i64 {first}, {warps}"), start)
    f.choose(f.op(f"icmp sgt i64 {f.loop_get('stay')}, 0"), "stay", "move")
    f.label("stay")
    f.put("i64", 0, n)
    with f.loop() as (_, after):
        at = f.op(f"add i64 {f.get('i64', n)}, 1")
        f.unless(f.op(f"icmp ugt i64 {at}, {warps}"), after)
        f.put("i64", at, n)
        turn = _below(f, f.op(f"add i64 {index}, {at}"), warps)
        _try(f, f.op(f"add i64 {first}, {turn}"), ready, True)
    f.br("move")
    f.label("move")
    f.put("i64", 0, n)
    with f.loop() as (_, _after):
        at = f.get("i64", n)
        with f.returning(f.op(f"icmp uge i64 {at}, {count}")):
            f.line(f"ret i32 {IDLE}")
        f.put("i64", f.op(f"add i64 {at}, 1"), n)
        _try(f, _below(f, f.op(f"add i64 {f.get('i64', start)}, {at}"), count), ready, False)
    f.line("unreachable")


def _neighbour(f: Loop, at: str, record: str, cta: str, picked: str) -> None:
    """What `top` comes to nearly always: the next warp of the same block has its turn."""
    index = f.op(f"zext i32 {f.field('index', record)} to i64")
    after = f.op(f"add i64 {index}, 1")
    last = f.op(f"icmp eq i64 {after}, {f.get('i64', cta, arena.WARPS)}")
    first, behind = f.op(f"sub i64 {at}, {index}"), f.op(f"add i64 {at}, 1")
    place = f.op(f"select i1 {last}, i64 {first}, i64 {behind}")
    there = f.element(f.get("ptr", "%env", FIELD["ring"]), place)
    goes_on = f.op(f"icmp sgt i64 {f.loop_get('left')}, 0")
    waits = f.op(f"icmp ne i32 {f.field('status', record)}, {rec.READY}")
    conditions = (
        f.op(f"icmp eq i32 {f.field('status', there)}, {rec.READY}"),
        f.op(f"select i1 {goes_on}, i1 {waits}, i1 true"),
        f.op(f"icmp sgt i64 {f.loop_get('stay')}, 0"),
        f.op(f"icmp slt i64 {f.loop_get('total')}, {f.loop_get('limit')}"),
        f.op(f"icmp eq i64 {f.get('i64', '%env', layout.STOP)}, 0"),
        # Otherwise Python has given the turn to this warp.
        f.op(f"icmp eq i64 {f.loop_get('position')}, {behind}"),
    )
    good = conditions[0]
    for condition in conditions[1:]:
        good = f.op(f"and i1 {good}, {condition}")
    on = f.fresh("on")
    f.choose(good, on, "top")
    f.label(on)
    f.loop_put("position", f.op(f"add i64 {place}, 1"))
    f.loop_put("current", place)
    f.loop_put("left", f.loop_get("quantum"))
    f.br(picked)


def _grid() -> str:
    f = Loop()
    chosen, picked, again = "chosen", "picked", "again"
    f.br("top")
    f.label("top")
    with f.returning(f.op(f"icmp ne i64 {f.get('i64', '%env', layout.STOP)}, 0")):
        f.line(f"ret i32 {LIMIT}")
    current = f.loop_get("current")
    f.choose(f.op(f"icmp slt i64 {current}, 0"), "choose", "present")
    f.label("present")
    record = f.element(f.get("ptr", "%env", FIELD["ring"]), current)
    ready = f.op(f"icmp eq i32 {f.field('status', record)}, {rec.READY}")
    more = f.op(f"icmp sgt i64 {f.loop_get('left')}, 0")
    f.choose(f.op(f"and i1 {ready}, {more}"), chosen, "choose")
    f.label("choose")
    _choose(f, chosen)
    f.label(chosen)
    over = f.op(f"icmp sge i64 {f.loop_get('total')}, {f.loop_get('limit')}")
    with f.returning(over):
        f.line(f"ret i32 {LIMIT}")
    f.br(picked)
    f.label(picked)
    at = f.loop_get("current")
    record = f.element(f.get("ptr", "%env", FIELD["ring"]), at)
    cta = f.get("ptr", record, layout.CTA_POINTER)
    left = f.loop_get("left")
    f.set("budget", left, record)
    f.br(again)
    f.label(again)
    full = f.op(f"icmp eq i32 {f.field('active', record)}, -1")
    codes = [f.get("ptr", "%env", layout.FULL_CODE), f.get("ptr", "%env", layout.MASKED_CODE)]
    code = f.op(f"select i1 {full}, ptr {codes[0]}, ptr {codes[1]}")
    f.choose(f.op(f"icmp eq ptr {code}, null"), "nocode", "run")
    f.label("run")
    ran = f.op(f"call i32 {code}(ptr %env, ptr {record})")
    f.choose(f.op(f"icmp eq i32 {ran}, {int(Left.SWITCH)}"), again, "account")
    f.label("nocode")
    f.br("account")
    f.label("account")
    why = f.op(f"phi i32 [ {ran}, %run ], [ {int(Left.SWITCH)}, %nocode ]")
    rest = f.field("budget", record)
    spent = f.op(f"sub i64 {left}, {rest}")
    kind = f.op(f"and i32 {why}, 255")
    f.line(
        f"switch i32 {kind}, label %back [ i32 {int(Left.TURN)}, label %turn "
        f"i32 {int(Left.BARRIER)}, label %barrier i32 {int(Left.DONE)}, label %done ]"
    )
    f.label("back")
    f.loop_put("left", rest)
    _spend(f, record, cta, spent)
    f.br("leave")
    f.label("leave")
    f.line(f"ret i32 {why}")
    f.label("turn")
    f.loop_put("left", 0)
    _spend(f, record, cta, spent)
    f.br("neighbour")
    f.label("barrier")
    bar = f.op(f"zext i32 {f.op(f'lshr i32 {why}, 8')} to i64")
    good = f.op(f"call i1 @arrive(ptr %env, ptr {cta}, ptr {record}, i64 {bar})")
    f.choose(good, "arrived", "back")
    f.label("arrived")
    f.loop_put("left", f.op(f"sub i64 {rest}, 1"))
    _spend(f, record, cta, f.op(f"add i64 {spent}, 1"))
    f.br("neighbour")
    f.label("neighbour")
    _neighbour(f, at, record, cta, picked)
    f.label("done")
    f.loop_put("left", rest)
    _spend(f, record, cta, spent)
    ended = f.op(f"call i1 @finished(ptr %env, ptr {cta})")
    f.choose(ended, "ended", "leave")
    f.label("ended")
    f.loop_put("left", 0)
    there = f.op(f"icmp sge i64 {f.get('i64', cta, arena.NUMBER)}, 0")
    f.choose(there, "neighbour", "gone")
    f.label("gone")
    f.loop_put("current", -1)
    f.br("top")
    return f.close(f"define i32 @{SYMBOL}(ptr %env)")


def loop_function() -> str:
    """The loop and what it calls."""
    parts = (_renew(), _remove(), _finished(), _grid())
    return "\n".join(parts)
