"""Values that a test knows to be there, or to be of a kind: said so that the type checker knows."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def there(value: T | None) -> T:
    """A value that is not None."""
    assert value is not None
    return value


def a(kind: type[T], value: object) -> T:
    """A value of a kind."""
    assert isinstance(value, kind), f"{type(value).__name__} is no {kind.__name__}"
    return value
