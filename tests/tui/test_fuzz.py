"""A short campaign of random inputs; `make fuzz` runs a long one."""

from __future__ import annotations

import pytest

from .fuzz_keys import campaign


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("seed", [1, 2, 5])
async def test_random_inputs_leave_the_application_alive(seed: int) -> None:
    assert len(await campaign(seed, 4)) > 10
