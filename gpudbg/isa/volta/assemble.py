"""Text to word, read from the same table rows as decoding and text.

Every form of the mnemonic is tried: its modifiers and operands are scanned left to right, each
part yielding the bits that print the text found there; readings that disagree about a shared bit
drop out.  A reading whose own text equals the input wins over others.

A text does not hold every bit of its word: on sm_80 the uniform register of a load's descriptor
shows only where bit 101 is set.  Notes behind the text give such bits: `&HI:LO=VALUE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import compress, product

from ...errors import AssembleError, DecodeError
from ..bitsets import Bits
from ..operands import PT
from .decode import ARCHS, RTT_WORD, candidates_of, decode
from .insn import CONTROL_MASK, WideControl
from .parts import Part, Reading
from .spec import WideForm

_GUARD = re.compile(r"@(!?)(U?P)(T|[0-6])\s+")
_OPCODE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NOTE = re.compile(r"&(\d{1,4}(?::\d{1,4})?)=(0x[0-9a-fA-F]{1,40}|\d{1,40})")
_BLANKS = re.compile(r"\s+")
_ALIASES = {"IMAD": (".MOV", ".IADD", ".SHL")}
"""What nvdisasm adds to a mnemonic for some operands, without bits of its own."""
NEUTRAL = WideControl(stall=1, yield_=False)
"""One cycle, no barriers, no waits: accepted with every instruction."""
UNSCHEDULED = WideControl(stall=0, yield_=True)
"""The only bits that some instructions take (RTT from sm_80 on)."""
_GUARD_MASK = 15 << 12
_OPTIONAL_LIMIT = 4
"""Operands of a form that may be left out, at most."""


class _Source:
    """Text without the blanks that mean nothing, with the column of every character."""

    def __init__(self, text: str, start: int, end: int) -> None:
        kept: list[str] = []
        self.columns: list[int] = []
        at = start
        for word in _BLANKS.split(text[start:end]):
            at = text.index(word, at)
            if kept and word and kept[-1].isalnum() and word[0].isalnum():
                kept.append(" ")
                self.columns.append(at)
            kept += word
            self.columns += range(at + 1, at + len(word) + 1)
            at += len(word)
        self.columns.append(at + 1)
        self.text = "".join(kept)
        self.reach = 0
        self.expected: list[str] = []

    def miss(self, pos: int, expected: str) -> None:
        """Note the furthest place where something else was expected."""
        if pos > self.reach or not self.expected:
            self.reach, self.expected = pos, [expected]
        elif pos == self.reach and expected not in self.expected:
            self.expected.append(expected)

    def error(self, op: str) -> AssembleError:
        """What stands at the furthest place."""
        rest = self.text[self.reach : self.reach + 12]
        return AssembleError(
            f"cannot read {rest!r} in {op}" if rest else f"{op} is incomplete",
            column=self.columns[min(self.reach, len(self.columns) - 1)],
            expected=" or ".join(self.expected[:4]) or "operand",
        )


def squeeze(text: str) -> str:
    """A text as it is compared: without the blanks that mean nothing."""
    return _Source(text, 0, len(text)).text


@cache
def _forms_of(op: str, tables: str) -> tuple[WideForm, ...]:
    return tuple(form for form in candidates_of(tables) if form.op == op)


def assemble(
    text: str, pc: int, arch: str, control: WideControl | None = None, like: int | None = None
) -> int:
    """The word of one instruction, `text` as nvdisasm prints it.

    Args:
        text: e.g. "@!P0 IADD3 R2, R3, 0x10, RZ", notes such as `&37:32=4` behind it.
        pc: byte address of the instruction, for relative targets.
        arch: "sm_70" .. "sm_121".
        control: scheduling bits; one cycle and no barriers where there are none, none at all
            where an instruction takes no others.  Reuse marks of the text are added.
        like: a word of the same form gives the bits that the text does not show.

    Raises:
        AssembleError: with the column and what was expected there.
    """
    tables = ARCHS[arch]
    body, notes = _notes(text)
    start = len(body) - len(body.lstrip())
    guard = _GUARD.match(body, start)
    start = guard.end() if guard else start
    found = _OPCODE.match(body, start)
    if not found:
        raise AssembleError("no instruction", column=start + 1, expected="mnemonic")
    op = found[0].upper()
    forms = _forms_of(op, tables)
    if not forms:
        # Where tools print nothing for RTT, its word is all there is to write.
        wanted = f".word 0x{RTT_WORD:032x}" if op == "RTT" else "mnemonic"
        raise AssembleError(f"no instruction {op} on {arch}", column=start + 1, expected=wanted)
    forms = tuple(f for f in forms if guard is None or f.uniform_guard == (guard[2] == "UP"))
    if not forms:
        wanted = "@P0" if guard is not None and guard[2] == "UP" else "@UP0"
        raise AssembleError(f"{op} has another guard", column=1, expected=wanted)
    source = _Source(body, found.end(), len(body.rstrip().removesuffix(";").rstrip()))
    if like is not None and control is not None:
        like = like & ~CONTROL_MASK | control.bits
    if like is not None and not notes.mask and _reads_as(like, body, pc, arch):
        return like
    if control is None:
        control = UNSCHEDULED if all(form.unscheduled for form in forms) else NEUTRAL
    made = _Maker(source, op, pc, arch, _guard_bits(guard), control, notes, like)
    for form in forms:
        word = made.word(form)
        if word is not None:
            return word
    if made.near is None:
        raise source.error(op)
    return made.near


def _reads_as(word: int, text: str, pc: int, arch: str) -> bool:
    """Whether a word's text is this one."""
    try:
        shown = decode(word, arch).text(pc)
    except DecodeError:
        return False
    plain = text.strip().removesuffix(";").rstrip()
    return plain == shown or squeeze(plain).upper() == squeeze(shown).upper()


def _form_of(word: int | None, arch: str) -> WideForm | None:
    try:
        return None if word is None else decode(word, arch).form
    except DecodeError:
        return None


def _guard_bits(guard: re.Match[str] | None) -> int:
    if guard is None:
        return PT << 12
    index = PT if guard[3] == "T" else int(guard[3])
    return index << 12 | bool(guard[1]) << 15


def _notes(text: str) -> tuple[str, Reading]:
    """The text without its notes (blanks in their place), and their bits.

    Raises:
        AssembleError: bits that are not there, or a value that does not fit.
    """
    bits = mask = 0
    for found in _NOTE.finditer(text):
        try:
            field = Bits.parse(found[1])
        except ValueError:
            raise AssembleError(
                f"bits {found[1]}", column=found.start() + 1, expected="HI:LO of 127:0"
            ) from None
        value = int(found[2], 0)
        if value >> field.width:
            raise AssembleError(
                f"{found[2]} in {field.width} bits", column=found.start(2) + 1, expected="less"
            )
        bits |= field.put(value)
        mask |= field.mask
    return _NOTE.sub(lambda m: " " * len(m[0]), text), Reading(0, bits, mask)


class _Maker:
    """Tries forms on one instruction's text.

    Attributes:
        near: the first word whose text is not exactly the source: numbers were written otherwise
            (5 for 0x5, raw bits for a float).
    """

    def __init__(
        self,
        source: _Source,
        op: str,
        pc: int,
        arch: str,
        guard: int,
        control: WideControl,
        notes: Reading,
        like: int | None,
    ) -> None:
        self._source = source
        self._op = op
        self._pc = pc
        self._arch = arch
        self._guard = guard
        self._control = control.bits
        self._notes = notes
        self._like = like
        self._like_form = _form_of(like, arch)
        self.near: int | None = None

    def word(self, form: WideForm) -> int | None:
        """The word of `form` whose text is exactly the source, None where there is none."""
        for reading in self._readings(form):
            word = reading.bits | (self._idle(form) & ~reading.mask) | self._guard | self._control
            word = word & ~self._notes.mask | self._notes.bits
            try:
                insn = decode(word, self._arch)
            except DecodeError as error:
                self._source.miss(reading.end, error.reason)
                continue
            if insn.form is form or insn.op == self._op:
                shown = squeeze(insn.body(self._pc))
                if shown.upper() == (self._op + self._source.text).upper():
                    return word
                if self.near is None and insn.form is form:
                    self.near = word
        return None

    def _idle(self, form: WideForm) -> int:
        """What bits that the text does not show get."""
        if self._like is None or form is not self._like_form:
            return form.idle
        return self._like & ~(CONTROL_MASK | _GUARD_MASK)

    def _readings(self, form: WideForm) -> Iterator[Reading]:
        """Readings of modifiers and operands."""
        start = Reading(0, form.value, form.mask)
        for alias in ("", *_ALIASES.get(self._op, ())):
            if self._source.text.upper().startswith(alias):
                begin = start._replace(end=len(alias))
                for head in self._scan(form.heads[1], begin):
                    yield from self._operands(form, head)

    def _operands(self, form: WideForm, head: Reading) -> Iterator[Reading]:
        parts, _ = form.parts(ARCHS[self._arch])
        optional = [n for n, part in enumerate(parts) if self._unseen(part)]
        for there in product((True, False), repeat=min(len(optional), _OPTIONAL_LIMIT)):
            absent = set(compress(optional, (not here for here in there)))
            for end in self._operand(parts, 0, head, absent, ""):
                if end.end == len(self._source.text):
                    yield end
                else:
                    self._source.miss(end.end, "end of instruction")

    def _operand(
        self, parts: Sequence[Part], number: int, state: Reading, absent: set[int], separator: str
    ) -> Iterator[Reading]:
        """Readings of the operands from `number` on."""
        if number == len(parts):
            yield state
            return
        part = parts[number]
        if number in absent:
            for text in self._unseen(part):
                for found in part.scan(text, 0, self._pc):
                    both = state.then(found._replace(end=state.end))
                    if found.end == len(text) and both is not None:
                        yield from self._operand(parts, number + 1, both, absent, separator)
            return
        begin = self._separated(state, separator)
        if begin is None:
            self._source.miss(state.end, f"'{separator.strip()}'")
            return
        for after in self._scan([part], begin):
            yield from self._operand(parts, number + 1, after, absent, part.separator)

    def _unseen(self, part: Part) -> list[str]:
        """Texts of an operand that do not show, PT and its siblings first."""
        nothing = [""] if any(part.scan("", 0, self._pc)) else []
        return nothing + sorted(part.omit | part.maybe, key=lambda t: not t.endswith("PT"))

    def _separated(self, state: Reading, separator: str) -> Reading | None:
        """Behind the separator; blanks are kept only between letters or digits."""
        text, at = self._source.text, state.end
        if separator == ", ":
            return state._replace(end=at + 1) if text.startswith(",", at) else None
        return state._replace(end=at + 1) if text.startswith(" ", at) else state

    def _scan(self, parts: Sequence[Part], state: Reading) -> Iterator[Reading]:
        """Readings of parts one after another."""
        if not parts:
            yield state
            return
        seen = False
        for found in parts[0].scan(self._source.text, state.end, self._pc):
            both = state.then(found)
            if both is not None:
                seen = True
                yield from self._scan(parts[1:], both)
        if not seen:
            self._source.miss(state.end, parts[0].expected)


def notes_for(word: int, pc: int, arch: str) -> str:
    """What has to stand behind the text of a word so that it assembles to that word.

    Raises:
        DecodeError: an illegal word.
        AssembleError: a text that cannot be read back.
    """
    insn = decode(word, arch)
    control = insn.control
    made = assemble(insn.text(pc), pc, arch, control)
    return " ".join(f"&{bits}={value:#x}" for bits, value in _differences(made, word))


def _differences(made: int, wanted: int) -> Iterator[tuple[str, int]]:
    """Ranges of bits that differ, lowest first, and their wanted value."""
    changed = made ^ wanted
    low = 0
    while changed >> low:
        low += (changed >> low & -(changed >> low)).bit_length() - 1
        high = low
        while changed >> (high + 1) and changed >> (high + 1) & 0xF:
            high += 1
        value = wanted >> low & ((1 << (high - low + 1)) - 1)
        yield (f"{high}:{low}" if high > low else str(low)), value
        low = high + 1
