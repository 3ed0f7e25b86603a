"""C's escapes in texts."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|\n|(.)|$)", re.DOTALL)
_MEANINGS = dict(zip("ntrabfve", "\n\t\r\a\b\f\v\x1b", strict=True))


def unescaped(text: str) -> str:
    """Text with C's escapes carried out; any other character behind a backslash is itself."""

    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 8) & 0xFF)
        return _MEANINGS.get(match[2], match[2]) if match[2] else ""

    return _ESCAPE.sub(one, text)
