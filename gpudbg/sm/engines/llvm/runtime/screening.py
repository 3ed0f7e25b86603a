"""Screening for checks: compiled code that reads rows of accesses (`gpudbg.sm.trace`, `ordered`)
and tells whether one could be a data race, a read of unwritten memory, or a barrier that not all
threads reach.

The answer "may be" is conservative: an exact check of the same launch follows it.  So only few
orders are known (program order, lanes that are active together, barriers of whole CTAs, lanes after
`__syncwarp`), and shadow words summarise accesses rather than list them.

Beside every four bytes of memory that is touched lie three words (`screening_words`): the last
write, the last reads and the last strong accesses (atomics).  A later access that is neither
ordered after the earlier one nor in conflict with it widens the recorded accessor (lane, warp, CTA,
several CTAs).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer, Variable
from gpudbg.sm.engines.llvm.runtime import screening_lanes, screening_near
from gpudbg.sm.engines.llvm.runtime.screening_lanes import WIDTHS, Judged, LaneWords, WordPlaces
from gpudbg.sm.engines.llvm.runtime.screening_near import (
    MOST_COUNT,
    PAIR_BYTES,
    NearAccess,
    NearWords,
)
from gpudbg.sm.engines.llvm.runtime.screening_words import (
    ATOMIC,
    CTA_SHIFT,
    CTAS_MANY,
    LANES,
    MASK_SHIFT,
    MOMENT,
    PAGE_BYTES,
    PAGE_SHIFT,
    PLANE_BYTES,
    READ,
    RO_BIT,
    TOUCHED,
    WARPS_MANY,
    WHO_MASK,
    WHO_SHIFT,
    WORD_BYTES,
    WRITE,
)
from gpudbg.sm.trace import ACCESS_BYTES, KINDS, SPACES, SYNCS, WORDS

FUNCTION: Final = "gpudbg_screen"
DRAIN: Final = "gpudbg_screen_drain"
FIELDS: Final = (
    "first_page", "pages", "page_count", "pool", "pool_end", "shared", "shared_stride",
    "shared_bytes", "ctas", "slots", "warps", "last_valid", "code", "flags", "lock_step",
    "window", "window_bytes", "local_window", "undefined", "undefined_count", "local",
    "local_stride", "local_low", "local_start", "local_bytes", "races", "definedness", "barriers",
    "system_shared", "suspects", "shared_suspects", "final", "found", "found_at", "found_address",
    "done",
)  # fmt: skip
"""Words that the function is given and returns, 64 bits each:

first_page, pages, page_count: number of the first page of memory, pointers to pages of words, 0
    where there is none yet, with the kinds that were written there in their lowest bits (bit
    `WRITE`, `ATOMIC`); pool, pool_end: where new ones are taken from.
shared, shared_stride, shared_bytes: words of shared memory of the first resident CTA, bytes to the
    next one's, bytes of a CTA's shared memory.
ctas: what is kept of resident CTAs; slots, warps: warp slots of an SM, warps of a CTA; last_valid:
    lanes of the last one.
code, flags: address of the first instruction, and a byte for every eight of code (`STRONG`...).
window, window_bytes, local_window: where shared and local memory are in generic addresses.
undefined, undefined_count: rows of (begin, end, bytes that are not 0 where undefined).
local and the rest: bytes that were written of local memory, a byte of bits for a word of a lane.
races, definedness, barriers: whether to look for them.
system_shared: bytes at the begin of shared memory that nobody may touch.
suspects, shared_suspects: a bit for every four bytes of memory from the first page on, and of a
    CTA's shared memory: an access to them may race; final: reasons after which the rest is of no
    use.
found, found_at, found_address: reasons (`REASONS`) that were found, pc and address of the first.
done: rows of the buffer that were looked at before it was left.
"""
FIELD: Final = {name: 8 * n for n, name in enumerate(FIELDS)}
REASONS: Final = ("race", "undefined", "barrier", "shuffle", "too_long", "reserved")
STRONG: Final = 1
READ_ONLY: Final = 2
WEAK: Final = 4
ALL_LANES: Final = 8
"""Flags of an instruction. STRONG: its accesses are strong at GPU scope; READ_ONLY: it reads
through the read-only cache; WEAK: its atomics are not strong at GPU scope; ALL_LANES: it requires
all lanes.
"""

WARP_BYTES: Final = 16
CTA_BYTES: Final = 72 + 32 * WARP_BYTES
"""Of a resident CTA: its number + 1, its count, the count at its last barrier, who has arrived,
pc of the first that did, its shared words, bytes of its shared memory never written, whether
`screening_near` judges that, whether its barriers are taken for no orders; of each warp: lanes of
the last access (all where all were active), counts when those lanes began, when all lanes were last
together, at `__syncwarp`."""
(
    _NUMBER, _COUNT, _BARRIER, _ARRIVED, _PC, _SHARED, _UNWRITTEN, _NEAR, _VOID, _WARPS,
) = range(0, 80, 8)  # fmt: skip
_LAST, _BEGAN, _TOGETHER, _SYNCED = range(0, 16, 4)

LATEST: Final = (1 << 24) - 64
_SIZES: Final = (15 << MASK_SHIFT) - (1 << 64)


@dataclass(slots=True)
class _Row:
    """Fields of the row being examined, as IR values."""

    pc: Int
    lanes: Int
    warp: Int
    cta: Int
    size: Int
    together: Int
    state: TypedPointer
    own: TypedPointer
    strong: Int
    writes: Int
    read_only: Int
    made: _Made | None = None


@dataclass(slots=True)
class _Made:
    """Values that are the same for all lanes of an access, computed once its count is known.

    Attributes:
        count, me: the CTA's count, and a word with it and the CTA.
        barrier, joined, began, synced: counts of the CTA's last barrier, and of the warp.
        many: the number of many lanes of the warp; `whole`: it stands for those that access.
        code: the size of a strong access as a word has it.
        shared: words of the CTA's shared memory.
        uniform: many lanes load from one place, of which one is looked at.
    """

    count: Int
    me: Int
    barrier: Int
    joined: Int
    began: Int
    synced: Int
    many: Int
    whole: Int
    code: Int
    shared: Int
    uniform: Int


class _Cell:
    """The words of four bytes of memory."""

    def __init__(self, ir: Builder, place: Int, plane: Int) -> None:
        self._ir, self._place, self._plane = ir, place, plane

    def load(self, what: int) -> Int:
        """One of them."""
        return self._at(what).load(64)

    def store(self, value: Int, what: int) -> None:
        """Write one of them."""
        self._at(what).store(64, value)

    def _at(self, what: int) -> TypedPointer:
        place = self._place + self._plane * what
        return TypedPointer(self._ir, self._ir.op(f"inttoptr i64 {place.ref} to ptr"))


class Screen:
    """Emits the screening function."""

    def __init__(self) -> None:
        self.ir = ir = Builder()
        self.ctx = TypedPointer(ir, "%ctx")
        self._wanted = {n: self._field(n) for n in ("races", "definedness", "barriers")}
        self._lock_step = self._field("lock_step").differs(0)
        self._races = self._wanted["races"].differs(0)
        self._definedness = self._wanted["definedness"].differs(0)
        self._barriers = self._wanted["barriers"].differs(0)

    def text(self) -> str:
        """`i64 gpudbg_screen(ctx, rows, first, count)`: the row it stopped at, `count` at the end;
        before that it wants a page."""
        ir = self.ir
        at = Variable(ir, 64, Int(ir, 64, "%first"))
        with ir.loop() as (head, done):
            index = at.get()
            ir.unless(index.compare("uge", Int(ir, 64, "%count")).ref, done)  # type: ignore[arg-type]
            self._row(TypedPointer(ir, "%rows").at(index * ACCESS_BYTES), at)
            at.set(at.get() + 1)
            del head
        ir.line(f"ret i64 {at.get().ref}")
        return ir.close(f"define i64 @{FUNCTION}(ptr %ctx, ptr %rows, i64 %first, i64 %count)")

    # ---- pieces ------------------------------------------------------------------------
    def _field(self, name: str) -> Int:
        return self.ctx.load(64, FIELD[name])

    @contextmanager
    def _when(self, condition: Int) -> Iterator[None]:
        with self.ir.when(str(condition.ref)):
            yield

    def _found(self, reason: str, pc: Int, address: Int | int = 0) -> None:
        before = self._field("found")
        with self._when(before.equals(0)):
            self.ctx.store(64, pc, FIELD["found_at"])
            self.ctx.store(64, address, FIELD["found_address"])
        self.ctx.store(64, before | (1 << REASONS.index(reason)), FIELD["found"])

    # ---- a row -------------------------------------------------------------------------
    def _row(self, row: TypedPointer, at: Variable) -> None:
        ir = self.ir
        pc, second, third = row.load(64), row.load(64, 8), row.load(64, 16)
        lanes = second.trunc(32)
        what = second >> 32 & 0xFFFF
        kind, space, size = what & 15, what >> 4 & 15, what >> 8
        warp, cta = second >> 48, third >> 32
        with self._when(lanes.differs(0)):
            slot = (third >> 8 & 0xFF) + (third >> 20 & 511) * self._field("slots") - warp
            state = TypedPointer(ir, ir.op(f"inttoptr i64 {self._field('ctas').ref} to ptr"))
            state = state.at(slot * CTA_BYTES)
            with self._when(state.load(64, _NUMBER).differs(cta + 1)):
                self._begin(state, cta, slot)
            own = state.at(warp * WARP_BYTES).at(_WARPS)
            with self._when((state.load(64, _ARRIVED) >> warp & 1).differs(0)):
                # This warp goes on while others of the CTA have not arrived.
                state.store(64, 0, _ARRIVED)
                with self._when(self._barriers | self._races):
                    self._unequal(state, pc)
            last = warp.equals(self._field("warps") - 1)
            valid = last.select(self._field("last_valid").trunc(32), Int(ir, 32, -1))
            together = (third & 1).differs(0) | lanes.equals(valid)
            sync = kind.equals(KINDS.index("sync"))
            then, other, after = ir.fresh("sync"), ir.fresh("access"), ir.fresh("row")
            ir.choose(str(sync.ref), then, other)
            ir.label(then)
            self._sync(space, pc, lanes, valid, warp, state, own)
            ir.br(after)
            ir.label(other)
            flags = self._flags(pc)
            atomic = kind.equals(KINDS.index("atomic"))
            strong = (flags & STRONG).differs(0) | (atomic & (flags & WEAK).equals(0))
            about = _Row(
                pc, lanes, warp, cta, size, together, state, own,
                strong & (size >= 4), kind.differs(KINDS.index("load")),
                (flags & READ_ONLY).differs(0),
            )  # fmt: skip
            # Where all shared memory has been written, no shared read can be undefined.
            shared = space.equals(SPACES.index("shared"))
            whole = state.load(64, _UNWRITTEN).equals(0) & ~self._races & shared
            ir.unless(str(whole.ref), after)
            self._access(about, row, space, kind, at)
            ir.br(after)
            ir.label(after)

    def _flags(self, pc: Int) -> Int:
        flags = TypedPointer(self.ir, self.ir.op(f"inttoptr i64 {self._field('flags').ref} to ptr"))
        return flags.at((pc - self._field("code")) >> 3).load(8)

    def _begin(self, state: TypedPointer, cta: Int, slot: Int) -> None:
        """Reset the state of a slot: a CTA has taken another's place."""
        ir = self.ir
        waits = state.load(64, _ARRIVED).differs(0)
        with self._when(waits & (self._barriers | self._races)):
            self._found("barrier", state.load(64, _PC))
        ir.line(f"call void @llvm.memset.p0.i64(ptr {state.ref}, i8 0, i64 {CTA_BYTES}, i1 false)")
        for warp in range(32):
            state.store(32, -1, _WARPS + warp * WARP_BYTES + _LAST)
        state.store(64, cta + 1, _NUMBER)
        state.store(64, 1, _COUNT)
        state.store(64, self._field("shared_bytes"), _UNWRITTEN)
        place = slot // self._field("warps")
        words = self._field("shared") + place * self._field("shared_stride")
        state.store(64, words, _SHARED)
        with self._when(self._races):
            state.store(64, 1, _NEAR)
            at, size = ir.op(f"inttoptr i64 {words.ref} to ptr"), self._shared_words() * PAIR_BYTES
            ir.line(f"call void @llvm.memset.p0.i64(ptr {at}, i8 0, i64 {size.ref}, i1 false)")
        stride = self._field("local_stride")
        with self._when(stride.differs(0)):
            bytes_ = stride * self._field("warps")
            start = self._field("local") + slot * stride
            at = ir.op(f"inttoptr i64 {start.ref} to ptr")
            ir.line(f"call void @llvm.memset.p0.i64(ptr {at}, i8 0, i64 {bytes_.ref}, i1 false)")

    def _tick(self, state: TypedPointer, pc: Int) -> Int:
        """Advance the CTA's count. Returns the new value."""
        count = state.load(64, _COUNT) + 1
        state.store(64, count, _COUNT)
        with self._when(count >= LATEST):
            self._found("too_long", pc)
            state.store(64, LATEST, _COUNT)
        return count

    # ---- what orders -------------------------------------------------------------------
    def _sync(
        self, which: Int, pc: Int, lanes: Int, valid: Int, warp: Int, state: TypedPointer,
        own: TypedPointer,
    ) -> None:  # fmt: skip
        whole = lanes.equals(valid)
        asked = self._barriers | self._races
        with self._when(which.equals(SYNCS.index("barrier"))):
            arrived = state.load(64, _ARRIVED)
            with self._when(arrived.equals(0)):
                state.store(64, pc, _PC)
            with self._when(asked & (~whole | state.load(64, _PC).differs(pc))):
                self._unequal(state, pc)
            now = arrived | Int(self.ir, 64, 1) << warp
            state.store(64, now, _ARRIVED)
            all_ = (Int(self.ir, 64, 1) << self._field("warps")) - 1
            with self._when(now.equals(all_)):
                state.store(64, 0, _ARRIVED)
                with self._when(state.load(64, _VOID).equals(0)):
                    state.store(64, self._tick(state, pc), _BARRIER)
        with self._when(which.equals(SYNCS.index("other_barrier")) & asked):
            self._found("barrier", pc)
        with self._when(which.equals(SYNCS.index("warp")) & whole & ~self._lock_step):
            own.store(32, self._tick(state, pc).trunc(32), _SYNCED)
        asks = (self._flags(pc) & ALL_LANES).differs(0) & self._barriers
        with self._when(which.equals(SYNCS.index("warp")) & ~whole & asks):
            self._found("barrier", pc)
        with self._when(which.equals(SYNCS.index("masked_warp")) & self._barriers):
            self._found("barrier", pc)
        with self._when(which.equals(SYNCS.index("shuffle")) & lanes.differs(-1) & self._barriers):
            self._found("shuffle", pc)

    def _unequal(self, state: TypedPointer, pc: Int) -> None:
        """Threads of a CTA do not all come to a barrier: from now on none is taken for an order."""
        self._found("barrier", pc)
        state.store(64, 1, _VOID)

    # ---- accesses ----------------------------------------------------------------------
    def _access(self, row: _Row, rows: TypedPointer, space: Int, kind: Int, at: Variable) -> None:
        ir = self.ir
        self._lanes_of(row)
        shared_space = space.equals(SPACES.index("shared"))
        judged = ir.fresh("judged")
        with self._when(shared_space & row.state.load(64, _NEAR).differs(0)):
            self._near(row, rows, kind, judged)
        with self._when(row.writes):
            self._tick(row.state, row.pc)
        uniform, few = self._uniform(row, rows)
        row.made = self._made(row, uniform)
        reads = kind.differs(KINDS.index("store"))
        local_space = space.equals(SPACES.index("local"))
        generic = space.equals(SPACES.index("generic"))
        left = Variable(ir, 32, few)
        plain = shared_space | space.equals(SPACES.index("global"))
        atomic = kind.equals(KINDS.index("atomic"))
        plain = plain & ~uniform & row.strong.equals(atomic) & (row.size.equals(4) | ~atomic)
        with self._when(plain & self._races):
            self._groups(row, rows, shared_space, left)
        with ir.loop() as (_, done):
            lanes = left.get()
            ir.unless(str(lanes.equals(0).ref), done)
            lane = Int(ir, 32, ir.op(f"call i32 @llvm.cttz.i32(i32 {lanes.ref}, i1 true)"))
            left.set(lanes & (lanes - 1))
            address = rows.at((lane.zext(64) << 3) + 8 * WORDS).load(64)
            into = address - self._field("window")
            shared = shared_space | (generic & (into < self._field("window_bytes")))
            deep = address - self._field("local_window")
            local = local_space | (generic & ~shared & (deep < (1 << 24)))
            offset = (shared_space | local_space).select(address, shared.select(into, address))
            here, there, on = ir.fresh("local"), ir.fresh("memory"), ir.fresh("on")
            ir.choose(str(local.ref), here, there)
            ir.label(here)
            with self._when(self._definedness & self._field("local_stride").differs(0)):
                self._local(row, local_space.select(address, deep) & 0xFFFFFF, lane, reads)
            ir.br(on)
            ir.label(there)
            self._granules(row, shared, offset, lane, reads, at)
            ir.br(on)
            ir.label(on)
        ir.br(judged)
        ir.label(judged)

    def _near(self, row: _Row, rows: TypedPointer, kind: Int, judged: str) -> None:
        """Judge a whole access to shared memory and go to a label, where it is plainly right."""
        ir, state = self.ir, row.state
        atomic = kind.equals(KINDS.index("atomic"))
        size, count = row.size, state.load(64, _COUNT)
        plain = (size & size - 1).equals(0) & (size >= 4) & row.strong.equals(atomic)
        plain = plain & (size.equals(4) | ~atomic) & ~row.read_only & (count < MOST_COUNT)
        with self._when(plain):
            words = NearWords(ir)
            given = ir.get("<32 x i64>", rows.at(8 * WORDS).ref, 0, 8)
            words.judge(self._near_access(row, atomic, count.trunc(32)), given)
            with self._when(words.raced.get()):
                self._all_suspect(row, rows)
            ir.unless(str(words.right.get().ref), judged)
        self._leave_near(row)

    def _all_suspect(self, row: _Row, rows: TypedPointer) -> None:
        """All shared memory that an access touches may race."""
        left = Variable(self.ir, 32, row.lanes)
        with self.ir.loop() as (_, done):
            lanes = left.get()
            self.ir.unless(str(lanes.equals(0).ref), done)
            lane = Int(
                self.ir, 32, self.ir.op(f"call i32 @llvm.cttz.i32(i32 {lanes.ref}, i1 true)")
            )
            left.set(lanes & (lanes - 1))
            number = rows.at((lane.zext(64) << 3) + 8 * WORDS).load(64) >> 2
            at = Variable(self.ir, 64, 0)
            with self.ir.loop() as (_, out):
                self.ir.unless(str(((at.get() << 2) >= row.size).ref), out)
                self._race(row, Int(self.ir, 1, -1), number + at.get())
                at.set(at.get() + 1)

    def _race(self, row: _Row, shared: Int, number: Int) -> None:
        """An access to a granule may race."""
        self._found("race", row.pc, number << 2)
        first = self._field("first_page") << PAGE_SHIFT - 2
        table = shared.select(self._field("shared_suspects"), self._field("suspects"))
        bit = shared.select(number, number - first)
        place = self.ir.op(f"inttoptr i64 {(table + (bit >> 3)).ref} to ptr")
        marks = TypedPointer(self.ir, place)
        mark = (Int(self.ir, 64, 1) << (bit & 7)).trunc(8)
        marks.store(8, marks.load(8) | mark)

    def _near_access(self, row: _Row, atomic: Int, count: Int) -> NearAccess:
        state, own = row.state, row.own
        place = self.ir.op(f"inttoptr i64 {state.load(64, _SHARED).ref} to ptr")
        return NearAccess(
            row.lanes, row.warp.trunc(32), row.size, row.writes, atomic,
            self._lock_step & row.together, self._lock_step, row.together, count,
            state.load(64, _BARRIER).trunc(32), own.load(32, _TOGETHER), own.load(32, _BEGAN),
            own.load(32, _SYNCED), ~self._definedness, TypedPointer(self.ir, place),
            self._field("shared_bytes").trunc(32), self._field("system_shared").trunc(32),
        )  # fmt: skip

    def _leave_near(self, row: _Row) -> None:
        """From now on shared memory is judged by whole words."""
        place = self.ir.op(f"inttoptr i64 {row.state.load(64, _SHARED).ref} to ptr")
        NearWords(self.ir).leave(
            TypedPointer(self.ir, place), self._shared_words(), row.cta << CTA_SHIFT,
            self._definedness,
        )  # fmt: skip
        row.state.store(64, 0, _NEAR)

    def _shared_words(self) -> Int:
        return (self._field("shared_bytes") + 3) >> 2

    def _groups(self, row: _Row, rows: TypedPointer, shared: Int, left: Variable) -> None:
        """Judge together those lanes that are plainly right; the others are left."""
        ir, made = self.ir, row.made
        assert made is not None
        parted = self._lock_step.select(Int(ir, 64, 0), made.synced)
        whole = self._lock_step & row.together
        judged = Judged(
            row.cta, row.warp, row.writes, row.read_only, row.strong, shared, ~self._lock_step,
            whole, made.many, made.me, made.count, made.barrier,
            whole.select(Int(ir, 64, -1), parted),
            ~self._definedness | (~shared & self._field("undefined_count").equals(0)),
        )  # fmt: skip
        shadow = WordPlaces(
            shared.select(Int(ir, 64, -1), Int(ir, 64, (1 << PAGE_SHIFT) - 1)),
            shared.select(self._field("system_shared"), Int(ir, 64, 0)),
            shared.select(self._field("shared_bytes"), Int(ir, 64, -1)),
            self._plane(shared),
            lambda address: shared.select(made.shared, self._entry(address) & -TOUCHED),
            lambda address, what: shared | (self._entry(address) >> what & 1).differs(0),
            partial(self._touch, shared),
        )  # fmt: skip
        given, (most, least) = rows.at(8 * WORDS), WIDTHS
        with self._when(row.size >= 4):
            for width, line in (most, True), (most, False), (least, False):
                LaneWords(ir, judged, shadow, width, line).each(given, left, row.size)
        start = given.load(64)
        behind = self._behind(given, start, row.size) & row.lanes.equals(-1)
        with self._when((row.size < 4) & behind & (start & 3).equals(0)):
            LaneWords(ir, judged, shadow, least, line=True).bytes(start, left, row.size)

    def _behind(self, given: TypedPointer, start: Int, size: Int) -> Int:
        """i1: the lanes' addresses lie one behind the other."""
        ir = self.ir
        kind, numbers = "<32 x i64>", ", ".join(f"i64 {n}" for n in range(32))
        found, zeros = ir.get(kind, given.ref, 0, 8), "<32 x i32> zeroinitializer"
        step, first = (
            ir.op(f"insertelement {kind} poison, i64 {value.ref}, i32 0") for value in (size, start)
        )
        step, first = (
            ir.op(f"shufflevector {kind} {one}, {kind} poison, {zeros}") for one in (step, first)
        )
        row = ir.op(f"add {kind} {first}, {ir.op(f'mul {kind} {step}, <{numbers}>')}")
        same = ir.op(f"bitcast <32 x i1> {ir.op(f'icmp eq {kind} {found}, {row}')} to i32")
        return Int(ir, 32, same).equals(-1)

    def _plane(self, shared: Int) -> Int:
        """Bytes from words of one kind to those of the next."""
        return shared.select(self._shared_words() * WORD_BYTES, Int(self.ir, 64, PLANE_BYTES))

    def _entry(self, address: Int) -> Int:
        """Where the words of a page of memory are, with the kinds that were touched in its lowest
        bits; 0: nowhere yet."""
        page = (address >> PAGE_SHIFT) - self._field("first_page")
        found = Variable(self.ir, 64, 0)
        with self._when(page < self._field("page_count")):
            found.set(self._slot_of(page).load(64))
        return found.get()

    def _slot_of(self, page: Int) -> TypedPointer:
        pages = self.ir.op(f"inttoptr i64 {self._field('pages').ref} to ptr")
        return TypedPointer(self.ir, pages).at(page << 3)

    def _touch(self, shared: Int, address: Int, what: int) -> None:
        """Words of one kind are written to in the page of an address."""
        with self._when(~shared):
            slot = self._slot_of((address >> PAGE_SHIFT) - self._field("first_page"))
            slot.store(64, slot.load(64) | 1 << what)

    def _uniform(self, row: _Row, rows: TypedPointer) -> tuple[Int, Int]:
        """(i1 whether all lanes read one place, lanes to examine: then only the first)."""
        ir = self.ir
        first = row.lanes & (Int(ir, 32, 0) - row.lanes)
        lane = Int(ir, 32, ir.op(f"call i32 @llvm.cttz.i32(i32 {first.ref}, i1 true)"))
        address = rows.at((lane.zext(64) << 3) + 8 * WORDS).load(64)
        given = ir.get("<32 x i64>", rows.at(8 * WORDS).ref, 0, 8)
        one = ir.op(f"insertelement <32 x i64> poison, i64 {address.ref}, i32 0")
        zeros = "<32 x i32> zeroinitializer"
        all_ = ir.op(f"shufflevector <32 x i64> {one}, <32 x i64> poison, {zeros}")
        same = ir.op(f"icmp eq <32 x i64> {given}, {all_}")
        equal = Int(ir, 32, ir.op(f"bitcast <32 x i1> {same} to i32"))
        uniform = (row.lanes & ~equal).equals(0) & ~row.writes & row.lanes.differs(first)
        return uniform, uniform.select(first, row.lanes)

    def _made(self, row: _Row, uniform: Int) -> _Made:
        state, own = row.state, row.own
        count = state.load(64, _COUNT)
        return _Made(
            count, row.cta << CTA_SHIFT | count, state.load(64, _BARRIER),
            own.load(32, _TOGETHER).zext(64), own.load(32, _BEGAN).zext(64),
            own.load(32, _SYNCED).zext(64), row.warp + LANES,
            uniform | (self._lock_step & row.together), self._code(row.size) << MASK_SHIFT,
            state.load(64, _SHARED), uniform,
        )  # fmt: skip

    def _lanes_of(self, row: _Row) -> None:
        """Update from an access's lanes whether the warp has diverged or is together."""
        ir, own = self.ir, row.own
        last = own.load(32, _LAST)
        whole, part, after = ir.fresh("whole"), ir.fresh("part"), ir.fresh("known")
        ir.choose(str(row.together.ref), whole, part)
        ir.label(whole)
        own.store(32, -1, _LAST)
        ir.br(after)
        ir.label(part)
        first = last.equals(-1)
        with self._when(first | (row.lanes & ~last).differs(0)):
            count = self._tick(row.state, row.pc).trunc(32)
            own.store(32, count, _BEGAN)
            with self._when(first):
                own.store(32, count, _TOGETHER)
        own.store(32, row.lanes, _LAST)
        ir.br(after)
        ir.label(after)

    def _local(self, row: _Row, address: Int, lane: Int, reads: Int) -> None:
        """Examine an access to a lane's local memory: undefined reads, written bytes."""
        ir = self.ir
        low, start = self._field("local_low"), self._field("local_start")
        place = (address < low).select(address, address - start + low)
        with self._when((place + row.size) <= self._field("local_bytes")):
            slot = self._slot(row)
            base = self._field("local") + slot * self._field("local_stride")
            table = TypedPointer(ir, ir.op(f"inttoptr i64 {base.ref} to ptr"))
            bits = self._bits(row.size, place)
            words = Variable(ir, 64, (row.size >> 2) + (row.size & 3).differs(0).zext(64))
            at = Variable(ir, 64, (place >> 2 << 5) + lane.zext(64))
            with ir.loop() as (_, done):
                ir.unless(str(words.get().equals(0).ref), done)
                words.set(words.get() - 1)
                cell = table.at(at.get())
                at.set(at.get() + 32)
                written = cell.load(8)
                with self._when(reads & (bits.trunc(8) & ~written).differs(0)):
                    self._found("undefined", row.pc, address)
                with self._when(row.writes):
                    cell.store(8, written | bits.trunc(8))

    def _slot(self, row: _Row) -> Int:
        """Number of the row's warp among the resident warps."""
        ir = self.ir
        state = ir.op(f"ptrtoint ptr {row.state.ref} to i64")
        return (Int(ir, 64, state) - self._field("ctas")) // CTA_BYTES + row.warp

    def _bits(self, size: Int, address: Int) -> Int:
        """Mask of the bytes of a four-byte word that an access of `size` at `address` touches."""
        small = ((Int(self.ir, 64, 1) << size) - 1) << (address & 3)
        return (size >= 4).select(Int(self.ir, 64, 15), small)

    def _granules(
        self, row: _Row, shared: Int, offset: Int, lane: Int, reads: Int, at: Variable
    ) -> None:
        """Loop over the four-byte granules that a lane's access touches."""
        ir = self.ir
        bits = self._bits(row.size, offset)
        begin, end = Variable(ir, 64, offset >> 2), (offset + row.size + 3) >> 2
        with ir.loop() as (head, done):
            number = begin.get()
            ir.unless(str((number >= end).ref), done)
            begin.set(number + 1)
            place = Variable(ir, 64)
            with self._when(shared):
                ir.unless(str(((number << 2) >= self._field("shared_bytes")).ref), head)
                assert row.made is not None
                with self._when(row.state.load(64, _NEAR).differs(0)):
                    self._leave_near(row)
                with self._when((number << 2) < self._field("system_shared")):
                    self._found("reserved", row.pc, number << 2)
                place.set(row.made.shared + number * WORD_BYTES)
            with self._when(~shared):
                page = (number >> PAGE_SHIFT - 2) - self._field("first_page")
                ir.unless(str((page >= self._field("page_count")).ref), head)
                slot = self._slot_of(page)
                with self._when(slot.load(64).equals(0)):
                    pool = self._field("pool")
                    with ir.returning(str((pool >= self._field("pool_end")).ref)):
                        ir.line(f"ret i64 {at.get().ref}")
                    slot.store(64, pool)
                    self.ctx.store(64, pool + PAGE_BYTES, FIELD["pool"])
                inside = number & (1 << PAGE_SHIFT - 2) - 1
                entry = slot.load(64) | row.writes.zext(64) << WRITE | row.strong.zext(64) << ATOMIC
                slot.store(64, entry)
                place.set((entry & -TOUCHED) + inside * WORD_BYTES)
            cell = _Cell(ir, place.get(), self._plane(shared))
            self._judge(row, cell, bits, lane.zext(64), shared, number, reads)

    # ---- words -------------------------------------------------------------------------
    def _judge(
        self, row: _Row, cell: _Cell, bits: Int, lane: Int, shared: Int, number: Int,
        reads: Int,
    ) -> None:  # fmt: skip
        """Examine an access to one granule against the earlier ones, then record it."""
        ir, made = self.ir, row.made
        assert made is not None
        mine = made.whole.select(made.many, (row.warp << 5) + lane)
        known, judged = ir.fresh("known"), ir.fresh("judged")
        ir.unless(str((~self._races).ref), judged)
        self._hold(row, cell, bits, lane, shared, number, reads, mine, known)
        ir.br(known)
        ir.label(judged)
        self._define(row, cell, bits, shared, number, reads)
        ir.br(known)
        ir.label(known)

    def _define(
        self, row: _Row, cell: _Cell, bits: Int, shared: Int, number: Int, reads: Int
    ) -> None:  # fmt: skip
        """Check whether the access reads unwritten bytes, and record the bytes it writes."""
        write = self._held(cell.load(WRITE), row, shared)
        missing = bits & ~(write >> MASK_SHIFT)
        with self._when(missing.differs(0)):
            with self._when(reads & self._definedness):
                self._undefined(row, shared, number, bits)
            with self._when(row.writes):
                assert row.made is not None
                held = write & (15 << MASK_SHIFT) - (1 << 64)
                cell.store(row.made.me | bits << MASK_SHIFT | held, WRITE)
                with self._when(shared):
                    count = self.ir.op(f"call i64 @llvm.ctpop.i64(i64 {missing.ref})")
                    left = row.state.load(64, _UNWRITTEN) - Int(self.ir, 64, count)
                    row.state.store(64, left, _UNWRITTEN)

    def _hold(
        self, row: _Row, cell: _Cell, bits: Int, lane: Int, shared: Int, number: Int,
        reads: Int, mine: Int, known: str,
    ) -> None:  # fmt: skip
        """Check the access for a race against earlier ones, then record it."""
        ir, made = self.ir, row.made
        assert made is not None
        raw = cell.load(READ)
        with self._when(~row.writes & ~row.strong):
            # The same has been read since the CTA last wrote anything: that was looked at, of many
            # warps where none of them has written it since they met.
            who = raw >> WHO_SHIFT & WHO_MASK
            last = self._held(cell.load(WRITE), row, shared)
            crowd = (who >= WARPS_MANY) & (last.equals(0) | self._before_barrier(last, row))
            alike = (raw & MOMENT).equals(made.me) & (who.equals(mine) | crowd)
            alike = alike & (bits & ~(raw >> MASK_SHIFT)).equals(0)
            alike = alike & (row.read_only.zext(64) & ~(raw >> RO_BIT)).equals(0)
            ir.unless(str(alike.ref), known)
        write, read, atomic = (
            self._held(word, row, shared) for word in (cell.load(WRITE), raw, cell.load(ATOMIC))
        )
        with self._when(self._definedness & reads):
            missing = (bits & ~(write >> MASK_SHIFT)).differs(0) & atomic.equals(0)
            with self._when(missing):
                self._undefined(row, shared, number, bits)
        self._conflicts(row, (write, read, atomic), bits, lane, (shared, number))
        strong, plain, after = ir.fresh("strong"), ir.fresh("plain"), ir.fresh("kept")
        ir.choose(str(row.strong.ref), strong, plain)
        ir.label(strong)
        # Two atomics of one size are no race but not ordered: earlier accesses remain relevant for
        # others.
        sized = (atomic & _SIZES).equals(made.code) | atomic.equals(0)
        size = sized.select(made.code, Int(ir, 64, _SIZES))
        cell.store(self._joined(atomic, row, lane, mine) | size, ATOMIC)
        ir.br(after)
        ir.label(plain)
        here = bits << MASK_SHIFT
        stores, loads = ir.fresh("stores"), ir.fresh("loads")
        ir.choose(str(row.writes.ref), stores, loads)
        ir.label(stores)
        held = write & _SIZES
        cell.store(self._joined(write, row, lane, mine) | here | held, WRITE)
        ir.br(after)
        ir.label(loads)
        held = read & (31 << RO_BIT) - (1 << 64)
        path = row.read_only.zext(64) << RO_BIT
        cell.store(self._joined(read, row, lane, mine) | here | held | path, READ)
        ir.br(after)
        ir.label(after)

    def _conflicts(
        self, row: _Row, words: tuple[Int, Int, Int], bits: Int, lane: Int, place: tuple[Int, Int]
    ) -> None:
        """Compare an access with the last write, reads and strong accesses of its granule."""
        write, read, atomic = words
        meets = (write >> MASK_SHIFT & bits).differs(0)
        self._race_unless(meets, write, row, lane, place)
        # Strong accesses conflict where sizes differ, or where they overlap plain accesses.
        assert row.made is not None
        sized = row.strong & (atomic >> MASK_SHIFT).equals(row.made.code >> MASK_SHIFT)
        self._race_unless(atomic.differs(0) & ~sized, atomic, row, lane, place)
        read_meets = row.writes & (read >> MASK_SHIFT & bits).differs(0)
        self._race_unless(read_meets, read, row, lane, place)
        # Reads through the read-only cache conflict with any write, whatever the order.
        path = row.read_only & (meets | atomic.differs(0))
        path = path | (read_meets & (read >> RO_BIT & 1).differs(0))
        with self._when(path & self._races):
            self._race(row, *place)

    def _race_unless(
        self, meets: Int, word: Int, row: _Row, lane: Int, place: tuple[Int, Int]
    ) -> None:
        """Report a race where bytes overlap, unless the earlier accesses happen before this one."""
        maybe = meets & self._races & ~self._before_barrier(word, row)
        with self._when(maybe), self._when(~self._ordered(word, row, lane)):
            self._race(row, *place)

    def _held(self, word: Int, row: _Row, shared: Int) -> Int:
        """A shadow word; 0 where it belongs to a CTA that was in this slot before."""
        other = (word >> CTA_SHIFT & 0xFFFFFF).differs(row.cta)
        return (shared & other).select(Int(self.ir, 64, 0), word)

    def _code(self, size: Int) -> Int:
        """A strong access's size encoded in four bits."""
        return size >> 2

    def _same_cta(self, word: Int, row: _Row) -> Int:
        who = word >> WHO_SHIFT & WHO_MASK
        return (word >> CTA_SHIFT & 0xFFFFFF).equals(row.cta) & who.differs(CTAS_MANY)

    def _before_barrier(self, word: Int, row: _Row) -> Int:
        """i1: the CTA has met at a barrier since the word was written."""
        assert row.made is not None
        return self._same_cta(word, row) & ((word & 0xFFFFFF) < row.made.barrier)

    def _ordered(self, word: Int, row: _Row, lane: Int) -> Int:
        """i1: the accesses recorded in a word happen before this one."""
        made = row.made
        assert made is not None
        count = word & 0xFFFFFF
        who = word >> WHO_SHIFT & WHO_MASK
        one = who.equals((row.warp << 5) + lane) & ~made.uniform
        single = who < LANES
        warp = single.select(who >> 5, who - LANES)
        same_warp = (who < WARPS_MANY) & warp.equals(row.warp)
        # Lanes that execute together are ordered after all earlier accesses of their warp.
        earlier = ~(row.writes & count.equals(made.count))
        phases = (
            row.together
            | (count < made.joined)
            | (count >= made.began)
            | (single & ((row.lanes.zext(64) >> (who & 31)) & 1).differs(0))
        )
        synced = count < made.synced
        in_warp = same_warp & self._lock_step.select(earlier & phases, synced)
        before = self._before_barrier(word, row)
        return before | (self._same_cta(word, row) & (one | in_warp))

    def _joined(self, old: Int, row: _Row, lane: Int, mine: Int) -> Int:
        """The recorded accessor after adding this access to those of `old`."""
        ir, made = self.ir, row.made
        assert made is not None
        result = Variable(ir, 64, mine)
        with self._when(old.differs(0) & ~self._before_barrier(old, row)):
            who_before = old >> WHO_SHIFT & WHO_MASK
            same_cta = self._same_cta(old, row)
            single = who_before < LANES
            warp = single.select(who_before >> 5, who_before - LANES)
            same_warp = (who_before < WARPS_MANY) & warp.equals(row.warp) & same_cta
            now = (old & 0xFFFFFF).equals(made.count)
            # Of one instruction: many lanes; of what is ordered: this one; else wider.  Without
            # lock-step many lanes are ordered together, by what orders all lanes of the warp.
            crowd = who_before.equals(mine).select(mine, made.many)
            wider = same_cta.select(Int(ir, 64, WARPS_MANY), Int(ir, 64, CTAS_MANY))
            wider = (same_warp & ~self._lock_step).select(made.many, wider)
            who = self._ordered(old, row, lane).select(mine, wider)
            result.set((same_warp & now).select(crowd, who))
        return made.me | result.get() << WHO_SHIFT

    def _undefined(self, row: _Row, shared: Int, number: Int, bits: Int) -> None:
        """Report a read of bytes that this launch has not written."""
        ir = self.ir
        with self._when(shared):
            self._found("undefined", row.pc, number << 2)
        with self._when(~shared & self._field("undefined_count").differs(0)):
            table = Variable(ir, 64, self._field("undefined"))
            left = Variable(ir, 64, self._field("undefined_count"))
            with ir.loop() as (head, done):
                ir.unless(str(left.get().equals(0).ref), done)
                left.set(left.get() - 1)
                entry = TypedPointer(ir, ir.op(f"inttoptr i64 {table.get().ref} to ptr"))
                table.set(table.get() + 24)
                address = number << 2
                begin, end = entry.load(64), entry.load(64, 8)
                ir.unless(str((address < begin).ref), head)
                ir.unless(str((address >= end).ref), head)
                marks = TypedPointer(ir, ir.op(f"inttoptr i64 {entry.load(64, 16).ref} to ptr"))
                for byte in range(4):
                    inside = (address + byte) < end
                    with self._when(inside & (bits >> byte & 1).differs(0)):
                        mark = marks.at(address - begin + byte).load(8)
                        with self._when(mark.differs(0)):
                            self._found("undefined", row.pc, address)


def drain_text() -> str:
    """`i1 gpudbg_screen_drain(ctx, buffer)`: look at all rows of a buffer, whose first word is
    their number, and empty it; false: a final reason was found, or a page is wanted."""
    ir = Builder()
    ctx, buffer = TypedPointer(ir, "%ctx"), TypedPointer(ir, "%buffer")
    count, first = buffer.load(64), ctx.load(64, FIELD["done"])
    rows = buffer.at(ACCESS_BYTES)
    given = f"ptr %ctx, ptr {rows.ref}, i64 {first.ref}, i64 {count.ref}"
    at = Int(ir, 64, ir.op(f"call i64 @{FUNCTION}({given})"))
    ctx.store(64, at, FIELD["done"])
    final = ctx.load(64, FIELD["found"]) & ctx.load(64, FIELD["final"])
    going = at.equals(count) & final.equals(0)
    with ir.when(str(going.ref)):
        ctx.store(64, 0, FIELD["done"])
        buffer.store(64, 0)
    ir.line(f"ret i1 {going.ref}")
    return ir.close(f"define i1 @{DRAIN}(ptr %ctx, ptr %buffer)")


def screen_text() -> str:
    """IR of the screening module."""
    return "\n".join(
        [
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "declare i32 @llvm.cttz.i32(i32, i1)",
            "declare i64 @llvm.ctpop.i64(i64)",
            *screening_lanes.DECLARED,
            *screening_near.DECLARED,
            Screen().text(),
            drain_text(),
        ]
    )
