"""Code sections as `cuobjdump -sass` lays them out, for both families.

The comments of a file stand in one column, behind its longest instruction, where an instruction
counts with its guard before its column: that is how cuobjdump places them (measured).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePath
from typing import NamedTuple

from gpudbg.answers import ABSENT, ROWS, column, typed_row
from gpudbg.architectures import is_wide
from gpudbg.code_layout import CodeLayout, layout_of
from gpudbg.errors import AssembleError, DecodeError, UsageError
from gpudbg.formats.headerflags import has_new_layout, header_flags
from gpudbg.formats.program import Program
from gpudbg.isa.spa5 import text as narrow_text
from gpudbg.isa.volta import text as wide_text
from gpudbg.sm.cfg import BasicBlock, Flow, to_dot
from gpudbg.symbols import control_words
from gpudbg.textlines import MAX_SOURCE_BYTES, is_text_file
from gpudbg.toolchain import CompileOptions

ADDRESS_COLUMNS = 16
"""Columns of `        /*0008*/`."""
_SHORT_ADDRESS = 1 << 16
"""Smaller addresses have four digits."""

Line = narrow_text.NarrowLine | wide_text.WideLine


class ListingOptions(NamedTuple):
    """What is listed, and what beside it: the flags of `gpudbg dis`.

    Attributes:
        program: the path of the file.
        kernel: only these functions.
        range: only these offsets, as START:END.
        raw: the file is bare instruction words.
        arch: the architecture, of raw words or of a file with several.
        control: control words: "hex", "fields" beside each instruction, or "none".
        no_bytes: words are left out.
        source: source lines stand before their instructions.
        lanes: how lanes lie and why they part stands beside, for blocks of this shape, `16,16`.
        blocks: basic blocks are marked.
        cfg: the control-flow graph instead, as "text" or "dot".
        braces: dual-issue pairs are marked.
        directives: what the assembler needs for the same program.
        compile: how a source file is compiled.
    """

    program: str
    kernel: tuple[str, ...] = ()
    range: str | None = None
    raw: bool = False
    arch: str | None = None
    control: str = "hex"
    no_bytes: bool = False
    source: bool = False
    lanes: str | None = None
    blocks: bool = False
    cfg: str | None = None
    braces: bool = False
    directives: bool = False
    compile: CompileOptions = CompileOptions()


class ListedSection:
    """One code section to print."""

    def __init__(self, program: Program | None, name: str, code: bytes, arch: str) -> None:
        self.program = program
        self.name = name
        self.arch = arch
        self.code = code
        self.wide = is_wide(arch)
        self.layout: CodeLayout = layout_of(arch)
        read = wide_text.lines if self.wide else narrow_text.lines
        self.lines: list[Line] = list(read(code, arch))

    @cached_property
    def bodies(self) -> list[str]:
        """The lines' texts in their column."""
        return [row.body() for row in self.lines]

    @cached_property
    def controls(self) -> dict[int, int]:
        """Control words by address, where code has any."""
        return dict(control_words(self.code, self.layout))

    def longest(self) -> int:
        """Columns that the longest instruction counts: its guard stands before its column."""
        counts = map(_columns, self.bodies)
        if len(self.code) > _SHORT_ADDRESS:
            pairs = zip(self.lines, counts, strict=True)
            return max(_more_digits(row.address) + count for row, count in pairs)
        return max(counts, default=0)


def _more_digits(address: int) -> int:
    """Digits of an address beyond the four that all have."""
    return 0 if address < _SHORT_ADDRESS else (address.bit_length() - 13) // 4


def _columns(body: str) -> int:
    """Columns of a text with its guard beside it; the blank before the semicolon counts always."""
    guard = len(body[: narrow_text.GUARD_COLUMN].lstrip())
    return len(body) + guard + (not body.endswith(" ;"))


def comment_column(sections: Iterable[ListedSection]) -> int:
    """Columns of instructions, up to the blanks before the comments, in a file."""
    return max((section.longest() for section in sections), default=0)


def heading(program: Program | None, arch: str) -> Iterator[str]:
    """What stands before a file's functions."""
    yield f"\n\tcode for {arch}"
    if program is not None and has_new_layout(program):
        yield f"\t.target\t{arch}\n"


def function(
    section: ListedSection, rows: list[Line], options: ListingOptions, width: int
) -> Iterator[str]:
    """One function as cuobjdump -sass lays it out, with what the flags add."""
    yield f"\t\tFunction : {section.name}"
    if section.program is not None:
        yield f'\t.headerflags\t@"{header_flags(section.program)}"'
    if options.directives and section.program is not None:
        from gpudbg.assembler import function_directives

        yield from function_directives(section.program, section.name)
    marks = {b.start: b for b in blocks(section)} if options.blocks else {}
    source = SourceLines(section) if options.source else None
    bodies = dict(zip((x.address for x in section.lines), section.bodies, strict=True))
    if options.braces:
        bodies = {row.address: row.body(braces=True) for row in section.lines}
    notes = _notes(section, rows) if _needs_notes(section, options) else {}
    margin = " " * (ADDRESS_COLUMNS + width + 2)
    remarks = lane_remarks(section, options)
    bundle = -1
    for row in rows:
        at = row.address - row.address % section.layout.bundle_bytes
        if options.control == "hex" and at != bundle and section.controls:
            bundle = at
            yield f"{margin}/* {section.controls[at]:#018x} */"
        if row.address in marks:
            yield block_words(marks[row.address])
        if source is not None:
            yield from source.new_lines(row.address)
        line, *more = _lines(
            row, _noted(bodies[row.address], notes.get(row.address)), options, width
        )
        remark = remarks.get(row.address)
        yield f"{line}  // {remark}" if remark else line
        yield from more
    yield "\t\t" + "." * 10 + "\n\n"


def _lines(row: Line, body: str, options: ListingOptions, width: int) -> Iterator[str]:
    """The lines of an instruction: one, and one for the second half of a 128-bit word."""
    line = f"        /*{row.address:04x}*/{body:<{width - _more_digits(row.address)}}"
    halves = row.halves
    if options.control == "fields":
        line += f"  {row.control}"
    if not options.no_bytes:
        line += f"  /* {halves[0]:#018x} */"
    if row.error:
        line += f"  // illegal: {row.error}"
    yield line.rstrip()
    if options.control == "hex" and not options.no_bytes:
        for half in halves[1:]:
            yield f"{'':{ADDRESS_COLUMNS + width + 2}}/* {half:#018x} */"


def threads_of(options: ListingOptions) -> tuple[int, int, int] | None:
    """The shape of a block for which lanes are analysed.

    Raises:
        UsageError: it is none.
    """
    if options.lanes is None:
        return None
    from gpudbg.formats.launch import check_block
    from gpudbg.formats.launch_text import parse_dim3

    block = parse_dim3(options.lanes, "lanes")
    check_block("--lanes", block)
    return block


def lane_remarks(section: ListedSection, options: ListingOptions) -> dict[int, str]:
    """What the code of a kernel says of lanes, by offset; nothing where it is not asked for.

    Raises:
        UsageError: the shape of a block is none.
    """
    block = threads_of(options)
    if block is None:
        return {}
    from gpudbg.sm.lanes.analysis import MAX_INSTRUCTIONS, LaneAnalysis, of_code
    from gpudbg.symbols.lane_reasons import LaneReasons

    texts = {row.address: row.text for row in section.lines}
    if section.program is not None and section.name not in section.program.kernels:
        # Who calls a function may have parted.
        return {}
    words = [(row.address, row.word) for row in section.lines]

    def analysed() -> LaneAnalysis | None:
        fits = len(texts) <= MAX_INSTRUCTIONS
        return of_code(words, section.arch, block, _indirect(section)) if fits else None

    reasons = LaneReasons(analysed, texts.__getitem__)
    if texts and reasons.unclaimed:
        return {min(texts): reasons.unclaimed}
    found = {offset: reasons.remark(offset) for offset in texts}
    return {offset: text for offset, text in found.items() if text}


def _needs_notes(section: ListedSection, options: ListingOptions) -> bool:
    """Whether what the text hides has to stand behind it: no whole word does."""
    hidden = options.no_bytes or options.control != "hex"
    return bool(options.directives and section.wide and hidden)


def _notes(section: ListedSection, rows: list[Line]) -> dict[int, str]:
    """Bits that the text of 128-bit instructions does not show, by address."""
    from gpudbg.isa.volta import notes_for

    out = {}
    for row in rows:
        if row.insn is not None:
            try:
                notes = notes_for(row.word, row.address, section.arch)
            except (AssembleError, DecodeError):
                continue
            if notes:
                out[row.address] = notes
    return out


def _noted(body: str, notes: str | None) -> str:
    """An instruction with its notes before the semicolon."""
    return body if notes is None else f"{body.removesuffix(';').rstrip()} {notes} ;"


def block_words(block: BasicBlock) -> str:
    """A basic block and its edges."""
    edges = ", ".join(f"{e.kind} {e.target:04x}" for e in block.edges)
    tail = f" -> {edges}" if edges else ""
    ends = f" -> {block.ends}" if block.ends else ""
    return f"  // block {block.start:04x}..{block.last:04x}{tail}{ends}"


def blocks(section: ListedSection) -> list[BasicBlock]:
    """Basic blocks of a section, with the targets of indirect branches that the file lists."""
    words = ((x.address, x.word) for x in section.lines)
    return Flow(words, section.arch, _indirect(section)).blocks()


def _indirect(section: ListedSection) -> dict[int, tuple[int, ...]]:
    """Targets of indirect branches, as far as the file lists them."""
    kernel = section.program.kernels.get(section.name) if section.program is not None else None
    branches = kernel.indirect_branches if kernel is not None else ()
    return {b.offset: b.targets for b in branches if b.targets}


def graph(section: ListedSection, form: str) -> str:
    """The control-flow graph, as text or for Graphviz ("dot")."""
    found = blocks(section)
    if form == "dot":
        return to_dot(section.name, found, {x.address: x.text for x in section.lines})
    return "\n".join([section.name, *(block_words(b).replace("  // ", "  ") for b in found)])


class SourceLines:
    """Source lines of a section, handed out when they change."""

    def __init__(self, section: ListedSection) -> None:
        from gpudbg.formats.lines import read_lines

        if section.program is None:
            raise UsageError("raw words have no source lines")
        self._table = read_lines(section.program)
        if not self._table.rows:
            raise UsageError(
                f"{section.program.path} has no line table", "compile it with -lineinfo"
            )
        self._section = ".text." + section.name
        self._folder = Path(section.program.path).parent
        self._last: tuple[int, int] | None = None
        self._texts: dict[int, list[str] | None] = {}

    def new_lines(self, offset: int) -> list[str]:
        """The source line of an offset when it is not the one before."""
        row = self._table.lookup(self._section, offset)
        if row is None or (row.file, row.line) == self._last:
            return []
        self._last = (row.file, row.line)
        name = PurePath(self._table.files[row.file]).name
        words = self._text(row.file, row.line)
        return [f"  // {name}:{row.line}" + (f"  {words}" if words else "")]

    def _text(self, file: int, line: int) -> str:
        if file not in self._texts:
            path = Path(self._table.files[file])
            places = (path, self._folder / path.name)
            found = next((p for p in places if is_text_file(p, MAX_SOURCE_BYTES)), None)
            self._texts[file] = found.read_text(errors="replace").splitlines() if found else None
        lines = self._texts[file]
        return lines[line - 1].rstrip() if lines and 0 < line <= len(lines) else ""


# ---- records ---------------------------------------------------------------------------
@typed_row
class EdgeRow:
    """Where a basic block goes on."""

    target: int = column()
    kind: str = column()


@typed_row
class BasicBlockRow:
    """A basic block of a listed function."""

    start: int = column()
    last: int = column()
    edges: tuple[EdgeRow, ...] = column(show=ROWS)
    ends: str = column()

    @classmethod
    def of(cls, block: BasicBlock) -> BasicBlockRow:
        """The row of a block."""
        edges = tuple(EdgeRow(e.target, e.kind) for e in block.edges)
        return cls(block.start, block.last, edges, block.ends)


@typed_row
class InstructionRow:
    """A listed instruction; `dual` where two may issue together."""

    offset: int = column()
    word: str = column()
    control: int = column()
    control_text: str = column()
    text: str = column()
    legal: bool = column()
    reason: str = column()
    dual: str = column(default=ABSENT)
    remark: str = column(default=ABSENT)

    @classmethod
    def of(cls, section: ListedSection, row: Line, remark: str = ABSENT) -> InstructionRow:
        """The row of a section's line; `remark`: what the code says of lanes there."""
        dual: str = ABSENT
        if isinstance(row, narrow_text.NarrowLine):
            dual = "{" if row.opens else "}" if row.closes else ""
        word = f"{row.word:#0{2 * section.layout.word_bytes + 2}x}"
        said = str(row.control)
        legal = row.insn is not None
        return cls(row.address, word, row.group, said, row.text, legal, row.error, dual, remark)


@typed_row
class FunctionRow:
    """A listed function; `blocks` where they are asked for."""

    function: str = column()
    arch: str = column()
    instructions: tuple[InstructionRow, ...] = column(show=ROWS)
    blocks: tuple[BasicBlockRow, ...] = column(show=ROWS, default=ABSENT)

    @classmethod
    def of(cls, section: ListedSection, rows: list[Line], options: ListingOptions) -> FunctionRow:
        """The row of a section, with those of its lines that are shown."""
        found: tuple[BasicBlockRow, ...] = ABSENT
        if options.blocks or options.cfg:
            found = tuple(map(BasicBlockRow.of, blocks(section)))
        remarks = lane_remarks(section, options)
        missing = ABSENT if options.lanes is None else ""
        listed = tuple(
            InstructionRow.of(section, row, remarks.get(row.address, missing)) for row in rows
        )
        return cls(section.name, section.arch, listed, found)
