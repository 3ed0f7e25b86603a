"""From the stopped session to a `ScreenView`; runs in the thread that owns the machine.

`Collector` remembers, per warp, the snapshot of its last earlier stop, so that "changed" means
since that warp was last shown, however the focus moved in between.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from gpudbg.analysis import Liveness, of_kernel
from gpudbg.answers import coordinates, extents, significant
from gpudbg.debug import launch_shape, letters, paths, run_counts
from gpudbg.debug.breakpoints import breakpoint_row, line_of
from gpudbg.debug.commands import frame_row
from gpudbg.debug.focus import thread_of
from gpudbg.debug.pictures import (
    LISTED_SPECIALS,
    LaneRow,
    MemoryTaker,
    OutputTaker,
    error_row,
    never_watched,
    register_rows,
    result_row,
    with_changes,
)
from gpudbg.debug.stops import (
    CUT_SHORT,
    BreakpointStop,
    ExitStop,
    Stop,
    WatchpointStop,
    fault_card,
    hangs,
    standing_pc,
)
from gpudbg.debug.values import (
    frames,
    images_of,
    never_in_any_lane,
    next_words,
    operand_values,
    register_number,
    untouched,
)
from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.code_index import CodeIndex
from gpudbg.frontends.tui.stop_words import name_of, role_of
from gpudbg.frontends.tui.view import (
    FrameLine,
    Header,
    ScreenView,
    ViewOptions,
)

if TYPE_CHECKING:
    from gpudbg.analysis import LocalLiveness
    from gpudbg.debug import DebugSession, Snapshot, WarpDetail, WarpRow
    from gpudbg.debug.pictures import ImagePicture, ImageTaker, VariableTaker
    from gpudbg.debug.values import FragmentView
    from gpudbg.frontends.tui.trap_texts import TrapPicture


def _running_word(row: WarpRow) -> str:
    """What the lanes do that the focused warp is shown by."""
    group = next((g for g in row.groups if g.here), None)
    if group is not None and group.waits_at:
        return f"wait at {group.waits_at}"
    if group is not None and row.state == "ready":
        return {"running": "run", "ready": "ready"}.get(group.state, group.state)
    return {"barrier": "wait", "exited": "done"}.get(row.state, "run")


class Collector:
    """Makes views of one session."""

    def __init__(self, session: DebugSession, options: ViewOptions) -> None:
        self.session = session
        self.options = options
        self._symbols = session.symbols
        self.code = CodeIndex(session)
        self.live = self._liveness()
        self.header = self._header()
        self._number = 0
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

    def _header(self) -> Header:
        s = self.session
        launch = launch_shape(s)
        words = []
        for a in s.launch.arguments:
            value = a.value
            words.append(f"{a.name}=0x{value:x}" if a.buffer is not None else f"{a.name}={value}")
        return Header(
            program=PurePath(s.program.path).name,
            arch=s.program.arch,
            kernel=s.symbols.kernel_name,
            grid=extents(significant(launch.grid)),
            block=extents(significant(launch.block)),
            arguments=" ".join(words),
            shared_bytes=launch.shared_bytes,
        )

    def take(self, notice: str = "") -> ScreenView:
        """The session as it stands."""
        s = self.session
        if s.symbols is not self._symbols:
            # Another program or kernel was launched in this session.
            self._symbols = s.symbols
            self.code, self.header, self.live = CodeIndex(s), self._header(), self._liveness()
            self._baselines.clear()
        if len(s.stops) != self._at_stop:
            self._at_stop = len(s.stops)
            self._new_stop()
            total = run_counts(s).total
            if total < self._tick:
                # Launched again: nothing has changed since something of another run.
                self._baselines.clear()
                self.memory.forget()
                self._outputs.forget()
                self._watch_before = {}
            self._tick = total
        base = self._baseline()
        shot = s.snapshot(base)
        self._remember(shot)
        self._number += 1
        title, where, line, role = self._stop_words(shot.stop)
        view = ScreenView(
            number=self._number,
            snapshot=shot,
            header=self.header,
            code=self.code,
            stop_title=title,
            stop_where=where,
            stop_line=line,
            stop_role=role,
            step_mode=s.settings.shown("step"),
            seed=launch_shape(s).seed,
            warps=shot.warps,
            outputs=self._outputs.take(),
            points=tuple(map(breakpoint_row, s.breakpoints)),
            stops=tuple(s.stops[-500:]),
            stops_before=max(len(s.stops) - 500, 0),
            fault=fault_card(s, shot.stop),
            trap=self._trap(),
            image=self._image(),
            images=len(images_of(s)),
            notice=notice,
            end=s.history.end_tick,
            where=self.options.where,
            matching=self._matching(),
        )
        return self._with_focus(view)

    def _matching(self) -> frozenset[tuple[int, int]]:
        """Warps that the warps pane is to show, where a condition chooses."""
        if not self.options.where:
            return frozenset()
        try:
            found = self.session.warps_where(self.options.where)
            return frozenset((w.sm, w.slot) for w in found)
        except GpudbgError:
            # It had a value when it was typed; at this stop it has none.
            return frozenset()

    def _trap(self) -> TrapPicture | None:
        """The trap inspector's part, while that screen is open."""
        if not self.options.trap:
            return None
        from gpudbg.frontends.tui import trap_texts

        return trap_texts.take(self.session)

    def _image(self) -> ImagePicture | None:
        """The surface viewer's part, while that screen is open."""
        o = self.options
        if not o.image:
            return None
        if self._images is None:
            from gpudbg.debug.pictures import ImageTaker

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

    # ---- the stop ----------------------------------------------------------------------
    def _stop_words(self, stop: Stop) -> tuple[str, str, str, str]:
        s = self.session
        title, role = name_of(stop), role_of(stop)
        if isinstance(stop, WatchpointStop):
            title = "; ".join(line_of(trigger) for trigger in stop.watch)
        elif isinstance(stop, BreakpointStop) and stop.breakpoints:
            title += " " + ", ".join(map(str, stop.breakpoints))
            title += f", {stop.arrived_warps} warps" if stop.arrived_warps > 1 else ""
        elif isinstance(stop, CUT_SHORT) and not stop.errors and hangs(s):
            title, role = f"{title} in a hang", "stop"
        elif isinstance(stop, ExitStop) and not stop.errors:
            counts = run_counts(s)
            title = f"Finished, {counts.done:,} of {counts.done + counts.waiting:,} CTAs, no faults"
        if stop.pc is None:
            return title, "", "", role
        pc = s.symbols.pc(stop.pc)
        focus = s.focus
        elsewhere = focus is not None and (focus.sm, focus.warp) != (stop.sm, stop.warp)
        if focus is not None and stop.warp is not None and elsewhere:
            # The place belongs to the warp that the line names: the focused one.
            here = standing_pc(s, s.warp().state)
            if not (here == pc and self._gathered(stop)):
                sm = f" on SM {stop.sm}" if launch_shape(s).sms > 1 and focus.sm != stop.sm else ""
                title = f"{title} (of warp {stop.warp}{sm})"
            pc = here
        line = s.symbols.line(pc)
        shown = str(line) if line else ""
        if stop.file is not None and pc == s.symbols.pc(stop.pc):
            # The stop's own: inlined calls that it has not entered are left out there.
            shown = f"{PurePath(stop.file).name}:{stop.line}"
        return title, s.symbols.describe(pc), shown, role

    def _gathered(self, stop: Stop) -> bool:
        """Whether a stop is that of every warp that stands where it is."""
        points = {b.number: b for b in self.session.breakpoints}
        met = [points.get(number) for number in stop.breakpoints]
        plain = all(b is not None and not b.condition for b in met)
        return isinstance(stop, BreakpointStop) and stop.arrived_warps > 1 and plain

    # ---- the focused warp --------------------------------------------------------------
    def _with_focus(self, view: ScreenView) -> ScreenView:
        from dataclasses import replace

        s, shot = self.session, view.snapshot
        at: dict[int, int] = {}
        for w in shot.warps:
            if w.state != "exited":
                at[w.pc] = at.get(w.pc, 0) + 1
        if s.focus is None or shot.detail is None:
            return replace(view, warps_at=at, memory=self.memory.page())
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
            view = self._with_variables(view, detail, lane)
        return replace(
            view,
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
            specials=self._specials(detail, lane),
            watches=self._watches(detail, lane, unwritten),
            memory=self.memory.page(),
            fragments=self._fragments(pc),
        )

    def _with_variables(self, view: ScreenView, detail: WarpDetail, lane: int) -> ScreenView:
        """The variables and frames, while one of their panes is seen."""
        from dataclasses import replace

        if self._variables is None:
            from gpudbg.debug.pictures import VariableTaker

            self._variables = VariableTaker(self.session, self.options.opened)
        lines, words = self._variables.take(detail, lane, self._at_stop)
        return replace(view, variables=lines, variable_words=words, frames=self._frames())

    def _frames(self) -> tuple[FrameLine, ...]:
        """The focused warp's frames, the innermost first."""
        s = self.session
        rows = frames(s)
        chosen = min(s.frame_level, len(rows) - 1)
        return tuple(FrameLine(f.level, frame_row(s, f), f.pc, f.level == chosen) for f in rows)

    def _fragments(self, pc: int) -> FragmentView | None:
        """The tensor-core instruction that is next or was last; the nearest where one asks."""
        if not self.session.symbols.has_tensor_cores:
            return None
        from gpudbg.debug.values import near

        return near(self.session, pc, self.options.matrix)

    def _tracked(self, pc: int) -> int | None:
        """The register whose life the code pane marks: chosen, or what is written next."""
        if self.options.tracked is not None or self.live is None:
            return self.options.tracked
        offset = self.session.symbols.offset(self.session.symbols.layout.first(pc))
        written = self.live.sets(offset)
        return (written & -written).bit_length() - 1 if written else None

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
