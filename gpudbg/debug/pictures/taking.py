"""From a stopped session to a `StopPicture`; runs in the thread that owns the machine.

`StopTaker` remembers, per warp, the snapshot of its last earlier stop, so that "changed" means
since that warp was last shown, however the focus moved in between.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from gpudbg.analysis.liveness import of_kernel
from gpudbg.answers import coordinates, extents, significant
from gpudbg.debug.breakpoints.rows import breakpoint_row
from gpudbg.debug.commands.frames import frame_row
from gpudbg.debug.focus.focus import thread_of
from gpudbg.debug.launched import launch_shape, run_counts
from gpudbg.debug.pictures.code_index import CodeIndex
from gpudbg.debug.pictures.lane_rows import (
    LISTED_SPECIALS,
    error_row,
    never_watched,
    register_rows,
    result_row,
    with_changes,
)
from gpudbg.debug.pictures.memory import MemoryTaker
from gpudbg.debug.pictures.outputs import OutputTaker
from gpudbg.debug.pictures.stop_picture import FrameLine, LaunchHeader, StopPicture
from gpudbg.debug.stops.fault_cards import fault_card
from gpudbg.debug.stops.headlines import headline
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.values.backtrace import frames
from gpudbg.debug.values.images import images_of
from gpudbg.debug.values.operands import next_words, operand_values
from gpudbg.debug.values.unwritten import never_in_any_lane, register_number, untouched
from gpudbg.debug.warp_paths import letters, paths
from gpudbg.errors import GpudbgError

if TYPE_CHECKING:
    from gpudbg.analysis.liveness import Liveness
    from gpudbg.analysis.local_liveness import LocalLiveness
    from gpudbg.debug.pictures.images import ImagePicture, ImageTaker
    from gpudbg.debug.pictures.lane_row import LaneRow
    from gpudbg.debug.pictures.stop_picture import PictureOptions
    from gpudbg.debug.pictures.variables import VariableTaker
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.snapshot import Snapshot, WarpDetail, WarpRow
    from gpudbg.debug.values.fragment_view import FragmentView
    from gpudbg.symbols.lane_reasons import LaneReasons


def _running_word(row: WarpRow) -> str:
    """The verb for the lanes of the group by which the focused warp is shown."""
    group = next((g for g in row.groups if g.here), None)
    if group is not None and group.waits_at:
        return f"wait at {group.waits_at}"
    if group is not None and row.state == "ready":
        return {"running": "run", "ready": "ready"}.get(group.state, group.state)
    return {"barrier": "wait", "exited": "done"}.get(row.state, "run")


class StopTaker:
    """Makes pictures of one session."""

    def __init__(self, session: DebugSession, options: PictureOptions) -> None:
        self.session = session
        self.options = options
        self._symbols = session.symbols
        self.code = CodeIndex(session)
        self.live = self._liveness()
        self._lanes: tuple[tuple[int, int, int], LaneReasons] | None = None
        self.header = self._header()
        self.taken = 0
        self._baselines: dict[tuple[int, int], list[tuple[int, Snapshot]]] = {}
        self.memory = MemoryTaker(session, options)
        self._outputs = OutputTaker(session)
        self._watch_before: dict[str, tuple[int, LaneRow]] = {}
        self._images: ImageTaker | None = None
        self._variables: VariableTaker | None = None
        self._at_stop = -1
        self._tick = 0

    def _liveness(self) -> Liveness | LocalLiveness | None:
        symbols = self.session.symbols
        return of_kernel(symbols.program, symbols.image, symbols.kernel)

    def _header(self) -> LaunchHeader:
        s = self.session
        launch = launch_shape(s)
        words = []
        for a in s.launch.arguments:
            value = a.value
            words.append(f"{a.name}=0x{value:x}" if a.buffer is not None else f"{a.name}={value}")
        return LaunchHeader(
            program=PurePath(s.program.path).name,
            arch=s.program.arch,
            kernel=s.symbols.kernel_name,
            grid=extents(significant(launch.grid)),
            block=extents(significant(launch.block)),
            arguments=" ".join(words),
            shared_bytes=launch.shared_bytes,
        )

    def take(self) -> StopPicture:
        """The session as it stands."""
        s = self.session
        if s.symbols is not self._symbols:
            # Another program or kernel was launched in this session.
            self._symbols = s.symbols
            self.code, self.header, self.live = CodeIndex(s), self._header(), self._liveness()
            self._lanes = None
            self._baselines.clear()
        if len(s.stops) != self._at_stop:
            self._at_stop = len(s.stops)
            self._new_stop()
            total = run_counts(s).total
            if total < self._tick:
                # Another run: drop the pictures that changes were counted from.
                self._baselines.clear()
                self.memory.forget()
                self._outputs.forget()
                self._watch_before = {}
            self._tick = total
        base = self._baseline()
        shot = s.snapshot(base)
        self._remember(shot)
        self.taken += 1
        head = headline(s, shot.stop)
        picture = StopPicture(
            number=self.taken,
            snapshot=shot,
            header=self.header,
            code=self.code,
            stop_title=head.title,
            stop_where=head.where,
            stop_line=head.line,
            hangs=head.hangs,
            seed=launch_shape(s).seed,
            warps=shot.warps,
            outputs=self._outputs.take(),
            points=tuple(map(breakpoint_row, s.breakpoints)),
            stops=tuple(s.stops[-500:]),
            stops_before=max(len(s.stops) - 500, 0),
            fault=fault_card(s, shot.stop),
            image=self._image(),
            images=len(images_of(s)),
            end=s.history.end_tick,
            where=self.options.where,
            matching=self._matching(),
        )
        return self._with_focus(picture)

    def _matching(self) -> frozenset[tuple[int, int]]:
        """Warps that the warps pane is to show, where a condition chooses."""
        if not self.options.where:
            return frozenset()
        try:
            found = self.session.warps_where(self.options.where)
            return frozenset((w.sm, w.slot) for w in found)
        except GpudbgError:
            # A condition that had a value when typed may have none at this stop.
            return frozenset()

    def _image(self) -> ImagePicture | None:
        """The picture of the chosen image; None while no image pane is open."""
        o = self.options
        if not o.image:
            return None
        if self._images is None:
            from gpudbg.debug.pictures.images import ImageTaker

            self._images = ImageTaker(self.session)
        return self._images.take(o.image_name, o.image_slice, self._at_stop)

    # ---- what changed ------------------------------------------------------------------
    def _new_stop(self) -> None:
        self.memory.new_stop()
        self._outputs.new_stop()

    def _baseline(self) -> Snapshot | None:
        focus = self.session.focus
        if focus is None:
            return None
        rows = self._baselines.get((focus.sm, focus.warp), [])
        return next((shot for stop, shot in reversed(rows) if stop < self._at_stop), None)

    def _remember(self, shot: Snapshot) -> None:
        if shot.focus is None:
            return
        key = (shot.focus.sm, shot.focus.warp)
        rows = [r for r in self._baselines.get(key, []) if r[0] != self._at_stop]
        self._baselines[key] = [*rows[-1:], (self._at_stop, shot)]

    # ---- the focused warp --------------------------------------------------------------
    def _with_focus(self, picture: StopPicture) -> StopPicture:
        from dataclasses import replace

        s, shot = self.session, picture.snapshot
        at: dict[int, int] = {}
        for w in shot.warps:
            if w.state != "exited":
                at[w.pc] = at.get(w.pc, 0) + 1
        if s.focus is None or shot.detail is None:
            return replace(picture, warps_at=at, memory=self.memory.page())
        detail = shot.detail
        warp = s.focused()
        lane = s.focus.lane
        running = _running_word(detail.row)
        row = detail.row
        found = paths(row.active, row.exited, row.offset, detail.stack, running)
        pc = standing_pc(s, warp)
        reads = operand_values(s, warp, lane, pc)
        unwritten = untouched(s.symbols, self.live, warp)
        if self.options.variables:
            picture = self._with_variables(picture, detail, lane)
        return replace(
            picture,
            lane=lane,
            sm=s.focus.sm,
            thread=coordinates(thread_of(warp, lane), shot.block),
            cta=coordinates(detail.row.block, shot.grid),
            pc=pc,
            next_words=next_words(s, warp, lane, "\u2192", unwritten),
            operands=frozenset(v.name.split(":")[0] for v in reads),
            warps_at=at,
            paths=found,
            letters=letters(found),
            registers=register_rows(detail, lane, self.options.register_format, unwritten),
            live=self.live,
            tracked=self._tracked(pc),
            lanes=self._lane_reasons(),
            specials=self._specials(detail, lane),
            watches=self._watches(detail, lane, unwritten),
            memory=self.memory.page(),
            fragments=self._fragments(pc),
        )

    def _with_variables(self, picture: StopPicture, detail: WarpDetail, lane: int) -> StopPicture:
        """Add variables and frames, while one of their panes is visible."""
        from dataclasses import replace

        if self._variables is None:
            from gpudbg.debug.pictures.variables import VariableTaker

            self._variables = VariableTaker(self.session, self.options.opened)
        lines, words = self._variables.take(detail, lane, self._at_stop)
        return replace(picture, variables=lines, variable_words=words, frames=self._frames())

    def _frames(self) -> tuple[FrameLine, ...]:
        """The focused warp's frames, the innermost first."""
        s = self.session
        rows = frames(s)
        chosen = min(s.frame_level, len(rows) - 1)
        return tuple(FrameLine(f.level, frame_row(s, f), f.pc, f.level == chosen) for f in rows)

    def _fragments(self, pc: int) -> FragmentView | None:
        """The tensor-core instruction at the pc or just executed; on request the nearest one."""
        if not self.session.symbols.has_tensor_cores:
            return None
        from gpudbg.debug.values.fragment_view import near

        return near(self.session, pc, self.options.matrix)

    def _tracked(self, pc: int) -> int | None:
        """The register whose lifetime the code pane marks: the chosen one, or what the next
        instruction writes.
        """
        if self.options.tracked is not None or self.live is None:
            return self.options.tracked
        offset = self.session.symbols.offset(self.session.symbols.layout.first(pc))
        written = self.live.sets(offset)
        return (written & -written).bit_length() - 1 if written else None

    def _lane_reasons(self) -> LaneReasons | None:
        """What the code says of lanes, while it is shown; None where it says nothing."""
        if not self.options.lanes:
            return None
        block = self.session.grid.launched.config.block
        if self._lanes is None or self._lanes[0] != block:
            from gpudbg.symbols.lane_reasons import LaneReasons

            symbols = self.session.symbols
            self._lanes = block, LaneReasons.of_launch(symbols.image, symbols.kernel, block)
        reasons = self._lanes[1]
        return None if reasons.unclaimed else reasons

    def _specials(self, detail: WarpDetail, lane: int) -> tuple[LaneRow, ...]:
        s = self.session
        warp, launch = s.focused(), launch_shape(s)
        out = []
        shapes = {"T": launch.block, "C": launch.grid}
        for name in LISTED_SPECIALS:
            axis = "XYZ".find(name[-1]) if name[-2] == "." else 0
            if axis and shapes[name[3]][axis] == 1:
                continue
            try:
                result = s.special(warp, name)
            except GpudbgError:
                continue
            if result is not None:
                out.append(result_row(name, result, detail, lane, "special", None))
        return tuple(out)

    def _watched(self) -> dict[str, str | None]:
        """What the watch pane shows, each with its format: what was added there, then what
        `display` shows in the console, but memory."""
        texts: dict[str, str | None] = dict.fromkeys(self.options.watches)
        for row in self.session.displays.rows.values():
            if row.expression:
                texts.setdefault(row.expression, row.letter)
        return texts

    def _watches(self, detail: WarpDetail, lane: int, unwritten: int) -> tuple[LaneRow, ...]:
        """The watched expressions; `unwritten` registers are never written here, too."""
        rows = []
        for text, letter in self._watched().items():
            before = self._watch_before.get(text)
            try:
                s = self.session
                result = s.evaluate(text)
                made = result_row(text, result, detail, lane, "watch", letter)
                register = register_number(text)
                never = register is not None and unwritten >> register & 1
                if never and result.values.any():
                    never = 0
                if never or never_in_any_lane(s, result):
                    made = never_watched(text)
            except GpudbgError as e:
                made = error_row(text, str(e))
            if before is not None and len(before[1].cells) == len(made.cells) == 32:
                old = before[1]
                changed = sum(1 << i for i in range(32) if old.cells[i] != made.cells[i])
                if before[0] == self._at_stop:
                    changed = old.changed
                made = with_changes(made, changed)
            self._watch_before[text] = (self._at_stop, made)
            rows.append(made)
        return tuple(rows)
