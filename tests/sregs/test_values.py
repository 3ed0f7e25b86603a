"""Every special register on a launch where its value is not trivial; rules of the table for all."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from gpudbg.debug.session import DebugSession
from gpudbg.formats.launch_machine import SHADER_TYPES, QueueSetup, SpecialSetup
from gpudbg.regs.special import SPECIAL_REGISTERS, Shaders
from gpudbg.sm.counters import SATURATED
from gpudbg.sm.sregs import VALID_IN
from tests import variants
from tests.trap.kit import handle, launch, port

S2R, CS2R = 0xF0C8000000070000, 0x50C8000000070000
RICH = SpecialSetup(
    swept=((0, 0), (1, 2)),
    max_warps=40,
    max_ctas=17,
    machine_id=0xCAFE0001,
    affinity=(9, 8, 7, 6),
    task_id=21,
    queue=QueueSetup(increment=4, index=0x1000, address=0x12_3456_0000, entry_bytes=64),
    prim_type=0x1234,
    invocation_id=19,
    y_direction=-1.0,
    kill_mask=0xF0,
    vertices=3,
    wscale_xy=256.0,
    wscale_z=1.0,
    ticket=0x1234_5678,
    cbe_address=0xAB_1234_5678,
    cbe_enable=True,
)


def reading(number: int, opcode: int = S2R) -> str:
    return f".word 0x{opcode | number << 20 | 4:016x}\n EXIT ;"


def value(session: DebugSession, number: int, lane: int = 0) -> int:
    state = session.warp().state
    sm = session.grid.sms[state.sm]
    return int(np.broadcast_to(session.grid.engine.sregs.read(state, sm, number), 32)[lane])


def graphics(shader: str) -> DebugSession:
    from dataclasses import replace

    return launch("EXIT ;", special=replace(RICH, shader_type=shader))


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", ["sm_50", "sm_61"])
def test_rules_of_the_table_hold_for_all_256(arch: str) -> None:
    extra = {46, 47, 62} if arch == "sm_61" else set()
    for row in SPECIAL_REGISTERS[:: variants.number(7, 1)]:
        session = launch(reading(row.number), arch=arch, block=64, special=RICH, engine="step")
        warp = session.warp().state
        session.step()
        read = warp.R[4].copy()
        session = launch(reading(row.number, CS2R), arch=arch, block=64, special=RICH)
        warp = session.warp().state
        session.step()
        coupled = warp.R[4]
        mask = 0 if row.reserved else row.mask(arch)
        if row.number not in extra:
            assert not (read & np.uint32(~mask & 0xFFFFFFFF)).any(), row.name
        if row.shaders is not None and "compute" not in VALID_IN[row.shaders]:
            assert not read.any(), row.name
        if not row.coupled:
            assert not coupled.any(), row.name
        elif row.name.startswith("SR_Clock"):
            assert coupled.tolist() == read.tolist()
        if row.constant is not None:
            assert read.tolist() == [row.constant] * 32


def test_virtual_configuration_and_ids() -> None:
    session = launch("EXIT ;", grid=64, num_sms=3, special=RICH)
    assert value(session, 2) == 32 | 40 << 8 | 1 << 16 | 3 << 20 | 1 << 29
    assert [len([c for c in sm.ctas if c]) for sm in session.grid.sms] == [17, 17, 17]
    session.set_focus("sm 2 warp 16 lane 7")
    assert value(session, 3, 7) == 7 | 16 << 8 | 0 << 16 | 2 << 20 | 1 << 29
    assert value(session, 0, 7) == 7
    # Virtual numbers have no holes; the hardware's do.
    assert [port(session, "SM_CFG", n) for n in range(3)] == [1, 2, 3]
    plain = launch("EXIT ;", special=SpecialSetup(swept=((0, 0), (0, 1), (0, 2), (0, 3))))
    assert value(plain, 28) == 1
    assert value(plain, 2) == 32 | 64 << 8 | 0 << 16 | 1 << 20 | 2 << 29


def test_warp_id_has_seven_bits_from_53_on() -> None:
    row = SPECIAL_REGISTERS[3]
    assert [row.mask(a) >> 8 & 0x7F for a in ("sm_50", "sm_52", "sm_53", "sm_61")] == [
        0x3F, 0x3F, 0x7F, 0x7F,
    ]  # fmt: skip


def test_software_and_machine_values() -> None:
    session = launch("EXIT ;", grid=3, num_sms=1, special=RICH)
    assert value(session, 24) == 0xCAFE0001
    assert [value(session, n) for n in (25, 26, 27)] == [0, 0, 0]
    assert value(session, 28) == 0x06070809
    assert value(session, 96) == 21
    assert value(session, 16) == 0x1234
    assert value(session, 17) == 19
    assert value(session, 20) == SHADER_TYPES.index("compute") == 6


def test_queue_registers_by_cta() -> None:
    session = launch("EXIT ;", grid=3, special=RICH)
    session.set_focus("block 2")
    entry = 0x1000 + 2 * 4
    assert value(session, 41) == 1 << 31 | 3
    assert value(session, 97) == entry
    address = 0x12_3456_0000 + entry * 64
    assert value(session, 98) == address & 0xFFFFFFFF
    assert value(session, 99) == address >> 32
    plain = launch("EXIT ;")
    assert [value(plain, n) for n in (41, 97, 98, 99)] == [0, 0, 0, 0]


def test_hardware_task_follows_launches() -> None:
    session = launch("EXIT ;")
    session.run()
    session.restart()
    assert value(session, 96) == 1


VIEWS = {
    15: ({"pixel"}, 0x12345678),
    18: ({*SHADER_TYPES} - {"compute"}, struct.unpack("<I", struct.pack("<f", -1.0))[0]),
    19: ({"pixel"}, 0),
    21: ({"vertex_b", "tess_init"}, 0x12345678),
    22: ({"vertex_b", "tess_init"}, 0xAB),
    23: ({"vertex_b", "tess_init"}, 1),
    29: ({"vertex_a", "vertex_b", "tess_init", "tess", "geometry"}, 3 << 16),
    30: ({"vertex_a", "vertex_b", "tess_init", "tess", "geometry"}, 0x43800000),
    31: ({"vertex_a", "vertex_b", "tess_init", "tess", "geometry"}, 0x3F800000),
}


@pytest.mark.parametrize("shader", SHADER_TYPES)
def test_shader_type_views(shader: str) -> None:
    session = graphics(shader)
    assert value(session, 20) == SHADER_TYPES.index(shader)
    for number, (types, wanted) in VIEWS.items():
        assert value(session, number) == (wanted if shader in types else 0), number
    # Of lane 5: killed threads of a pixel shader, primitive index of the others.
    assert value(session, 19, 5) == (0xFFFFFFFF if shader == "pixel" else 0)
    assert value(session, 29, 5) == (3 << 16 | 5 if shader in VIEWS[29][0] else 0)
    compute = shader == "compute"
    assert value(session, 40) == (32 if compute else 0)
    assert value(session, 48) == (0x0100_0000 if compute else 0)
    assert bool(value(session, 97)) == compute
    assert value(session, 52) == 0x0200_0000


def test_validity_covers_every_kind() -> None:
    assert set(VALID_IN) == set(Shaders)


def test_counting_rules_as_warps_complete() -> None:
    # 70 threads: warps of 32, 32 and 6; warp w leaves after 2 + w instructions.
    text = """
        S2R R0, SR_VIRTID ;
        BFE.U32 R0, R0, 0x608 ;
        ISETP.EQ.U32.AND P0, PT, R0, RZ, PT ;
        @P0 EXIT ;
        ISETP.EQ.U32.AND P0, PT, R0, 0x2, PT ;
        @P0 EXIT ;
        S2R R1, SR_LANEID ;
        ISETP.EQ.U32.AND P0, PT, R1, 0x3, PT ;
        @P0 EXIT ;
        NOP ;
        EXIT ;
    """
    session = launch(text, block=70)
    session.set_focus("warp 1")
    assert (value(session, 40), value(session, 42)) == (70, 96)
    for _ in range(4):
        session.step(scope="sm")
    assert (value(session, 40), value(session, 42)) == (70 - 32, 64)
    for _ in range(2):
        session.step(scope="sm")
    # The warp of six threads also takes 32 off: SR_NTid falls short of the 32 that live.
    assert (value(session, 40), value(session, 42)) == (70 - 64, 32)
    for _ in range(3):
        session.step(scope="sm")
    # A lane has exited, not the warp.
    assert session.warp().state.exited == 1 << 3
    assert (value(session, 40), value(session, 42)) == (6, 32)


def test_thread_index_fields() -> None:
    session = launch("EXIT ;")
    state = session.warp().state
    state.tid[:, 4] = (1000, 517, 63)
    assert value(session, 32, 4) == 1000 | 517 << 16 | 63 << 26
    assert [value(session, n, 4) for n in (33, 34, 35)] == [1000, 517, 63]


def test_windows_and_sizes() -> None:
    session = launch(".shared 100\n .local 200\n .registers 21\n EXIT ;", shared=300)
    assert value(session, 48) == 0x0100_0000
    assert value(session, 49) == value(session, 53) == 1 << 24
    assert value(session, 50) == 512
    assert value(session, 51) == 32
    assert value(session, 52) == 0x0200_0000
    assert value(session, 54) == 0
    assert value(session, 55) == (1 << 24) - session.warp().state.local.high
    assert value(session, 61) == 24
    wide = launch("EXIT ;", arch="sm_61")
    assert value(wide, 46) << 32 | value(wide, 52) == wide.grid.gpu.layout.local_window
    assert value(wide, 47) << 32 | value(wide, 48) == wide.grid.gpu.layout.shared_window


def test_lane_masks() -> None:
    session = launch("EXIT ;")
    for lane in (0, 13, 31):
        bit = 1 << lane
        wanted = [bit, bit - 1, 2 * bit - 1]
        wanted += [0xFFFFFFFF & ~(2 * bit - 1), 0xFFFFFFFF & ~(bit - 1)]
        assert [value(session, n, lane) for n in range(56, 61)] == wanted


def test_clocks_and_timer() -> None:
    session = launch("again: NOP ;\n BRA again ;\n EXIT ;", block=64)
    session.step(50)
    assert value(session, 80) == session.grid.sms[0].issued
    assert value(session, 82) == session.grid.sms[0].issued // 32 * 32
    session.grid.sms[0].clock_base += 5 << 32
    assert value(session, 81) == 5
    assert value(session, 83) == 5


def test_error_status_is_live() -> None:
    session = launch("BPT.TRAP 0x6 ;\n EXIT ;")
    handle(session, "RTT ;")
    session.cont()
    assert (value(session, 66), value(session, 64)) == (6 << 24, 1 << 10)


# ---- performance counters ----------------------------------------------------------------
COUNTS = """
    .shared 256
    .barriers 1
    CS2R R4, SR_PM0 ;
    MOV R0, RZ ;
    STS [R0], R4 ;
    LDS R4, [R0] ;
    ATOMS.ADD R4, [R0], R4 ;
    BAR.SYNC 0x0 ;
    BPT.TRAP 0x1 ;
    EXIT ;
"""


def test_counters_count_real_events() -> None:
    session = launch(COUNTS, block=160)
    session.cont()
    counters = session.grid.engine.sregs.machine.counters
    assert counters is not None
    # Five warps: slots 0..4, so sub-partition 0 has two of them.
    issued = [0, 0, 0, 0]
    for warp in session.grid.warps():
        issued[warp.slot % 4] += warp.executed
    assert [counters.value(0, 0, part)[0] for part in range(4)] == issued
    assert [counters.value(0, 2, part)[0] for part in range(4)] == [6, 3, 3, 3]
    assert [counters.value(0, 3, part)[0] for part in range(4)] == [2, 1, 1, 1]
    assert counters.value(0, 4, 0)[0] == 5
    assert counters.value(0, 5, 0)[0] == 5
    assert counters.value(0, 6, 0)[0] == 1
    assert counters.value(0, 7, 0)[0] == 1
    assert value(session, 4) == counters.value(0, 0, session.warp().state.slot % 4)[0]


PLAIN = "LDS R4, [RZ] ;\n BAR.SYNC 0x0 ;\n BPT.TRAP 0x1 ;\n EXIT ;"


def test_a_counter_read_before_the_first_instruction_counts() -> None:
    """The program itself reads none."""
    session = launch(".shared 256\n .barriers 1\n" + PLAIN, block=64)
    assert [int(session.evaluate(f"%pm{n}").values[0]) for n in (2, 3, 4, 7)] == [0, 1, 0, 1]
    session.cont()
    assert [int(session.evaluate(f"$SR_PM{n}").values[0]) for n in (2, 3, 4, 7)] == [1, 1, 2, 1]
    late = launch(".shared 256\n .barriers 1\n" + PLAIN, block=64)
    late.cont()
    assert "not counted in this launch" in late.command("info special SR_PM4").lines[-1]


def test_a_handler_that_reads_a_counter_counts() -> None:
    session = launch(".shared 256\n .barriers 1\n" + PLAIN, block=64)
    handle(session, "S2R R0, SR_PM7 ;\n RTT ;")
    session.cont()
    assert value(session, 11) == 1


def test_low_words_wrap_and_high_parts_saturate() -> None:
    session = launch(COUNTS, block=32)
    counters = session.grid.engine.sregs.machine.counters
    assert counters is not None
    counters.preset(0, 2, 0xFFFF_FFFF, 0x41)
    counters.preset(0, 5, 0xFFFF_FFFF, 0xFE)
    session.cont()
    assert (value(session, 6), value(session, 74)) == (2, 0x42)
    assert (value(session, 9), value(session, 77)) == (0, SATURATED)
    counters.preset(0, 5, 0xFFFF_FFFF, SATURATED)
    counters._add(session.warp().state, 5)  # one more event
    assert value(session, 77) == SATURATED
    # The host resets high parts through the status registers, four bytes each.
    bus = session.traps.port
    assert bus.read(0, "DSM_PERF_COUNTER_STATUS_S0") >> 16 & 0xFF == 0x42
    assert bus.read(0, "DSM_PERF_COUNTER_STATUS1") >> 8 & 0xFF == SATURATED
    bus.write(0, "DSM_PERF_COUNTER_STATUS1", 0)
    assert value(session, 77) == 0
    assert value(session, 9) == 0
    bus.write(0, "DSM_PERF_COUNTER_STATUS_S0", 0x07 << 16)
    assert (value(session, 6), value(session, 74)) == (2, 7)


def test_no_counting_unless_a_program_asks() -> None:
    assert launch("EXIT ;").grid.counters is None
    assert launch(COUNTS).grid.counters is not None
