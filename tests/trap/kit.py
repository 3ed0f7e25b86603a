"""Sessions on small assembled kernels, with and without a trap handler."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.debug.session import DebugSession
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.launch_machine import SpecialSetup

STORIES = Path(__file__).resolve().parents[2] / "sessions"

RECORDER = """
.func trap_handler
    S2R R0, SR_WARPERRORSTATUS ;
    S2R R1, SR_GLOBALERRORSTATUS ;
    MOV R2, c[0x11][0x10] ;
    MOV R3, c[0x11][0x14] ;
    STG.E [R2], R0 ;
    STG.E [R2+0x4], R1 ;
    RTT{mode} ;
"""
"""A handler that stores the words it reads, and leaves."""


def program(text: str, arch: str = "sm_50") -> bytes:
    """A cubin of one assembled kernel called `k`."""
    head = "" if ".kernel" in text else ".kernel k\n"
    return assemble_file(head + text, "k.sass", arch).cubin()


def launch(
    text: str,
    *,
    arch: str = "sm_50",
    block: int = 32,
    grid: int = 1,
    num_sms: int = 1,
    special: SpecialSetup | None = None,
    shared: int = 0,
    args: tuple[object, ...] = (),
    engine: str = "auto",
) -> DebugSession:
    """A session at the entry of an assembled kernel."""
    device = gpudbg.Device(arch=arch, num_sms=num_sms, engine=engine)
    if special is not None:
        device.gpu.special = special
    loaded = device.adopt(read_cubin(program(text, arch), "k.sass"))
    return loaded.launch("k", grid=grid, block=block, args=list(args), shared_bytes=shared)


def handle(session: DebugSession, text: str) -> None:
    """Install an assembled handler."""
    arch = session.program.arch
    if not text.strip().startswith((".func", ".kernel")):
        text = ".func trap_handler\n" + text
    source = assemble_file(text.replace(".func", ".kernel", 1), "handler.sass", arch)
    session.install_trap_handler(read_cubin(source.cubin(), "handler.sass"))


def data(session: DebugSession, count: int) -> list[int]:
    """Words of the handler's data area."""
    placed = session.grid.traps.handler
    assert placed is not None
    return [int(n) for n in placed.data.data[: 4 * count].view(np.uint32)]


def word(session: DebugSession, name: str) -> int:
    """A special register of the focused lane."""
    result = session.special(session.warp().state, name)
    assert result is not None
    assert session.focus is not None
    return int(result.values[session.focus.lane])


def port(session: DebugSession, name: str, sm: int = 0) -> int:
    """A register of the port."""
    return session.traps.port.peek(sm, name)
