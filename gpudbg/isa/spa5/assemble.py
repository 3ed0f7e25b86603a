"""Text to word, read from the same table lines as decode and text.

Every form of the mnemonic is tried: its modifiers and operands are scanned left to right, each
site yielding the field values that print the text found there; values that disagree about a
shared bit drop out.  A reading whose own text equals the input wins over others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gpudbg.dataclass import dataclass

from ...errors import AssembleError, DecodeError
from ..operands import PT
from .decode import NOP_WORD, decode, find_form
from .forms import all_forms
from .kinds import Kind, field_bits
from .spec import GUARD, GUARD_NOT, Form, OperandSpec, Sign, Site

_GUARD = re.compile(r"@(!?)P(T|[0-6])\s+")
_OPCODE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_REUSE = re.compile(r"\.reuse\b")
_SIGN_MARKS = {"neg": "-", "inv": "~", "abs": "|"}
_SUFFIX_MARKS = {"neg": ".NEG", "abs": ".ABS", "inv": ".INV"}

State = tuple[int, int, int]
"""(position, bits, mask of the bits decided)."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A word, and what the text said about its control word: reuse bits and dual issue."""

    word: int
    reuse: int
    dual: bool


class _Source:
    """Text behind the mnemonic without blanks, with the column of every character."""

    def __init__(self, text: str, start: int) -> None:
        self.columns: list[int] = []
        kept = []
        for column, char in enumerate(text[start:], start + 1):
            if not char.isspace():
                kept.append(char)
                self.columns.append(column)
        self.columns.append(self.columns[-1] + 1 if self.columns else start + 1)
        self.text = "".join(kept)
        self.reach = 0
        self.expected = ""

    def miss(self, pos: int, expected: str) -> None:
        """Note the furthest place where something else was expected."""
        if pos > self.reach or not self.expected:
            self.reach, self.expected = pos, expected
        elif pos == self.reach and expected not in self.expected.split(" or "):
            self.expected += f" or {expected}"


@cache
def _forms_of(op: str, arch: str) -> tuple[Form, ...]:
    return tuple(f for f in all_forms() if f.op == op and arch in f.archs)


def assemble(text: str, pc: int = 8, arch: str = "sm_50") -> int:
    """The word of one instruction, `text` as nvdisasm prints it.

    Blanks, a final semicolon, dual-issue braces and `.reuse` are allowed; ignored bits get the
    value compilers give them.

    Args:
        text: e.g. "@!P0 IADD R2.CC, -R3, R4".
        pc: byte address of the instruction, for relative targets.
        arch: "sm_50" .. "sm_62".

    Raises:
        AssembleError: with the column and what was expected there.
    """
    return assemble_line(text, pc, arch).word


def assemble_line(text: str, pc: int = 8, arch: str = "sm_50") -> Assembled:
    """As `assemble`, with the reuse bits and the dual-issue brace the text carries."""
    blank, dual = _without_braces(text)
    start = len(blank) - len(blank.lstrip())
    guard = _GUARD.match(blank, start)
    index, negated = PT, False
    if guard:
        index, negated = (PT if guard[2] == "T" else int(guard[2])), bool(guard[1])
        start = guard.end()
    found = _OPCODE.match(blank, start)
    if not found:
        raise AssembleError("no instruction", column=start + 1, expected="mnemonic")
    op = found[0].upper()
    forms = _forms_of(op, arch)
    if not forms:
        raise AssembleError(f"no instruction {op} on {arch}", column=start + 1, expected="mnemonic")
    source = _Source(_REUSE.sub(lambda m: " " * len(m[0]), blank), found.end())
    if guard and not any(f.guarded for f in forms):
        raise AssembleError(f"{op} has no guard", column=1, expected=op)
    for form in forms:
        word = _read(form, source, pc, index, negated, arch)
        if word is not None:
            return Assembled(word, _reuse_bits(text, word, pc, arch), dual)
    column = source.columns[min(source.reach, len(source.columns) - 1)]
    rest = source.text[source.reach : source.reach + 12]
    raise AssembleError(
        f"cannot read {rest!r} in {op}" if rest else f"{op} is incomplete",
        column=column,
        expected=source.expected or "operand",
    )


def _without_braces(text: str) -> tuple[str, bool]:
    """The text with `;`, `{` and `}` of dual issue blanked out, and whether `{` was there.

    A brace right after the mnemonic's blanks or after a comma belongs to DEPBAR's set.
    """
    body = text.rstrip()
    if body.endswith("}") and "{" not in body:
        body = body[:-1].rstrip()
    body = body.removesuffix(";").ljust(len(text))
    dual = body.lstrip().startswith("{")
    if dual:
        body = body.replace("{", " ", 1)
    return body, dual


def _read(form: Form, source: _Source, pc: int, guard: int, negated: bool, arch: str) -> int | None:
    """The word if `form` can be read from the source, None otherwise.

    A reading whose text is exactly the source wins; numbers written otherwise (5 for 0x5, raw
    bits for a float) match no text, so then the first reading is taken.
    """
    first: int | None = None
    for bits, mask in _scan_mods(form, source, 0, (0, form.value, form.mask), pc):
        word = bits | (form.default & ~mask)
        if form.guarded:
            word &= ~(GUARD.mask | GUARD_NOT.mask)
            word |= GUARD.put(guard) | GUARD_NOT.put(int(negated))
        try:
            if find_form(word, arch) is not form or form.reason(word):
                continue
        except DecodeError:
            continue
        for hint in _hints(form):
            if _squeeze(form.text(word, pc, hint))[len(form.op) :] == source.text:
                return word
        if first is None:
            first = word
    return first


def _hints(form: Form) -> tuple[int, ...]:
    """Reuse fields that change the mnemonic's text: the .T and .P of texture instructions."""
    has_hint = any(isinstance(m, Site) and m.names == ("hint",) for m in form.mods)
    return (0, 1, 2) if has_hint else (0,)


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _join(state: State, end: int, bits: int, mask: int) -> State | None:
    """The state extended by a field, None when the field disagrees with decided bits."""
    _, known, decided = state
    if (known ^ bits) & decided & mask:
        return None
    return end, known | bits, decided | mask


def _scan_mods(
    form: Form, source: _Source, number: int, state: State, pc: int
) -> Iterator[tuple[int, int]]:
    """Readings of the modifiers from `number` on, then of the operands."""
    if number == len(form.mods):
        yield from _scan_operands(form, source, 0, state, True, pc)
        return
    mod = form.mods[number]
    if isinstance(mod, str):
        if source.text.startswith(mod, state[0]):
            after = (state[0] + len(mod), state[1], state[2])
            yield from _scan_mods(form, source, number + 1, after, pc)
        else:
            source.miss(state[0], mod)
        return
    for after in _scan_site(mod, source, state):
        yield from _scan_mods(form, source, number + 1, after, pc)


def _some(names: list[str]) -> str:
    """The first few of a list of names."""
    return "one of " + " ".join(names[:8]) + (" ..." if len(names) > 8 else "")


def _scan_site(site: Site, source: _Source, state: State) -> Iterator[State]:
    """All field values whose text stands at the position."""
    seen = False
    for value in _site_order(site) if site.bits.width else range(len(site.table.texts)):
        shown = site.table.texts[value]
        if shown is None or not source.text.startswith(shown, state[0]):
            continue
        after = _join(state, state[0] + len(shown), site.bits.put(value), site.bits.mask)
        if after:
            seen = True
            yield after
    if not seen or source.text.startswith(".", state[0]):
        names = sorted({t for t in site.table.texts if t})
        source.miss(state[0], names[0] if len(names) == 1 else _some(names))


@cache
def _site_order(site: Site) -> tuple[int, ...]:
    """Field values, longest text first so that `.U32` is not read as `.U`."""
    texts = site.table.texts
    count = min(len(texts), 1 << site.bits.width)
    return tuple(sorted(range(count), key=lambda v: -len(texts[v] or "")))


def _scan_operands(
    form: Form, source: _Source, number: int, state: State, first: bool, pc: int
) -> Iterator[tuple[int, int]]:
    """Readings of the operands from `number` on."""
    if number == len(form.operands):
        if state[0] == len(source.text):
            yield state[1], state[2]
        else:
            source.miss(state[0], "end of instruction")
        return
    spec = form.operands[number]
    begin = state
    if not first:
        if source.text.startswith(",", state[0]):
            begin = (state[0] + 1, state[1], state[2])
        else:
            source.miss(state[0], "','")
            begin = (-1, 0, 0)
    if begin[0] >= 0:
        for after in _scan_operand(spec, source, begin, pc):
            yield from _scan_operands(form, source, number + 1, after, False, pc)
    if spec.omit is not None and spec.kind is not None:
        bits, mask = field_bits(spec.kind, spec.omit)
        omitted = _join(state, state[0], bits, mask)
        if omitted:
            yield from _scan_operands(form, source, number + 1, omitted, first, pc)


def _scan_operand(spec: OperandSpec, source: _Source, state: State, pc: int) -> Iterator[State]:
    """Readings of one operand: prefix signs, bars, core, part, suffixes."""
    if spec.kind is None:
        if source.text.startswith(spec.text, state[0]):
            yield state[0] + len(spec.text), state[1], state[2]
        else:
            source.miss(state[0], spec.text)
        return
    signs = {s.name: s for s in spec.signs}
    after_prefix = (
        [(state, False)] if spec.suffix_signs else list(_scan_prefix(signs, source, state))
    )
    for begin, bars in after_prefix:
        for core in _scan_core(spec.kind, source, begin, pc):
            yield from _scan_tail(spec, signs, source, core, bars)


def _scan_prefix(
    signs: dict[str, Sign], source: _Source, state: State
) -> Iterator[tuple[State, bool]]:
    """Signs before the core: (state, an absolute-value bar is open)."""
    states = [state]
    for name in ("neg", "inv", "abs"):
        sign, mark = signs.get(name), _SIGN_MARKS[name]
        if sign is None:
            continue
        states = _scan_sign(sign, mark, source, states)
    bars = "abs" in signs and source.text.startswith("|", state[0] + _lead(source.text, state[0]))
    for s in states:
        yield s, bars


def _lead(text: str, pos: int) -> int:
    """Number of `-` and `~` at a position."""
    count = 0
    while text[pos + count : pos + count + 1] in ("-", "~"):
        count += 1
    return count


def _scan_sign(sign: Sign, mark: str, source: _Source, states: list[State]) -> list[State]:
    """Read a sign by its mark, or its absence."""
    following = []
    for s in states:
        present = source.text.startswith(mark, s[0])
        end = s[0] + len(mark) if present else s[0]
        for value in _sign_values(sign, present):
            after = _join(s, end, sign.bits.put(value), sign.bits.mask)
            if after:
                following.append(after)
    return following


def _sign_values(sign: Sign, present: bool) -> Iterator[int]:
    """Values of the sign's field that print it, or that do not."""
    for value in range(1 << sign.bits.width):
        if (value == sign.on) == present:
            yield value


def _scan_core(kind: Kind, source: _Source, state: State, pc: int) -> Iterator[State]:
    seen = False
    for end, bits, mask in kind.scan(source.text, state[0], pc):
        after = _join(state, end, bits, mask)
        if after:
            seen = True
            yield after
    if not seen:
        source.miss(state[0], kind.expected)


def _scan_tail(
    spec: OperandSpec, signs: dict[str, Sign], source: _Source, state: State, bars: bool
) -> Iterator[State]:
    """Part, closing bar, suffix signs and suffix modifiers after the core."""
    states: list[State] = [state]
    if spec.suffix_signs:
        states = _suffix_signs(signs, source, states)
    if spec.part:
        states = [a for s in states for a in _scan_site(spec.part, source, s)]
    if bars:
        closed = [s for s in states if source.text.startswith("|", s[0])]
        if not closed and states:
            source.miss(states[0][0], "'|'")
        states = [(s[0] + 1, s[1], s[2]) for s in closed]
    for site in spec.suffixes:
        states = [a for s in states for a in _scan_site(site, source, s)]
    yield from states


def _suffix_signs(signs: dict[str, Sign], source: _Source, states: list[State]) -> list[State]:
    """Read .NEG .ABS .INV after an immediate."""
    for name, mark in _SUFFIX_MARKS.items():
        sign = signs.get(name)
        if sign is None:
            continue
        states = _scan_sign(sign, mark, source, states)
    return states


def _reuse_bits(text: str, word: int, pc: int, arch: str) -> int:
    """Reuse field of the control word that makes the word print the `.reuse` marks of `text`."""
    insn = decode(word, arch)
    mnemonic = text.split(",")[0]
    for hint in _hints(insn.form)[1:]:
        if _squeeze(insn.form.text(word, pc, hint)).split(",")[0] in _squeeze(mnemonic):
            return hint
    if ".reuse" not in text:
        return 0
    wanted = [".reuse" in part for part in text.split(",")]
    for reuse in range(1, 8):
        shown = insn.form.text(word, pc, reuse).split(",")
        if [".reuse" in part for part in shown] == wanted:
            return reuse
    raise AssembleError(
        ".reuse on an operand that has no reuse bit", column=text.index(".reuse") + 1
    )


def canonical(word: int, arch: str = "sm_50") -> int:
    """`word` with the bits its form ignores set as the assembler sets them.

    Raises:
        DecodeError: an illegal word.
    """
    insn = decode(word, arch)
    if word == 0:
        return NOP_WORD
    return (insn.word & insn.form.used) | (insn.form.default & ~insn.form.used)
