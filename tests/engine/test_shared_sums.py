"""Marks of shared memory that sums without result write, where all of it may be marked already."""

from __future__ import annotations

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from tests.engine import machines

TEXT = """\
.kernel sums
.param cleared 4
.param last 4
.shared {size}
S2R R0, SR_TID.X
SHL R1, R0, 0x2
ISETP.LT.AND P0, PT, R1, c[0x0][0x140], PT
@P0 STS [R1], RZ
BAR.SYNC 0x0
LOP.AND R0, R0, 0x3
SHL R2, R0, 0x2
MOV32I R3, 0x1
again:
ATOMS.ADD RZ, [R2], R3
IADD R2, R2, 0x10
MOV32I R5, {spin}
spin:
IADD R5, R5, -0x1
ISETP.GT.AND P1, PT, R5, RZ, PT
@P1 BRA spin
ISETP.LT.AND P1, PT, R2, c[0x0][0x144], PT
@P1 BRA again
EXIT
"""
"""Four words a round, so that one round after the other needs marks.  Rounds are long: the last
instructions before a stop are not compiled code's."""


@pytest.mark.parametrize(
    ("size", "cleared", "last", "spin", "stop"),
    [
        (256, 256, 256, 16, 1400),
        (256, 96, 200, 16, 1400),
        (252, 128, 240, 16, 1400),
        (112, 0, 112, 16, 1400),
        (28, 28, 16, 16, 1400),
        (64, 0, 64, 16, 1400),
        # Its end is no whole number of steps; rounds are longer still.
        (112, 0, 112, 128, 4400),
    ],
)
def test_marks_are_those_of_the_step_engine(
    size: int, cleared: int, last: int, spin: int, stop: int
) -> None:
    """Blocks follow one another in the same places, where marks begin anew."""
    seen = _compared(TEXT.format(size=size, spin=hex(spin)), [cleared, last], (700, 90, stop))
    assert len({marks[:size] for marks in seen}) > 1


ROUNDS = """\
.kernel rounds
.param even 4
.param odd 4
.shared {size}
S2R R0, SR_TID.X
LOP.AND R0, R0, {lanes}
SHL R2, R0, 0x2
S2R R4, SR_CTAID.X
LOP.AND R4, R4, 0x1
ISETP.EQ.AND P0, PT, R4, RZ, PT
MOV32I R6, {step}
MOV R7, c[0x0][0x140]
@!P0 MOV R7, c[0x0][0x144]
@!P0 IADD R6, RZ, -R6
@!P0 IADD R2, R2, R6
MOV32I R3, 0x1
again:
LOP.AND R2, R2, {last}
ATOMS.ADD RZ, [R2], R3
IADD R2, R2, R6
MOV32I R5, {spin}
spin:
IADD R5, R5, -0x1
ISETP.GT.AND P1, PT, R5, RZ, PT
@P1 BRA spin
IADD R7, R7, -0x1
ISETP.GT.AND P1, PT, R7, RZ, PT
@P1 BRA again
EXIT
"""
"""As many words a round as `lanes` has numbers, round and round: even blocks upwards, odd ones
downwards, so that the first bytes that one block has marked are the last of the next."""


@pytest.mark.parametrize(
    ("size", "lanes", "even", "odd", "cleared"),
    [
        pytest.param(64, 3, 3, 8, False, id="a block's first bytes are not the next one's"),
        pytest.param(64, 3, 9, 9, True, id="marks that are taken away"),
        pytest.param(1024, 3, 100, 9, True, id="marks taken away before all are there"),
        pytest.param(256, 31, 1, 2, False, id="every lane has a word"),
        pytest.param(16, 1, 2, 1, False, id="less than is looked at together"),
    ],
)
def test_marks_of_blocks_in_turn(size: int, lanes: int, even: int, odd: int, cleared: bool) -> None:
    """What is known of one block's marks, or of an earlier call's, is not taken for another's."""
    about = {
        "size": size,
        "lanes": lanes,
        "step": 4 * (lanes + 1),
        "last": size - 1,
        "spin": 16 if lanes == 3 else 200,
    }
    text = ROUNDS.format(**{name: hex(value) for name, value in about.items()})
    seen = _compared(
        text.replace(f".shared {hex(size)}", f".shared {size}"),
        [even, odd],
        (1700, 1712, 3001, 1709, 2309),
        cleared,
    )
    assert len({marks[:size] for marks in seen}) > 1


def _compared(
    text: str, args: list[int], stops: tuple[int, ...], cleared: bool = False
) -> set[bytes]:
    """The marks that were seen at stops, the same on both engines.

    Args:
        stops: instructions up to each from the one before.
        cleared: marks are taken away at each.
    """
    cubin = assemble_file(text, arch="sm_52").cubin()
    sessions = []
    for engine in ("step", "run"):
        program = gpudbg.load(cubin, engine=engine, num_sms=1)
        sessions.append(program.launch(grid=70, block=64, args=args))
    seen = set()
    for most in stops:
        for session in sessions:
            session.run(max_instructions=most)
        one, two = (machines.grid_state(session.grid) for session in sessions)
        assert machines.difference(one, two) == ""
        seen |= {bytes(cta.shared.marked()) for cta in sessions[1].grid.ctas()}
        if cleared:
            for cta in (cta for session in sessions for cta in session.grid.ctas()):
                cta.shared.marked()[:] = 0
    return seen


BYTES = """\
.kernel bytes
.param data 8
.shared {size}
S2R R0, SR_TID.X
IADD R2.CC, R0, c[0x0][data]
MOV R3, c[0x0][data+4]
IADD.X R3, R3, RZ
MOV32I R4, 0x1
MOV R5, RZ
again:
LDG.E.U8 R6, [R2]
SHL R6, R6, 0x2
ATOMS.ADD RZ, [R6+0x4], R4
IADD R5, R5, 0x1
ISETP.LT.AND P0, PT, R5, 0x10, PT
@P0 BRA again
EXIT
"""
"""A histogram of bytes, one word above the beginning."""


@pytest.mark.parametrize(("size", "most"), [(2048, 255), (1028, 255), (1024, 254), (1024, 255)])
def test_bytes_have_bounds(size: int, most: int) -> None:
    """A byte times four is tested by its greatest value: where shared memory is smaller than that
    would take, each lane is."""
    data = np.random.default_rng(size).integers(0, most, 256, np.uint8, endpoint=True)
    data[77] = most
    found = []
    for engine in ("step", "run"):
        cubin = assemble_file(".arch sm_50\n" + BYTES.format(size=size)).cubin()
        program = gpudbg.load(cubin, engine=engine, num_sms=1)
        for _ in range(2):
            buffer = program.device.buffer(data)
            session = program.launch("bytes", grid=1, block=256, args=[buffer])
            event = session.run()
        found.append((event.kind, machines.grid_state(session.grid)))
    assert found[0][0] == found[1][0] == ("exited" if 4 * most + 8 <= size else "warp_error")
    assert machines.difference(found[0][1], found[1][1]) == ""
