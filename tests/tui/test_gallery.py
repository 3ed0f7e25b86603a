"""Gallery of stories, the notes pane, and another program in the same application."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudbg.debug import story_files as stories
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.screens.gallery import GalleryScreen
from gpudbg.frontends.tui.seen import Seen
from gpudbg.frontends.tui.widgets.console import ConsolePane
from gpudbg.frontends.tui.widgets.notes import NotesPane, wrapped
from tests.narrowing import a, there

from .helpers import (
    OOB,
    appearance,
    make_app,
    on_main,
    open_first,
    open_kernel,
    press,
    screen_text,
    settle,
)


def test_a_story_is_read_in_beats() -> None:
    story = stories.load_story(stories.stories()["first_steps"])
    assert story.title == "A first walk"
    assert story.notes[0].startswith("`block_max`")
    assert story.beats[0].commands == ("info warps", "x/6i $pc")
    commands = [c for beat in story.beats for c in beat.commands]
    text = (story.cubin.parent / stories.COMMANDS).read_text().splitlines()
    assert commands == [line.strip() for line in text if line.strip() and line.strip()[0] != "#"]


def test_only_programs_of_the_folder_have_a_story(tmp_path: Path) -> None:
    cubin = stories.stories()["first_steps"]
    assert there(stories.story_of(str(cubin))).name == "first_steps"
    other = tmp_path / "first_steps.cubin"
    other.write_bytes(cubin.read_bytes())
    assert stories.story_of(str(other)) is None
    assert stories.story_of("/no/such/file") is None


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_gallery_lists_every_story_and_opens_one(size: tuple[int, int]) -> None:
    app = make_app(open_first())
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "G")
        assert isinstance(app.screen, GalleryScreen)
        names = [s.name for s in app.screen.list_pane.stories]
        assert names == list(stories.stories())
        shown = "\n".join(screen_text(app))
        assert names[0] in shown
        await press(app, pilot, "space", *"j" * names.index("spin_lock"))
        await pilot.pause()
        assert there(app.screen.about.story).name == "spin_lock"
        assert stories.load_story(stories.stories()["spin_lock"]).title in "\n".join(
            screen_text(app)
        )
        assert app.session.grid.total == 0
        await press(app, pilot, "enter")
        for _ in range(3):
            await settle(app, pilot)
        assert on_main(app)
        assert app.session.kernel.name == "count_up"
        assert there(app.main.story).name == "spin_lock"
        await press(app, pilot, "space")
        assert app.session.grid.total == 1


@pytest.mark.full(instead="test_gallery_lists_every_story_and_opens_one")
async def test_the_gallery_finds_and_remembers(tmp_path: Path) -> None:
    where = tmp_path / "state" / "seen.json"
    app = GpudbgApp(open_first(), [], appearance(), seen=Seen.read(where))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "G")
        shown = "\n".join(screen_text(app))
        assert f"1 of {len(stories.stories())} seen" in shown
        assert a(GalleryScreen, app.screen).list_pane.stories[0].title in shown
        await press(app, pilot, "slash", *"spin", "enter")
        pane = a(GalleryScreen, app.screen).list_pane
        found = [pane.stories[a(tuple, r.key)[1]].name for r in pane._content.rows]
        assert "spin_lock" in found
        assert len(found) < len(pane.stories)
        assert pane.chosen is a(GalleryScreen, app.screen).about.story
        assert there(pane.chosen).name == found[0]
        await press(app, pilot, "slash", *"zzzz", "enter")
        assert "No story holds that" in "\n".join(screen_text(app))
        await press(app, pilot, "escape")
        assert isinstance(app.screen, GalleryScreen)
        assert len([r for r in pane._content.rows if r.key]) == len(pane.stories)
        await press(app, pilot, "j", "enter")
        await settle(app, pilot)
    assert Seen.read(where).stories == {"first_steps", there(app.main.story).name}


def test_stories_go_from_easy_to_hard_and_none_lacks_its_place() -> None:
    names = list(stories.stories())
    assert names == list(stories.BY_DIFFICULTY)
    assert names[:3] == ["first_steps", "ptx_registers", "out_of_bounds"]
    assert names[-1] == "trap_handler"


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("text", ["", "[]", '{"stories": 5}', "{", "\x00"])
def test_a_broken_record_of_what_was_seen_is_passed_over(tmp_path: Path, text: str) -> None:
    where = tmp_path / "seen.json"
    where.write_text(text)
    seen = Seen.read(where)
    assert (seen.first, seen.stories) == (False, set())
    seen.mark("first_steps")
    assert Seen.read(where).stories == {"first_steps"}


async def test_the_first_start_has_three_lines_of_hints(tmp_path: Path) -> None:
    where = tmp_path / "seen.json"
    for expected in (3, 1):
        app = GpudbgApp(
            open_kernel("fault_oob_global", OOB), [], appearance(), seen=Seen.read(where)
        )
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(app, pilot)
            lines = [r.text for r in app.main.query_one(ConsolePane).answers.lines]
            assert len(lines) == expected
            assert "Space one instruction" in lines[0]


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", stories.stories())
async def test_every_story_opens_where_it_begins(name: str) -> None:
    session = open_kernel(stories.stories()[name])
    app = GpudbgApp(session, [], appearance(), notes=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        notes = a(NotesPane, app.main.line_pane("notes"))
        assert notes.display
        assert stories.load_story(stories.stories()[name]).title in "\n".join(notes.texts)
        assert session.grid.total == 0
        assert "Entry" in "\n".join(screen_text(app)[:2])


async def test_notes_tell_the_story_and_run_its_commands() -> None:
    app = GpudbgApp(open_first(), [], appearance(), notes=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        notes = a(NotesPane, app.main.line_pane("notes"))
        assert notes.display
        assert "A first walk" in "\n".join(notes.texts)
        await press(app, pilot, "H")
        assert any("info warps" in str(r.key) for r in notes._content.rows)
        await press(app, pilot, "j", "enter")
        assert notes.done == {0}
        assert a(tuple, notes.key)[1:] == (1, "x/6i $pc")
        rows = app.main.query_one(ConsolePane).answers._content.rows
        assert any("info warps" in r.text for r in rows)
        await press(app, pilot, "j", "enter")
        assert app.session.grid.total == 1


async def test_a_program_of_ones_own_has_no_notes() -> None:
    app = make_app(open_kernel("fault_oob_global", OOB))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "H")
        assert not app.main.line_pane("notes").display
        assert "Notes" not in "\n".join(screen_text(app))
        texts = app.main.query_one(ConsolePane).answers.texts
        assert any("no shipped story" in t for t in texts)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *((name, (80, 24)) for name in stories.stories()),
        ("out_of_bounds", (120, 40)), ("trap_handler", (200, 60)),
    ],
)  # fmt: skip
async def test_a_reader_who_does_what_notes_say_comes_to_the_end(
    name: str, size: tuple[int, int]
) -> None:
    """Enter for each command (Escape leaves what a fault opens): every one works, and what it said
    stands under it, in sight with what comes next."""
    app = GpudbgApp(open_kernel(stories.stories()[name]), [], appearance(), notes=True)
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "H")
        notes = a(NotesPane, app.main.line_pane("notes"))
        commands = [c for beat in there(notes.story).beats for c in beat.commands]
        for _ in range(2 * len(commands)):
            if len(notes.done) == len(commands):
                break
            before = len(notes.done)
            await press(app, pilot, "enter")
            if app.screen is not app.main:
                await press(app, pilot, "escape")
            assert app.main.focused_pane() == "notes"
            if len(notes.done) == before:
                # The next command was out of sight: it is not carried out unread.
                assert any(line.strip().startswith("\u25ba") for line in notes.texts[1:])
                continue
            lines, error = notes.results[before]
            assert error == ""
            shown = "\n".join(notes.texts)
            assert not lines or lines[0].strip()[:30] in shown
        assert notes.done == set(range(len(commands)))


def test_what_one_can_type_is_marked_in_notes() -> None:
    text = "* Try `start`, `watch shared[0]` and five times `continue`: the maximum grows."
    for width in (24, 40, 90):
        rows = wrapped(text, width, "muted")
        typed = [t for r in rows for t, style in r.spans if style == "you"]
        assert " ".join(" ".join(typed).split()) == "start watch shared[0] continue"
        assert "".join(r.text for r in rows).replace(" ", "") == text.translate(
            {ord("`"): None, ord(" "): None}
        )
    assert wrapped("an odd ` one", 40)[0].text == " an odd ` one"


@pytest.mark.full(instead="test_a_reader_who_does_what_notes_say_comes_to_the_end")
async def test_notes_have_room_for_a_paragraph_beside_the_code() -> None:
    for size, least in (((80, 24), 10), ((120, 40), 13), ((200, 60), 18)):
        app = GpudbgApp(open_first(), [], appearance(), notes=True)
        async with app.run_test(size=size) as pilot:
            await settle(app, pilot)
            before = app.main.line_pane("code").size.height
            await press(app, pilot, "H")
            assert app.main.line_pane("notes").body >= least
            assert app.main.line_pane("code").body >= least * 6 // 10
            assert app.main.line_pane("code").size.height <= before


async def test_a_fault_of_the_story_leaves_the_reader_in_the_notes() -> None:
    app = GpudbgApp(open_kernel(stories.stories()["out_of_bounds"]), [], appearance(), notes=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "H", "j", "enter")
        assert app.screen is not app.main
        await press(app, pilot, "enter")
        assert on_main(app)
        assert app.main.focused_pane() == "notes"
        assert a(tuple, app.main.line_pane("notes").key)[1] == 1
