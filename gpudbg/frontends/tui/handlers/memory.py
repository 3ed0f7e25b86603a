"""The memory pane: go to an address, switch the space, page, search, follow a pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.pictures import SPACES, WARPLESS
from gpudbg.debug.values import allocations, mapped
from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.handlers import EVENTS, handles
from gpudbg.frontends.tui.memory_search import find, needle
from gpudbg.frontends.tui.widgets.memory import MemoryPane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen


@handles("fault_memory", EVENTS)
def fault_memory(screen: MainScreen) -> None:
    """Show the memory next to the faulting address."""
    card = screen.current.fault if screen.current is not None else None
    if card is None or card.nearest is None:
        return
    near = card.nearest
    end = near.base if near.side == "before" else near.base + max(near.size - 64, 0)
    show_memory(screen, near.space, end)


@handles("memory")
def memory(screen: MainScreen) -> None:
    """Ask for an address and show it."""
    screen.gpudbg.ask(
        "Memory at",
        "0x20, &symbol, R2:R3 as $L2, buffer name, (@shared int*)0",
        lambda text: memory_at(screen, text),
    )


def memory_at(screen: MainScreen, text: str) -> None:
    """Show the memory an expression names: its space when it has one."""
    from gpudbg.expr import Array, Pointer, Scalar

    session, options = screen.session, screen.options
    try:
        result = session.evaluate(text)
    except GpudbgError as e:
        screen.note(str(e))
        return
    lane = session.focus.lane if session.focus is not None else 0
    if not result.valid[lane]:
        screen.note(f"{text}: no value in lane {lane}: {result.why}")
        return
    if result.values.dtype.kind == "f":
        screen.note(f"{text}: a floating-point number is no address")
        return
    address = int(result.values[lane])
    space, target = options.space, None
    if isinstance(result.type, Pointer):
        space, target = result.type.space, result.type.target
    elif isinstance(result.type, Array) and result.place is not None:
        space, target = result.place.space, result.type.target
    elif mapped(session, address) is not None:
        space = "global"
    show_memory(screen, space if space in SPACES else "global", address)
    page = screen.current.memory if screen.current is not None else None
    # A buffer's name takes the element type of the launch table; an explicit cast overrides it.
    cast = page is not None and (not page.element or "*)" in text.replace(" ", ""))
    if page is not None and cast and isinstance(target, Scalar):
        screen.query_one(MemoryPane).show_as(page, f"{target.kind}{target.size * 8}")


def show_memory(screen: MainScreen, space: str, address: int | None) -> None:
    """Point the memory pane somewhere and bring it up."""
    screen.options.space, screen.options.address = space, address
    screen.focus_pane("memory")
    screen.quick(lambda s: None)


@handles("space")
def next_space(screen: MainScreen) -> None:
    """Show the next address space in the memory pane; within global memory, the next allocation."""
    page = screen.current.memory if screen.current is not None else None
    shown = screen.options.space if page is None else page.space
    if shown == "global":
        bases = [a.base for a in allocations(screen.session)]
        later = [b for b in bases if page is not None and b > page.base]
        if later:
            show_memory(screen, "global", later[0])
            return
    spaces = SPACES if screen.session.focus is not None else WARPLESS
    show_memory(screen, spaces[(spaces.index(shown) + 1) % len(spaces)], None)


def search_memory(screen: MainScreen, text: str) -> None:
    """Bring the next place in the shown memory that holds a value to the pane's top."""
    text = text or screen.last_value
    collector = screen.engine.collector
    page = screen.current.memory if screen.current is not None else None
    if not text or page is None or screen.engine.busy:
        return
    screen.last_value = text
    try:
        wanted, align = needle(text)
        space, _, base, size = collector.memory.region()
        data = collector.memory.read(space, base, size) if size else b""
    except GpudbgError as e:
        screen.note(str(e))
        return
    pane = screen.query_one(MemoryPane)
    here = screen.found_value
    if here is None or (base + here) & ~0xF != page.address:
        here = page.address - base - 1
    found = find(data, wanted, here, align)
    screen.found_value = found
    if found is None:
        screen.note(f"{text} is not in this memory", "muted")
        return
    show_memory(screen, space, base + found)
    pane.cursor = pane.top = 0
    screen.note(f"{text} at 0x{base + found:x}", "text")


def follow_pointer(screen: MainScreen, space: str, address: int) -> None:
    """Read eight bytes at the row as a device address and show the memory there."""
    page = screen.current.memory if screen.current is not None else None
    if page is None:
        return
    at = address - page.address
    for start in (at, at + 8):
        value = int.from_bytes(page.data[start : start + 8], "little")
        if value and mapped(screen.session, value) is not None:
            show_memory(screen, "global", value)
            return
    screen.note("no pointer into device memory in this row", "muted")
