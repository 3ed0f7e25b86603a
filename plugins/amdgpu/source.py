"""Text with symbols and the three instructions, as llvm-mc 19 reads and refuses it.

A line assigns an integer to a symbol (`size = 4`, `.set size, 4`) or is one of the instructions;
other instructions, labels and directives are refused, since nothing here is assembled.
"""

from __future__ import annotations

from itertools import groupby

from .errors import AsmError
from .expression import ExpressionParser, Symbols
from .instruction import GETREG, MNEMONICS, SETREG, SETREG_IMM32, GcnInstruction
from .operand import parse_operand
from .reader import SourceToken, TokenCursor, TokenKind, tokens_of
from .registers import Processor
from .scalars import is_register, read_register

FORMS = {
    GETREG: ("scalar", "hwreg"),
    SETREG: ("hwreg", "scalar"),
    SETREG_IMM32: ("hwreg", "literal"),
}
"""Mnemonic -> kinds of its operands."""

Operand = tuple[str, int | None, SourceToken]
"""Kind, value (None: of no use here) and first token."""


def read_instructions(text: str, processor: Processor) -> list[GcnInstruction]:
    """Every instruction of a text.

    Raises:
        AsmError: the first error, as llvm-mc 19 words it.
    """
    return _Source(text, processor).run()


def read_operand(text: str, processor: Processor) -> int:
    """A hwreg operand by itself; gives its 16 bits.

    Raises:
        AsmError: as in an instruction; columns count from the start of `text`.
    """
    return _Source(text, processor).operand_alone()


def looks_like_source(text: str) -> bool:
    """Whether text is a line (or several) and not an operand by itself."""
    try:
        tokens = tokens_of(text)
    except AsmError:
        # Whoever reads it says why.
        return False
    statements = [list(group) for end, group in groupby(tokens, _ends) if not end]
    if len(statements) != 1:
        return len(statements) > 1
    first, second = (*statements[0], tokens[-1])[:2]
    if first.kind is not TokenKind.NAME:
        return False
    known = first.text.lower().startswith(("s_getreg", "s_setreg"))
    marks = second.kind in (TokenKind.NAME, TokenKind.INTEGER) or second.text in ("=", ":", "{")
    return known or marks or first.text.startswith(".")


def _ends(token: SourceToken) -> bool:
    return token.kind in (TokenKind.END, TokenKind.EOF)


class _Source:
    def __init__(self, text: str, processor: Processor) -> None:
        self.cursor = TokenCursor(tokens_of(text))
        self.processor = processor
        self.symbols: Symbols = {}
        self.found: list[GcnInstruction] = []

    def run(self) -> list[GcnInstruction]:
        while self.cursor.token.kind is not TokenKind.EOF:
            if self.cursor.token.kind is TokenKind.END:
                self.cursor.advance()
            else:
                self.statement()
        return self.found

    def operand_alone(self) -> int:
        while self.cursor.token.kind is TokenKind.END:
            self.cursor.advance()
        start = self.cursor.token
        if start.kind is TokenKind.EOF:
            raise AsmError("too few operands for instruction", 1, 1)
        ((_, simm16, _),) = self.operands(("hwreg",), start)
        assert simm16 is not None
        return simm16

    def statement(self) -> None:
        cursor = self.cursor
        start = cursor.token
        if start.kind is not TokenKind.NAME:
            cursor.fail("unexpected token at start of statement", start)
        name = cursor.advance().text
        if cursor.take("="):
            self.assign(name)
        elif name.startswith("."):
            self.directive(name, start)
        elif cursor.token.punct(":"):
            cursor.fail("labels are not read here", start)
        else:
            self.instruction(name, start)

    def directive(self, name: str, start: SourceToken) -> None:
        cursor = self.cursor
        if name.lower() not in (".set", ".equ"):
            cursor.fail(f"directive '{name}' is not read here", start, "read here: .set, .equ")
        if cursor.token.kind is not TokenKind.NAME:
            cursor.fail("expected identifier")
        symbol = cursor.advance().text
        cursor.expect(",", "expected comma")
        self.assign(symbol)

    def assign(self, name: str) -> None:
        value = ExpressionParser(self.cursor, self.symbols).absolute()
        if not self.cursor.at_end():
            self.cursor.fail("expected newline")
        self.symbols[name] = value

    def instruction(self, name: str, start: SourceToken) -> None:
        mnemonic = name.lower().removesuffix("_e32")
        if mnemonic not in FORMS:
            self.cursor.fail("invalid instruction", start, f"read here: {', '.join(MNEMONICS)}")
        operands = self.operands(FORMS[mnemonic], start)
        values = {kind: (value or 0, at.text) for kind, value, at in operands}
        scalar, name = values.get("scalar", (0, ""))
        # Two names may have one code; `s02` prints as the number's own name.
        written = "" if name[-1:].isdigit() else name
        literal = values["literal"][0] & 0xFFFF_FFFF if "literal" in values else None
        self.found.append(GcnInstruction(mnemonic, values["hwreg"][0], scalar, literal, written))

    def operands(self, form: tuple[str, ...], start: SourceToken) -> list[Operand]:
        """Operands to the end of the statement; refuses those that do not fit the form."""
        cursor = self.cursor
        found: list[Operand] = []
        while not cursor.at_end():
            found.append(self.operand(form[len(found)] if len(found) < len(form) else ""))
            cursor.take(",")
        for index, kind in enumerate(form):
            if index >= len(found):
                cursor.fail("too few operands for instruction", start)
            given, value, at = found[index]
            if given != kind or value is None:
                cursor.fail("invalid operand for instruction", at)
        if len(found) > len(form):
            cursor.fail("invalid operand for instruction", found[len(form)][2])
        return found

    def operand(self, kind: str) -> Operand:
        start = self.cursor.token
        if kind == "hwreg":
            return "hwreg", parse_operand(self.cursor, self.symbols, self.processor), start
        if is_register(start, self.processor):
            code = read_register(self.cursor, self.processor)
            if self.cursor.token.punct("["):
                self.cursor.fail("invalid operand for instruction", start)
            return "scalar", code, start
        if start.text in ("s", "v", "a", "ttmp") and self.cursor.peek().punct("["):
            self.cursor.fail("invalid operand for instruction", start)
        return "literal", ExpressionParser(self.cursor, self.symbols).expression(), start
