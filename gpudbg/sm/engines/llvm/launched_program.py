"""Which compiled program a launch runs: what code depends on, read from the launch."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import lru_cache

from gpudbg.architectures import is_wide
from gpudbg.isa.sreg_reads import registers_read
from gpudbg.mem.lanes import FULL
from gpudbg.sm.conditions import Condition
from gpudbg.sm.engines.llvm.kernel.special import CTA_RANK, FIXED, LAUNCH_SREGS
from gpudbg.sm.engines.llvm.program import CompiledProgram, program_of
from gpudbg.sm.launched import Launched
from gpudbg.sm.selection import NO_TESTS, Tests
from gpudbg.sm.sregs import ROWS


def program_for(
    launched: Launched,
    entry: int,
    entries: Set[int],
    conditions: Mapping[int, Condition] | None = None,
    tests: Tests = NO_TESTS,
) -> CompiledProgram:
    """The program that runs a launch.

    Args:
        entry: where the kernel begins.
        entries: all places from which code is reached.
        conditions: of breakpoints, by pc, that the code tests.
        tests: what observers have selected.
    """
    config, constants = launched.config, launched.constants
    banks = {n: constants.bound(n) for n in constants.banks}
    rows = launched.sregs.rows
    sregs = frozenset([n for n in LAUNCH_SREGS if rows.get(n) is ROWS.get(n)])
    if clustered := config.cluster_size > 1:
        sregs |= {CTA_RANK}
    about = config.registers, banks, sregs, config.block[0], traced(launched), _fixed(launched)
    more = dict(conditions or {}), marked_spaces(launched), config.uniform, tests, clustered
    return program_of(launched.code, entry, entries, *about, *more)


def traced(launched: Launched) -> tuple[str, ...]:
    """Kinds of rows that the code writes for observers, of `trace.BATCHED`."""
    trace = launched.trace
    return () if trace is None else trace.kinds


def marked_spaces(launched: Launched) -> frozenset[str]:
    """Spaces in which code marks what it stores: those with memory that has no contents."""
    if not launched.marking:
        return frozenset()
    config = launched.config
    sizes = config.shared_bytes, config.local_bytes + config.local_low
    return _spaces(*map(bool, sizes), bool(launched.memory.uninitialized))


@lru_cache
def _spaces(shared: bool, local: bool, uninitialized: bool) -> frozenset[str]:
    """Args: whether a block has shared memory, a thread local memory, and some global memory no
    contents."""
    sizes = {"shared": shared, "local": local, "global": uninitialized}
    own = frozenset(space for space, there in sizes.items() if there)
    return own | {"generic"} if own else own


def _fixed(launched: Launched) -> dict[int, int]:
    """Special registers that the code reads and that do not change during the launch."""
    file = launched.sregs
    arch, code = launched.code.program.arch, launched.code.code
    read = registers_read(code, arch)
    if not is_wide(arch):
        read &= FIXED
    else:
        # Those without a row read zero, and so does the only rank of a cluster.
        fixed = FIXED if launched.config.cluster_size > 1 else {*FIXED, CTA_RANK}
        read = frozenset(n for n in read if n in fixed or n not in file.rows)
    warp = next(iter(launched.residency.ring), None)
    if not read or warp is None:
        return {}
    sm = launched.sms[warp.sm]
    values = ((n, file.rows.get(n)) for n in sorted(read))
    found = {n: 0 if row is None else row(file.machine, warp, sm) for n, row in values}
    return {n: value & FULL for n, value in found.items() if isinstance(value, int)}
