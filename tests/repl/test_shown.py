"""How public objects show themselves: `dir`, `repr`, and HTML for notebooks."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg

ROOT = Path(__file__).resolve().parents[2]
STEPS = ROOT / "sessions/first_steps/first_steps.cubin"
SMOOTH = ROOT / "sessions/out_of_bounds/out_of_bounds.cubin"
EVIL = "<script>alert(1)</script>&'\".sass"
VOID = frozenset(("br", "hr", "img"))


REPORT = gpudbg.check(
    str(SMOOTH), block=256, args=[np.zeros(250, np.float32), np.zeros(250, np.float32), 250]
)


def objects(session: gpudbg.DebugSession) -> dict[str, Any]:
    """One of each kind that a script is handed."""
    program = session.launch.loaded
    return {
        "session": session,
        "program": program,
        "device": program.device,
        "buffer": program.device.buffer(np.zeros(4, np.float32)),
        "image": program.device.texture(np.eye(4, dtype=np.float32)),
        "warp": session.warp(),
        "lane": session.warp().lane(3),
        "registers": session.warp().R,
        "lane's registers": session.warp().lane(3).R,
        "predicates": session.warp().P,
        "stop": session.stop,
        "snapshot": session.snapshot(),
        "memory": session.memory(session.launch.arguments[0].name, 32),
        "special": session.sreg("SR_TID.X"),
        "instruction": session.instruction(),
        "output": session.command("info warps"),
        "disassembly": session.command("disassemble"),
        "report": REPORT,
        "finding": REPORT.findings[0],
        "check": session.check("hazards"),
        "focus": session.focus,
        "breakpoint": session.break_at(0x28),
    }


SHOWN = objects(gpudbg.open(STEPS))
HTML = [name for name, thing in SHOWN.items() if hasattr(thing, "_repr_html_")]


class Checked(HTMLParser):
    """Tags, that they close, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open += [tag] if tag not in VOID else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def parsed(thing: Any) -> Checked:
    found = Checked()
    found.feed(thing._repr_html_())
    found.close()
    assert found.open == []
    assert found.tags <= {"p", "b", "pre", "table", "thead", "tbody", "tr", "th", "td", "code"}
    return found


# ---- dir -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SHOWN)
def test_dir_has_no_private_names(name: str) -> None:
    names = [n for n in dir(SHOWN[name]) if n.startswith("_") and not n.startswith("__")]
    assert [n for n in names if n not in ("_repr_html_", "_repr_pretty_")] == []


def test_dir_of_a_session_is_what_scripts_use() -> None:
    names = set(dir(SHOWN["session"]))
    assert {"run", "cont", "step", "break_at", "buffer", "warp", "stop", "focus", "events"} <= names
    assert not {"grid", "last_line", "accepts", "end_run", "examine_state", "traps"} & names
    assert not {n for n in names if n.startswith("_")}
    for n in names & set(vars(type(SHOWN["session"]))):
        assert getattr(type(SHOWN["session"]), n).__doc__, n


NO_LINES = ("focus", "breakpoint", "output", "disassembly", "report", "finding")
"""Records of Python's own kind."""


# ---- repr ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [n for n in SHOWN if n not in NO_LINES])
def test_reprs_are_short_and_say_something(name: str) -> None:
    text = repr(SHOWN[name])
    assert len(text) < 600
    assert "object at 0x" not in text
    assert "\n" not in text


def test_reprs_name_what_they_are() -> None:
    assert repr(SHOWN["session"]) == (
        "<DebugSession block_max<<<(4,1,1), (64,1,1)>>>: at the entry of block_max>"
    )
    assert repr(SHOWN["stop"]) == "<Stop step: at the entry of block_max>"
    assert repr(SHOWN["registers"]) == "<registers R0 to R15 of warp 0 on sm 0>"
    assert repr(SHOWN["snapshot"]) == "<Snapshot block_max: step, 8 warps, 0 warp instructions>"
    assert repr(SHOWN["memory"]) == "<Memory global 0x705000000, 32 bytes>"
    error = gpudbg.open(SMOOTH).run().errors[0]
    assert repr(error).startswith("<MMU_FAULT at smooth+0xd0, block (3,0,0) thread (57,0,0): ")


def test_what_is_closed_still_shows_itself() -> None:
    session = gpudbg.open(STEPS)
    shown = objects(session)
    session.close()
    for name, thing in shown.items():
        assert repr(thing), name
        assert isinstance(dir(thing), list)
        if hasattr(thing, "_repr_html_") and name not in ("buffer", "image"):
            parsed(thing)
    assert repr(shown["warp"]) == "<warp of a closed session>"
    assert "closed session" in parsed(session).words


# ---- HTML ------------------------------------------------------------------------------
def test_stops_warps_and_reports_have_html() -> None:
    wanted = {"session", "program", "stop", "warp", "lane", "snapshot", "memory", "output"}
    assert wanted <= set(HTML)


@pytest.mark.parametrize("name", HTML)
def test_html_is_well_formed_and_not_long(name: str) -> None:
    assert len(parsed(SHOWN[name]).words) >= 20
    assert len(SHOWN[name]._repr_html_()) < 200_000


@pytest.mark.parametrize("name", HTML)
def test_names_from_files_do_not_run_in_a_notebook(name: str) -> None:
    text = ".kernel k\n.param 8\nMOV R0, 0x1 ; // <img src=x>\nMOV R1, R0\nMOV R2, R1\nEXIT\n"
    program = gpudbg.assemble_program(text, name=EVIL)
    session = program.launch("k", args=[np.zeros(64, np.int32)])
    session.step(2)
    for line in ("list", "info source", "info line", "info allocations"):
        parsed(session.command(line))
    assert "alert(1)" in parsed(session).words
    parsed(objects(session)[name])


def test_html_says_what_the_text_says() -> None:
    stop = gpudbg.open(SMOOTH).run()
    words = parsed(stop).words
    for part in ("MMU_FAULT", "out_of_bounds.cu:8", "thread (57,0,0)", "nearest"):
        assert part in words
    session = gpudbg.open(STEPS)
    session.step(6)
    session.warp().R[4] = np.arange(32)
    assert "0000001f" in parsed(session.warp()).words
    assert "=>" in parsed(session).words
    rows = parsed(session.command("info warps"))
    assert "ready" in rows.words
    assert "4294967295" not in rows.words, "lanes are shown as people read them"
    code = parsed(gpudbg.open(STEPS).command("disassemble"))
    assert {"table", "tr"} <= code.tags
    assert "*0008MOV R1, c[0x0][0x20]first_steps.cu:4" in code.words
    word = parsed(gpudbg.decode(0x4C98078000870001))
    for part in ("MOV R1, c[0x0][0x20]", "0x4c98078000870001", "writesR1"):
        assert part in word.words, part
    findings = parsed(REPORT)
    for part in (
        "1 error",
        "outside of what is allocated",
        "out_of_bounds.cu:8",
        "thread (249, 0, 0)",
        "hint",
    ):
        assert part in findings.words, part
    assert "table" in rows.tags
    session.run()
    assert "exited" in parsed(session).words


def test_files_of_registers_and_buffers_are_sequences() -> None:
    session = gpudbg.open(STEPS)
    assert len(list(session.warp().R)) == 16
    assert [bool(p[0]) for p in session.warp().P][7] is True
    assert len(list(session.warp().lane(3).R)) == 16
    buffer = session.launch.loaded.device.buffer(np.arange(6).reshape(2, 3))
    assert (buffer[1, 2], buffer[0].tolist(), [row.sum() for row in buffer]) == (
        5,
        [0, 1, 2],
        [3, 12],
    )
    buffer[0] = 3
    assert buffer.array().tolist() == [[3, 3, 3], [3, 4, 5]]
    with pytest.raises(ValueError, match="read-only"):
        buffer[1][0] = 9
    assert str(session.output) == session.output.text


def test_trace_entries_fit_on_a_line() -> None:
    with gpudbg.open(STEPS) as session:
        with session.trace("access") as log:
            session.run()
        assert repr(log[0]) == f"<TraceEntry {log[0]}>"
        assert len(repr(log[0])) < 160
