"""Escape sequences of terminals: those that are no key are dropped as a whole."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS
from textual._xterm_parser import XTermParser
from textual.events import CursorPosition, Key, MouseDown, Paste
from textual.messages import TerminalSupportsSynchronizedOutput

from gpudbg.frontends.tui import terminal as terminal_module
from gpudbg.frontends.tui.terminal import TerminalParser
from tests.narrowing import a

from .test_terminal import terminal  # noqa: F401

UNKNOWN = {
    "key with an unknown number": "\x1b[200;5~",
    "key with a letter's number": "\x1b[99;1~",
    "key with an unknown end": "\x1b[99;9X",
    "release of a key": "\x1b[97;1:3u",
    "number beyond all characters": "\x1b[99999999999u",
    "half of a character": "\x1b[55296u",
    "colour, ended by BEL": "\x1b]10;rgb:ffff/0000/0000\x07",
    "colour, ended by ST": "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    "title": "\x1b]lspace j\x1b\\",
    "clipboard": "\x1b]52;c;" + "anE6" * 100 + "\x07",
    "setting": "\x1bP1$r0;1m\x1b\\",
    "capability": "\x1bP1+r544e=787465726d\x1b\\",
    "version": "\x1bP>|XTerm(379)\x1b\\",
    "graphics": "\x1b_Gi=31;OK\x1b\\",
    "attributes": "\x1b[?62;1;6;22c",
    "other attributes": "\x1b[>0;276;0c",
    "status": "\x1b[0n",
    "size in cells": "\x1b[8;24;80t",
    "unknown mode": "\x1b[?9999;0$y",
    "keyboard flags": "\x1b[?1u",
    "colour scheme": "\x1b[?997;1n",
    "mouse of 1015": "\x1b[32;10;20M",
    "mouse of 1000": "\x1b[M !!",
    "mouse of 1006 with more numbers": "\x1b[<0;3;4;5;6M",
    "long": "\x1b[" + "1;" * 100 + "5~",
    "half a key": "\x1b[5",
    "half a mouse report": "\x1b[<0;3;4",
    "half a colour": "\x1b]10;rgb:ff",
    "half an answer": "\x1bP1$r",
    "half a mouse report of 1000": "\x1b[M ",
    "function key of no keyboard": "\x1bO9z",
}


def read(parser: XTermParser, *writes: str, gap: bool = True) -> list[str]:
    """Keys, pastes and other messages of what was written; then nothing comes for a while."""
    found = []
    for text in filter(None, writes):
        found += list(parser.feed(text))
    if gap:
        parser._deadline = 0.0  # type: ignore[attr-defined]
        found += list(parser.tick())
    return [m.key if isinstance(m, Key) else type(m).__name__ for m in found]


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("sequence", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_no_key_is_dropped_however_it_is_split(sequence: Any) -> None:
    for writes in ([sequence], [*sequence], [sequence[:3], sequence[3:]]):
        parser = TerminalParser()
        assert read(parser, *writes) == []
        assert read(parser, "j\x1b[A") == ["j", "up"]


WHOLE = [text for name, text in UNKNOWN.items() if not name.startswith("half a")]


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("sequence", WHOLE)
def test_the_key_behind_it_in_the_same_write_counts(sequence: Any) -> None:
    assert read(TerminalParser(), f"k{sequence}\x1b[B") == ["k", "down"]


def test_what_textual_knows_it_still_knows() -> None:
    # The place of the cursor has the form of F3 with a modifier.
    known = [s for s in ANSI_SEQUENCES_KEYS if s != "\x9b" and s[-1] != "R"]
    known += [f"\x1b[{k}" for k in FUNCTIONAL_KEYS]
    known += ["\x1b[1;5A", "\x1b[97;5u", "\x1b[97u", "\x1b[9;5u", "\x1bj", "\x1bf", "é", "\x1b:"]
    for sequence in known:
        plain = XTermParser()
        wanted = list(plain.feed(sequence))
        plain._timeout_time = None if plain._timeout_time is None else 0.0
        wanted += list(plain.tick())
        keys = [m.key for m in wanted if isinstance(m, Key)]
        assert read(TerminalParser(), sequence) == keys, repr(sequence)
        assert read(TerminalParser(), *sequence) == keys, repr(sequence)


def test_answers_that_textual_asks_for() -> None:
    assert read(TerminalParser(), "\x1b[?2026;2$y") == [TerminalSupportsSynchronizedOutput.__name__]
    assert read(TerminalParser(), "\x1b[12;40R") == [CursorPosition.__name__]
    assert read(TerminalParser(), "\x1b[<0;3;4M") == [MouseDown.__name__]


def test_escape_and_keys_after_it() -> None:
    assert read(TerminalParser(), "\x1b") == ["escape"]
    assert read(TerminalParser(), "\x1b\x1b[A") == ["escape", "up"]
    assert read(TerminalParser(), "\x1b]j") == ["alt+right_square_bracket", "j"]
    assert read(TerminalParser(), "\x1b[") == ["alt+left_square_bracket"]
    # Ctrl-C is heard in the middle of anything.
    for half in ("\x1b[5", "\x1b]10;rgb", "\x1bP1$", "\x1b_G", "\x1b[M "):
        assert read(TerminalParser(), half, "\x03") == ["ctrl+c"]


def test_what_is_pasted_is_text_whatever_is_in_it() -> None:
    for inside in ("\x1b[99;9X", "\x1b]0;x\x07", "a\x1bb\x1b[A" + "s" * 60, "\x1b[200~"):
        for writes in ([f"\x1b[200~{inside}\x1b[201~j"], [*f"\x1b[200~{inside}\x1b[201~j"]):
            parser = TerminalParser()
            found = [m for text in writes for m in parser.feed(text)]
            assert isinstance(found[0], Paste)
            assert found[0].text == inside
            assert [a(Key, m).key for m in found[1:]] == ["j"]
    # The end of it was lost: the keyboard is not.
    assert read(TerminalParser(), "\x1b[200~x", "\x03") == ["Paste", "ctrl+c"]


def test_bytes_that_are_no_utf_8() -> None:
    decode = terminal_module.lenient("utf-8")().decode
    assert read(TerminalParser(), decode(b"\x1b[M \xff\xfej")) == ["j"]
    assert read(TerminalParser(), decode(b"\x9b99;9Xj")) == ["j"]
    assert read(TerminalParser(), decode(b"\xffj"))[-1] == "j"


@pytest.mark.full(instead="test_the_key_behind_it_in_the_same_write_counts")
def test_in_a_terminal(terminal: Any) -> None:  # noqa: F811
    screen = terminal("demo", width=80, height=24)
    before = screen.wait("Entry")
    for sequence in WHOLE:
        os.write(screen._fd, sequence.encode())
    for sequence in ("\x1b[200;5~", "\x1b]10;rgb:ffff/0000/0000\x07", "\x1b[?62;1;6;22c"):
        for character in sequence:
            os.write(screen._fd, character.encode())
            time.sleep(0.002)
    os.write(screen._fd, b"\x1b[M \xff\xff\xfe")
    # Nothing was carried out: the next key is the first step.
    os.write(screen._fd, b"\x1b[5")
    time.sleep(2 * terminal_module.HALF_S)
    screen.keys("Space")
    screen.wait("block_max+0x10")
    assert "block_max+0x8" in before
    assert "Entry" in before
