"""Every shipped story plays as it was written down, and each says what it is about."""

from __future__ import annotations

import pytest

from gpudbg.debug.story_files import COMMANDS, PICTURE, sessions_folder, stories, summary
from gpudbg.errors import UsageError
from gpudbg.frontends.verbs import demo
from tests.sessions.stories import EXPECTED, played
from tests.variants import rows

STORIES = stories()

LESSONS = {
    "hidden_race": "writes what a thread of another warp reads",
    "unset_shared": "loads has never been written",
    "until_volta": "another thread of its warp reads",
    "barrier_count": "barrier 1 holds 96 of 128",
    "bpt_pause": "BPT_PAUSE_MASK_LO           0x504624  0x00000002  warps 1",
    "carry_chain": " [0 0 0 8]]",
    "divergent_barrier": "waits at barrier 0: 64 of 96 threads arrived; not there: warp 2",
    "divergent_branch": "DIV    1, 3, 5, 7, 9, 11,",
    "first_nan": "└ operand: R7 = inf, @!P0 FMUL R7, R7, 4096, first_nan.cu:8",
    "lost_update": "39    store   (0,0,0)  (4,0,0)   4      0xb8  STG.E [R2], R0  100",
    "stack_overflow": "43 calls are open",
    "stray_store": "shared 0x20 = 65, atomic ATOMS.ADD RZ, [R7], R10, stray_store.cu:17",
    "first_steps": "4974",
    "misaligned_vector": "MISALIGNED_ADDR (0x0f)",
    "out_of_bounds": "at the end of buffer in (argument 0)",
    "ptx_registers": "SMId",
    "shuffle_bug": "  out      i32[32]  1220",
    "spill_windows": "l[0x10] of lane 7, TP 0, MP 0, warp 3",
    "spin_lock": "SSY    0-31   count_up+0x70",
    "spin_lock_ends": "0080  lanes 1-31: yielded",
    "surface_clamp": "1792 lanes outside at box_filter+0x108 surface_clamp.cu:21, clamp IGN",
    "surface_reduction": "[[4 1 1 1 1 0 0 0]",
    "tensor_tile": "  d        f32[128]  120 120 120",
    "trap_counter": "SM 1: 2 entries, 2 returns",
    "trap_handler": "in the handler because of a warp error",
    "two_builds": "With the same inputs, by hand:",
}
"""What a transcript must show; `test_lessons` asks the machine itself."""

EXIT_CODES = {
    "barrier_count": 3,
    "misaligned_vector": 3,
    "out_of_bounds": 3,
    "stack_overflow": 3,
    "surface_reduction": 3,
}


def test_there_are_enough_stories() -> None:
    assert len(STORIES) >= 12
    assert set(LESSONS) == set(STORIES)


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", STORIES)
def test_transcript(name: str) -> None:
    story = played(name)
    assert story.err == ""
    assert story.out == (STORIES[name].parent / EXPECTED).read_text()
    assert story.code == EXIT_CODES.get(name, 0)
    assert story.picture == (STORIES[name].parent / PICTURE).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LESSONS)
def test_story_shows_what_it_teaches(name: str) -> None:
    assert LESSONS[name] in (STORIES[name].parent / EXPECTED).read_text()


@rows("name", STORIES)
def test_story_is_whole(name: str) -> None:
    folder = STORIES[name].parent
    assert any(folder.glob("*.cu")) or any(folder.glob("*.sass"))
    assert list(folder.glob("*.toml"))
    assert (folder / "notes.md").read_text().startswith("# ")
    assert summary(folder).endswith(".")


@rows("name", STORIES)
def test_story_narrates(name: str) -> None:
    """Comments between the commands, not commands alone."""
    folder = STORIES[name].parent
    if not (folder / COMMANDS).is_file():
        assert len(summary(folder)) > 40
        return
    lines = (folder / COMMANDS).read_text().splitlines()
    comments = sum(line.startswith("#") for line in lines)
    commands = sum(bool(line) and not line.startswith("#") for line in lines)
    assert commands >= 4
    assert comments >= max(2, commands // 5)
    assert all(len(line) <= 100 for line in lines)


def test_fixing_the_shuffle_makes_it_right() -> None:
    text = (STORIES["shuffle_bug"].parent / EXPECTED).read_text()
    assert "  out      i32[32]  20 20 20" in text.splitlines()[-1]


def test_unknown_story_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="divergent_branch"):
        demo.main(["nowhere"])


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--list"]) == 0
    *rows, legend, _ = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows if row and row[0] != " "] == list(STORIES)
    assert max(len(row) for row in rows if row.startswith(" ")) < 84
    assert legend.startswith("Lanes 0 to 31")
    for name in STORIES:
        drawn = (STORIES[name].parent / PICTURE).read_text(encoding="utf-8").splitlines()
        assert 2 <= len(drawn) <= 12, name
        assert all(f"    {line}".rstrip() in rows for line in drawn), name


def test_sources_hold_no_paths_of_a_machine() -> None:
    for cubin in STORIES.values():
        for file in cubin.parent.iterdir():
            content = file.read_bytes()
            assert not any(root in content for root in (b"/home/", b"/tmp/", b"/work/")), file


def test_every_story_folder_is_listed() -> None:
    folders = {f.name for f in sessions_folder().iterdir() if f.is_dir()}
    assert folders == set(STORIES)
