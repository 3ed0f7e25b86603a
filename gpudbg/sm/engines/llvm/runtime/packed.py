"""Accesses of lanes that may lie anywhere, by a host with AVX2 and without AVX-512.

Such a host gathers eight words at once, under the signs of a mask of words, and scatters none: of
`llvm.masked.gather` and `llvm.masked.scatter` the compiler library makes a branch for each lane.
Addresses are checked with 32 bits, in the part of the site's allocation that lies between two
multiples of 4 GiB, or in the high range of local memory; what is elsewhere is left to the code
behind.

Offsets of lanes become addresses two by two, as halves of 64 bits of a vector, and what is stored
is read two words at once: read one by one from memory, where vectors were just stored, they take
twice the time (32 stores on an AMD Zen 3: 12 ns, and 29 ns one by one).  Some processors load
32 words so in less time than by gather instructions (`BuildHost.accesses`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.eights import EIGHT, eight_chosen, gather_eight
from gpudbg.sm.engines.llvm.ir.values import Val
from gpudbg.sm.engines.llvm.runtime.body import I32, Body
from gpudbg.sm.engines.llvm.runtime.wide_moves import eight_loaded, store_eight

WORD = 4
"""Bytes."""
FIRSTS = range(0, 32, 8)
"""The first of each eight lanes."""
_MANY, _MANY_MARKED = 16, 24
"""More lanes than this store as all 32 do; fewer, one after another.  With marks, twice as much is
stored."""
_FAR = 1 << 32
_MOST_LOCAL = 1 << 27
"""Bytes of a lane's local memory that offsets of 32 bits reach where lanes alternate."""


class Reached(NamedTuple):
    """Memory that lanes access, by offsets of 32 bits.

    Attributes:
        inside: i1: every lane that executes accesses it, aligned.
        places: four times `<8 x i32>`: bytes from the base; those of lanes that do not execute are
            inside, too, where any are.
        chosen: four times `<8 x i32>`, all bits or none: lanes that execute.
        base: host pointer of its beginning.
        add: i64: to what is at `%lo`, for its distance from the base.
        limit: i64: bytes from the base.
        apart: bytes from a lane's word to its next one.
    """

    inside: str
    places: list[str]
    chosen: list[str]
    base: str
    add: str
    limit: str
    apart: int = 4


# ---- checks --------------------------------------------------------------------------------


def global_window(b: Body, size: int) -> Reached:
    """The part of a site's allocation that the site knows.

    Lanes must have the high word of its beginning, before `%add` is added: that carries into the
    high word, or borrows, only near a multiple of 4 GiB, where the window is not used.
    """
    ir = b.ir
    begin, limit = ir.get("i64", "%site"), ir.get("i64", "%site", 8)
    low, top = ir.op(f"and i64 {begin}, 4294967295"), ir.op(f"lshr i64 {begin}, 32")
    end = ir.op(f"add i64 {low}, {limit}")
    # 0 <= add <= low, or -(2**32 - end) <= add < 0.
    up = ir.op(f"icmp ule i64 %add, {low}")
    room = ir.op(f"sub i64 {end}, 4294967296")
    down = ir.op(f"icmp sge i64 %add, {room}")
    negative = ir.op("icmp slt i64 %add, 0")
    flat = ir.op(f"select i1 {negative}, i1 {down}, i1 {up}")
    apart = ir.op(f"sub i64 %add, {begin}")
    found = _window(b, size, apart, limit, ir.get("ptr", "%site", 16), top)
    return found._replace(inside=ir.op(f"and i1 {found.inside}, {flat}"))


def shared_window(b: Body, size: int) -> Reached:
    """Shared memory."""
    limit = b.ir.get("i64", "%env", layout.SHARED_BYTES)
    return _window(b, size, "%add", limit, b.ir.get("ptr", "%rec", layout.SHARED_POINTER))


def constant_window(b: Body, size: int) -> Reached:
    """A bank of constants."""
    limit = b.ir.get("i64", "%bank", 8)
    return _window(b, size, "0", limit, b.ir.get("ptr", "%bank"))


def local_window(b: Body, size: int) -> Reached:
    """The high range of local memory, where the stack is: it ends below 4 GiB."""
    ir = b.ir
    low, start, both = (
        ir.get("i64", "%env", place)
        for place in (layout.LOCAL_LOW, layout.LOCAL_START, layout.LOCAL_BYTES)
    )
    base = ir.at(ir.get("ptr", "%rec", layout.LOCAL_POINTER), ir.op(f"shl i64 {low}, 5"))
    limit, apart = ir.op(f"sub i64 {both}, {low}"), ir.op(f"sub i64 %add, {start}")
    found = _window(b, size, apart, limit, base, most=_MOST_LOCAL)
    places = [_interleaved(ir, *pair, size) for pair in zip(FIRSTS, found.places, strict=True)]
    return found._replace(places=places, apart=128)


WINDOWS = {"global": global_window, "shared": shared_window, "local": local_window}


def _interleaved(ir: Builder, first: int, places: str, size: int) -> str:
    """Where bytes of eight lanes are, words of 32 lanes alternating."""
    inside = "0"
    words = places
    if size < 4:
        inside = ir.op(f"and {EIGHT} {places}, splat (i32 3)")
        words = ir.op(f"and {EIGHT} {places}, splat (i32 -4)")
    moved = ir.op(f"shl {EIGHT} {words}, splat (i32 5)")
    lanes = ", ".join(f"i32 {4 * lane}" for lane in range(first, first + 8))
    moved = ir.op(f"or {EIGHT} {moved}, <{lanes}>")
    return moved if size >= 4 else ir.op(f"or {EIGHT} {moved}, {inside}")


def _window(
    b: Body, size: int, apart: str, limit: str, base: str, top: str = "", most: int = _FAR
) -> Reached:
    """Check of 32-bit addresses.

    Args:
        apart: i64: what is added to them for their distance from the beginning.
        limit: i64: bytes.
        base: as in `Reached`.
        top: i64: what lanes' high words must be; "": there are none.
        most: bytes of the limit that count.
    """
    ir = b.ir
    chosen = [eight_chosen(ir, "%mask", first) for first in FIRSTS]
    add, others = _eight_times(ir, apart), []
    places: list[str] = []
    for first, lanes in zip(FIRSTS, chosen, strict=True):
        low = ir.op(f"add {EIGHT} {ir.get(EIGHT, '%lo', 4 * first, 32)}, {add}")
        places.append(ir.op(f"and {EIGHT} {low}, {lanes}"))
    limit = ir.op(f"call i64 @llvm.umin.i64(i64 {limit}, i64 {most})")
    last = _eight_times(ir, ir.op(f"sub i64 {limit}, {size}"))
    highest = _folded(places, lambda x, y: f"call {EIGHT} @llvm.umax.v8i32({x}, {EIGHT} {y})", ir)
    beyond = ir.op(f"call {EIGHT} @llvm.umax.v8i32({EIGHT} {highest}, {EIGHT} {last})")
    bad = [ir.op(f"xor {EIGHT} {beyond}, {last}")]
    if size > 1:
        bits = _folded(places, _either, ir)
        bad.append(ir.op(f"and {EIGHT} {bits}, splat (i32 {size - 1})"))
    if top:
        wanted = _eight_times(ir, top)
        for first, lanes in zip(FIRSTS, chosen, strict=True):
            differs = ir.op(f"xor {EIGHT} {ir.get(EIGHT, '%hi', 4 * first, 32)}, {wanted}")
            others.append(ir.op(f"and {EIGHT} {differs}, {lanes}"))
        bad.append(_folded(others, _either, ir))
    enough = ir.op(f"icmp uge i64 {limit}, {size}")
    if size < 4 and not b.by_lane:
        # Whole words are gathered; what is not an allocation of ours may begin anywhere.
        rest = ir.op(f"and i64 {ir.op(f'ptrtoint ptr {base} to i64')}, 3")
        enough = ir.op(f"and i1 {enough}, {ir.op(f'icmp eq i64 {rest}, 0')}")
    inside = ir.op(f"and i1 {_none(ir, bad)}, {enough}")
    return Reached(inside, places, chosen, base, apart, limit)


def _either(x: str, y: str) -> str:
    return f"or {x}, {y}"


def _folded(parts: Sequence[str], how: Callable[[str, str], str], ir: Builder) -> str:
    """`<8 x i32>` made one, by pairs."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        left = parts[-1:] if len(parts) % 2 else []
        parts = [*(ir.op(how(f"{EIGHT} {x}", y)) for x, y in pairs), *left]
    return parts[0]


def _eight_times(ir: Builder, number: str) -> str:
    """The low word of an i64 in eight lanes."""
    one = ir.op(f"insertelement {EIGHT} poison, i32 {ir.op(f'trunc i64 {number} to i32')}, i64 0")
    return ir.op(f"shufflevector {EIGHT} {one}, {EIGHT} poison, <8 x i32> zeroinitializer")


# ---- moves ---------------------------------------------------------------------------------


def offsets_of(ir: Builder, places: str) -> list[str]:
    """i64 of each of eight lanes."""
    pairs = ir.op(f"bitcast {EIGHT} {places} to <4 x i64>")
    parts = [ir.op(f"extractelement <4 x i64> {pairs}, i64 {n}") for n in range(4)]
    return [half for pair in parts for half in _halves(ir, pair)]


def pair_at(ir: Builder, row: str, lane: int) -> list[str]:
    """i64 of each of two words in memory, one of an even lane and the next.  Volatile: else the
    compiler library would read one word after the other."""
    return _halves(ir, ir.op(f"load volatile i64, ptr {ir.at(row, 4 * lane)}, align 8"))


def _halves(ir: Builder, pair: str) -> list[str]:
    """i64 of the low and the high word."""
    return [ir.op(f"and i64 {pair}, 4294967295"), ir.op(f"lshr i64 {pair}, 32")]


def load(b: Body, reached: Reached, size: int, signed: bool) -> None:
    """The rest of a load to `%out`: move what is checked, and return; 0 to other lanes."""
    if b.by_lane and reached.apart == WORD and size <= WORD:
        _load_near_ones(b.ir, reached, size, signed)
    for first, places, chosen in _eights(reached):
        for n, found in enumerate(_loaded(b, reached, places, chosen, size, signed)):
            b.ir.put(EIGHT, found, "%out", 128 * n + 4 * first, 32)
    b.ir.line("ret i1 true")


def _load_near_ones(ir: Builder, reached: Reached, size: int, signed: bool) -> None:
    """Loads of lanes that lie side by side: words of each four lanes, as products of matrices take
    them; smaller elements in one row, up or down, or all in one place, some lanes executing."""
    if size == WORD:
        with ir.returning(_in_fours(ir, reached.places)):
            for first, places, chosen in _eights(reached):
                row = _fours_loaded(ir, reached.base, places)
                ir.put(EIGHT, ir.op(f"and {EIGHT} {row}, {chosen}"), "%out", 4 * first, 32)
            ir.line("ret i1 true")
        return
    pair = _first_two(ir, size)
    with ir.when(pair.likely):
        _load_line(ir, reached, size, signed, _line(ir, reached, size, pair))


def _load_line(ir: Builder, reached: Reached, size: int, signed: bool, line: _Line) -> None:
    """Elements in a row, if they are, and the return."""
    extended = "sext" if signed else "zext"
    kind = f"i{8 * size}"
    with ir.returning(line.near):
        with ir.returning(ir.op(f"icmp eq i32 {line.step}, 0")):
            one = ir.get(kind, ir.at(reached.base, line.first), 0, size)
            one = ir.op(f"{extended} {kind} {one} to i64")
            for first, _, chosen in _eights(reached):
                row = _eight_times(ir, one)
                ir.put(EIGHT, ir.op(f"and {EIGHT} {row}, {chosen}"), "%out", 4 * first, 32)
            ir.line("ret i1 true")
        down = ir.op(f"icmp slt i32 {line.step}, 0")
        orders = (f"{EIGHT} <{_numbers(order)}>" for order in (range(7, -1, -1), range(8)))
        order = ir.op(f"select i1 {down}, {', '.join(orders)}")
        at = ir.op(f"select i1 {down}, i64 {24 * size}, i64 0")
        at = ir.op(f"add i64 {line.lowest}, {at}")
        step = ir.op(f"select i1 {down}, i64 {-8 * size}, i64 {8 * size}")
        for first, _, chosen in _eights(reached):
            part = ir.get(f"<8 x {kind}>", ir.at(reached.base, at), 0, size)
            row = ir.op(f"{extended} <8 x {kind}> {part} to {EIGHT}")
            row = ir.op(f"call {EIGHT} @llvm.x86.avx2.permd({EIGHT} {row}, {EIGHT} {order})")
            ir.put(EIGHT, ir.op(f"and {EIGHT} {row}, {chosen}"), "%out", 4 * first, 32)
            at = ir.op(f"add i64 {at}, {step}")
        ir.line("ret i1 true")


def _eights(reached: Reached) -> Iterator[tuple[int, str, str]]:
    """(The first lane, places, chosen) of each eight."""
    return zip(FIRSTS, reached.places, reached.chosen, strict=True)


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(f"i32 {n}" for n in numbers)


def _none(ir: Builder, parts: Sequence[str]) -> str:
    """i1: no bit is set in any."""
    return ir.op(
        f"icmp eq i256 {ir.op(f'bitcast {EIGHT} {_folded(parts, _either, ir)} to i256')}, 0"
    )


def begins_in_a_row(ir: Builder, reached: Reached) -> str:
    """i1: the word of lane 1 follows that of lane 0: tested before all are."""
    pair = ir.op(f"bitcast {EIGHT} {reached.places[0]} to <4 x i64>")
    first, second = _halves(ir, ir.op(f"extractelement <4 x i64> {pair}, i64 0"))
    return ir.op(f"icmp eq i64 {second}, {ir.op(f'add i64 {first}, {WORD}')}")


def _in_fours(ir: Builder, places: Sequence[str]) -> str:
    """i1: the words of each four lanes follow one another."""
    picks = _numbers((0, 0, 0, 0, 4, 4, 4, 4))
    apart = []
    for part in places:
        firsts = ir.op(f"shufflevector {EIGHT} {part}, {EIGHT} poison, <8 x i32> <{picks}>")
        goal = ir.op(f"add {EIGHT} {firsts}, <{_numbers((0, 4, 8, 12) * 2)}>")
        apart.append(ir.op(f"xor {EIGHT} {part}, {goal}"))
    return _none(ir, apart)


def _fours_loaded(ir: Builder, base: str, places: str) -> str:
    """Words of eight lanes, those of each four following one another."""
    four = "<4 x i32>"
    halves = []
    for lane in (0, 4):
        first = ir.op(f"extractelement {EIGHT} {places}, i64 {lane}")
        place = ir.at(base, ir.op(f"zext i32 {first} to i64"))
        halves.append(f"{four} {ir.get(four, place, 0, 4)}")
    return ir.op(f"shufflevector {', '.join(halves)}, <8 x i32> <{_numbers(range(8))}>")


class _FirstTwo(NamedTuple):
    """The first two lanes that execute; one twice, if no other does.

    Attributes:
        likely: i1: their elements are as if all were in a row.
        lane: i32: the first one's number.
        place: i32: what is at `%lo` of it.
        step: i32: from that to what the second has.
    """

    likely: str
    lane: str
    place: str
    step: str


def _first_two(ir: Builder, size: int) -> _FirstTwo:
    lane = ir.op("call i32 @llvm.cttz.i32(i32 %mask, i1 true)")
    others = ir.op(f"and i32 %mask, {ir.op('sub i32 %mask, 1')}")
    other = ir.op(f"call i32 @llvm.cttz.i32(i32 {others}, i1 false)")
    other = ir.op(f"select i1 {ir.op(f'icmp eq i32 {others}, 0')}, i32 {lane}, i32 {other}")
    words = [
        ir.get("i32", "%lo", ir.op(f"shl i64 {ir.op(f'zext i32 {n} to i64')}, 2"))
        for n in (lane, other)
    ]
    step = ir.op(f"sub i32 {words[1]}, {words[0]}")
    size_of_step = ir.op(f"call i32 @llvm.abs.i32(i32 {step}, i1 false)")
    wanted = ir.op(f"mul i32 {ir.op(f'sub i32 {other}, {lane}')}, {size}")
    likely = ir.op(f"icmp eq i32 {size_of_step}, {wanted}")
    likely = ir.op(f"or i1 {likely}, {ir.op(f'icmp eq i32 {step}, 0')}")
    return _FirstTwo(likely, lane, words[0], step)


class _Line(NamedTuple):
    """Elements in a row.

    Attributes:
        near: i1: those of lanes that execute are so, and no other lane's is outside.
        step: i32: above 0: those of later lanes follow, below 0: they come before; 0: all are one.
        first: i64: bytes from the base to that of the first lane that executes.
        lowest: i64: to the lowest of all lanes.
    """

    near: str
    step: str
    first: str
    lowest: str


def _line(ir: Builder, reached: Reached, size: int, pair: _FirstTwo) -> _Line:
    """Test whether all lanes that execute access elements in a row."""
    step = pair.step
    first = ir.op(f"add i32 {pair.place}, {ir.op(f'trunc i64 {reached.add} to i32')}")
    before = ir.op(f"mul i32 {pair.lane}, {size}")
    down = ir.op(f"icmp slt i32 {step}, 0")
    alike = ir.op(f"icmp eq i32 {step}, 0")
    back = ir.op(f"select i1 {down}, i32 {ir.op(f'sub i32 0, {before}')}, i32 {before}")
    back = ir.op(f"select i1 {alike}, i32 0, i32 {back}")
    start = ir.op(f"sub i32 {first}, {back}")
    signs = _eight_times(ir, ir.op(f"zext i32 {step} to i64"))
    starts = _eight_times(ir, ir.op(f"zext i32 {start} to i64"))
    apart = []
    for number, places, chosen in _eights(reached):
        steps = f"<{_numbers(size * n for n in range(number, number + 8))}>"
        goal = ir.op(f"call {EIGHT} @llvm.x86.avx2.psign.d({EIGHT} {steps}, {EIGHT} {signs})")
        goal = ir.op(f"add {EIGHT} {goal}, {starts}")
        apart.append(ir.op(f"and {EIGHT} {ir.op(f'xor {EIGHT} {goal}, {places}')}, {chosen}"))
    lowest = ir.op(f"select i1 {down}, i32 {ir.op(f'sub i32 {start}, {31 * size}')}, i32 {start}")
    lowest = ir.op(f"zext i32 {lowest} to i64")
    end = ir.op(f"add i64 {lowest}, {32 * size}")
    # A number below 0 is beyond any limit here.
    whole = ir.op(f"or i1 {alike}, {ir.op(f'icmp ule i64 {end}, {reached.limit}')}")
    near = ir.op(f"and i1 {_none(ir, apart)}, {whole}")
    return _Line(near, step, ir.op(f"zext i32 {first} to i64"), lowest)


def _loaded(
    b: Body, reached: Reached, places: str, chosen: str, size: int, signed: bool
) -> list[str]:
    """The words that eight lanes load."""
    ir = b.ir
    if size > 4 and reached.apart == 4:
        pointers = [ir.at(reached.base, offset) for offset in offsets_of(ir, places)]
        rows = eight_loaded(ir, size // 4, pointers)
    elif b.by_lane:
        pointers = [ir.at(reached.base, offset) for offset in offsets_of(ir, places)]
        rows = [
            _one_by_one(ir, [ir.at(pointer, reached.apart * n) for pointer in pointers], size)
            for n in range(max(1, size // 4))
        ]
        if size < 4 and signed:
            rows = [
                _shifted(ir, "ashr", _shifted(ir, "shl", rows[0], 32 - 8 * size), 32 - 8 * size)
            ]
    else:
        return _gathered(ir, reached, places, chosen, size, signed)
    return [ir.op(f"and {EIGHT} {row}, {chosen}") for row in rows]


def _one_by_one(ir: Builder, pointers: list[str], size: int) -> str:
    """Words, or smaller elements with zeros above, of eight lanes at host pointers."""
    bits = 8 * min(size, 4)
    count = max(8, 128 // bits)
    kind = f"<{count} x i{bits}>"
    made = "poison"
    for n, pointer in enumerate(pointers):
        one = ir.get(f"i{bits}", pointer, 0, bits // 8)
        made = ir.op(f"insertelement {kind} {made}, i{bits} {one}, i64 {n}")
    if bits == 32:
        return made
    picks = ", ".join(f"i32 {n}" for n in range(8))
    part = ir.op(f"shufflevector {kind} {made}, {kind} poison, <8 x i32> <{picks}>")
    return ir.op(f"zext <8 x i{bits}> {part} to {EIGHT}")


def _shifted(ir: Builder, how: str, words: str, by: int) -> str:
    return ir.op(f"{how} {EIGHT} {words}, splat (i32 {by})")


def _gathered(
    ir: Builder, reached: Reached, places: str, chosen: str, size: int, signed: bool
) -> list[str]:
    """The words that eight lanes load, by gather instructions."""
    index = _shifted(ir, "lshr", places, 2)
    rows = [
        gather_eight(ir, ir.at(reached.base, reached.apart * n), index, chosen)
        for n in range(max(1, size // 4))
    ]
    if size < 4:
        inside = ir.op(f"and {EIGHT} {places}, splat (i32 3)")
        by = _shifted(ir, "shl", inside, 3)
        top = _shifted(ir, "shl", ir.op(f"lshr {EIGHT} {rows[0]}, {by}"), 32 - 8 * size)
        rows = [_shifted(ir, "ashr" if signed else "lshr", top, 32 - 8 * size)]
    return rows


def store(
    b: Body, reached: Reached, size: int, rows: Sequence[str], marks: str = "", alone: bool = True
) -> None:
    """The rest of a store, and return.

    Args:
        rows: pointers to rows of words; none: all bits of every word are set.
        marks: bytes to the marks of what is stored, which are written, too; "": to none.
        alone: no other host thread may store there.
    """
    ir = b.ir
    with ir.returning(ir.op("icmp eq i32 %mask, -1")):
        _store_all(ir, reached, size, rows, marks)
        ir.line("ret i1 true")
    if alone:
        count = ir.op("call i32 @llvm.ctpop.i32(i32 %mask)")
        with ir.returning(ir.op(f"icmp ugt i32 {count}, {_MANY_MARKED if marks else _MANY}")):
            filled, copies = _filled(ir, reached, rows)
            _store_all(ir, filled, size, copies, marks)
            ir.line("ret i1 true")
    _store_some(ir, reached, size, rows, marks)
    ir.line("ret i1 true")


def _store_all(
    ir: Builder, reached: Reached, size: int, rows: Sequence[str], marks: str = ""
) -> None:
    """A store of 32 lanes, in ascending order."""
    for first, places in zip(FIRSTS, reached.places, strict=True):
        pointers = [ir.at(reached.base, offset) for offset in offsets_of(ir, places)]
        if size > 4 and reached.apart == 4 and rows and not marks:
            data = [ir.get(EIGHT, row, 4 * first, 32) for row in rows]
            store_eight(ir, data, pointers)
            continue
        for at in range(0, 8, 2):
            _store_pair(ir, reached, pointers[at : at + 2], first + at, size, rows, marks)


def _store_pair(
    ir: Builder,
    reached: Reached,
    pointers: list[str],
    lane: int,
    size: int,
    rows: Sequence[str],
    marks: str,
) -> None:
    """The part of `_store_all` of two lanes, an even one and the next."""
    for n in range(max(1, size // 4)):
        words = pair_at(ir, rows[n], lane) if rows else ["-1", "-1"]
        for pointer, word in zip(pointers, words, strict=True):
            place = ir.at(pointer, reached.apart * n)
            _store_part(ir, place, word, size)
            if marks:
                _store_part(ir, ir.at(place, marks), "-1", size)


def _store_part(ir: Builder, pointer: str, word: str, size: int) -> None:
    """Store as many bytes of an i64 as a lane has, at most a word."""
    kind = f"i{8 * min(size, 4)}"
    value = word if word == "-1" else ir.op(f"trunc i64 {word} to {kind}")
    ir.put(kind, value, pointer, 0, min(size, 4))


def _filled(ir: Builder, reached: Reached, rows: Sequence[str]) -> tuple[Reached, list[str]]:
    """A store of all lanes in which those that do not execute store what the last that does stores.

    A loop over the lanes that execute ends unforeseen, which takes longer than to store all where
    many do.  What the last one stores is stored again by others: only where no other host thread
    may store.
    """
    above = ir.op("call i32 @llvm.ctlz.i32(i32 %mask, i1 true)")
    last = ir.op(f"zext i32 {ir.op(f'sub i32 31, {above}')} to i64")
    at = ir.op(f"shl i64 {last}, 2")
    words = kept(ir, reached.places)

    def filled(parts: list[str], row: str) -> list[str]:
        other = ir.op(f"zext i32 {ir.get('i32', row, at)} to i64")
        other = _eight_times(ir, other)
        made = []
        for part, lanes in zip(parts, reached.chosen, strict=True):
            own = ir.op(f"icmp slt {EIGHT} {lanes}, zeroinitializer")
            made.append(ir.op(f"select <8 x i1> {own}, {EIGHT} {part}, {EIGHT} {other}"))
        return made

    places = filled(reached.places, words)
    copies = [
        kept(ir, filled([ir.get(EIGHT, row, 4 * first, 32) for first in FIRSTS], row))
        for row in rows
    ]
    return reached._replace(places=places), copies


def kept(ir: Builder, parts: list[str]) -> str:
    """A pointer to 32 words."""
    place = ir.op("alloca <32 x i32>, align 128")
    for first, part in zip(FIRSTS, parts, strict=True):
        ir.put(EIGHT, part, place, 4 * first, 32)
    return place


def _store_some(ir: Builder, reached: Reached, size: int, rows: Sequence[str], marks: str) -> None:
    """A store of the lanes that execute, in ascending order, of which there is at least one."""
    words = kept(ir, reached.places)
    kind = f"i{8 * min(size, 4)}"
    with lanes_in_turn(ir) as lane:
        at = ir.op(f"shl i64 {lane}, 2")
        offset = ir.op(f"zext i32 {ir.get('i32', words, at)} to i64")
        pointer = ir.at(reached.base, offset)
        for n in range(max(1, size // 4)):
            value = ir.get(kind, rows[n], at) if rows else "-1"
            place = ir.at(pointer, reached.apart * n)
            ir.put(kind, value, place, 0, min(size, 4))
            if marks:
                ir.put(kind, "-1", ir.at(place, marks), 0, min(size, 4))


# ---- where no window reaches ---------------------------------------------------------------


def load_each(b: Body, base: str, inside: Val, apart: int, size: int, signed: bool) -> None:
    """The rest of a load of checked lanes, one after another: it is seldom, and less to compile.

    Args:
        inside: offsets of 64 bits.
        apart: as in `Reached`.
    """
    ir, kind = b.ir, f"i{8 * min(size, WORD)}"
    for n in range(max(1, size // WORD)):
        ir.put(I32, "zeroinitializer", "%out", 128 * n, 64)
    with _lane_by_lane(ir, base, inside) as (at, pointer):
        for n in range(max(1, size // WORD)):
            value = ir.get(kind, pointer, apart * n, min(size, WORD))
            if size < WORD:
                value = ir.op(f"{'sext' if signed else 'zext'} {kind} {value} to i32")
            ir.put("i32", value, ir.at("%out", at), 128 * n)
    ir.line("ret i1 true")


def store_each(b: Body, base: str, inside: Val, apart: int, size: int, rows: Sequence[str]) -> None:
    """The rest of a store, likewise.

    Args:
        rows: as of `store`.
    """
    ir, kind = b.ir, f"i{8 * min(size, WORD)}"
    with _lane_by_lane(ir, base, inside) as (at, pointer):
        for n in range(max(1, size // WORD)):
            value = ir.get(kind, rows[n], at) if rows else "-1"
            ir.put(kind, value, pointer, apart * n, min(size, WORD))
    ir.line("ret i1 true")


@contextmanager
def _lane_by_lane(ir: Builder, base: str, inside: Val) -> Iterator[tuple[str, str]]:
    """Statements for each lane that executes; yields (i64: bytes to its word in a row, pointer)."""
    places = ir.op("alloca <32 x i64>, align 64")
    ir.put("<32 x i64>", inside.ref, places, 0, 64)
    with lanes_in_turn(ir) as lane:
        offset = ir.get("i64", places, ir.op(f"shl i64 {lane}, 3"))
        yield ir.op(f"shl i64 {lane}, 2"), ir.at(base, offset)


@contextmanager
def lanes_in_turn(ir: Builder) -> Iterator[str]:
    """Statements for each lane that executes, in ascending order; yields its number, i64."""
    left = ir.var("i32", "%mask")
    with ir.loop() as (_, after):
        now = ir.get("i32", left)
        ir.unless(ir.op(f"icmp eq i32 {now}, 0"), after)
        lane = ir.op(f"call i32 @llvm.cttz.i32(i32 {now}, i1 true)")
        ir.put("i32", ir.op(f"and i32 {now}, {ir.op(f'sub i32 {now}, 1')}"), left)
        yield ir.op(f"zext i32 {lane} to i64")


# ---- updates -------------------------------------------------------------------------------


def in_a_row(ir: Builder, reached: Reached) -> tuple[str, str]:
    """(i64: bytes to the first lane's word, i32: 0 if the others' words follow it)."""
    first = ir.op(f"extractelement {EIGHT} {reached.places[0]}, i64 0")
    at = ir.op(f"zext i32 {first} to i64")
    spread, apart = _eight_times(ir, at), []
    for begin, places in zip(FIRSTS, reached.places, strict=True):
        steps = ", ".join(f"i32 {4 * lane}" for lane in range(begin, begin + 8))
        goal = ir.op(f"add {EIGHT} {spread}, <{steps}>")
        apart.append(ir.op(f"xor {EIGHT} {places}, {goal}"))
    away = ir.op(f"zext i1 {ir.op(f'xor i1 {_none(ir, apart)}, true')} to i32")
    return at, away


def update_all(
    ir: Builder,
    reached: Reached,
    row: str,
    new: Callable[[str, str], str],
    out: str = "%out",
) -> None:
    """Update the words of 32 lanes, in ascending order.

    Args:
        row: pointer to a word for each lane.
        new: emits the new word by the old one and that.
        out: pointer to where old words go; "": nowhere.
    """
    for first, places in zip(FIRSTS, reached.places, strict=True):
        pointers = [ir.at(reached.base, offset) for offset in offsets_of(ir, places)]
        for at in range(0, 8, 2):
            for n, given in enumerate(pair_at(ir, row, first + at), at):
                old = ir.get("i32", pointers[n])
                word = ir.op(f"trunc i64 {given} to i32")
                ir.put("i32", new(old, word), pointers[n])
                if out:
                    ir.put("i32", old, out, 4 * (first + n))


__all__ = [
    "WINDOWS", "Reached", "begins_in_a_row", "constant_window", "in_a_row", "kept", "load",
    "load_each", "local_window", "store", "store_each", "update_all",
]  # fmt: skip
