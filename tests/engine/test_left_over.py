"""What compiled code no longer leaves to the step engine again and again."""

from __future__ import annotations

import pytest

from tests.engine.left_over import left_over


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("arch", "kernel", "most", "mnemonics"),
    [
        ("sm_90", "cluster_dsmem", 0, "UCGABAR_ARV UCGABAR_WAIT LD ST ATOM"),
        ("sm_90", "mbarrier_pipe", 0, "SYNCS"),
        ("sm_80", "mbarrier_pipe", 0, "ATOMS"),
        ("sm_80", "jump_table", 0, "BRX"),
        ("sm_80", "atomics_shared", 20, "WARPSYNC BSYNC YIELD"),
        ("sm_90", "atomics_global", 20, "BSYNC EXIT YIELD"),
        ("sm_90", "generic_ptr", 2, "LD ST ATOM"),
    ],
)
def test_what_is_not_left(arch: str, kernel: str, most: int, mnemonics: str) -> None:
    """Some kernels need an exit for each place in memory, or where lanes have waited for long."""
    left, _, executed = left_over(arch, [kernel])
    assert executed
    names = mnemonics.split()
    again = {name: n for name, n in left.items() if name.partition(".")[0] in names}
    assert sum(again.values()) <= most, again
