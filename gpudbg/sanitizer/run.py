"""A check of launches from begin to end: `gpudbg.check`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpudbg import validation
from gpudbg.answers.words import dim
from gpudbg.api.programs import LoadedProgram, Source
from gpudbg.architectures import is_wide
from gpudbg.dataclass import dataclass
from gpudbg.debug.stops.stop import DeadlockStop, ExitStop, InterruptStop
from gpudbg.device.hostdata import host_value
from gpudbg.errors import ModelGap, UsageError
from gpudbg.sanitizer.async_races import AsyncRaceCheck
from gpudbg.sanitizer.barriers import BarrierCheck
from gpudbg.sanitizer.collector import FindingCollector
from gpudbg.sanitizer.deadlocks import DeadlockFindings
from gpudbg.sanitizer.definedness import DefinednessCheck, GlobalShadow
from gpudbg.sanitizer.findings import (
    CheckFinding,
    PerfSite,
    Severity,
)
from gpudbg.sanitizer.hand_over import hand_overs, masks_of_converged, outlined
from gpudbg.sanitizer.launch_plan import Begin, LaunchPlan
from gpudbg.sanitizer.mbarrier_findings import MbarrierFindings
from gpudbg.sanitizer.memory import HeapSites, MemoryCheck, report_leaks
from gpudbg.sanitizer.merging import one_per_defect
from gpudbg.sanitizer.monitor import Monitor, RefusedMonitor, RunCheck
from gpudbg.sanitizer.performance import PerformanceCheck
from gpudbg.sanitizer.placed_code import BySymbol, PlacedCode
from gpudbg.sanitizer.places import AccessPlaces
from gpudbg.sanitizer.race_window import RaceWindow, Suspects, WrittenGranules
from gpudbg.sanitizer.races import RaceCheck, emulated_atomics
from gpudbg.sanitizer.register_pool import RegisterPoolCheck
from gpudbg.sanitizer.report import CheckReport
from gpudbg.sanitizer.schedules import (
    RacingTicks,
    RunOutcome,
    ShownSchedule,
    outcome_of,
    plan_of,
    shortened,
)
from gpudbg.sanitizer.screening import (
    MOST_PAGES,
    PAGE_GRANULES,
    allocated_pages,
    can_screen,
    screening_of,
)
from gpudbg.sanitizer.settings import DEFAULTS, CheckSettings
from gpudbg.sanitizer.stop_findings import add_error
from gpudbg.sanitizer.suppressions import Suppressions
from gpudbg.sanitizer.symbol_addresses import (
    SymbolAddresses,
    SymbolRows,
)
from gpudbg.sanitizer.symbol_bounds import SymbolBoundsCheck
from gpudbg.sanitizer.views import ViewCheck, promised, storage_of
from gpudbg.sanitizer.warpgroups import PRODUCTS, WarpgroupCheck
from gpudbg.sm.launch import system_shared
from gpudbg.sm.observer import Observer

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.device.device import DeviceBuffer
    from gpudbg.sm.schedule.plan import SchedulePlan


def check(
    program: Source,
    kernel: str | None = None,
    *,
    grid: int | Sequence[int] = 1,
    block: int | Sequence[int] = 32,
    args: Sequence[object] = (),
    shared_bytes: int = 0,
    launches: Sequence[Mapping[str, Any]] | None = None,
    checks: Sequence[str] = DEFAULTS.checks,
    performance: bool = DEFAULTS.performance,
    portability: bool = DEFAULTS.portability,
    init: str = DEFAULTS.init,
    volatile: str = DEFAULTS.volatile,
    schedules: int = DEFAULTS.schedules,
    seed: int = DEFAULTS.seed,
    suppressions: str | Sequence[str] = DEFAULTS.suppressions,
    baseline: str | None = DEFAULTS.baseline,
    max_instructions: int | None = DEFAULTS.max_instructions,
    max_findings: int = DEFAULTS.max_findings,
    fail_on: Severity = DEFAULTS.fail_on,
    views: str | None = DEFAULTS.views,
    jobs: int = 1,
) -> CheckReport:
    """Run launches and look for what is wrong with them; changes no result.

    Args:
        program: what `load` takes, or a loaded program: then `args` may hold its device's buffers.
        kernel, grid, block, args, shared_bytes: one launch, as `LoadedProgram.launch` takes it.
        launches: or several on the same device, in order: dicts of those names, of `cluster`
            (blocks of a cluster) and of `overlap` (a dependent launch: it may begin before the one
            before it has ended, and orders nothing until it waits for that).
        checks: of "memory", "race", "init", "sync", "leak", "hazards".
        performance: count bank conflicts, sectors and divergence, too.
        portability: say what only lock-step orders, as notes.
        init: "use" reports undefined values where they decide something, "load" their loads.
        volatile: "relaxed" is PTX's rule; "data": volatile accesses race as others do.
        schedules: how many schedules to run; findings of all are reported, and the shortest one
            is looked for that leaves other results than the first (`report.schedule`).
        seed: of the first schedule; 0 lets warps run in turn.
        suppressions: a file of rules, or rules.
        baseline: a file of fingerprints that are known.
        max_instructions: warp instructions of a launch after which it counts as not ending.
        max_findings: that are kept.
        fail_on: the least severity that counts for the exit code.
        views: what accesses outside of an argument that is a view are: "error", "warning" or
            "ignore"; None: stores and atomics are errors, loads warnings.  NumPy arrays that are
            part of a larger one are such views: all of that is there, and is copied back.
        jobs: processes that check schedules side by side.

    Raises:
        UsageError: an argument does not fit; LoadError, CompileError: as `load`.

    >>> values, out = np.arange(64, dtype=np.int32), np.zeros(1, np.int32)
    >>> print(gpudbg.check(program, block=64, args=[values, out, 64]))
    gpudbg check: clean (memory, race, init, sync, leak); 1 launch, 253 instructions
    """
    validation.whole(jobs, "jobs", 1)
    rows = _rows(kernel, grid, block, args, shared_bytes, launches)
    loaded = program if isinstance(program, LoadedProgram) else _load(program)
    storage = NumpyStorage(loaded)
    rows = [{**row, "args": storage.given(row.get("args", ()))} for row in rows]
    settings = CheckSettings(
        checks, performance, portability, init, volatile, schedules, seed, suppressions, baseline,
        max_instructions, max_findings, fail_on, views,
    )  # fmt: skip
    plan = LaunchPlan(
        loaded,
        [partial(_launch, row) for row in rows],
        given=[row["args"] for row in rows],
        overlap=[bool(row.get("overlap")) for row in rows],
    )
    report = check_in_jobs(plan, settings, jobs)
    storage.write_back()
    return report


def check_in_jobs(plan: LaunchPlan, settings: CheckSettings, jobs: int) -> CheckReport:
    """Run `check`, with the schedules distributed over `jobs` processes."""
    if jobs < 2 or settings.schedules < 3:
        return check_plan(plan, settings)
    # Imported only here: it needs processes.
    from gpudbg.sanitizer.side_by_side import side_by_side

    return side_by_side(check_plan, plan, settings.validated(), jobs)


def check_plan(
    launches: LaunchPlan,
    settings: CheckSettings = DEFAULTS,
    first_schedule: int = 1,
    *,
    plain: bool = True,
) -> CheckReport:
    """Run `check` on planned launches.

    Args:
        first_schedule: number of the first schedule beside the plain one.
        plain: whether the plain one is checked, too; its results stay in memory.
    """
    settings = settings.validated()
    rules = Suppressions.read(settings.suppressions, settings.baseline)
    begin = time.perf_counter()
    findings, gpu = FindingCollector(settings.max_findings), launches.program.device.gpu
    search = _Search(launches, settings, findings, first_schedule, plain)
    own_seed, own_marking = gpu.seed, gpu.marking
    # Mark what compiled code stores to memory without contents.
    gpu.marking |= "init" in settings.checks
    try:
        report = search.report(settings.schedules)
    finally:
        gpu.seed, gpu.marking = own_seed, own_marking
    return replace(
        report,
        findings=rules.applied(one_per_defect(findings.sorted())),
        schedules_run=settings.schedules,
        schedule_numbers=(0, *range(first_schedule, first_schedule + settings.schedules - 1)),
        seconds=time.perf_counter() - begin,
        unused=rules.unused(),
        fail_on=settings.fail_on,
    )


@dataclass(slots=True)
class _Search:
    """Runs the same launches under several schedules."""

    launches: LaunchPlan
    settings: CheckSettings
    findings: FindingCollector
    first: int
    plain: bool = True

    def report(self, schedules: int) -> CheckReport:
        """Run under `schedules` schedules; the first one runs last, so that its results stay in
        memory.
        """
        others, faults, near = [], [], RacingTicks(())
        stopper = self.launches.stopper
        if schedules > 1:
            first = self._bare(self.settings.seed)
        for number in range(self.first, self.first + schedules - 1):
            if stopper.why:
                break
            plan = plan_of(number, self.settings.seed, first.ticks, near.ticks)
            run = self._checked(plan.seed, keep=False)
            faults += [f"schedule {plan.text}: {fault}" for fault in run.faults]
            others.append((plan, run.outcome))
            racing = {a.pc for f in self.findings.sorted() if f.kind == "race" for a in f.accesses}
            if racing and not near.ticks:
                near = RacingTicks(racing)
                self._bare(self.settings.seed, near)
        # Before the last run, whose results stay in memory: all runs begin alike.
        shown = self._shown(others, first) if others and not stopper.why else None
        last = run if others and not self.plain else self._checked(self.settings.seed)
        report = last.report()
        report = replace(report, faults=(*report.faults, *faults))
        return report if shown is None else replace(report, schedule=shown)

    def _shown(
        self, others: Sequence[tuple[SchedulePlan, RunOutcome]], first: RunOutcome
    ) -> ShownSchedule | None:
        """The shortest version of the first schedule that leaves other results; None where none
        does.
        """
        for plan, outcome in others:
            if outcome.difference(first):
                shown = shortened(plan, first, lambda p: self._bare(p.seed))
                if shown is not None or self.launches.stopper.why:
                    return shown
        return None

    def _checked(self, seed: int, keep: bool = True) -> _Run:
        """Run all launches with checks; with `keep` their results stay in memory."""
        gpu = self.launches.program.device.gpu
        kept = None if keep else gpu.memory.checkpoint()
        gpu.seed = seed
        run = _Run(self.launches, self.settings, self.findings)
        try:
            run.all(self.launches.begins)
            if not keep:
                run.outcome = outcome_of(run.sessions, run.stops)
        finally:
            if self.launches.owned:
                run.close()
        if kept is not None:
            kept.restore()
        return run

    def _bare(self, seed: int, near: RacingTicks | None = None) -> RunOutcome:
        """Run the launches without checks, skipping bad accesses as checks do. Returns how they
        ended.
        """
        gpu = self.launches.program.device.gpu
        kept, sessions, stops = gpu.memory.checkpoint(), [], []
        gpu.seed = seed
        try:
            for begin in self.launches.begins:
                session = begin(self.launches.program)
                sessions.append(session)
                with ExitStack() as listening:
                    listening.enter_context(self.launches.stopper.watching(session))
                    listening.enter_context(session.subscribe(RefusedMonitor((), lambda pc: None)))
                    if near is not None:
                        near.begin()
                        listening.enter_context(session.subscribe(near))
                    stops.append(
                        session.runner.run(self.settings.max_instructions, prove_hangs=True)
                    )
                if not isinstance(stops[-1], ExitStop):
                    break
            return outcome_of(sessions, stops)
        finally:
            for session in sessions:
                session.close()
            kept.restore()


@dataclass(slots=True)
class _Run:
    """Launches on one device, checked one after the other."""

    launches: LaunchPlan
    settings: CheckSettings
    findings: FindingCollector
    stop: Stop | None = None
    launched: list[str] = field(default_factory=list)
    instructions: int = 0
    gap: str = ""
    faults: list[str] = field(default_factory=list)
    sites: list[PerfSite] = field(default_factory=list)
    sessions: list[DebugSession] = field(default_factory=list)
    shadow: GlobalShadow | None = None
    heap: dict[Any, Any] = field(default_factory=dict)
    freed: set[Any] = field(default_factory=set)
    unfinished: list[AsyncRaceCheck] = field(default_factory=list)
    screening: bool = True
    suspects: Suspects | None = None
    screened: int = 0
    stops: list[Stop] = field(default_factory=list)
    outcome: RunOutcome = RunOutcome((), (), 0)

    def all(self, plan: Sequence[Begin]) -> None:
        """Run launches until one does not end, then examine what they leave."""
        for begin in plan:
            if not self.launch(begin):
                # A kernel that did not end might still have freed it.
                return
        if "leak" in self.settings.checks:
            blocks = self.launches.program.device.gpu.heap.blocks
            report_leaks(self.findings, [b for b in blocks if b not in self.freed], self.heap)

    def launch(self, begin: Begin) -> bool:
        """Run one launch. Returns whether the next may follow."""
        if self.launches.stopper.why:
            self.faults.append(self.launches.stopper.why)
            return False
        self.findings.launch = len(self.launched)
        session = begin(self.launches.program)
        self.sessions.append(session)
        self.launches.started(session)
        hazards = session.check("hazards") if "hazards" in self.settings.checks else None
        block = session.grid.launched.config.block
        places = AccessPlaces(session.symbols, block, partial(_outlined, session))
        try:
            screened = self._screen(session)
            if screened is None:
                return self._exact(session, places)
        except ModelGap as gap:
            self.gap = str(gap)
            return False
        finally:
            if hazards is not None:
                self._add_hazards(hazards, places)
        self._count(session, screened)
        return self._finish(session, screened, places)

    def _add_hazards(self, hazards: Any, places: AccessPlaces) -> None:
        """Add findings of the hazards check."""
        for hazard, count in zip(hazards.findings, hazards.counts, strict=True):
            key = ("hazard", hazard.second.pc, hazard.kind, hazard.resource)
            self.findings.add(key, partial(_hazard, hazard, places), count)

    def _screen(self, session: DebugSession) -> Stop | None:
        """Run a launch on compiled code. Returns its stop where no finding is possible; else None,
        with the launch at its beginning again.
        """
        checks = self.settings.checks
        self.suspects = None
        instructions = PlacedCode.of(session).instructions
        if not self._screens(session) or not can_screen(session, instructions, checks):
            return None
        undefined: list[Any] = []
        if "init" in checks:
            rows = self._shadow().rows()
            if rows is None:
                return None
            undefined = rows
        symbols = self._symbol_accesses(session)
        if symbols is None:
            return None
        screening = screening_of(
            session, instructions, checks, emulated=emulated_atomics(instructions),
            volatile_data=self.settings.volatile_data, undefined=undefined,
            symbols=SymbolRows(*symbols),
        )  # fmt: skip
        watched = self.launches.stopper.watching(session, trial=True)
        with watched, session.subscribe(screening):
            stop = session.runner.run(self.settings.max_instructions, prove_hangs=True)
        screening.finish()
        # Warps that wait at a barrier for ever are suspect; spinning ones are not.
        interrupted = isinstance(stop, InterruptStop)
        if interrupted and self.launches.stopper.why:
            # No time is left for the exact checks.
            return stop
        if not screening.suspected and not stop.errors and not interrupted:
            if "init" in checks:
                self._shadow().written()
            return stop
        if isinstance(stop, ExitStop) and not stop.errors:
            self.suspects, self.screened = screening.suspects(), stop.instructions
        session.restart()
        session.forget_interrupt()
        self.launches.started(session)
        return None

    def _screens(self, session: DebugSession) -> bool:
        """Whether a screening pass on compiled code may replace the exact one."""
        settings, number = self.settings, len(self.launched)
        if settings.performance or settings.portability or not self.screening:
            return False
        if "hazards" in settings.checks:
            # These checks need every instruction.
            return False
        if any(self.launches.overlap):
            return False
        if not {"race", "init", "sync"} & set(settings.checks):
            # Refused accesses alone can be found on compiled code, too.
            symbols = self._symbol_accesses(session)
            if symbols is None or not symbols[1]:
                return False
        if (
            number < len(self.launches.given)
            and settings.views != "ignore"
            and "memory" in settings.checks
        ):
            memory = self.launches.program.device.gpu.memory
            return not promised(memory, self.launches.given[number], [])
        return True

    def _symbol_accesses(self, session: DebugSession) -> BySymbol | None:
        """Accesses that go through the address of a variable; None: it is not known which."""
        if "memory" not in self.settings.checks:
            return SymbolAddresses.of(session), {}
        return PlacedCode.of(session).symbol_accesses(session)

    def _shadow(self) -> GlobalShadow:
        if self.shadow is None:
            self.shadow = GlobalShadow(self.launches.program.device.gpu.memory)
        return self.shadow

    def _count(self, session: DebugSession, stop: Stop) -> None:
        """Count a finished launch."""
        self.stop = stop
        self.stops.append(stop)
        self.instructions += stop.instructions
        self.launched.append(_title(session))

    def _exact(self, session: DebugSession, places: AccessPlaces) -> bool:
        """Run a launch with all checks. Returns whether the next may follow."""
        performance = PerformanceCheck(places)
        sites = HeapSites(places, self.launches.program.device.gpu.memory)
        sites.made |= self.heap
        window = RaceWindow(self.suspects, bounded=not any(self.launches.overlap))
        members = self._members(session, places, sites, window)
        if self.settings.performance:
            members.append(performance)
        layout = self.launches.program.device.gpu.layout
        monitor: Monitor | RefusedMonitor = Monitor(members, layout)
        if self._only_refused(session, members):
            monitor = RefusedMonitor(members, PlacedCode.of(session).by_pc.get)
        with self.launches.stopper.watching(session), session.subscribe(monitor):
            try:
                stop = session.runner.run(
                    self.settings.max_instructions,
                    prove_hangs=True,
                    early=isinstance(monitor, Monitor),
                )
            except ModelGap as gap:
                monitor.finish()
                explained = any(isinstance(m, WarpgroupCheck) and m.explains for m in members)
                self.gap = "" if explained else str(gap)
                return False
            monitor.finish()
        if self.unfinished:
            self.unfinished[-1].finished()
        self.heap |= sites.made
        self.freed |= set(sites.freed)
        self._count(session, stop)
        self.sites += performance.sites()
        going = self._finish(session, stop, places)
        if "race" in self.settings.checks:
            self._rest(session, places, window, stop)
        return going

    def _rest(
        self, session: DebugSession, places: AccessPlaces, window: RaceWindow, stop: Stop
    ) -> None:
        """Look for races in memory of which the first exact pass kept no records: the launch is run
        again, as often as that takes.
        """
        differs = self.suspects is not None and self.screened != stop.instructions
        if window.high is not None and window.suspects is None:
            window.suspects = self._written(session, places)
        while True:
            while window.next():
                if not self._again(session, places, self._race_checks(session, places, window)):
                    return
            if not differs:
                return
            # The first pass took other ways: what it did not suspect may race on these.
            differs = False
            window.others()
            if not self._again(session, places, self._race_checks(session, places, window)):
                return

    def _again(
        self, session: DebugSession, places: AccessPlaces, checks: Sequence[RunCheck],
        *beside: Observer,
    ) -> bool:  # fmt: skip
        """Run a launch once more from its beginning. Returns False where no time is left."""
        session.restart()
        self.launches.started(session)
        device = self.launches.program.device
        # The heap's blocks are made again.
        sites = HeapSites(places, device.gpu.memory)
        monitor = Monitor([sites, *checks], device.gpu.layout)
        with ExitStack() as listening:
            listening.enter_context(self.launches.stopper.watching(session))
            for observer in (monitor, *beside):
                listening.enter_context(session.subscribe(observer))
            session.runner.run(self.settings.max_instructions, prove_hangs=True, early=True)
            monitor.finish()
        self.heap |= sites.made
        self.freed |= set(sites.freed)
        why = self.launches.stopper.why
        if why and why not in self.faults:
            self.faults.append(why)
        return not why

    def _written(self, session: DebugSession, places: AccessPlaces) -> Suspects | None:
        """The granules of global memory that a launch writes; None: it is not known."""
        first, pages = allocated_pages(self.launches.program.device.gpu.memory)
        if pages > MOST_PAGES:
            return None
        bits = np.zeros(pages * PAGE_GRANULES // 8, np.uint8)
        first *= PAGE_GRANULES
        if not self._again(session, places, (), WrittenGranules(first, bits)):
            return None
        return Suspects(None, first, bits)

    def _only_refused(self, session: DebugSession, members: Sequence[RunCheck]) -> bool:
        """Whether refused accesses are all there is to find, so that compiled code may run."""
        if not all(isinstance(m, MemoryCheck | HeapSites) for m in members):
            return False
        if "hazards" in self.settings.checks:
            return False
        return not {"malloc", "free"} & set(session.launch.image.externs.values())

    def _members(
        self, session: DebugSession, places: AccessPlaces, sites: HeapSites, window: RaceWindow
    ) -> list[RunCheck]:
        settings, findings = self.settings, self.findings
        memory = self.launches.program.device.gpu.memory
        below = system_shared(session.launch.kernel, self.launches.program.device.arch)
        members: list[RunCheck] = [sites]
        if "memory" in settings.checks:
            members.append(MemoryCheck(findings, places, memory, sites, below))
            members += self._views(session, places)
            symbols = self._symbol_accesses(session)
            if symbols is None or symbols[1]:
                known = SymbolAddresses.of(session) if symbols is None else symbols[0]
                members.append(SymbolBoundsCheck(findings, places, memory, known))
        if is_wide(self.launches.program.device.arch) and (
            "race" in settings.checks or "sync" in settings.checks
        ):
            sync = MbarrierFindings(findings, places) if "sync" in settings.checks else None
            number = len(self.launched)
            if not (number < len(self.launches.overlap) and self.launches.overlap[number]):
                # An ordinary launch begins only after all earlier ones have ended.
                self.unfinished.clear()
            code = PlacedCode.of(session).instructions
            beside = self._async_check(session, places, window, sync, self.unfinished)
            self.unfinished.append(beside)
            members += [beside, *self._groups(session, places, code)]
        elif "race" in settings.checks:
            members += self._race_checks(session, places, window)
        if "init" in settings.checks:
            shadow = self._shadow()
            members.append(
                DefinednessCheck(
                    findings,
                    places,
                    memory,
                    shadow,
                    at_load=settings.at_load,
                    constants=session.grid.launched.constants,
                    system_shared=below,
                )
            )
        if "sync" in settings.checks:
            members.append(BarrierCheck(findings, places))
        return members

    def _race_checks(
        self, session: DebugSession, places: AccessPlaces, window: RaceWindow
    ) -> list[RunCheck]:
        """What looks for races of one pass in the granules of a window."""
        settings, device = self.settings, self.launches.program.device
        config = session.grid.launched.config
        if is_wide(device.arch):
            return [self._async_check(session, places, window, None, ())]
        emulated = emulated_atomics(PlacedCode.of(session).instructions)
        return [
            RaceCheck(
                self.findings, places, device.gpu.memory, lock_step=not portable,
                portable_only=portable, emulated=emulated, volatile_data=settings.volatile_data,
                grid=config.grid, block=config.block, window=window,
            )
            for portable in (False, *([True] if settings.portability else []))
        ]  # fmt: skip

    def _async_check(
        self, session: DebugSession, places: AccessPlaces, window: RaceWindow,
        sync: MbarrierFindings | None, before: Sequence[AsyncRaceCheck],
    ) -> AsyncRaceCheck:  # fmt: skip
        settings, device = self.settings, self.launches.program.device
        code, config = PlacedCode.of(session).instructions, session.grid.launched.config
        return AsyncRaceCheck(
            self.findings, places, device.gpu.memory, emulated=emulated_atomics(code),
            handed=hand_overs(code, device.arch), volatile_data=settings.volatile_data,
            races="race" in settings.checks, sync=sync, before=before,
            masks=masks_of_converged(code), grid=config.grid, block=config.block, window=window,
        )  # fmt: skip

    def _groups(
        self, session: DebugSession, places: AccessPlaces, code: Sequence[tuple[int, Any]]
    ) -> list[RunCheck]:
        """The checks of warp groups, where the code uses them."""
        checks, ops = self.settings.checks, {insn.op for _, insn in code}
        members: list[RunCheck] = []
        if ops & PRODUCTS:
            races, sync = "race" in checks, "sync" in checks
            members.append(WarpgroupCheck(self.findings, places, races=races, sync=sync))
        if "USETMAXREG" in ops and "sync" in checks:
            registers = session.symbols.kernel.num_regs
            pool = RegisterPoolCheck(self.findings, places, registers, init="init" in checks)
            members.append(pool)
        return members

    def _views(self, session: DebugSession, places: AccessPlaces) -> list[RunCheck]:
        """The checks of argument views, where the launch has any."""
        number = len(self.launched)
        if number >= len(self.launches.given) or self.settings.views == "ignore":
            return []
        memory, arguments = self.launches.program.device.gpu.memory, session.launch.arguments
        found = promised(memory, self.launches.given[number], [a.name for a in arguments])
        severity: Any = self.settings.views
        return [ViewCheck(self.findings, places, memory, found, severity)] if found else []

    def _finish(self, session: DebugSession, stop: Stop, places: AccessPlaces) -> bool:
        """Turn a stop that is not the launch's end into findings. Returns whether the next launch
        may follow.
        """
        checks = self.settings.checks
        if isinstance(stop, ExitStop) and not stop.errors:
            return True
        if isinstance(stop, DeadlockStop):
            beside = self.unfinished[-1].phase_at if self.unfinished else lambda home, offset: None
            DeadlockFindings(self.findings, places, session, beside).add(stop)
        elif any(error.detail.startswith("tensor map at") for error in stop.errors):
            self.gap = stop.errors[0].detail
        elif not [e for e in stop.errors if add_error(self.findings, e, places, checks)]:
            why = self.launches.stopper.why
            if why and isinstance(stop, InterruptStop):
                # Where it was, as for a limit of instructions.
                why += stop.message.removeprefix("interrupted")
            self.faults.append(why or stop.message)
        return False

    def close(self) -> None:
        """Free the launches' resources."""
        for session in self.sessions:
            session.close()

    def report(self) -> CheckReport:
        """The report of what was found so far, unmerged."""
        program = self.launches.program.program
        return CheckReport(
            performance=tuple(self.sites) if self.settings.performance else (),
            counted_costs=self.settings.performance,
            stop=self.stop,
            launches_run=len(self.launched),
            instructions=self.instructions,
            checks=tuple(self.settings.checks),
            gap=self.gap,
            faults=tuple(self.faults),
            launches=tuple(self.launched),
            launches_asked=len(self.launches.begins),
            program={
                "file": str(program.path),
                "sha256": _digest(program.path),
                "arch": program.arch,
            },
        )


def _outlined(session: DebugSession) -> Mapping[int, int]:
    wide = is_wide(session.launch.program.arch)
    return outlined(PlacedCode.of(session).instructions) if wide else {}


def _hazard(hazard: Any, places: AccessPlaces) -> CheckFinding:
    """The finding of a pipeline hazard: which instruction gives the result, and which reads it too
    early.
    """
    who = hazard.block or (0, 0, 0), (0, 0, 0), 0, 0
    sides = [("store", hazard.first), ("load", hazard.second)]
    accesses = tuple(places.access_of(k, s.pc, *who) for k, s in sides if s is not None)
    return CheckFinding(
        "hazard", "error", hazard.kind, None, None, accesses,
        where=" ".join(line.strip() for line in hazard.lines()),
    )  # fmt: skip


def _load(source: Source) -> LoadedProgram:
    from gpudbg.api.load import load

    return load(source)


_LAUNCH_KEYS: Final = (
    "kernel", "grid", "block", "args", "shared_bytes", "cluster", "overlap",
)  # fmt: skip


def _rows(
    kernel: str | None, grid: Any, block: Any, args: Any, shared_bytes: int,
    launches: Sequence[Mapping[str, Any]] | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Normalise launches to rows with named keys."""
    if launches is None:
        values = (kernel, grid, block, args, shared_bytes)
        launches = [dict(zip(_LAUNCH_KEYS, values, strict=False))]
    for launch in launches:
        wrong = set(launch) - set(_LAUNCH_KEYS)
        if wrong:
            raise UsageError(
                f"a launch has no {', '.join(sorted(wrong))}",
                f"its keys are {', '.join(_LAUNCH_KEYS)}",
            )
    return [dict(launch) for launch in launches]


class NumpyStorage:
    """Arrays that arguments are, or are parts of, in device memory: one copy however many share
    it, written back when all launches have run."""

    def __init__(self, program: LoadedProgram) -> None:
        self._program = program
        self._made: dict[tuple[int, int, bool], tuple[Any, DeviceBuffer]] = {}

    def given(self, args: Sequence[object]) -> list[object]:
        """Arguments with device views in place of parts of host arrays."""
        return [self._given(a, f"argument {n}") for n, a in enumerate(args)]

    def _given(self, value: Any, what: str) -> object:
        if not isinstance(value, np.ndarray):
            # Objects other libraries call arrays are left to the launch, which reports errors.
            if not hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
                return value
            if hasattr(value, "address"):
                return value
        found = host_value(value, what)
        return self._view(found) if isinstance(found, np.ndarray) else found

    def _view(self, array: Any) -> object:
        if array.dtype.hasobject:
            return array
        outer = storage_of(array)
        whole = outer is None
        outer = array if outer is None else outer
        if not outer.size:
            return array
        start = outer.__array_interface__["data"][0]
        # A whole Fortran-ordered array is packed anew, as a launch does it.
        key = start, outer.nbytes, outer.flags.c_contiguous
        held = self._made.get(key)
        if held is None:
            held = self._made[key] = (outer, self._program.device.buffer(outer))
        if whole:
            return held[1]
        offset = array.__array_interface__["data"][0] - start
        return held[1].view(array.shape, array.strides, offset, array.dtype)

    def write_back(self) -> None:
        """Copy what kernels left back, and free the memory."""
        for outer, buffer in self._made.values():
            if outer.flags.writeable:
                outer[...] = buffer.array()
            buffer.free()


def _launch(launch: Mapping[str, Any], program: LoadedProgram) -> DebugSession:
    return program.launch(**{k: v for k, v in launch.items() if k != "overlap"})


def _title(session: DebugSession) -> str:
    """`saxpy<<<(4,1,1), (256,1,1)>>>`"""
    grid, block = dim(session.grid.grid), dim(session.grid.block)
    return f"{session.symbols.kernel_name}<<<{grid}, {block}>>>"


def _digest(path: object) -> str:
    try:
        return hashlib.sha256(Path(str(path)).read_bytes()).hexdigest()
    except OSError:
        return ""
