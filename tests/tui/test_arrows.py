"""Branch arrows, liveness marks, unwritten registers and one lane's registers on the screen."""

from __future__ import annotations

from typing import Any

from gpudbg.frontends.tui import glyphs
from gpudbg.frontends.tui.widgets.arrows import Jump, draw, lanes
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.registers import RegistersPane, ranges
from tests.narrowing import a, there

from .helpers import DIVERGE, ROOT, current, make_app, open_kernel, press, screen_text, settle

TRAP = ROOT / "sessions" / "trap_handler" / "scatter.cubin"


def drawn(jumps: Any, rows: Any, count: int = 2, first: int = 0) -> Any:
    found = draw(jumps, first, rows, count, glyphs.ASCII)
    return ["".join(t for t, _ in found.get(n, ())) for n in range(first, first + rows)]


def test_arrow_goes_from_branch_to_target() -> None:
    assert drawn([Jump(3, 1)], 5, 1) == ["", "+>", "| ", "`-", ""]
    assert drawn([Jump(1, 3)], 5, 1) == ["", "+-", "| ", "`>", ""]


def test_short_arrows_lie_inside_long_ones_and_the_next_branch_always_shows() -> None:
    assert drawn([Jump(0, 4), Jump(3, 1)], 5) == ["+--", "|+>", "|| ", "|`-", "`->"]
    jumps = [Jump(1, 2), Jump(1, 3), Jump(0, 4, here=True)]
    assert lanes(jumps, 1) == {Jump(0, 4, here=True): 0}


def test_arrows_beyond_the_window_reach_its_edge() -> None:
    assert drawn([Jump(2, 100)], 3, 1, first=1) == ["", "+-", "| "]
    assert drawn([Jump(100, 2)], 2, 1, first=50) == ["| ", "| "]
    assert drawn([Jump(2, 4)], 3, 1, first=50) == ["", "", ""]


def test_neighbouring_registers_are_ranges() -> None:
    assert ranges(["R8", "R9", "R10", "R12"]) == ["R8-R10", "R12"]


async def test_code_marks_loops_and_where_a_register_lives() -> None:
    app = make_app(open_kernel("divergence", DIVERGE), marks="ascii")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.main.run_command("break 13")
        await settle(app, pilot)
        app.main.run_command("continue")
        await settle(app, pilot)
        code = app.main.query_one(CodePane)
        text = code.texts
        assert "R4 ^ set v read : live" in text[0]
        loop = next(line for line in text if "BRA 0x138" in line)
        start = next(line for line in text if "SHR.U32 R7" in line)
        assert "`-" in loop
        assert "+>" in start
        await press(app, pilot, "R", *"r6", "enter")
        assert app.options.tracked == 6
        assert "R6 ^ set" in code.texts[0]
        assert (
            next(line for line in code.texts if "XMAD R4" in line)
            .split("XMAD")[0]
            .endswith("v     ")
        )
        await press(app, pilot, "R", *"z9", "enter")
        assert "is no register" in "\n".join(screen_text(app))
        assert app.options.tracked == 6
        await press(app, pilot, "R", "enter")
        assert app.options.tracked is None


async def test_the_code_says_what_lanes_have_in_common() -> None:
    app = make_app(open_kernel("divergence", DIVERGE))
    async with app.run_test(size=(150, 40)) as pilot:
        await settle(app, pilot)
        code = app.main.query_one(CodePane)
        before = code.texts
        listed = app.session.command("disassemble/u").text.splitlines()
        said = dict(line[10:].split("  # ") for line in listed if "  # " in line)
        said = {text.strip(): remark for text, remark in said.items()}
        await press(app, pilot, "1", "z", "D")
        shown = [line for line in code.texts for text in said if text in line]
        assert len(shown) > 5
        # Whole claims, the first ones, at the row's end.
        assert any(line.rstrip().endswith(remark) for line in shown for remark in said.values())
        assert any("lanes may part: " in line for line in code.texts)
        assert "what lanes have in common" in "\n".join(screen_text(app))
        await press(app, pilot, "D", "z")
        assert code.texts == before
        await press(app, pilot, "i")
        assert "lanes: " in "\n".join(screen_text(app))


async def test_registers_name_the_unwritten_and_show_one_lane() -> None:
    app = make_app(open_kernel("divergence", DIVERGE))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        pane = app.main.query_one(RegistersPane)
        assert any("R0-R15" in line and "never written" in line for line in pane.texts)
        await press(app, pilot, "space", "space")
        lines = pane.texts
        assert not any(line.startswith(" R0 ") and "never" in line for line in lines)
        assert any("R2-R15" in line and "never written" in line for line in lines)
        app.session.command("set $R9 = 7")
        await press(app, pilot, "l")
        assert any(line.startswith(("•R9", " R9")) and "never" not in line for line in pane.texts)
        await press(app, pilot, "4", "A")
        detail = current(app).snapshot.detail
        r0, r1 = (int(there(detail).registers[n][current(app).lane]) for n in (0, 1))
        line = next(line for line in pane.texts if "R0:R1" in line)
        assert f"{r1:08x}{r0:08x}" in line
        await press(app, pilot, "down", "down", "R")
        assert app.options.tracked == int(a(tuple, pane.key)[1][1:])
        await press(app, pilot, "A")
        assert pane.texts[0].endswith("of warp 0")


async def test_handler_code_has_its_own_offsets_in_every_pane() -> None:
    app = make_app(open_kernel(TRAP))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "c", "escape")
        text = "\n".join(screen_text(app))
        assert "f008" not in text
        assert "►0008" in "\n".join(app.main.query_one(CodePane).texts)
