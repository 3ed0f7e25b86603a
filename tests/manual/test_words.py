"""Pages name only what is there; the check finds what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudbg.frontends.tui.actions import ACTIONS, LOCAL_ACTIONS
from gpudbg.frontends.tui.keys import keys_text
from tests.doc_blocks import ROOT
from tests.manual.words import mistakes, written_pages
from tests.variants import rows


@rows("page", written_pages(), ids=lambda page: page.stem)
def test_words(page: Path) -> None:
    found = [f"{m.file.relative_to(ROOT)}:{m.line}: {m.what}" for m in mistakes(page)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Type `info wraps`.", "no subcommand 'wraps'"),
        ("`gpudbg runn x.cubin` runs it.", "no verb 'runn'"),
        ("`gpudbg run --gird 4 x.cubin`", "no flag --gird"),
        ("With `--gird` it does.", "the flag --gird"),
        ("`set max-instrs 5` bounds it.", "no setting is called 'max-instrs'"),
        ("`GPUDBG_CASH=off`", "no variable of the environment"),
        ("The key `F13` does it.", "no key map has the key 'F13'"),
        ("`gpudbg help ferst-fault`", "no topic 'ferst-fault'"),
        ("```console\n$ gpudbg run --gird 4 x.cubin\n```", "no flag --gird"),
    ],
)
def test_what_is_not_there_is_found(text: str, what: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n{text}\n")
    found = list(mistakes(page))
    assert [m.line for m in found] == [4 if "```" in text else 3]
    assert what in found[0].what


def test_keys_have_the_names_that_stand_on_them() -> None:
    """No name of Textual's, such as `EQUALS_SIGN`, is left over for people."""
    shown = {
        key
        for action in (*ACTIONS, *LOCAL_ACTIONS)
        for key in keys_text(action.keys, 9).split()
        if "_" in key
    }
    assert shown == set()
