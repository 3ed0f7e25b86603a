"""Doings that look: memory, watches, formats, places in the code, tools, and rows followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudbg.debug.focus.focus import first_lane
from gpudbg.debug.values.spaces import allocations, mapped
from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui import explain, messages
from gpudbg.frontends.tui.actions import key_name
from gpudbg.frontends.tui.collect_memory import SPACES, WARPLESS
from gpudbg.frontends.tui.doing import DOINGS, doing
from gpudbg.frontends.tui.doings import focus_on, toggle_break
from gpudbg.frontends.tui.lane_rows import FORMATS
from gpudbg.frontends.tui.memory_search import find, needle
from gpudbg.frontends.tui.theme import PALETTES
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.console import ConsolePane
from gpudbg.frontends.tui.widgets.lists import WatchPane
from gpudbg.frontends.tui.widgets.memory import MemoryPane
from gpudbg.frontends.tui.widgets.notes import NotesPane
from gpudbg.frontends.tui.widgets.registers import RegistersPane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.code_index import CodeIndex
    from gpudbg.frontends.tui.screens.main import MainScreen


def load() -> None:
    """Importing this module enters its doings in the table; calling this says so."""


# ---- look ----------------------------------------------------------------------------------------
@doing("watch")
def watch(screen: MainScreen) -> None:
    """The warp watch screen."""
    screen.gpudbg.open_screen("watch")


@doing("trap")
def trap(screen: MainScreen) -> None:
    """The trap inspector."""
    screen.gpudbg.open_screen("trap")


@doing("surface")
def surface(screen: MainScreen) -> None:
    """The surface viewer."""
    if screen.current is not None and not screen.current.images:
        screen.note("this launch has no surfaces and no textures", "muted")
        return
    screen.gpudbg.open_screen("surface")


@doing("gallery")
def gallery(screen: MainScreen) -> None:
    """The shipped stories."""
    screen.gpudbg.open_screen("gallery")


@doing("notes")
def notes(screen: MainScreen) -> None:
    """The story's notes, where the program has one."""
    if screen.story is None:
        screen.note("this is no shipped story; `G` lists them", "muted")
    else:
        screen.focus_pane("notes")


def tell(screen: MainScreen, number: int, command: str) -> None:
    """Carry out a command of the story."""
    if screen.engine.busy:
        screen.note(f"running; {key_name('ctrl+c')} stops it")
        return
    notes = screen.query_one(NotesPane)
    if notes.out_of_sight():
        # Nobody has read it yet.
        return
    notes.ran(number)
    screen.run_command(command)


@doing("add_watch")
def add_watch(screen: MainScreen) -> None:
    """Ask for an expression."""
    screen.gpudbg.ask(
        "Watch an expression in 32 lanes",
        "R4, threadIdx.x*4, shared[3]",
        lambda text: watch_expression(screen, text),
    )


def watch_expression(screen: MainScreen, text: str) -> None:
    """Add an expression to the watch pane."""
    try:
        if screen.session.focus is not None and not screen.engine.busy:
            screen.session.evaluate(text)
    except GpudbgError as e:
        screen.note(str(e))
        return
    if text not in screen.options.watches:
        screen.options.watches.append(text)
    screen.quick(lambda s: None)
    if screen.app.screen is screen:
        screen.focus_pane("watch")


@doing("fault")
def fault(screen: MainScreen) -> None:
    """The card of the present fault."""
    if screen.current is not None and screen.current.fault is not None:
        screen.open_fault()
    else:
        screen.note("there is no fault at this stop", "muted")


@doing("fault_memory")
def fault_memory(screen: MainScreen) -> None:
    """The memory next to the faulting address."""
    card = screen.current.fault if screen.current is not None else None
    if card is None or card.nearest is None:
        return
    near = card.nearest
    end = near.base if near.side == "before" else near.base + max(near.size - 64, 0)
    show_memory(screen, near.space, end)


@doing("memory")
def memory(screen: MainScreen) -> None:
    """Ask for an address."""
    screen.gpudbg.ask(
        "Memory at",
        "0x20, &symbol, R2:R3 as $L2, buffer name, (@shared int*)0",
        lambda text: memory_at(screen, text),
    )


def memory_at(screen: MainScreen, text: str) -> None:
    """Show the memory an expression names: its space when it has one."""
    from gpudbg.expr.types import Array, Pointer, Scalar

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
    # A buffer's name has the type of the launch; a cast is what the user wants to see.
    cast = page is not None and (not page.element or "*)" in text.replace(" ", ""))
    if page is not None and cast and isinstance(target, Scalar):
        screen.query_one(MemoryPane).show_as(page, f"{target.kind}{target.size * 8}")


def show_memory(screen: MainScreen, space: str, address: int | None) -> None:
    """Point the memory pane somewhere and bring it up."""
    screen.options.space, screen.options.address = space, address
    screen.focus_pane("memory")
    screen.quick(lambda s: None)


@doing("space")
def next_space(screen: MainScreen) -> None:
    """The memory pane goes to the next address space; global goes through the allocations."""
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


@doing("format")
def next_format(screen: MainScreen) -> None:
    """Hex, decimal, float: of the memory pane when it has the focus, else of registers."""
    if screen.focused_pane() == "memory":
        screen.query_one(MemoryPane).next_form()
        return
    options = screen.options
    at = FORMATS.index(options.register_format)
    options.register_format = FORMATS[(at + 1) % len(FORMATS)]
    screen.quick(lambda s: None)


@doing("track")
def track(screen: MainScreen) -> None:
    """Mark in the code where a register lives: the row's, or the one that is asked for."""
    key = screen.line_pane(screen.focused_pane()).key if screen.focused_pane() != "console" else ""
    if isinstance(key, tuple) and key[0] == "register":
        track_register(screen, key[1])
    else:
        screen.gpudbg.ask(
            "Mark where a register lives", "R4; empty: what is written next",
            lambda text: track_register(screen, text), empty=True,
        )  # fmt: skip


def track_register(screen: MainScreen, text: str) -> None:
    """Mark a register by name; an empty name goes back to what the next instruction writes."""
    name = text.strip().lstrip("$").upper()
    if name and not (name[0] == "R" and name[1:].isdecimal() and int(name[1:]) < 255):
        screen.note(f"{text} is no register; R0 to R254 are")
        return
    screen.options.tracked = int(name[1:]) if name else None
    screen.quick(lambda s: None)


@doing("single")
def single(screen: MainScreen) -> None:
    """The registers of one lane in every format, or of all lanes."""
    pane = screen.query_one(RegistersPane)
    pane.single = not pane.single
    pane.redraw()


@doing("explain")
def explain_row(screen: MainScreen) -> None:
    """What the row under the cursor is, in the console."""
    pane = screen.focused_pane()
    key = screen.line_pane(pane).key if pane != "console" else None
    if screen.current is None:
        return
    if key is None:
        # No row was chosen: what has the focus.
        focus = screen.current.focus_row
        if pane == "warps" and focus is not None:
            key = ("warp", focus.sm, focus.slot)
        elif pane == "code" and screen.current.pc is not None:
            key = ("pc", screen.current.pc)
    screen.query_one(ConsolePane).log_lines(explain.explain(screen.session, screen.current, key))


@doing("more")
def more(screen: MainScreen) -> None:
    """Open the row; in memory, the next page."""
    _open_or_page(screen, 1)


@doing("less")
def less(screen: MainScreen) -> None:
    """Fold the row; in memory, the previous page."""
    _open_or_page(screen, -1)


def _open_or_page(screen: MainScreen, by: int) -> None:
    name = screen.focused_pane()
    if name == "memory" and screen.current is not None and screen.current.memory is not None:
        page = screen.current.memory
        options = screen.options
        options.space = page.space
        options.address = max(page.address + by * options.page_rows * 16, page.base)
        screen.quick(lambda s: None)
        return
    key = screen.line_pane(name).key if name != "console" else None
    if isinstance(key, tuple):
        toggle_values(screen, str(key[1]), key[0] == "watch")


def toggle_values(screen: MainScreen, name: str, watched: bool) -> None:
    """Open or close a row's 32 values."""
    if watched:
        screen.query_one(WatchPane).toggle(name)
    else:
        screen.query_one(RegistersPane).toggle(name)


@doing("goto")
def goto(screen: MainScreen) -> None:
    """Ask for a place in the code."""
    screen.gpudbg.ask(
        "Go to", "kernel+0x48, file.cu:12, 12, *0x48", lambda text: goto_place(screen, text)
    )


def goto_place(screen: MainScreen, text: str) -> None:
    """Show a place."""
    try:
        found = screen.session.symbols.resolve(text, screen.session.origin())
    except GpudbgError as e:
        screen.note(str(e))
        return
    if screen.current is not None:
        screen.focus_pane("code")
        screen.query_one(CodePane).go_to(screen.current.code.row(found.addresses[0]))


DOINGS["history"] = lambda screen: screen.gpudbg.open_screen("history")
DOINGS["output"] = lambda screen: screen.focus_pane("output")
DOINGS["marks"] = lambda screen: screen.focus_pane("marks")


# ---- tools ---------------------------------------------------------------------------------------
DOINGS["console"] = lambda screen: screen.focus_pane("console")
DOINGS["palette"] = lambda screen: screen.app.action_command_palette()
DOINGS["help"] = lambda screen: screen.gpudbg.open_screen("help")
DOINGS["quit"] = lambda screen: screen.gpudbg.leave()


@doing("search")
def search(screen: MainScreen) -> None:
    """Ask for text in the code, a value in memory, or a condition on warps.

    An empty answer finds the next one; all warps.
    """
    if screen.focused_pane() == "warps":
        screen.gpudbg.ask(
            "Warps with a lane where", "$R4 > 3, blockIdx.x == 2, $P0; empty: all warps",
            lambda text: choose_warps(screen, text), empty=True, value=screen.options.where,
        )  # fmt: skip
        return
    if screen.focused_pane() == "memory":
        screen.gpudbg.ask(
            "Search this memory", screen.last_value or "0x1f, -3, 1.5, text",
            lambda text: search_memory(screen, text), empty=True,
        )  # fmt: skip
        return
    screen.gpudbg.ask(
        "Search the code",
        screen.last_search or "mnemonic, register, source text",
        lambda text: search_code(screen, text),
        empty=True,
    )


def choose_warps(screen: MainScreen, text: str) -> None:
    """Show the warps that meet a condition; all where it is empty."""
    if screen.engine.busy:
        screen.note(f"running; {key_name('ctrl+c')} stops it")
        return
    try:
        list(screen.session.warps_where(text))
    except GpudbgError as e:
        screen.note(str(e))
        return
    screen.options.where = text
    screen.quick(lambda s: None)
    screen.line_pane("warps").action_move(-1_000_000)


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


SEARCHED_ROWS = 2000
"""Rows of the listing that are searched in one piece of work: each may have to be decoded."""


def search_code(screen: MainScreen, text: str) -> None:
    """The next row that holds the text."""
    view, pane = screen.current, screen.query_one(CodePane)
    text = text or screen.last_search
    if view is None or not text:
        return
    screen.last_search = text
    _search_rows(screen, view.code, text, pane.cursor or 0, 1)


def _search_rows(screen: MainScreen, code: CodeIndex, text: str, start: int, first: int) -> None:
    """Search some rows from the `first` after `start` on; the others when what waits was drawn.

    Inputs that came after the search wait for its end: it goes on in the screen's queue.
    """
    end = min(first + SEARCHED_ROWS, len(code.entries) + 1)
    found = code.find(text, start, rows=range(first, end))
    if found is None and end <= len(code.entries):
        screen.call_later(_search_rows, screen, code, text, start, end)
        return
    if found is None:
        screen.note(f"{text!r} is not in the code", "muted")
        return
    screen.focus_pane("code")
    screen.query_one(CodePane).go_to(found)


@doing("copy")
def copy(screen: MainScreen) -> None:
    """The focused pane's text to the clipboard."""
    name = screen.focused_pane()
    pane = screen.query_one(ConsolePane).answers if name == "console" else screen.line_pane(name)
    screen.app.copy_to_clipboard("\n".join(pane.texts))
    screen.note(f"copied {len(pane.texts)} lines of {pane.title}", "muted")


@doing("theme")
def theme(screen: MainScreen) -> None:
    """The next palette."""
    names = list(PALETTES)
    at = names.index(screen.appearance.palette.name)
    screen.gpudbg.set_appearance(theme=names[(at + 1) % len(names)])


# ---- rows ----------------------------------------------------------------------------------------
@doing("clicked")
def clicked(screen: MainScreen, event: messages.RowClicked) -> None:
    """A click: gutter sets a breakpoint; a lane or warp takes the focus."""
    key = event.key
    if not isinstance(key, tuple):
        return
    view = screen.current
    if view is None:
        return
    if key[0] == "pc" and event.column <= 1:
        toggle_break(screen, key[1])
    elif key[0] == "warp":
        row = view.snapshot.warp_row(key[1], key[2])
        if row is not None and row.state != "exited":
            lane = event.lane if event.lane is not None else view.lane
            if not row.valid >> lane & 1:
                lane = first_lane(row.active or row.valid)
            focus_on(screen, row, lane)
    elif event.lane is not None and view.focus_row is not None:
        if view.focus_row.valid >> event.lane & 1:
            focus_on(screen, view.focus_row, event.lane)


@doing("opened")
def opened(screen: MainScreen, event: messages.RowOpened) -> None:
    """Enter or a double click on a row: follow it."""
    key = event.key
    if not isinstance(key, tuple) or screen.current is None:
        return
    kind = key[0]
    follow: dict[str, Callable[[], None]] = {
        "pc": lambda: follow_branch(screen, key[1]),
        "warp": lambda: clicked(screen, messages.RowClicked(event.pane, key, None, 9)),
        "path": lambda: _show_offset(screen, key[2]),
        "register": lambda: toggle_values(screen, key[1], False),
        "special": lambda: toggle_values(screen, key[1], False),
        "predicate": lambda: _show_values(screen, key[1]),
        "watch": lambda: toggle_values(screen, key[1], True),
        "fold": lambda: toggle_values(screen, "zero", False),
        "byte": lambda: follow_pointer(screen, key[1], key[2]),
        "buffer": lambda: show_memory(screen, "global", key[2]),
        "allocation": lambda: show_memory(screen, "global", key[1]),
        "stop": lambda: _show_stop(screen, key[1]),
        "story": lambda: tell(screen, key[1], key[2]),
        "point": lambda: _show_point(screen, key[1]),
    }
    if kind in follow:
        follow[kind]()


def _show_values(screen: MainScreen, name: str) -> None:
    screen.note(f"Enter opens the 32 values of registers; {name} shows them as marks", "muted")


def follow_branch(screen: MainScreen, pc: int) -> None:
    """To the target of a branch."""
    view = screen.current
    assert view is not None
    if screen.focused_pane() == "source":
        show_pc(screen, pc)
        return
    target = view.code.target(pc)
    if target is not None:
        screen.query_one(CodePane).go_to(view.code.row(target))


def show_pc(screen: MainScreen, pc: int) -> None:
    """Show a code address in the code pane, and put the pane's focus there."""
    if screen.current is not None:
        screen.focus_pane("code")
        screen.query_one(CodePane).go_to(screen.current.code.row(pc))


def _show_offset(screen: MainScreen, offset: int) -> None:
    assert screen.current is not None
    pc = screen.session.symbols.pc(offset)
    screen.query_one(CodePane).go_to(screen.current.code.row(pc))


def _show_stop(screen: MainScreen, number: int) -> None:
    """An earlier stop in every pane; without its picture, its place in the code."""
    if screen.current is None:
        return
    stop = screen.session.stops[number]
    if screen.past.show(number, screen.current):
        screen.note(stop.message, "text")
        screen.draw()
        return
    if stop.pc is not None:
        _show_offset(screen, stop.pc)
    screen.note(stop.message, "text")


def _stop_beside(screen: MainScreen, by: int) -> None:
    found = screen.past.beside(by)
    if found is None:
        screen.note("no later stop" if by > 0 else "no earlier stop is kept", "muted")
    else:
        _show_stop(screen, found)


DOINGS["stop_back"] = lambda screen: _stop_beside(screen, -1)
DOINGS["stop_next"] = lambda screen: _stop_beside(screen, 1)


def _show_point(screen: MainScreen, number: int) -> None:
    assert screen.current is not None
    point = next((p for p in screen.current.points if p.number == number), None)
    if point is not None and point.pcs:
        screen.query_one(CodePane).go_to(screen.current.code.row(point.pcs[0]))


def follow_pointer(screen: MainScreen, space: str, address: int) -> None:
    """Eight bytes of the row as a device address."""
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
