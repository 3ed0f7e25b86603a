"""Whole assembler text: symbol assignments, labels, and the three instructions.

The grammar, the order of checks and the words of errors are those of llvm-mc 19; other
instructions and directives are refused, since their effect on symbols is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from .cursor import Cursor
from .errors import AsmError
from .expression import (
    Expression,
    ExpressionParser,
    LexicalError,
    Scope,
    Target,
    double_bits,
    take_identifier,
)
from .instruction import GETREG, MNEMONICS, SETREG, SETREG_IMM32, Instruction
from .lexer import Kind, Token, tokenize
from .operand import parse_operand
from .registers import Processor
from .scalars import RegisterOperand, RegisterParser, is_register

MAX_SOURCE = 1 << 16
"""Bytes of text that are read; more is refused."""

FORMS = {
    GETREG: ("scalar", "hwreg"),
    SETREG: ("hwreg", "scalar"),
    SETREG_IMM32: ("hwreg", "literal"),
}
"""Mnemonic -> kinds of its operands."""

OTHER_DIRECTIVES = frozenset(
    """
    .text .data .bss .section .pushsection .popsection .previous .globl .global .weak .hidden
    .protected .local .type .size .ident .file .loc .p2align .p2alignl .p2alignw .align .balign
    .byte .short .long .int .quad .octa .ascii .asciz .string .zero .space .skip .fill .org .comm
    .if .ifeq .ifne .ifge .ifgt .ifle .iflt .ifb .ifnb .ifc .ifnc .ifdef .ifndef .else .elseif
    .endif .macro .endm .endmacro .exitm .purgem .rept .irp .irpc .endr .include .incbin .end .err
    .error .warning .print .altmacro .noaltmacro .cfi_startproc .cfi_endproc
    .amdgcn_target .amdhsa_kernel .amdhsa_code_object_version .amdgpu_metadata .amdgpu_lds
    .amd_kernel_code_t .amdgpu_hsa_kernel .hsa_code_object_version .hsa_code_object_isa
    """.split()
)
"""Directives that exist and are not read here."""

_VARIANTS = ("e64_dpp", "e64", "dpp", "sdwa")
_FUNCTION_NAMES = ("abs", "neg", "sext")


@dataclass(frozen=True, slots=True)
class Literal:
    """An immediate operand: 64 bits, of which an instruction takes the low ones."""

    value: int


@dataclass(frozen=True, slots=True)
class HwRegOperand:
    """A parsed hwreg operand."""

    simm16: int


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An expression that is not absolute."""


Operand = RegisterOperand | Literal | HwRegOperand | Unresolved


def target_of(processor: Processor) -> Target:
    """What the assembler's functions see of a processor."""
    digits = processor.generation.removeprefix("gfx").partition(".")[0]
    major = 9 if digits.startswith("9") else int(digits) if digits.isdigit() else 6
    unified = processor.generation in ("gfx90a", "gfx940")
    return Target(major, unified, processor.generation == "gfx940")


def assemble(text: str, processor: Processor) -> list[Instruction]:
    """Every instruction of a source.

    Raises:
        AsmError: the first error, as llvm-mc 19 words it.
    """
    return _Source(text, processor).run()


def assemble_operand(text: str, processor: Processor) -> int:
    """A hwreg operand by itself; gives its 16 bits.

    Raises:
        AsmError: as in an instruction; columns count from the start of `text`.
    """
    return _Source(text, processor).operand_alone()


def looks_like_source(text: str) -> bool:
    """Whether text is an assembler line (or several) and not an operand by itself."""
    tokens = _tokens(text)
    statements = [list(group) for end, group in groupby(tokens, _ends) if not end]
    if len(statements) != 1:
        return len(statements) > 1
    first, second = (*statements[0], tokens[-1])[:2]
    if first.kind is not Kind.IDENTIFIER:
        return False
    known = first.text.lower().startswith(("s_getreg", "s_setreg"))
    words = (Kind.IDENTIFIER, Kind.STRING, Kind.INTEGER, Kind.REAL)
    marks = second.kind in words or second.text in ("=", ":", "{")
    return known or marks or first.text.startswith(".")


def _ends(token: Token) -> bool:
    return token.kind in (Kind.END, Kind.EOF)


def _tokens(text: str) -> list[Token]:
    if len(text) > MAX_SOURCE:
        raise AsmError(f"text is longer than {MAX_SOURCE} bytes", 1, 1)
    return tokenize(text)


class _Source:
    def __init__(self, text: str, processor: Processor) -> None:
        self.cursor = Cursor(_tokens(text))
        self.processor = processor
        self.scope = Scope(target_of(processor))
        self.found: list[Instruction] = []

    def run(self) -> list[Instruction]:
        while self.cursor.token.kind is not Kind.EOF:
            if self.cursor.token.kind is Kind.END:
                self.cursor.advance()
            else:
                self.statement()
        self.check_forward_labels()
        return self.found

    def check_forward_labels(self) -> None:
        for _, token in self.scope.forward:
            self.cursor.fail("directional label undefined", token)

    def operand_alone(self) -> int:
        while self.cursor.token.kind is Kind.END:
            self.cursor.advance()
        start = self.cursor.token
        if start.kind is Kind.EOF:
            raise AsmError("too few operands for instruction", 1, 1)
        operands = self.operands(("hwreg",))
        self.match("", start, ("hwreg",), operands)
        self.check_forward_labels()
        first = operands[0][0]
        assert isinstance(first, HwRegOperand)
        return first.simm16

    def statement(self) -> None:
        cursor = self.cursor
        start = cursor.token
        name = self.statement_name(start)
        if cursor.take(":"):
            self.label(name, start)
        elif cursor.take("="):
            self.assign(name, redefinable=True)
        elif name.startswith(".") and name != ".":
            self.directive(name, start)
        else:
            self.instruction(name, start)

    def statement_name(self, start: Token) -> str:
        cursor = self.cursor
        if start.kind is Kind.INTEGER and start.value >= 0 and cursor.following().punct(":"):
            cursor.advance()
            return str(start.value)
        if start.kind is Kind.PUNCT and start.text in (".", "{", "}"):
            cursor.advance()
            return start.text
        name = take_identifier(cursor)
        if name is not None:
            return name
        if start.kind is Kind.ERROR:
            cursor.fail(start.text, start)
        cursor.fail("unexpected token at start of statement", start)

    def label(self, name: str, start: Token) -> None:
        if name == ".":
            self.cursor.fail("invalid use of pseudo-symbol '.' as a label", start)
        scope = self.scope
        if start.kind is not Kind.INTEGER and (name in scope.labels or name in scope.fixed):
            self.cursor.fail(f"symbol '{name}' is already defined", start)
        scope.variables.pop(name, None)
        scope.labels.add(name)
        scope.forward = [item for item in scope.forward if item[0] != name]

    def directive(self, name: str, start: Token) -> None:
        cursor = self.cursor
        if name.lower() not in (".set", ".equ", ".equiv"):
            known = name.lower() in OTHER_DIRECTIVES
            error = f"directive '{name}' is not read here" if known else "unknown directive"
            cursor.fail(error, start, "read here: .set, .equ, .equiv")
        symbol = take_identifier(cursor)
        if symbol is None:
            cursor.fail("expected identifier")
        cursor.expect(",", "expected comma")
        self.assign(symbol, redefinable=name.lower() != ".equiv")

    def assign(self, name: str, redefinable: bool) -> None:
        cursor, scope = self.cursor, self.scope
        start = cursor.token
        try:
            value = ExpressionParser(cursor, scope).expression()
        except LexicalError as error:
            column = error.token.column - error.token.value  # of the whole literal
            raise AsmError("missing expression", error.token.line, column) from None
        if not cursor.at_end():
            cursor.fail("expected newline")
        if name == ".":
            return
        self.check_assignment(name, value, redefinable, start)
        scope.variables[name] = value
        if not redefinable:
            scope.fixed.add(name)

    def check_assignment(self, name: str, value: Expression, redefinable: bool, at: Token) -> None:
        scope, fail = self.scope, self.cursor.fail
        old = scope.variables.get(name)
        if scope.mentions(value, name):
            fail(f"Recursive use of '{name}'", at)
        fixed = old is not None and not redefinable
        if name in scope.labels or (old is not None and fixed and scope.placed(old)):
            fail(f"redefinition of '{name}'", at)
        if fixed or (name in scope.used and old is not None and not isinstance(old, int)):
            fail(f"invalid reassignment of non-absolute variable '{name}'", at)

    def instruction(self, name: str, start: Token) -> None:
        mnemonic = self.mnemonic(name.lower(), start)
        form = FORMS[mnemonic]
        operands = self.operands(form)
        self.match(mnemonic, start, form, operands)
        values = {kind: operand for kind, (operand, _) in zip(form, operands, strict=True)}
        self.found.append(_build(mnemonic, values))

    def mnemonic(self, name: str, start: Token) -> str:
        base = name.removesuffix("_e32")
        if base in FORMS:
            return base
        for variant in _VARIANTS:
            if name.removesuffix(f"_{variant}") in FORMS and name.endswith(variant):
                self.cursor.fail(f"{variant} variant of this instruction is not supported", start)
        near = [known for known in MNEMONICS if _distance(name, known) <= 2]
        if near:
            self.cursor.fail(f"invalid instruction, did you mean: {', '.join(near)}?", start)
        self.cursor.fail("invalid instruction", start, f"read here: {', '.join(MNEMONICS)}")

    def operands(self, form: tuple[str, ...]) -> list[tuple[Operand, Token]]:
        """Operands to the end of the statement, with the token each starts at."""
        cursor = self.cursor
        found: list[tuple[Operand, Token]] = []
        while not cursor.at_end():
            kind = form[len(found)] if len(found) < len(form) else ""
            try:
                found.append(self.operand(kind))
            except LexicalError as error:
                cursor.fail("failed parsing operand.", error.token)
            cursor.take(",")
        return found

    def operand(self, kind: str) -> tuple[Operand, Token]:
        start = self.cursor.token
        if kind == "hwreg":
            return HwRegOperand(parse_operand(self.cursor, self.scope, self.processor)), start
        if is_register(start, self.cursor.peek(), self.processor):
            return RegisterParser(self.cursor, self.scope, self.processor).parse(), start
        return self.immediate(in_lit=False)

    def immediate(self, in_lit: bool) -> tuple[Operand, Token]:
        cursor = self.cursor
        start = cursor.token
        register = is_register(start, cursor.peek(), self.processor)
        if register or (not in_lit and self.is_modifier()):
            cursor.fail("not a valid operand.")
        if not in_lit and start.kind is Kind.IDENTIFIER and start.text == "lit":
            cursor.advance()
            cursor.expect("(", "expected left paren after lit")
            found = self.immediate(in_lit=True)
            cursor.expect(")", "expected closing parentheses")
            return found
        negative = start.punct("-") and cursor.peek().kind is Kind.REAL
        if negative:
            cursor.advance()
        if cursor.token.kind is Kind.REAL:
            return self.real(start, negative)
        value = self.scope.evaluate(ExpressionParser(cursor, self.scope).expression())
        if value is None and in_lit:
            cursor.fail("not a valid operand.")
        return (Unresolved() if value is None else Literal(value)), start

    def real(self, start: Token, negative: bool) -> tuple[Operand, Token]:
        bits = double_bits(self.cursor.advance().text)
        return Literal(bits ^ (1 << 63) if negative else bits), start

    def is_modifier(self) -> bool:
        """Whether an operand modifier starts here: |..|, abs(..), -reg, name: and so on."""
        token, following, after = self.cursor.token, self.cursor.peek(1), self.cursor.peek(2)
        if token.kind is Kind.IDENTIFIER and following.punct(":"):
            return True
        if self.operand_modifier(token, following):
            return True
        return token.punct("-") and (
            is_register(following, after, self.processor) or self.operand_modifier(following, after)
        )

    @staticmethod
    def operand_modifier(token: Token, following: Token) -> bool:
        called = token.kind is Kind.IDENTIFIER and following.punct("(")
        return (called and token.text in _FUNCTION_NAMES) or token.punct("|")

    def match(
        self,
        mnemonic: str,
        start: Token,
        form: tuple[str, ...],
        operands: list[tuple[Operand, Token]],
    ) -> None:
        """Refuse operands that do not fit the form."""
        for index, kind in enumerate(form):
            if index >= len(operands):
                self.cursor.fail("too few operands for instruction", start)
            operand, at = operands[index]
            if not _fits(operand, kind):
                self.cursor.fail("invalid operand for instruction", at)
        if len(operands) > len(form):
            self.cursor.fail("invalid operand for instruction", operands[len(form)][1])
        for operand, at in operands:
            if isinstance(operand, RegisterOperand) and operand.refusal:
                self.cursor.fail(operand.refusal, at)


def _fits(operand: Operand, kind: str) -> bool:
    if isinstance(operand, HwRegOperand):
        return kind == "hwreg"
    if isinstance(operand, Literal):
        return kind == "literal"
    return kind == "scalar" and isinstance(operand, RegisterOperand) and operand.code is not None


def _build(mnemonic: str, values: dict[str, Operand]) -> Instruction:
    hwreg, scalar, literal = (values.get(kind) for kind in ("hwreg", "scalar", "literal"))
    assert isinstance(hwreg, HwRegOperand)
    if isinstance(literal, Literal):
        return Instruction(mnemonic, hwreg.simm16, 0, literal.value & 0xFFFFFFFF)
    assert isinstance(scalar, RegisterOperand)
    assert scalar.code is not None
    return Instruction(mnemonic, hwreg.simm16, scalar.code, None, scalar.printed)


def _distance(left: str, right: str) -> int:
    """Insertions and deletions that turn one word into the other (no replacements)."""
    if abs(len(left) - len(right)) > 2:
        return 3
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            old = row[j]
            row[j] = diagonal if a == b else 1 + min(old, row[j - 1])
            diagonal = old
    return row[-1]
