"""What the terminal sends, cut into whole escape sequences; what Textual does not know is dropped.

Textual's parser hands a sequence that it does not know on as single keys, so that an answer of the
terminal, a key with a modifier it has no name for, or half a mouse report carries out commands.
Here a sequence is complete by the rules of ECMA-48, and reaches Textual's parser as a whole or not
at all.  One that stays unfinished is dropped with what belongs to it.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

from textual import constants
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS
from textual._time import get_time
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.message import Message

ESC: Final = "\x1b"
STRINGS: Final = "]P_^X"
"""What begins a string after ESC: OSC, DCS, APC, PM, SOS; it ends with ST, OSC also with BEL."""
BEGINS: Final = {"]": "0123456789lLI", "P": "0123456789;$+>!?=<"}
"""How these strings begin: anything else is a key pressed after Escape."""
INTRODUCERS: Final = f"[O{STRINGS}"
C1: Final = {
    chr(byte): ESC + chr(byte - 0x40) for byte in (0x8F, 0x90, 0x98, 0x9B, 0x9D, 0x9E, 0x9F)
}
"""SS3, DCS, SOS, CSI, OSC, PM and APC as one character of eight bits."""
PASTE_BEGINS, PASTE_ENDS = f"{ESC}[200~", f"{ESC}[201~"
HALF_S: Final = 0.5
"""How long an unfinished sequence is waited for."""
LONGEST: Final = 32
"""Characters of a sequence that is looked up; of a longer one no more are kept."""
INTERRUPT: Final = "\x03"

_CSI = re.compile(r"\x1b\[(?:\[[\x20-\x7e]|M[^\x00-\x1f]{3}|(?!M)[\x20-\x3f]*[\x40-\x5a\\-\x7e])")
_CSI_HALF = re.compile(r"\x1b\[(?:\[?|M[^\x00-\x1f]{0,2}|[\x20-\x3f]*)")
_EXTENDED = re.compile(r"\x1b\[(\d*)(?:[:;][\d:;]*)?([u~ABCDEFHPQRS])")
_PRIVATE = range(0xE000, 0xF900)
_SURROGATES = range(0xD800, 0xE000)


class TerminalParser(XTermParser):
    """Textual's parser behind one that knows where sequences end; see the module text."""

    def __init__(self, debug: bool = False) -> None:
        self._held = ""
        self._pasted: str | None = None
        self._deadline = 0.0
        super().__init__(debug)

    def feed(self, data: str) -> Iterator[Message]:
        """Parse input. Yields the messages it completes."""
        if not data:
            yield from super().feed(data)
        elif self._pasted is not None and data == INTERRUPT:
            # The end marker of a paste was lost: treat what follows as keys.
            yield from self._paste_ends()
            yield from super().feed(data)
        else:
            for character in data:
                yield from self._take(character)
            self._deadline = get_time() + (constants.ESCAPE_DELAY if self._held == ESC else HALF_S)

    def tick(self) -> Iterator[Message]:
        """Handle the timeout of an unfinished sequence: keys, or nothing."""
        yield from super().tick()
        if self._held and get_time() >= self._deadline:
            held, self._held = self._held, ""
            if len(held) <= 2:
                yield from self._keys(held)

    # ---- one character -----------------------------------------------------------------
    def _take(self, character: str) -> Iterator[Message]:
        if self._pasted is not None:
            self._pasted += character
            if self._pasted.endswith(PASTE_ENDS):
                self._pasted = self._pasted.removesuffix(PASTE_ENDS)
                yield from self._paste_ends()
            return
        if 0xDC80 <= ord(character) <= 0xDCFF:
            # Undo surrogate escapes: a byte that is no UTF-8.
            character = chr(ord(character) - 0xDC00)
            character = character if character in C1 or self._held else "\ufffd"
        if not self._held:
            character = C1.get(character, character)
        if character[0] == ESC:
            held, self._held = self._held, character
            if held == ESC:
                yield from self._keys(held)
            elif held[1:2] in STRINGS and held[2:]:
                # The first half of the two characters that end a string, or a sequence after one
                # that was broken off.
                self._held = held + character if character == ESC else character
        elif self._held:
            self._held += character
            yield from self._grown()
        else:
            yield from super().feed(character)

    def _grown(self) -> Iterator[Message]:
        """Check the sequence after one more character: complete, invalid, or unfinished."""
        held = self._held
        if len(held) > 2 * LONGEST:
            self._held = held[:LONGEST] + held[-1]
        kind, last = held[1], held[-1]
        if kind == "[":
            if _CSI.fullmatch(held) or (last == "$" and held in ANSI_SEQUENCES_KEYS):
                yield from self._whole()
            elif not _CSI_HALF.fullmatch(held):
                yield from self._broken()
        elif kind == "O":
            if len(held) > 2 and not last.isdigit():
                yield from self._whole() if " " < last < "\x7f" else self._broken()
        elif kind in STRINGS:
            yield from self._string()
        else:
            yield from self._whole()

    def _string(self) -> Iterator[Message]:
        held = self._held
        kind, last = held[1], held[-1]
        if len(held) == 3 and last not in BEGINS.get(kind, last):
            # Escape and a key, and another one.
            self._held = ""
            yield from self._keys(held[:2])
            yield from self._take(last)
        elif ESC in held[2:]:
            self._held = ""
            if last != "\\":
                self._held = ESC
                yield from self._take(last)
        elif last in "\x07\x9c":
            self._held = ""
        elif last < " " and len(held) > 2:
            yield from self._broken()

    def _broken(self) -> Iterator[Message]:
        """The last character cannot continue the sequence: handle it as a key of its own."""
        last, self._held = self._held[-1], ""
        if len(last.encode("utf-8", "ignore")):
            yield from self._take(last)

    def _whole(self) -> Iterator[Message]:
        """Handle a complete sequence: pass it on if Textual knows it."""
        held, self._held = self._held, ""
        if held == PASTE_BEGINS:
            self._pasted = ""
        elif _known(held):
            found = self._parsed(held)
            if found is None and len(held) == 2:
                yield from self._keys(held)
            else:
                yield from found or ()

    # ---- what it means -----------------------------------------------------------------
    def _parsed(self, sequence: str) -> list[Message] | None:
        """Textual's messages of a complete sequence; None: it does not know it."""
        try:
            found = list(super().feed(sequence))
            if self._awaiting.timeout is None:
                return found
        except (ValueError, OverflowError, StopIteration):
            # Numbers that are no characters.
            pass
        self._tokens.clear()
        self._gen = self.parse(self._tokens.append)
        self._awaiting = next(self._gen)
        self._timeout_time = None
        return None

    def _keys(self, held: str) -> Iterable[Message]:
        """Escape, or Alt and a character."""
        if held == ESC:
            return [Key("escape", ESC)]
        if held[1] in INTRODUCERS:
            return [Key(f"alt+{_character_to_key(held[1])}", None)]
        return self._sequence_to_key_events(held[1], alt=True)

    def _paste_ends(self) -> Iterator[Message]:
        text, self._pasted = self._pasted or "", None
        yield Paste(text.replace("\0", "").encode("utf-8", "ignore").decode())


def _known(sequence: str) -> bool:
    """Whether a number in a key's sequence is one of a key: Textual takes any for a character."""
    if len(sequence) > LONGEST:
        return False
    found = _EXTENDED.fullmatch(sequence)
    if found is None or sequence in ANSI_SEQUENCES_KEYS:
        return True
    number, end = int(found[1] or "1"), found[2]
    if f"{number}{end}" in FUNCTIONAL_KEYS:
        return True
    if end == "R":
        # Where the cursor stands.
        return True
    return end == "u" and number >= 32 and number not in _PRIVATE and number not in _SURROGATES


def lenient(encoding: str) -> Any:
    """A decoder that hands bytes it cannot decode on as halves of surrogates."""
    made = codecs.getincrementaldecoder(encoding)
    return lambda: made(errors="surrogateescape")


def guarded(driver: type[Driver]) -> type[Driver]:
    """A driver, whose module reads what the terminal sends by `TerminalParser`.

    Bytes that are no UTF-8 (mouse reports of old terminals) no longer end the application.
    """
    module = sys.modules[driver.__module__]
    for name, ours in (("XTermParser", TerminalParser), ("getincrementaldecoder", lenient)):
        if hasattr(module, name):
            setattr(module, name, ours)
    return driver
