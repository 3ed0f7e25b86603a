"""A small soak: launches one after the other hold no more memory than the first ones."""

from __future__ import annotations

import sys

import pytest

from tests.mem import soak
from tests.variants import number


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_flat() -> None:
    """Launches of 4 MB, with breakpoints, faults, restarts; closed, or dropped."""
    growth, left = soak.soak(number(20, 40), 4, say=lambda line: None)
    assert left == 0
    assert growth < soak.ROOM_MB
