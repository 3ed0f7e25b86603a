"""Regular expressions that users write."""

from __future__ import annotations

import re
import warnings

from gpudbg.errors import CommandError

MAX_PATTERN = 500
"""Characters of a pattern: what a line of a console holds."""


def user_pattern(text: str) -> re.Pattern[str]:
    """A pattern that somebody typed.

    Raises:
        CommandError: it is too long, or no regular expression.
    """
    if len(text) > MAX_PATTERN:
        raise CommandError(f"Invalid regexp: it has {len(text)} characters of {MAX_PATTERN}")
    try:
        with warnings.catch_warnings():
            # Python's notes about patterns of its future are not about a debugger's user.
            warnings.simplefilter("ignore")
            return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise CommandError(f"Invalid regexp: {error}") from None
