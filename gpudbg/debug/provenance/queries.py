"""`who-wrote` and `who-read`: the last times that a place was touched, and how to go there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpudbg.debug.attached import Attached
from gpudbg.debug.breakpoints.watched import Watch, WatchKind, WatchTarget
from gpudbg.debug.focus.focus import Focus, first_lane, thread_of
from gpudbg.debug.history.replay import SearchInterruptedError
from gpudbg.debug.history.stop_search import Destination
from gpudbg.debug.provenance.access_observers import Hit
from gpudbg.debug.provenance.places import (
    AskedPlace,
    asked_places,
    find_warp,
    raw_value,
    value_text,
)
from gpudbg.debug.provenance.search import Edit, Search, SearchGoals
from gpudbg.debug.provenance.touches import PlaceTouch
from gpudbg.debug.stops.records import Trigger
from gpudbg.debug.values.lanes import LANES
from gpudbg.errors import CommandError
from gpudbg.isa.family import decode

if TYPE_CHECKING:
    from gpudbg.debug.history.history import LaunchHistory
    from gpudbg.debug.history.replay import Position
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.provenance.causes import Derivation
    from gpudbg.debug.running import Runner
    from gpudbg.debug.stops.stop import Stop

ASYNCHRONOUS: Final = frozenset(
    "LDGSTS UBLKCP UBLKRED UBLKPF UTMALDG UTMASTG UTMAREDG UTMACMDFLUSH STAS REDAS".split()
)
"""Instructions whose memory accesses are asynchronous copies."""


class Provenance(Attached["Inferior"]):
    """Answers for one session's launch."""

    def __init__(self, inferior: Inferior, runner: Runner, history: LaunchHistory) -> None:
        super().__init__(inferior)
        self._runner, self._history = runner, history

    def touches(
        self, expression: str, how: str, most: int = 1, lanes: bool = False
    ) -> tuple[PlaceTouch, ...]:
        """The last accesses to a place, the latest first.

        Args:
            how: "write" or "read".
            most: at most so many.
            lanes: of all 32 lanes, the last time of each.

        Raises:
            CommandError: it is no place, or the search was interrupted.
        """
        with self._standing():
            places = self._places(expression, how, lanes)
            wanted = self._find(places, how, 0 if lanes else most)
            found = [hit for row in wanted.found for hit in row]
            # In order of time, so that each replay continues from the previous one.
            rows = [self._touch(places[hit.place], hit) for hit in sorted(found, key=_tick)]
            if how == "write":
                rows += [self._beginning(places[n], wanted.left(n)) for n in wanted.unfound()]
        rows.sort(key=lambda row: -row.tick)
        return tuple(_merged(rows) if lanes else rows)

    def jump(self, expression: str, how: str) -> Stop:
        """Stand before the last time that a place of the focused lane was touched.

        Raises:
            CommandError: it is no place, or nothing has touched it.
        """
        history = self._history
        try:
            with self._standing():
                places = self._places(expression, how, False)
                found = self._find(places, how, 1).found[0]
                touch = self._touch(places[0], found[0]) if found else None
                began = self._beginning(places[0], places[0].lanes) if not found else None
        except SearchInterruptedError as stop:
            return history.interrupted(stop.event)
        if touch is None:
            assert began is not None
            if how == "read":
                raise CommandError(f"nothing has read {expression} before this")
            words = f"nothing has changed {expression} before this"
            raise CommandError(words, f"it is {began.value}, {began.note}")
        if not touch.inside:
            at = next(hit.at for hit in found if isinstance(hit, Edit))
            return history.arrive(Destination(at), note=(str(touch),))
        return self._arrive(places[0], found[0], touch, how)

    def _arrive(self, place: AskedPlace, hit: Hit | Edit, touch: PlaceTouch, how: str) -> Stop:
        """Stand before the access, like a backward watchpoint stop."""
        assert isinstance(hit, Hit)
        kind: WatchKind = "write" if how == "write" else "read"
        target = WatchTarget(kind, "register" if not place.in_memory else place.space)
        points, symbols = self._runner.breakpoints, self._inferior.symbols
        with points.alone(lambda: points.add(place.expression, (), (place.text,))) as row:
            row.watch = Watch(target, place.type, touch.old)
            assert touch.lane is not None
            warp = touch.warp or 0
            at = symbols.place(hit.pc).fields()
            seen = Trigger(
                row.number, place.expression, kind, touch.old, touch.value,
                symbols.offset(hit.pc), self._sm, warp, touch.lane, **at,
            )  # fmt: skip
            history = self._history
            where = history.replay.latest(hit.tick)
            return history.arrive(Destination(where, hit.key, seen=(seen,)), lane=touch.lane)

    def why(self, expression: str | Derivation, depth: int, control: bool = False) -> Derivation:
        """What the value of a place of the focused lane was computed from.

        Args:
            expression: the place, or a value of a tree to go on from.
            depth: values one below the other.
            control: branches, too.

        Raises:
            CommandError: it is no place, or the search was interrupted.
        """
        from gpudbg.debug.provenance.slicing import Slice

        with self._standing():
            if not isinstance(expression, str):
                if expression.origin is None:
                    return expression
                place, lane, before = expression.origin
                role = expression.role
            else:
                (place,) = self._places(expression, "write", False)
                lane, role = first_lane(place.lanes), ""
                before = self._history.replay.present().tick
            slice_ = Slice(self._inferior, self._history, self, control)
            return slice_.of(place, lane, before, depth, role)

    # ---- standing there ------------------------------------------------------------------
    @contextmanager
    def _standing(self) -> Iterator[None]:
        """Context: the launch may be moved through its past; position and focus are restored at the
        end.
        """
        inferior = self._inferior
        focus = inferior.focus
        with self._history.excursion():
            try:
                yield
            finally:
                inferior.focus = focus

    def _places(self, expression: str, how: str, lanes: bool) -> list[AskedPlace]:
        inferior, history = self._inferior, self._history
        here = history.replay.present()
        if inferior.focus is None:
            # The launch has ended: look from the state that its last warp saw.
            before = history.replay.before(here)
            if before is not None:
                history.pass_by(before)
            warps = [w for w in inferior.grid.warps() if w.status != "exited"]
            if not warps:
                raise CommandError("no warp is there", "`run` or `start` launches the kernel")
            inferior.focus = Focus(warps[0].sm, warps[0].slot, first_lane(warps[0].active))
        warp, lane = inferior.focused(), inferior.lane
        places = asked_places(inferior, expression, how, warp, None if lanes else lane)
        if inferior.grid.total != history.replay.end.tick or history.in_past:
            history.pass_by(here)
        return places

    def _find(self, places: list[AskedPlace], how: str, most: int) -> SearchGoals:
        history = self._history
        wanted = SearchGoals(places, most)
        search = Search(self._inferior, history, history.pass_by, how)
        search.last(wanted, history.replay.present())
        return wanted

    # ---- records -------------------------------------------------------------------------
    def _touch(self, place: AskedPlace, hit: Hit | Edit) -> PlaceTouch:
        if isinstance(hit, Edit):
            return self._edit(place, hit)
        history, inferior, symbols = self._history, self._inferior, self._inferior.symbols
        replay = history.replay
        history.pass_by(replay.latest(hit.tick))
        # Of several lanes that write one word, the last one's value stands.
        lane = hit.lanes.bit_length() - 1 if not place.in_code else first_lane(hit.lanes)
        asking = first_lane(place.lanes) if place.in_memory else lane
        warp = find_warp(inferior.grid, hit.key)
        if warp is None:
            # The block begins with this instruction: it is resident one tick later.
            history.pass_by(replay.latest(hit.tick + 1))
            warp = find_warp(inferior.grid, hit.key)
            history.pass_by(replay.latest(hit.tick))
        old = raw_value(inferior, place, asking)
        block, thread, slot = None, None, None
        if warp is not None:
            block, thread = warp.cta.block, thread_of(warp, lane)
            slot, self._sm = warp.slot, warp.sm
        history.pass_by(replay.latest(hit.tick + 1))
        new = raw_value(inferior, place, asking)
        asked = hit.asked or (place.lanes if place.in_memory else place.lanes & hit.lanes)
        row, code = symbols.instruction(hit.pc), symbols.place(hit.pc)
        kind = self.kind_of(hit, place)
        return PlaceTouch(
            tick=hit.tick, kind=kind, block=block, thread=thread, warp=slot, lane=lane,
            lanes=hit.lanes, pc=symbols.offset(hit.pc), instruction="" if row is None else row.text,
            function=code.function, file=code.file, line=code.line,
            old=value_text(place, old), value=value_text(place, new),
            values=self._values(place, asked, new), asked=asked,
            place=place.expression, note=symbols.describe_line(hit.pc),
        )  # fmt: skip

    def kind_of(self, hit: Hit, place: AskedPlace) -> str:
        """What an instruction did to a place."""
        row = self._inferior.symbols.instruction(hit.pc)
        if row is None or not row.legal or place.in_code:
            return hit.kind
        op = decode(row.word, self._inferior.program.arch).op
        return "async copy" if op in ASYNCHRONOUS else hit.kind

    def _edit(self, place: AskedPlace, hit: Edit) -> PlaceTouch:
        history, lane = self._history, first_lane(hit.lanes)
        history.pass_by(hit.at)
        new = raw_value(self._inferior, place, lane)
        history.replay.go_before_change(hit.at)
        old = raw_value(self._inferior, place, lane)
        return self._outside(
            place, "edit", hit.at, old, new, hit.asked or hit.lanes, "changed from outside"
        )

    def _outside(
        self,
        place: AskedPlace,
        kind: str,
        at: Position,
        old: bytes | None,
        new: bytes | None,
        lanes: int,
        note: str,
    ) -> PlaceTouch:
        return PlaceTouch(
            tick=at.tick, kind=kind, block=None, thread=None, warp=None, lane=None, lanes=lanes,
            pc=None, instruction="", function=None, file=None, line=None,
            old="" if kind == "launch" else value_text(place, old), value=value_text(place, new),
            values=self._values(place, lanes, new), asked=lanes,
            place=place.expression, note=note,
        )  # fmt: skip

    def _values(self, place: AskedPlace, lanes: int, value: bytes | None) -> tuple[str, ...]:
        """The value of the place in each lane of `lanes`, at the present position."""
        if place.in_memory:
            return (value_text(place, value),) * lanes.bit_count()
        mine = (n for n in range(LANES) if lanes >> n & 1)
        return tuple(value_text(place, raw_value(self._inferior, place, n)) for n in mine)

    def _beginning(self, place: AskedPlace, lanes: int) -> PlaceTouch:
        """The record for a place that no instruction wrote: its value at the beginning of the
        launch.
        """
        first = self._history.replay.first
        self._history.pass_by(first)
        lanes = lanes or place.lanes
        raw = raw_value(self._inferior, place, first_lane(lanes))
        return self._outside(place, "launch", first, None, raw, lanes, self.origin(place))

    def origin(self, place: AskedPlace) -> str:
        """Where a place's first value came from, in words."""
        first = self._history.replay.first
        if first.tick:
            return f"before tick {first.tick:,}, where what is kept begins"
        if place.space == "constant":
            return "a parameter or a constant of the program"
        if place.space != "global":
            return "nothing has written it since its warp began"
        for number, argument in enumerate(self._inferior.launch.arguments):
            buffer = argument.buffer
            if buffer is not None and 0 <= place.address - buffer.address < buffer.nbytes:
                return f"from buffer {argument.name} (argument {number})"
        return "from before the launch"


def _merged(rows: list[PlaceTouch]) -> list[PlaceTouch]:
    """Merge accesses by different lanes that are one instruction's."""
    out: list[PlaceTouch] = []
    for row in rows:
        last = out[-1] if out else None
        same = last is not None and _who(last) == _who(row)
        if last is None or not same or last.asked & row.asked:
            out.append(row)
            continue
        values = {**_by_lane(last), **_by_lane(row)}
        out[-1] = replace(
            last,
            lanes=last.lanes | row.lanes,
            asked=last.asked | row.asked,
            values=tuple(values[lane] for lane in sorted(values)),
        )
    return out


def _who(row: PlaceTouch) -> tuple[object, ...]:
    return row.tick, row.kind, row.pc, row.block, row.warp, row.note


def _by_lane(row: PlaceTouch) -> dict[int, str]:
    lanes = [lane for lane in range(LANES) if row.asked >> lane & 1]
    return dict(zip(lanes, row.values, strict=True))


def _tick(hit: Hit | Edit) -> int:
    return hit.at.tick if isinstance(hit, Edit) else hit.tick
