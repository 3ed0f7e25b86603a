"""From lines to functions: labels, names and targets resolved, words and control groups made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpudbg.architectures import is_wide
from gpudbg.assembler.directives import DEFAULT_ARCH, Data, DirectiveFiles, Draft, Item
from gpudbg.assembler.family import family_of
from gpudbg.assembler.program import (
    NO_SYMBOL,
    SassFunction,
    SassProgram,
    SassRelocation,
    SassSection,
)
from gpudbg.assembler.reader import Piece, Reader, SassLine, as_directive, is_word
from gpudbg.assembler.scheduler import schedule
from gpudbg.errors import AssembleError, DecodeError
from gpudbg.formats.program import param_base
from gpudbg.isa.control import Control
from gpudbg.isa.family import Instruction, decode
from gpudbg.isa.operands import RZ, Imm
from gpudbg.isa.spa5.sched import NEUTRAL_GROUP, groups

MAX_BARRIERS = 16
MAX_BANKS = 18
MAX_INSTRUCTIONS = 1 << 20
JUMPS = frozenset(("JMP", "JCAL"))
"""Flow instructions beside relative ones that a label can stand in."""
_NAME = re.compile(r"[A-Za-z_$][\w$]*")

_WORD_LINE = re.compile(r"\s*\.word\s+(0x[0-9a-fA-F]{1,32})\s*$")
_TOKEN = re.compile(r"`\(([^)]*)\)|32@(lo|hi)\(([\w.$]+)\)|[A-Za-z_.$][\w.$]*")
_SUM = re.compile(r"\s*([+-])\s*(0x[0-9a-fA-F]+|\d+)")
_TARGET = re.compile(r"(0x[0-9a-fA-F]+|\d+)\s*[;}]?\s*$")
_OP = re.compile(r"\s*[{\s]*(?:@!?U?P[T0-6]\s+)?([A-Za-z]\w*)")


def assemble_file(text: str, path: str | None = None, arch: str | None = None) -> SassProgram:
    """Assemble a .sass file (the package's docstring describes it).

    Args:
        text: the file.
        path: its name, for messages.
        arch: architecture, which wins over the file's; "sm_50" when neither says.

    Raises:
        AssembleError: names file, line, column and what was expected; `errors` has all of them.
    """
    reader = Reader(text, path)
    files = DirectiveFiles(reader, arch)
    _Collector(files).run()
    chosen = files.arch or DEFAULT_ARCH
    if files.frame is None and not any(d.items for d in files.drafts):
        reader.check()
        raise AssembleError("no instructions", path=path, line=1, expected="an instruction")
    makers = [_Function(files, draft, chosen) for draft in files.drafts if draft.items]
    made = [maker.words() for maker in makers]
    reader.check()
    functions = tuple(m.build(words) for m, words in zip(makers, made, strict=True))
    placed = tuple(_with_sections(files, f) for f in functions)
    sections = tuple(_module_sections(files, functions))
    program = SassProgram(chosen, placed, sections, files.frame)
    _check_symbols(program, path)
    return program


def _with_sections(files: DirectiveFiles, f: SassFunction) -> SassFunction:
    """A function with what nvdisasm's data sections say of it."""
    shared = files.sections.get(f".nv.shared.{f.name}", Data()).content
    bank0 = files.sections.get(f".nv.constant0.{f.name}", Data()).content
    banks = dict(f.banks)
    for n in range(1, MAX_BANKS):
        data = files.sections.get(f".nv.constant{n}.{f.name}")
        if data is not None:
            banks.setdefault(n, bytes(data.content))
    size = max(f.param_bytes, len(bank0) - param_base(f.arch))
    return replace(f, shared=max(f.shared, len(shared)), param_bytes=size, banks=banks)


def _module_sections(
    files: DirectiveFiles, functions: tuple[SassFunction, ...]
) -> Iterator[SassSection]:
    """The data sections that belong to no function."""
    own = {f".nv.constant{n}.{f.name}" for f in functions for n in range(MAX_BANKS)}
    own |= {f".nv.shared.{f.name}" for f in functions}
    for name, data in files.sections.items():
        if name in own or not data.content:
            continue
        ends = sorted({*data.labels.values(), len(data.content)})
        symbols = [
            (label, at, next((e for e in ends if e > at), at) - at)
            for label, at in data.labels.items()
            if not label.startswith(".")
        ]
        yield SassSection(name, bytes(data.content), tuple(symbols), tuple(data.relocations))


def _check_symbols(program: SassProgram, path: str | None) -> None:
    """Every relocation names something.

    Raises:
        AssembleError: one that does not.
    """
    known = {f.name for f in program.functions}
    known |= {name for s in program.sections for name, _, _ in s.symbols}
    known |= {name for f in program.functions for name in f.externs}
    known |= {NO_SYMBOL, *program.undefined}
    errors = []
    holders: tuple[SassFunction | SassSection, ...] = (*program.functions, *program.sections)
    for holder in holders:
        for relocation in holder.relocations:
            if relocation.symbol not in known:
                errors.append(
                    AssembleError(
                        f"no symbol {relocation.symbol} for {holder.name}",
                        path=path,
                        expected="a function, a label of a data section, or an `.extern` name",
                    )
                )
    if errors:
        raise AssembleError.of_all(errors)


def _missing_label(text: str, column: int | None, relative: frozenset[str]) -> str:
    """The name at a column of a flow instruction that is none of its operands; or empty."""
    op = _OP.match(text)
    found = _NAME.match(text, (column or 1) - 1)
    if (
        op is None
        or op[1].upper() not in relative | JUMPS
        or found is None
        or found[0].upper() == "CC"
    ):
        return ""
    return found[0]


class _Collector:
    """Sorts lines into functions and gives instructions their control groups."""

    def __init__(self, files: DirectiveFiles) -> None:
        self._files = files
        self._controls: list[Control] = []
        self._seen_words = False
        self._word_due = False
        self._half: Item | None = None

    def run(self) -> None:
        """Read the whole file; errors are noted, and the next line is read."""
        for line in self._files.reader.lines():
            if len(self._files.drafts[-1].items if self._files.drafts else ()) > MAX_INSTRUCTIONS:
                self._files.reader.note(
                    self._files.reader.error("too many instructions", line.number, None)
                )
                return
            try:
                self._line(line)
            except AssembleError as e:
                self._files.reader.note(e)

    def _line(self, line: SassLine) -> None:
        """Sort one line in."""
        if line.directive:
            self._labels(line)
            before = self._files.drafts[-1] if self._files.drafts else None
            self._files.apply(line)
            if self._files.drafts and self._files.drafts[-1] is not before:
                self._controls = []
        elif line.alone:
            self._alone(line)
        elif self._files.data is not None and line.pieces and is_word(line.pieces[0]):
            self._labels(line)
            self._files.apply(as_directive(line))
        elif self._files.skipping:
            self._labels(line)
            self._word_due = False
        else:
            self._instructions(line)

    def _alone(self, line: SassLine) -> None:
        """A line with only words: control words, or the word of a pair's second instruction.

        Of 128-bit code: the second half of the instruction's word.
        """
        if self._half is not None:
            self._half.word = (self._half.word or 0) | line.words[0] << 64
            self._half.known, self._half = True, None
            return
        for word in line.words:
            if self._word_due:
                self._word_due = False
                continue
            if self._files.skipping:
                continue
            self._controls = [Control.decode(g) for g in groups(word)]
            if self._files.drafts:
                draft = self._files.drafts[-1]
                here = len(draft.items)
                draft.starts |= {n for n, at in draft.labels.items() if at == here}

    def _labels(self, line: SassLine) -> None:
        for name in line.labels:
            data = self._files.data
            if data is not None and self._files.skipping:
                data.labels.setdefault(name, len(data.content))
            if self._files.skipping:
                continue
            draft = self._files.draft(line)
            if name in (draft.name, f".text.{draft.name}"):
                continue
            if name in draft.labels:
                raise self._files.reader.error(f"label {name} is there twice", line.number, 1)
            draft.labels[name] = len(draft.items)

    def _instructions(self, line: SassLine) -> None:
        self._labels(line)
        if not line.pieces:
            return
        draft = self._files.draft(line)
        self._files.data = None
        self._half = None
        address = line.address
        for piece in line.pieces:
            control = line.control or (self._controls.pop(0) if self._controls else None)
            draft.items.append(Item(line.number, piece, control, address))
            address = None
        if is_wide(self._files.arch or DEFAULT_ARCH):
            if line.words:
                self._half = draft.items[-1]
                self._half.word = line.words[0]
            return
        self._seen_words |= bool(line.words)
        self._word_due = line.closes and not line.words and self._seen_words


class _Function:
    """Assembles one function."""

    def __init__(self, files: DirectiveFiles, draft: Draft, arch: str) -> None:
        self._files = files
        self._draft = draft
        self._arch = arch
        self._family = family_of(arch)
        self._layout = self._family.layout
        self._offsets = [self._layout.offset_of(n) for n in range(len(draft.items))]
        self._moved = self._moves()

    def words(self) -> list[tuple[int, int]]:
        """(word, reuse bits) of each instruction; errors are noted."""
        draft, made = self._draft, []
        draft.relocations[:] = [replace(r, offset=self._now(r.offset)) for r in draft.relocations]
        for item, offset in zip(draft.items, self._offsets, strict=True):
            try:
                made.append(self._assemble(item, offset))
            except AssembleError as e:
                self._files.reader.note(e)
        return made

    def build(self, made: list[tuple[int, int]]) -> SassFunction:
        """The function, of what `words` has made."""
        draft = self._draft
        words = [word for word, _ in made]
        reuse = [bits for _, bits in made]
        given = [self._control(item) for item in draft.items]
        lines = [item.line for item in draft.items]
        padding = self._family.padding(len(words))
        words += padding
        given += [Control.decode(NEUTRAL_GROUP)] * len(padding)
        reuse += [0] * len(padding)
        lines += [0] * len(padding)
        labels = {name: self._label(name, n) for name, n in draft.labels.items()}
        entries = map(self._layout.first, labels.values())
        # Bits of reuse mean something else where another warp is let go first.
        found = [
            control if asked is None and control.yield_ else replace(control, reuse=bits | marks)
            for control, asked, bits, marks in (
                (c, a, c.reuse, m)
                for c, a, m in zip(
                    schedule(words, given, self._arch, entries), given, reuse, strict=True
                )
            )
        ]
        numbers = draft.numbers
        registers, barriers = _resources(words, self._arch)
        end = max((p.offset + p.size for p in draft.params), default=0)
        return SassFunction(
            name=draft.name,
            is_kernel=draft.is_kernel,
            arch=self._arch,
            words=tuple(
                self._family.finish(word, control)
                for word, control in zip(words, found, strict=True)
            ),
            groups=tuple(c.encode() for c in found),
            lines=tuple(lines),
            labels=labels,
            registers=numbers.get("registers", registers),
            barriers=numbers.get("barriers", barriers),
            shared=numbers.get("shared", 0),
            local=numbers.get("local", 0),
            crs=numbers.get("crs"),
            params=tuple(draft.params),
            param_bytes=end,
            banks={bank: bytes(data.content) for bank, data in draft.banks.items()},
            relocations=tuple(draft.relocations),
            targets={self._now(at): tuple(map(self._now, ts)) for at, ts in draft.targets.items()},
            externs=tuple(dict.fromkeys(draft.externs)),
        )

    def _moves(self) -> dict[int, int]:
        """Address in the listing -> offset now, when an instruction has moved."""
        pairs = {
            item.address: offset
            for item, offset in zip(self._draft.items, self._offsets, strict=True)
            if item.address is not None
        }
        return pairs if any(a != o for a, o in pairs.items()) else {}

    def _now(self, old: int) -> int:
        """Where the instruction is that the listing has at an address."""
        return self._moved.get(old, old)

    def _assemble(self, item: Item, offset: int) -> tuple[int, int]:
        """(word, reuse bits its text has) of one instruction."""
        piece = item.piece
        if found := _WORD_LINE.match(piece.text):
            return int(found[1], 16), 0
        piece = self._resolve(item, piece, offset)
        known = item.word if item.known and item.address == offset else None
        try:
            made = self._family.assemble(piece.text, offset, item.control, known)
        except AssembleError as e:
            column = e.column
            if column is not None and piece.columns:
                column = piece.columns[min(column, len(piece.columns)) - 1]
            label = _missing_label(piece.text, e.column, self._family.relative)
            if label:
                message, wanted = f"no label {label}", "a label of the function, or an address"
                raise self._error(item, message, column, wanted) from None
            raise self._error(item, _bare(e), column, e.expected) from None
        return made.word, made.reuse

    def _control(self, item: Item) -> Control | None:
        """Scheduling bits that the file gives an instruction."""
        if item.control is not None:
            return item.control
        if found := _WORD_LINE.match(item.piece.text):
            return self._family.control_of(int(found[1], 16))
        return self._family.control_of(item.word) if item.known else None

    def _error(
        self, item: Item, message: str, column: int | None, expected: str | None = None
    ) -> AssembleError:
        return self._files.reader.error(message, item.line, column, expected)

    # ---- names and targets -------------------------------------------------------------
    def _resolve(self, item: Item, piece: Piece, offset: int) -> Piece:
        """The instruction with labels and names replaced by numbers."""
        text, columns = piece.text, piece.columns
        op = _OP.match(text)
        start = op.end() if op else 0
        if self._moved and op and op[1].upper() in self._family.relative:
            text, columns = self._move_target(text, columns)
        out, where = text[:start], list(columns[:start])
        at = start
        for found in _TOKEN.finditer(text, start):
            if found.start() < at:
                continue
            value = self._value(item, found, columns, offset)
            if value is None:
                continue
            end = found.end()
            if plus := _SUM.match(text, end):
                value += int(plus[1] + plus[2], 0)
                end = plus.end()
            shown = f"-{-value:#x}" if value < 0 else f"{value:#x}"
            out += text[at : found.start()] + shown
            where += list(columns[at : found.start()]) + [columns[found.start()]] * len(shown)
            at = end
        return Piece(out + text[at:], tuple(where) + tuple(columns[at:]))

    def _label(self, name: str, position: int) -> int:
        """Offset that a label stands for."""
        offset = self._layout.offset_of(position)
        return self._layout.start(offset) if name in self._draft.starts else offset

    def _value(
        self, item: Item, found: re.Match[str], columns: tuple[int, ...], offset: int
    ) -> int | None:
        name = found[1].strip() if found[1] is not None else found[0]
        if found[2]:
            kind = self._family.addresses.halves[found[2]]
            self._draft.relocations.append(SassRelocation(offset, kind, found[3]))
            return 0
        # A modifier such as ".H1" or a register is no name unless something defines it.
        position = self._draft.labels.get(name)
        if position is not None:
            return self._label(name, position)
        if found[1] is None:
            return self._files.named(name, self._draft)
        if any(d.name == name for d in self._files.drafts):
            self._draft.relocations.append(
                SassRelocation(offset, self._family.addresses.call, name)
            )
            return 0
        raise self._error(
            item, f"no label {name}", columns[found.start()], "a label of the function"
        )

    def _move_target(self, text: str, columns: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        """A numeric target of a listing whose instructions have moved."""
        found = _TARGET.search(text)
        if found is None:
            return text, columns
        old = int(found[1], 0)
        new = self._moved.get(old, self._moved.get(self._layout.first(old)))
        if new is None:
            return text, columns
        shown = f"{new:#x}"
        filler = (columns[found.start(1)],) * len(shown)
        return (
            text[: found.start(1)] + shown + text[found.end(1) :],
            columns[: found.start(1)] + filler + columns[found.end(1) :],
        )


def _bare(error: AssembleError) -> str:
    """An error's message without its place and what was expected."""
    text = error.message
    if error.column is not None:
        text = text.removeprefix(f"{error.column}: ")
    return text.removesuffix(f"; expected {error.expected}")


def _resources(words: list[int], arch: str) -> tuple[int, int]:
    """(registers, barriers) that the words use."""
    registers, barriers = 0, 0
    for insn in _decoded(words, arch):
        used = insn.reads().registers | insn.writes().registers
        registers = max([registers, *(r + 1 for r in used if r != RZ)])
        if insn.op == "BAR":
            number = next((o for o in insn.operands if isinstance(o, Imm)), None)
            known = number.value + 1 if number is not None else MAX_BARRIERS
            barriers = max(barriers, min(known, MAX_BARRIERS))
    return max(registers, 1), barriers


def _decoded(words: list[int], arch: str) -> Iterator[Instruction]:
    for word in words:
        try:
            yield decode(word, arch)
        except DecodeError:
            continue
