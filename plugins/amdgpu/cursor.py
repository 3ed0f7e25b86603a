"""A position in a list of tokens."""

from __future__ import annotations

from typing import NoReturn

from .errors import AsmError
from .lexer import Kind, Token

_COMMENT = Token(Kind.COMMENT, "", 0, 0, 1, 1)


class Cursor:
    """The parser's place in the tokens; reading past the end stays at the `EOF` token."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._index = 0

    @property
    def token(self) -> Token:
        """The current token."""
        return self._tokens[self._index]

    def peek(self, ahead: int = 1) -> Token:
        """A later token; a block comment counts as one, as it does where llvm-mc looks ahead."""
        index = self._index
        while index + 1 < len(self._tokens):
            index += 1
            token = self._tokens[index]
            if ahead <= token.comments:
                return _COMMENT
            ahead -= token.comments + 1
            if ahead == 0:
                return token
        return self._tokens[-1]

    def following(self) -> Token:
        """The next token, whatever comments lie before it."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def advance(self) -> Token:
        """Step over the current token and give it."""
        token = self.token
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    def at_end(self) -> bool:
        """Whether the statement ends here."""
        return self.token.kind in (Kind.END, Kind.EOF)

    def take(self, text: str) -> bool:
        """Step over the punctuation `text` when it is here."""
        if not self.token.punct(text):
            return False
        self.advance()
        return True

    def expect(self, text: str, error: str) -> None:
        """Step over the punctuation `text`.

        Raises:
            AsmError: `error`, at the current token.
        """
        if not self.take(text):
            self.fail(error)

    def fail(self, error: str, at: Token | None = None, hint: str | None = None) -> NoReturn:
        """Refuse the text at a token (the current one by default).

        Raises:
            AsmError: always.
        """
        token = at or self.token
        raise AsmError(error, token.line, token.column, hint)
