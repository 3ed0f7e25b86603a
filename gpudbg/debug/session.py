"""DebugSession: one launch under control, and the only door for frontends.

A session is made by `program.launch(...)`.  It stands before the kernel's first instruction,
runs and steps the grid through `gpudbg.sm.gpu.Grid`, and answers questions about the stop:
focus, breakpoints, expressions, warps, memory.  Everything it returns is plain or frozen data.

    session.break_at("saxpy+0x48", condition="$R4 > 3")
    stop = session.cont()
    session.warp(3).lane(5).R[4]
    session.execute("info warps")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, get_args, overload

from gpudbg import html
from gpudbg.answers.words import dim
from gpudbg.debug import inspection, leaving, resident_warps, stepping
from gpudbg.debug.breakpoints.events import Events
from gpudbg.debug.breakpoints.setting import Breakpoints
from gpudbg.debug.breakpoints.watched import WatchKind
from gpudbg.debug.breakpoints.watchpoints import Watchpoints
from gpudbg.debug.checks import Checks
from gpudbg.debug.displays import Displays
from gpudbg.debug.focus import focus as focus_module
from gpudbg.debug.focus.focus import Focus
from gpudbg.debug.history.history import LaunchHistory
from gpudbg.debug.inferior import Inferior, Launchable
from gpudbg.debug.inspection import SessionMemory
from gpudbg.debug.interpreter import CommandInterpreter
from gpudbg.debug.interruption import interruptible
from gpudbg.debug.launching import LaunchControl
from gpudbg.debug.registry import Command, CommandTable, Output
from gpudbg.debug.running import Runner
from gpudbg.debug.script import Player, Scope
from gpudbg.debug.script.host import SessionHost
from gpudbg.debug.settings import SCOPES, Settings
from gpudbg.debug.stops.stop import Stop, stop_html
from gpudbg.debug.symbols import Origin
from gpudbg.debug.trace.timeline import Timeline
from gpudbg.debug.traps import SessionTraps
from gpudbg.debug.values import access, evaluation
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.returned import give, words_of
from gpudbg.debug.warp_view import WarpView, code_html
from gpudbg.errors import GpudbgError, UsageError
from gpudbg.expr import Result
from gpudbg.options import RECORD_ON_FAULT
from gpudbg.public import public_names
from gpudbg.sm.events import StopEvent
from gpudbg.validation import function, maybe_whole, one_of, whole
from gpudbg.validation import text as given_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.history.branches import BranchRow
    from gpudbg.debug.history.comparing import StateDifference
    from gpudbg.debug.history.first_run import FirstRun
    from gpudbg.debug.inspection import InstructionInfo, SpecialValue
    from gpudbg.debug.provenance import Derivation, PlaceTouch, Provenance
    from gpudbg.debug.snapshot import Snapshot
    from gpudbg.debug.trace.log import TraceLog
    from gpudbg.debug.values.fragment_view import FragmentView
    from gpudbg.device.subscription import Subscription
    from gpudbg.launch.opening import Opening
    from gpudbg.mem.device import Allocation
    from gpudbg.sm.device_output import DeviceOutput
    from gpudbg.sm.observer import Observer
    from gpudbg.sm.state import WarpState

Callback = Callable[["DebugSession", Stop], object]
"""Called when a breakpoint is met; False lets the machine run on, anything else stops."""
Commands = Callable[[], CommandTable["DebugSession"]]
"""Gives the table of commands."""

Dim3 = tuple[int, int, int]


class DebugSession(Inferior):
    """A launch that can be stopped, inspected, changed and stepped.

    Attributes:
        program, kernel: what was launched; `launch.arguments` are its arguments.
        stop: why it stands; `stops` are all stops so far.
        focus: the warp and lane that questions are about (`set_focus`).
        breakpoints: those set (`break_at`, `watch_at`).
        events: the stops to come, callbacks and observers, as `events("breakpoint")`.
        memory: as the focused lane sees it, as `memory("in", 16)`.
        settings: those of the console's `set`.

    >>> with gpudbg.open("sessions/first_steps/first_steps.cubin") as session:
    ...     print(session.stop)
    ...     print(session.step(3))
    ...     print(session.run())
    at the entry of block_max
    block_max+0x28 first_steps.cu:10, block (0,0,0) thread (0,0,0) (sm 0 warp 0 lane 0)
    block_max ended after 1,258 warp instructions
    """

    def __init__(
        self, launch: Launchable, commands: Commands, past: FirstRun | None = None
    ) -> None:
        """A session before its kernel's first instruction, or behind a first run.

        Args:
            launch: what is launched.
            commands: the table of console commands, asked for at the first of them.
            past: the launch has begun to run without a session's parts.
        """
        super().__init__(launch, Scope())
        self.breakpoints = Breakpoints(self)
        self.watchpoints = Watchpoints(self, self.breakpoints)
        self.traps = SessionTraps(self, () if past is None else past.notes.accesses)
        self.scripting = SessionHost(
            self, self.scope, self.breakpoints, lambda line: commands().knows(line)
        )
        self.runner = Runner(self, self.breakpoints, self.watchpoints, self.traps, self.scripting)
        self.interpreter = CommandInterpreter(self, self.scripting, commands)
        self.displays = Displays(self, DebugSession._answer)
        self.timeline = Timeline(self, self.traps)
        self.observing: dict[str, Any] = {}
        self.history = LaunchHistory(self, self.runner, self.timeline, past)
        self.launching = LaunchControl(
            self, self.breakpoints, self.traps, self.runner, self.timeline, self.history,
            DebugSession._renew_checks,
        )  # fmt: skip
        self._callbacks: dict[int, Callback] = {}
        self.command_table = commands
        self.quit_code: int | None = None
        self.use_settings(self.settings)
        if past is None:
            self.runner.stand()
        else:
            self.runner.adopt_entry(past.entry, past.notes.focus)

    __dir__ = public_names
    _INTERNAL = frozenset(
        """arguments_changed carry_out checks command_table complete_expression
        context dispatch displays examine_state focused forget_interrupt frame_level grid
        halted history integer interpreter killed lane last_line launching list_state location_text
        note_write observing opening origin ownership plain_command plan provenance
        quit_code record_failure
        quit_requested require_closable require_here require_launchable require_launched
        require_open require_stopped
        run_to_stop runner running scope scripting shown_pc shows_code_addresses
        skipped_inline sources special special_names symbols timeline traps use_settings
        value_history variables warps_where watchpoints written""".split()
    )
    """Names used by frontends and other parts of the debugger, hidden from `dir()`."""

    def __repr__(self) -> str:
        grid, block = dim(self.grid.grid), dim(self.grid.block)
        head = f"{self.symbols.kernel_name}<<<{grid}, {block}>>>"
        return f"<DebugSession {head}: {self.stop.message if self.stop else 'not launched'}>"

    def _repr_html_(self) -> str:
        return session_html(self)

    # ---- life --------------------------------------------------------------------------
    def __enter__(self) -> DebugSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session: what its launch made is freed, whatever else is on the device stays.

        Buffers made of arrays, of a launch table's buffers and images, the contents kept for a
        restart and the observers of the session go; buffers made by `Device.buffer` stay.
        Afterwards the session refuses use; its stops, kernel and program can still be looked at.

        Raises:
            UsageError: the kernel is running, in another thread or below this call.
            CommandError: another thread works on the session.

        >>> buffer = session.launch.arguments[0].buffer
        >>> session.close()
        >>> session, session.stop.kind, buffer.freed
        (<closed session of block_max>, 'step', True)
        """
        self.require_closable()
        self.launching.release()
        held = vars(self)
        kept = {name: held[name] for name in KEPT if name in held}
        # Kept attributes are found before `__getattr__` is asked, which refuses the others.
        kept |= {"_refused": frozenset(held), "_faulted": self.faulted}
        self.__dict__ = kept
        self.__class__ = ClosedSession

    def require_closable(self) -> None:
        """Errors of `close`."""
        if self.running:
            raise UsageError(
                f"{self.kernel.name} is running and cannot be closed", "interrupt() ends the run"
            )
        self.require_here()

    def use_settings(self, settings: Settings) -> None:
        """Take settings over; those that the device keeps show its values."""
        settings.attach(self.grid.gpu)
        timeline = self.timeline
        settings.on_change("timeline", timeline.set_mode)
        self.settings = settings

    @property
    def opening(self) -> Opening | None:
        """How the program was opened; None where Python launched it."""
        return self.launching.opening

    @opening.setter
    def opening(self, opening: Opening) -> None:
        self.launching.opening = opening

    def require_launchable(self) -> None:
        """UsageError, saying what is missing, where `restart` could not launch."""
        self.launching.require_launchable()

    def restart(self) -> Stop:
        """Launch from the beginning; device memory is restored first.

        Raises:
            UsageError: what the launch lacks, where it was not complete when the program was
                opened.
        """
        return self.launching.restart()

    def plan(self, opening: Opening) -> None:
        """What the next `restart` launches; a session that has not launched shows its kernel.

        Raises:
            UsageError: the program has no such kernel, or the flags cannot be read.
            LoadError: the part of the file with that kernel cannot be read.
        """
        self.launching.plan(opening)

    @property
    def quit_requested(self) -> bool:
        """Whether `quit` was given."""
        return self.scripting.quit_requested

    @quit_requested.setter
    def quit_requested(self, wanted: bool) -> None:
        self.scripting.quit_requested = wanted

    @property
    def output(self) -> DeviceOutput:
        """What the device printed (printf, assert), since the device was made."""
        return self.grid.gpu.output

    def kill(self) -> None:
        """Abandon the launch."""
        self.launching.kill()

    def install_trap_handler(self, source: Any, entry: str | None = None, number: int = 0) -> None:
        """Install a trap handler; it serves this launch from now on, and later ones.

        Args:
            source: a path (.sass, cubin, raw words), a program, or instruction words.
            entry: its function, where the file has several.
            number: what it finds at c[0x11][0x20], 32 bits.

        Raises:
            LoadError, AssembleError: the file is no handler.
            UsageError: no such function, or code for another architecture.
            CommandError: a warp is inside the present handler.
        """
        self.traps.install(source, entry, number)

    @cached_property
    def checks(self) -> Checks:
        """The checks that run beside the kernel, made when the first is asked for."""
        return Checks(self)

    def _renew_checks(self) -> None:
        """The code is another: checks begin anew."""
        self.checks.renew()

    def check(self, name: str) -> Any:
        """Start a check such as "hazards"; see `gpudbg.debug.checks`."""
        return self.checks.attach(name)

    # ---- running -----------------------------------------------------------------------
    @interruptible
    def run(self, max_instructions: int | None = None) -> Stop:
        """Run to the end, a fault or `max_instructions`; breakpoints do not stop it.

        Raises:
            UsageError: `max_instructions` is no integer of at least 1.
            CommandError: the kernel has ended already.
        """
        return self.runner.run(maybe_whole(max_instructions, "max_instructions", 1))

    @interruptible
    def run_to_stop(self, max_instructions: int | None = None) -> Stop:
        """Run once until a breakpoint, a fault, the end, or `max_instructions`.

        Where launches come from a host program, on through the next ones (`gpudbg exec`).
        """
        return self.launching.run_to_stop(max_instructions)

    def cont(self, max_instructions: int | None = None) -> Stop:
        """Run until a breakpoint, a fault, the end, or `max_instructions`.

        Without a number the setting `max-instructions` counts; 0 there is no limit.  A
        breakpoint whose callback returns False does not end the run.

        Raises:
            UsageError: `max_instructions` is no integer of at least 1.
            CommandError: the kernel has ended already.
        """
        return self.events.cont(max_instructions)

    @interruptible
    def step(self, count: int = 1, scope: str | None = None, over: bool = False) -> Stop:
        """Execute `count` instructions of the focused warp, its CTA, its SM or everything.

        With `over`, a call runs until it returns.  A breakpoint met on the way ends the step.

        Args:
            count: instructions, at least 1.
            scope: "warp", "cta", "sm" or "all"; None is the setting `step`.
            over: run calls through.

        Raises:
            UsageError: a count below 1 or that is no integer; no such scope.
            CommandError: nothing is left to step.

        >>> session.step().pc, session.step(4).pc
        (16, 56)
        """
        count = whole(count, "count", 1)
        moved = self.settings.shown("step") if scope is None else one_of(scope, "scope", SCOPES)
        return self.runner.step(count, moved, over)

    @interruptible
    def step_line(self, count: int = 1, over: bool = False) -> Stop:
        """Step to another source line `count` times, the CTA running along.

        A line ends where the focused warp stands at the first instruction of another line or
        another function; without a line table an instruction is a line.

        Args:
            count: of lines, at least 1.
            over: calls run through, as with `next`; else they are stepped into.

        Raises:
            UsageError: a count below 1 or that is no integer.
            CommandError: nothing is left to step.
        """
        return stepping.step_lines(self.runner, whole(count, "count", 1), over)

    @interruptible
    def until(self, location: str | int | None = None) -> Stop:
        """Run the focused warp to `location`, or forward past its present line (out of a loop).

        Args:
            location: as for `break_at`.

        Raises:
            UsageError: the location is neither a text nor an integer.
            CommandError: no such place, or nothing is left to run.
        """
        return stepping.until(self.runner, self.location_text(location))

    @interruptible
    def finish(self, level: int = 0) -> Stop:
        """Run until the focused warp has returned from the function of frame `level`.

        Raises:
            UsageError: a level below 0 or that is no integer.
            CommandError: the warp is in the kernel itself.
        """
        return stepping.finish(self.runner, whole(level, "level", 0))

    # ---- going back --------------------------------------------------------------------
    @property
    def tick(self) -> int:
        """Warp instructions of the launch so far.

        >>> session.step(3).instructions, session.tick
        (3, 3)
        """
        return self.history.tick

    def bookmark(self, name: str = "", note: str | None = None) -> int:
        """Mark where the launch stands, on the timeline and in recordings; its tick.

        Args:
            name: what `goto` finds it by; none gives it a number.
            note: a text to keep with it; a note alone is `session.note(text)`.

        >>> session.bookmark("before the store", note="R4 is wrong here")
        0
        >>> session.bookmarks
        {0: ('before the store', 'R4 is wrong here')}
        """
        self.require_here()
        self.timeline.mark(self.tick, name)
        if note is not None:
            self.timeline.annotate(self.tick, note)
        return self.tick

    def note(self, text: str) -> int:
        """Keep a text with where the launch stands, as `bookmark`; its tick."""
        self.require_here()
        self.timeline.annotate(self.tick, text)
        return self.tick

    @property
    def bookmarks(self) -> dict[int, tuple[str, str]]:
        """Name and note by tick; "" where there is none."""
        names, notes = self.timeline.bookmarks, self.timeline.notes
        return {n: (names.get(n, ""), notes.get(n, "")) for n in sorted({*names, *notes})}

    def save_recording(self, path: str | os.PathLike[str]) -> int:
        """Write the launch, with all its past, to a file; its size in bytes.

        `gpudbg FILE` and `gpudbg.open(FILE)` open it at its end, on any machine, without the
        program's own files.

        Raises:
            CommandError: something of the launch cannot be recorded, or the file not be written.
        """
        from gpudbg.debug.recording.taking import save

        return save(self, path)

    def record_failure(self) -> str:
        """Write the recording that `set record-on-fault FILE` asks for; a line that says so."""
        path = self.settings.shown(RECORD_ON_FAULT.flag)
        if not path or self.history.in_past:
            return ""
        try:
            return f"recorded in {path}: {self.save_recording(path):,} bytes"
        except GpudbgError as error:
            # An error here must not hide how the launch failed.
            return f"not recorded: {error}"

    def state_hash(self) -> str:
        """All that is architectural, as one number: equal states have equal ones.

        Registers, masks, memory of every space, error and port registers, counters and who runs
        next are in it; focus, settings and observers are not.

        >>> before = session.state_hash()
        >>> stop = session.step(5)
        >>> stop = session.reverse_step(5)
        >>> session.state_hash() == before
        True
        """
        self.require_here()
        return self.history.state_hash()

    @interruptible
    def reverse_step(self, count: int = 1) -> Stop:
        """Take back `count` warp instructions of the launch; the warp that made the last of them
        has the focus then.

        Raises:
            UsageError: a count below 1 or that is no integer.
        """
        return self.history.reverse_step(whole(count, "count", 1))

    @interruptible
    def reverse_next(self, count: int = 1) -> Stop:
        """Go back by instructions of the focused warp, over calls; errors as `reverse_step`."""
        return self.history.reverse_instruction(True, whole(count, "count", 1))

    @interruptible
    def reverse_step_line(self, count: int = 1, over: bool = False) -> Stop:
        """Go back to where a source line of the focused warp began, `count` times.

        Args:
            count: of lines, at least 1.
            over: calls are gone back over, as with `reverse-next`; else into them.

        Raises:
            UsageError: a count below 1 or that is no integer.
            CommandError: the launch has no past.
        """
        return self.history.reverse_line(over, whole(count, "count", 1))

    @interruptible
    def reverse_finish(self) -> Stop:
        """Go back to the call of the function that the focused warp is in."""
        return self.history.reverse_finish()

    @interruptible
    def reverse_until(self, location: str | int | None = None) -> Stop:
        """Go back to where the focused warp stood at a location; errors as `until`.

        Args:
            location: as for `break_at`; None: the line before, and out of a loop.
        """
        if location is None:
            return self.history.reverse_until(None)
        text = self.location_text(location)
        found = self.symbols.resolve(text, evaluation.origin(self)).addresses
        return self.history.reverse_until(frozenset(found))

    @interruptible
    def reverse_cont(self) -> Stop:
        """Go back to the last breakpoint, watchpoint or fault that was met, or to the beginning.

        At a watchpoint the launch stands before the instruction that touched the place.

        >>> session.break_at("first_steps.cu:11").number
        1
        >>> session.run().kind, session.reverse_cont().kind, session.tick
        ('exited', 'breakpoint', 1017)
        """
        return self.history.reverse_cont()

    @cached_property
    def provenance(self) -> Provenance:
        """Who wrote and read places, and what values were computed from."""
        from gpudbg.debug.provenance import Provenance

        return Provenance(self, self.runner, self.history)

    @overload
    def who_wrote(self, expression: str) -> Stop: ...

    @overload
    def who_wrote(
        self, expression: str, n: int, *, lanes: bool = False
    ) -> tuple[PlaceTouch, ...]: ...

    @overload
    def who_wrote(
        self, expression: str, n: int | None = None, *, lanes: bool
    ) -> Stop | tuple[PlaceTouch, ...]: ...

    def who_wrote(
        self, expression: str, n: int | None = None, *, lanes: bool = False
    ) -> Stop | tuple[PlaceTouch, ...]:
        """Go back to the instruction that wrote a variable, an element or a register last; the
        launch stands before it, the focus on the lane that did it.

        Args:
            n: do not go there: the last `n` writers, the latest first.
            lanes: do not go there: the last writer for each of the warp's 32 lanes.

        Raises:
            CommandError: it is no place, or nothing has written it.

        >>> stop = session.run()
        >>> stop = session.who_wrote("out[2]")
        >>> stop.block, stop.line, session.instruction().text
        ((2, 0, 0), 24, 'STG.E [R2], R4')
        """
        return self._who("write", expression, "out[2]", n, lanes)

    @overload
    def who_read(self, expression: str) -> Stop: ...

    @overload
    def who_read(
        self, expression: str, n: int, *, lanes: bool = False
    ) -> tuple[PlaceTouch, ...]: ...

    @overload
    def who_read(
        self, expression: str, n: int | None = None, *, lanes: bool
    ) -> Stop | tuple[PlaceTouch, ...]: ...

    def who_read(
        self, expression: str, n: int | None = None, *, lanes: bool = False
    ) -> Stop | tuple[PlaceTouch, ...]:
        """Go back to the instruction that read a place last; as `who_wrote`.

        >>> stop = session.run()
        >>> session.who_read("in[5]", n=1)[0].instruction
        'LDG.E R2, [R2]'
        """
        return self._who("read", expression, "in[5]", n, lanes)

    @interruptible
    def why(
        self, expression: str | Derivation, depth: int = 4, *, control: bool = False
    ) -> Derivation:
        """What a value was computed from: a tree back to loads and parameters.

        A register's value goes on at what its writer read, a load's at who wrote the memory, a
        shuffle's in the other lane; constants, special registers and what was there at the launch
        are leaves.  Nothing moves.

        Args:
            expression: a place, as for `who_wrote`, or a value of a tree to go on from.
            depth: how many values stand below one another.
            control: the branches that led to an instruction are causes, too.

        Raises:
            CommandError: it is no place.

        >>> stop = session.run()
        >>> [cause.what for cause in session.why("out[2]", depth=3).walk()][:3]
        ['out[2]', 'R4', 'shared 0x0']
        """
        asked = expression
        if isinstance(expression, str):
            asked = given_text(expression, "expression", "$R4")
        return self.provenance.why(asked, whole(depth, "depth", 1), control)

    @interruptible
    def _who(
        self, how: str, expression: str, example: str, n: int | None, lanes: bool
    ) -> Stop | tuple[PlaceTouch, ...]:
        asked, most = given_text(expression, "expression", example), maybe_whole(n, "n", 1)
        if most is None and not lanes:
            return self.provenance.jump(asked, how)
        return self.provenance.touches(asked, how, most or 1, lanes)

    @interruptible
    def goto(self, tick: int) -> Stop:
        """Stand after so many warp instructions of the launch, before or behind the present.

        Raises:
            UsageError: a tick below 0 or that is no integer.
            CommandError: the launch ends before it.
        """
        return self.history.goto(whole(tick, "tick", 0))

    def goto_place(self, place: str) -> Stop:
        """`goto` with a tick as people write it (1,200, `begin`, `end`), or a bookmark's name."""
        marked = self.timeline.tick_of(place)
        return self.goto(marked) if marked is not None else self._goto_text(place)

    @interruptible
    def _goto_text(self, text: str) -> Stop:
        return self.history.goto_text(text)

    @property
    def branches(self) -> tuple[BranchRow, ...]:
        """The ways the launch was led on after something was changed in its past, by number."""
        return tuple(self.history.branch_rows())

    @interruptible
    def branch(self, which: int | str) -> Stop:
        """Stand at the end of another branch; going on follows that.

        Args:
            which: its number or its name.

        Raises:
            CommandError: there is no such branch.
        """
        return self.history.switch(self.history.branches.number_of(str(which)))

    def name_branch(self, name: str) -> None:
        """Name the branch that is followed; "" takes the name away.

        Raises:
            CommandError: the name is a number, or another branch's.
        """
        self.history.name_branch(name)

    def delete_branch(self, which: int | str) -> None:
        """Forget a branch, by number or name; its number is not given again.

        Raises:
            CommandError: it is the one that is followed, or there is no such branch.
        """
        self.history.delete_branch(self.history.branches.number_of(str(which)))

    @interruptible
    def compare_branch(
        self, which: int | str, tick: int | None = None
    ) -> tuple[StateDifference, ...]:
        """What differs in the state of the launch here and on another branch; nothing moves.

        Args:
            which: its number or its name.
            tick: where on both; None: at their ends.

        Raises:
            CommandError: there is no such branch, or one of the two does not come to that tick.

        >>> stop = session.run()
        >>> stop = session.goto(0)
        >>> session.set_buffer("in", session.buffer("in") * 0)
        >>> stop = session.run()
        >>> [row.where for row in session.compare_branch(1)][-1]
        'buffer out (argument 1)+0x0'
        """
        at = None if tick is None else whole(tick, "tick", 0)
        return self.history.compare(self.history.branches.number_of(str(which)), at)

    def jump(self, location: str | int) -> None:
        """Let the focused warp go on at another instruction; nothing runs yet.

        Args:
            location: as for `break_at`.

        Raises:
            UsageError: the location is neither a text nor an integer.
            CommandError: no such place, or the location is several.
        """
        stepping.jump(self.runner, self.location_text(location))

    def leave_function(self, result: str = "") -> None:
        """Let the focused warp return from the selected frame's function; nothing runs.

        The caller's registers and stack pointer come back from where the function keeps them; the
        register of its result stays as it is.  Up to sm_62 all lanes of the call return.

        Args:
            result: an expression: what the function returns, in each lane.

        Raises:
            CommandError: the frame is the kernel's or an inlined function's, or what the caller
                needs cannot be found; nothing has changed then.
        """
        words = words_of(self, result) if result else None
        leaving.leave_function(self.runner)
        if words is not None:
            give(self, words)

    def interrupt(self) -> None:
        """Stop a running machine soon; safe from any thread and from a signal handler."""
        self.scripting.interrupted = True
        super().interrupt()

    def forget_interrupt(self) -> None:
        """Drop an interrupt that came when nothing ran, so that it does not stop the next run."""
        self.scripting.interrupted = False
        super().forget_interrupt()

    def halted(self, why: str) -> Stop:
        """The stop where an exception ended a run, such as a gap of the model."""
        return self.runner.end_run(StopEvent("trap", total=self.grid.total, detail=(why,)))

    # ---- events ------------------------------------------------------------------------
    @property
    def events(self) -> Events[DebugSession]:
        """The stops to come: `for stop in session.events("breakpoint")`; see `Events`."""
        return Events(self, self.breakpoints, self._callbacks, DebugSession.run_to_stop)

    def break_at(
        self,
        location: str | int | None = None,
        condition: str | None = None,
        temporary: bool = False,
        ignore: int = 0,
        pending: bool = False,
        callback: Callback | None = None,
    ) -> Breakpoint:
        """Set a breakpoint.

        Args:
            location: `kernel`, `kernel+0x48`, `*0x48`, `file:line`, `line`, `ns::f`, `f(int)`,
                `file:f`; an int is an offset in the kernel; None is the focused pc.  A name
                stops in every function that it means (overloads, instantiations, copies).
            condition: an expression tested in every active lane.
            temporary: delete it when it is met.
            ignore: let this many hits pass.
            pending: keep a place that is not known (yet) for the next program.
            callback: called with the session and the stop; False lets the run go on.

        Raises:
            UsageError: an argument of another type.
            CommandError: no such place, or a condition that does not parse or names what is
                not there.

        >>> point = session.break_at("block_max+0x168", condition="$R4 > 4000")
        >>> stop = session.cont()
        >>> stop.kind, stop.block, stop.thread, stop.lane
        ('breakpoint', (0, 0, 0), (3, 0, 0), 3)
        """
        if callback is not None:
            function(callback, "callback")
        row = self.breakpoints.set_at(location, condition, temporary, ignore, pending)
        self.on_hit(row, callback)
        return row

    def watch_at(
        self,
        expression: str,
        kind: WatchKind = "write",
        condition: str | None = None,
        callback: Callback | None = None,
        stays: bool = False,
    ) -> Breakpoint:
        """Set a watchpoint on the place `expression` names in the focused lane.

        Args:
            expression: `bins[3]`, `*(@shared int*)0x20`, `$R4`, `c[0x0][0x148]`, `%tid.x`.
            kind: "write" stops where it changes, "store" where it is written, with the same value
                too, "read" where it is read, "access" where it is read or written.
            condition, callback: as `break_at`; the condition is tested in the lanes that touched.
            stays: keep it when the function whose variables `expression` names returns; else the
                session stops there (`Trigger.over`) and deletes it.

        Raises:
            CommandError: no warp, no such place, or a condition that does not parse.
        """
        given_text(expression, "expression", "out[0]")
        one_of(kind, "kind", get_args(WatchKind))
        self.breakpoints.check_condition(condition)
        row = self.watchpoints.add(expression, kind, condition, stays=stays)
        self.on_hit(row, callback)
        return row

    def on_hit(self, point: Breakpoint | int, callback: Callback | None) -> None:
        """Call back when a breakpoint is met; None takes the callback away.

        Args:
            point: a breakpoint or its number.
            callback: called with the session and the stop; where it returns False the run goes
                on.

        Raises:
            CommandError: no such breakpoint.

        >>> seen = []
        >>> def note(session, stop):
        ...     seen.append(session.warp().lane(stop.lane).R[4])
        ...     return False
        >>> session.on_hit(session.break_at("block_max+0x178"), note)
        >>> session.cont().kind, seen
        ('exited', [257, 921, 1821, 1171, 2787, 3867, 4098, 1442])
        """
        self.require_here()
        self.events.on_hit(point, callback)

    @contextmanager
    def breakpoint(self, location: str | int | None = None, **options: Any) -> Iterator[Breakpoint]:
        """A breakpoint for the length of a `with` block; arguments as `break_at`.

        >>> with session.breakpoint("block_max+0x178"):
        ...     print(session.cont().pc)
        376
        >>> session.cont().kind
        'exited'
        """
        point = self.break_at(location, **options)
        try:
            yield point
        finally:
            if any(row.number == point.number for row in self.breakpoints):
                self.breakpoints.remove(point.number)

    def subscribe(self, observer: Observer) -> Subscription:
        """Attach an observer to the machine's events, until it is cancelled, the `with` block
        ends, or the session does.

        >>> class Stores(gpudbg.Observer):
        ...     count = 0
        ...     def access(self, warp, space, kind, address, lanes, size):
        ...         self.count += kind == "store"
        >>> with session.subscribe(Stores()) as stores:
        ...     session.run().kind
        'exited'
        >>> stores.count
        35
        """
        return self.events.subscribe(observer)

    def unsubscribe(self, observer: Observer) -> None:
        """Detach an observer that `subscribe` attached; nothing happens to others."""
        self.events.unsubscribe(observer)

    def on(self, event: str, function: Callable[..., None]) -> Subscription:
        """Attach a function to one event of `gpudbg.Observer`.

        Args:
            event: the name of a hook: "instruction", "access", "barrier", "fault", …
            function: called with what that hook is given; it must not run the machine.

        Raises:
            UsageError: no such event.

        >>> def arrived(warp, arrival, released):
        ...     print(f"warp {warp.slot} comes, {len(released)} go on")
        >>> with session.on("barrier", arrived):
        ...     stop = session.cont(max_instructions=200)
        warp 0 comes, 0 go on
        warp 1 comes, 2 go on
        warp 1 comes, 0 go on
        warp 0 comes, 2 go on
        """
        return self.events.on(event, function)

    def trace(
        self,
        *events: str,
        at: str | int | None = None,
        block: tuple[int, int, int] | None = None,
    ) -> AbstractContextManager[TraceLog]:
        """Write down what happens in a `with` block; the log fills while the machine runs.

        The log is a sequence of `TraceEntry`; `log.arrays()` gives all of it as NumPy arrays.
        A trace of accesses runs in compiled code, as one of barriers, traps, faults, begins and
        ends does; one of instructions runs on the step engine.  Entries are in the order of
        events, with `jobs` too: a run that is observed takes one host thread.

        Args:
            events: "instruction", "access", "barrier", "trap", "fault", "warp_begin",
                "warp_end"; none means instructions.
            at: only there: a location as for `break_at`; a source line means all of it.
            block: only this blockIdx.

        Raises:
            UsageError: no such event.
            CommandError: no such place.

        >>> with session.trace("access", at="first_steps.cu:11", block=(1, 0, 0)) as log:
        ...     stop = session.run()
        >>> [(entry.index, entry.kind, entry.space, entry.lanes[:3]) for entry in log]
        [(0, 'load', 'global', (0, 1, 2)), (1, 'load', 'global', (0, 1, 2))]
        """
        return self.events.trace(*events, at=at, block=block)

    # ---- focus -------------------------------------------------------------------------
    def set_focus(self, text: str) -> Focus:
        """Move the focus: `sm 0 warp 3 lane 5`, `block 1 thread (5,0,0)`.

        Raises:
            CommandError: no such warp or thread is resident.
        """
        text = given_text(text, "focus", "block 1 thread (5,0,0)")
        self.require_stopped()
        self.focus = focus_module.parse_focus(text, self.grid, self.focus)
        return self.focus

    def focus_on(self, sm: int, warp: int, lane: int) -> Focus:
        """Move the focus to a resident warp's lane.

        Args:
            sm: number of the SM.
            warp: slot of the warp on it.
            lane: 0 to 31.

        Raises:
            UsageError: a number that is none, or a lane above 31.
            CommandError: no such warp is resident.
        """
        sm, warp, lane = whole(sm, "sm", 0), whole(warp, "warp", 0), whole(lane, "lane", 0, 31)
        return self.set_focus(f"sm {sm} warp {warp} lane {lane}")

    # ---- looking -----------------------------------------------------------------------
    def warp(self, index: int | None = None, sm: int | None = None) -> WarpView:
        """A resident warp by slot (on the focused SM unless given); the focused one by default.

        Args:
            index: its slot; None is the focused warp's.
            sm: number of the SM; None is the focused one.

        Raises:
            UsageError: no such warp is resident.

        >>> warp = session.warp(3)
        >>> warp.block, warp.lane(5).thread, warp.status
        ((2, 0, 0), (37, 0, 0), 'ready')
        """
        return WarpView(self, resident_warps.warp_at(self, index, sm))

    def warps(self) -> Iterator[WarpView]:
        """Every resident warp by (sm, slot)."""
        self.require_here()
        return (WarpView(self, w) for w in self.grid.warps())

    def warps_where(self, condition: str = "") -> Iterator[WarpState]:
        """Resident warps with an active lane where an expression holds; all without one.

        Raises:
            CommandError: it assigns, or cannot be computed in an active lane.
        """
        self.require_here()
        return resident_warps.warps_where(self, condition)

    def evaluate(self, text: str) -> Result:
        """An expression's value in the 32 lanes of the focused warp.

        >>> session.evaluate("threadIdx.x * 2 + 1").values[:4]
        array([1, 3, 5, 7], dtype=uint32)
        """
        return evaluation.evaluate(self, given_text(text, "expression", "$R4 + 1"))

    def integer(self, text: str, what: str = "a number") -> int:
        """An expression's value in the focused lane; see `evaluation.integer`."""
        return evaluation.integer(self, text, what)

    def context(self) -> WarpContext:
        """What expressions see: the focused warp; at the end, what a launch leaves."""
        return evaluation.context_of(self)

    def origin(self) -> Origin:
        """Where locations are read from: the focus, the settings, the source path."""
        return evaluation.origin(self)

    # ---- memory ------------------------------------------------------------------------
    @property
    def memory(self) -> SessionMemory:
        """Memory as the focused lane sees it: `session.memory("in", 16)`; see `SessionMemory`."""
        return SessionMemory(self)

    def buffer(self, argument: int | str) -> NDArray[np.generic]:
        """The device buffer of an argument (by position or name) as an array of its own.

        A copy: `set_buffer` writes to the device.

        Raises:
            UsageError: no such argument, or it is a scalar.

        >>> session.buffer("in")[:3], session.buffer(1)
        (array([ 250,  715, 1408], dtype=int32), array([0, 0, 0, 0], dtype=int32))
        """
        self.require_here()
        return self.memory.buffer(argument)

    def set_buffer(self, argument: int | str, array: ArrayLike) -> None:
        """Replace what is in the device buffer of an argument.

        Args:
            argument: its name or position.
            array: of as many elements; converted to the buffer's type, in C order.

        Raises:
            UsageError: no such argument, a scalar, or an array of another size.

        >>> session.set_buffer("in", np.arange(256))
        >>> session.run().kind, session.buffer("out")
        ('exited', array([ 73, 137, 207, 264], dtype=int32))
        """
        self.require_here()
        self.memory.set_buffer(argument, array)

    def allocations(self) -> Iterator[Allocation]:
        """Device memory, allocation by allocation."""
        return self.memory.allocations()

    def sreg(self, name: str) -> SpecialValue:
        """A special register of the focused warp ("SR_TID.X", "SR_VIRTID").

        Raises:
            CommandError: no such register.

        >>> session.sreg("SR_LANEID").values[:3], session.sreg("SR_VIRTID").fields["SMId"]
        (array([0, 1, 2], dtype=uint32), 0)
        """
        return inspection.sreg(self, name)

    def instruction(self, offset: int | None = None) -> InstructionInfo:
        """An instruction of the kernel; the focused warp's next one by default.

        Raises:
            CommandError: there is none at that offset.

        >>> info = session.instruction(0x10)
        >>> info.text, info.writes, info.line
        ('MOV R4, RZ', ('R4',), 'first_steps.cu:10')
        """
        return inspection.instruction(self, offset)

    def fragments(self, location: str | int | None = None) -> FragmentView:
        """The operands of a tensor-core instruction as matrices (`.A`, `.B`, `.C`, `.D`; of matrix
        moves `.M`): values, and which lane holds each.

        Args:
            location: of the instruction; by default the one that the focused warp executes next,
                the one before, or the nearest that follows.

        Raises:
            CommandError: there is none.
        """
        return inspection.fragments(self, location)

    def special(self, warp: WarpState, name: str) -> Result | None:
        """A special or PTX register's value in 32 lanes; None when it is none."""
        return access.special(self, warp, name)

    def special_names(self) -> list[str]:
        """Names of special registers."""
        return access.special_names()

    def complete_expression(self, text: str) -> list[str]:
        """Names that could end an expression."""
        return evaluation.complete(self, text)

    # ---- commands ----------------------------------------------------------------------
    def command(self, line: str) -> Output:
        """Carry out a console command; an empty line repeats the last one that repeats.

        Several lines are a script: blocks up to their `end`, one answer.

        Raises:
            GpudbgError: unknown command, bad argument, or nothing to act on.
        """
        return self.interpreter.command(line)

    @property
    def last_line(self) -> str:
        """The command that an empty line repeats."""
        return self.interpreter.last_line

    @last_line.setter
    def last_line(self, line: str) -> None:
        self.interpreter.last_line = line

    def carry_out(self, player: Player) -> Output:
        """Carry out all that is left of a script; see `CommandInterpreter`."""
        return self.interpreter.carry_out(player)

    def plain_command(self, line: str) -> Output:
        """Carry out a line that is no block, file nor user command."""
        return self.interpreter.plain(line)

    def _answer(self, line: str) -> str:
        """What a command line that only shows something answers."""
        return self.interpreter.shown(line)

    def dispatch(self, found: Command[DebugSession], argument: str) -> Output:
        """Carry out a resolved command; see `CommandInterpreter`."""
        return self.interpreter.dispatch(found, argument)

    def snapshot(self, previous: Snapshot | None = None) -> Snapshot:
        """The stopped machine as frozen data; `previous` decides what counts as changed.

        >>> snapshot = session.snapshot()
        >>> [(w.sm, w.slot, w.block, w.state) for w in snapshot.warps][:2]
        [(0, 0, (0, 0, 0), 'ready'), (0, 1, (0, 0, 0), 'ready')]
        """
        from gpudbg.debug.snapshot import take

        self.require_here()
        return take(self, (point.to_json() for point in self.breakpoints), previous)

    def execute(self, line: str) -> Any:
        """Carry out a console command and return its data.

        >>> [row["state"] for row in session.execute("info warps")][:3]
        ['ready', 'ready', 'ready']
        """
        return self.command(given_text(line, "line", "info warps")).data


KEPT = ("kernel", "program", "stop", "stops")
"""Attributes that stay after `DebugSession.close`."""


class ClosedSession(DebugSession):
    """What a session becomes when it is closed: whatever needs the machine is refused by name."""

    _refused: frozenset[str]
    _faulted: bool

    def close(self) -> None:
        """Nothing is left to do."""

    @property
    def closed(self) -> bool:
        """Whether `close` has ended it."""
        return True

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run."""
        return True

    @property
    def faulted(self) -> bool:
        """Whether the launch was ended by a warp error or a deadlock."""
        return self._faulted

    def __getattribute__(self, name: str) -> Any:
        own = name in ClosedSession.__dict__ or name in KEPT
        if own or (name.startswith("_")):
            return object.__getattribute__(self, name)
        if name in self._refused or hasattr(DebugSession, name):
            raise UsageError(
                f"the session of {self.kernel.name} is closed", "launch the kernel again"
            )
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"<closed session of {self.kernel.name}>"

    def _repr_html_(self) -> str:
        return html.heading(repr(self)[1:-1])


def session_html(live: DebugSession) -> str:
    """A session: what was launched, why it stands, and the code there."""
    head = repr(live)[1:-1]
    body = stop_html(live.stop) if live.stop is not None else ""
    return html.heading(head) + body + (code_html(live.warp()) if live.focus is not None else "")
