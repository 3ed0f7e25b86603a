"""The matrix pane: fragments of tensor-core instructions on the main screen."""

from __future__ import annotations

from gpudbg.frontends.tui.widgets.matrix import MatrixPane
from tests.debug.modern import launched
from tests.tui.helpers import (
    ROOT,
    UNICODE,
    make_app,
    open_first,
    open_kernel,
    press,
    screen_text,
    settle,
    view_of,
)

WIDE, SMALL = (120, 40), (80, 24)


async def test_it_shows_the_next_tensor_core_instruction() -> None:
    """F opens it; another lane marks other elements; a step shows what was written."""
    session = launched("mma_f16", "sm_80")
    row = next(r for r in session.symbols.listing if "HMMA.16816.F32" in r.text)
    session.command(f"break *0x{row.offset:x}")
    session.cont()
    app = make_app(session)
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        assert any("F matrix" in line for line in screen_text(app)[-1:])
        await press(app, pilot, "F")
        text = "\n".join(screen_text(app))
        assert "next HMMA.16816.F32" in text
        assert "A  16x16 f16" in text
        pane = app.main.line_pane("matrix")
        assert pane.display

        def marked() -> list[str]:
            assert app.main.current is not None
            content = pane.content(app.main.current, 60, 90)
            return [t for r in content.rows for t, style in r.spans if style == "you.b"]

        first = marked()
        # Eight of A, four of B, four each of C and D.
        assert len(first) == 20
        await press(app, pilot, "l")
        assert app.session.lane == 1
        assert marked() != first


def test_what_nothing_has_written_is_no_number_and_columns_stand_apart() -> None:
    session = open_kernel(ROOT / "sessions" / "tensor_tile" / "tensor_tile.cubin")
    view = view_of(session, matrix=True)
    text = [r.text for r in MatrixPane(UNICODE).content(view, 60, 90).rows]
    (head,) = (n for n, line in enumerate(text) if line.startswith(" A  16x16"))
    assert text[head + 1].split() == [str(n) for n in range(16)]
    assert set(text[head + 2].split()[1:]) == {UNICODE.glyphs.unwritten}


async def test_it_says_where_there_are_no_tensor_cores() -> None:
    app = make_app(open_first())
    async with app.run_test(size=SMALL) as pilot:
        await press(app, pilot, "F")
        assert any("sm_50 has no tensor cores" in line for line in screen_text(app))
        assert not app.main.line_pane("matrix").display
