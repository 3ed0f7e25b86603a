"""Sequences that forget their beginning and keep their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.latest import Latest


@settings(max_examples=60)
@given(st.integers(1, 90), st.integers(0, 700), st.slices(700), st.booleans())
def test_like_a_list_without_its_beginning(
    most: int, count: int, part: slice, weighed: bool
) -> None:
    """Length, numbers, slices and order, against a list of all items."""
    found: Latest[int] = Latest(most * 2, lambda item: 2) if weighed else Latest(most)
    for n in range(count):
        found.append(n)
    everything = list(range(count))
    kept = everything[max(0, count - most) :]
    assert (list(found), len(found), found.first) == (kept, count, max(0, count - most))
    assert found == kept
    assert list(reversed(found)) == kept[::-1]
    assert found[part] == [n for n in everything[part] if n >= found.first]
    assert [found[n] for n in range(found.first, count)] == kept
    assert len(found._items) <= 2 * most + 100
    if kept:
        assert found[-1] == count - 1
        assert found[-len(kept)] == kept[0]
    for missing in (count, found.first - 1 if found.first else count + 5):
        with pytest.raises(IndexError):
            found[missing]


def test_the_last_one_is_kept() -> None:
    """However much it weighs."""
    found: Latest[str] = Latest(5, len)
    for text in ("a", "bcd", "efghijkl", "m"):
        found.append(text)
    assert (list(found), found.first) == (["m"], 3)
