"""Every warp error: from the guilty instruction through the handler, status words bit by bit."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gpudbg.debug.session import DebugSession
from gpudbg.formats.launch_machine import SpecialSetup
from gpudbg.regs.warp_errors import WARP_ERROR_BY_NAME, WARP_ERRORS
from gpudbg.regs.words import MAXWELL_PASCAL, Family
from tests.trap.kit import RECORDER, data, handle, launch, port, word

BELOW_ZERO = (0xE240 << 48) | ((-0x4000 & 0xFFFFFF) << 20) | 0x7000F


@dataclass(frozen=True)
class Case:
    """Code whose instruction at `at` raises the error; `options` are trap options."""

    name: str
    text: str
    at: int = 8
    shader: str = "compute"
    block: int = 32
    option: tuple[str, int] | None = None
    sr64: int = 1 << 9


HALF = "S2R R0, SR_LANEID ;\n ISETP.GT.U32.AND P0, PT, R0, 0xf, PT ;\n @P0 BRA 0x28 ;\n"

CASES = (
    Case("STACK_ERROR", "SYNC ;\n EXIT ;"),
    Case(
        "API_STACK_ERROR",
        "CAL 0x18 ;\n EXIT ;\n CAL 0x10 ;\n EXIT ;",
        at=0x18,
        option=("call-limit", 1),
    ),
    Case("RET_EMPTY_STACK_ERROR", "RET ;\n EXIT ;"),
    Case("PC_WRAP", f".word 0x{BELOW_ZERO:016x}\n EXIT ;"),
    Case("MISALIGNED_PC", "JMP 0x100c ;\n EXIT ;", at=0xC),
    Case("PC_OVERFLOW", "JMP 0x900008 ;\n EXIT ;", at=0x900008 - 0x1000),
    Case("MISALIGNED_IMMC_ADDR", "DADD R0, R2, c[0x0][0x24] ;\n EXIT ;"),
    # LDG.E.64 R2 with its destination changed to R3.
    Case("MISALIGNED_REG", "LDG.E.64 R2, [R4] ;\n EXIT ;"),
    Case("ILLEGAL_INSTR_ENCODING", ".word 0xffffffffffffffff\n EXIT ;"),
    Case("ILLEGAL_SPH_INSTR_COMBO", "ALD R0, a[0x70] ;\n EXIT ;"),
    Case("ILLEGAL_INSTR_PARAM", "RTT ;\n EXIT ;"),
    Case("INVALID_CONST_ADDR", "MOV R0, c[0x5][0x0] ;\n EXIT ;"),
    Case("OOR_REG", ".registers 8\n MOV R100, RZ ;\n EXIT ;"),
    Case("OOR_ADDR", "LDS R0, [0x4000] ;\n EXIT ;"),
    Case("MISALIGNED_ADDR", ".shared 256\n LDS R0, [0x2] ;\n EXIT ;"),
    Case(
        "INVALID_ADDR_SPACE",
        "MOV R2, c[0x0][0x4] ;\n MOV R3, RZ ;\n MOV R0, RZ ;\n ATOM.E.ADD R0, [R2], R0 ;\n EXIT ;",
        at=0x28,
    ),
    Case("ILLEGAL_INSTR_PARAM2", ".barriers 1\n BAR.SYNC 0x5 ;\n EXIT ;"),
    Case("INVALID_CONST_ADDR_LDC", "LDC R0, c[0x0][0x7ff0] ;\n EXIT ;"),
    Case("GEOMETRY_SM_ERROR", "OUT.EMIT R0, R0, R1 ;\n EXIT ;", shader="geometry"),
    Case("DIVERGENT", HALF + "SETLMEMBASE R0 ;\n EXIT ;", at=0x28),
    Case("WARP_EXIT", "IDE 0x1 ;\n EXIT ;", at=0x10, sr64=1 << 9 | 1 << 5),
    Case("STACK_OVERFLOW", "again: SSY 0x8 ;\n BRA again ;\n EXIT ;"),
    Case("MMU_FAULT", "MOV R2, RZ ;\n MOV R3, RZ ;\n LDG.E R0, [R2] ;\n EXIT ;", at=0x18),
)


def begin(case: Case, engine: str = "step") -> DebugSession:
    session = launch(
        case.text, special=SpecialSetup(shader_type=case.shader), block=case.block, engine=engine
    )
    if case.name == "MISALIGNED_REG":
        _odd_register(session)
    if case.option:
        session.grid.traps.options.set(*case.option)
    return session


def _odd_register(session: DebugSession) -> None:
    """Make the first instruction's destination R3; the assembler refuses to."""
    from dataclasses import replace

    image = session.grid.code
    code = bytearray(image.code)
    code[8] |= 1
    session.grid.launched.code = session.grid.engine.code = replace(image, code=bytes(code))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_error_through_the_handler(case: Case) -> None:
    session = begin(case)
    handle(session, RECORDER.format(mode=".TERMINATE"))
    code = WARP_ERROR_BY_NAME[case.name].code
    guilty = session.symbols.base + case.at

    stop = session.cont()
    assert stop.kind == "trap"
    warp = session.warp().state
    assert session.symbols.describe(warp.pc) == "trap_handler+0x8"
    state = session.grid.traps.state(warp)
    assert state["cause"] == "a warp error"
    assert state["saved_pc"] == guilty
    placed = session.grid.traps.handler
    assert placed is not None
    assert placed.read(0, 0, "pc") == guilty

    # SR66: code, no trap immediate.  SR64: single warp error, and a critical section if there is.
    assert word(session, "SR_WARPERRORSTATUS") == code
    assert word(session, "SR_GLOBALERRORSTATUS") == case.sr64
    # The host: code and warp, the pc, and no event but a full divergence stack.
    assert port(session, "HWW_WARP_ESR") == code
    assert port(session, "HWW_WARP_ESR_PC") == guilty
    assert port(session, "HWW_GLOBAL_ESR") == (8 if case.name == "STACK_OVERFLOW" else 0)
    reported = port(session, "HWW_WARP_ESR_REPORT_MASK") >> code & 1
    assert port(session, "TPC_EXCEPTION") == 2 * (reported or case.name == "STACK_OVERFLOW")
    assert port(session, "DBGR_STATUS0") == 0x11
    assert port(session, "BPT_TRAP_MASK_LO") == 0

    for _ in range(6):
        assert session.step().kind == "step"
    assert session.symbols.describe(session.warp().state.pc) == "trap_handler+0x48"
    assert data(session, 2) == [code, case.sr64]
    assert session.cont().kind == "exited"
    assert session.grid.sms[0].trap.returns == 1
    assert [fault.name for fault in session.grid.faults] == [case.name]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_error_without_a_handler(case: Case) -> None:
    session = begin(case)
    stop = session.cont()
    code = WARP_ERROR_BY_NAME[case.name].code
    assert stop.kind == "warp_error"
    assert [e.name for e in stop.errors] == [case.name]
    assert stop.pc == case.at
    assert word(session, "SR66") == code
    assert word(session, "SR64") == case.sr64
    assert port(session, "HWW_WARP_ESR") == code
    # The emulator plays a handler that pauses: the driver sees a full stop.
    assert port(session, "DBGR_STATUS0") == 0x11
    assert port(session, "BPT_PAUSE_MASK_LO") == port(session, "WARP_VALID_MASK_LO") == 1
    assert session.traps.driver.fully_stopped()


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_compiled_code_finds_the_same_error(case: Case) -> None:
    session = begin(case, engine="run")
    stop = session.cont()
    assert [e.name for e in stop.errors] == [case.name]
    assert stop.pc == case.at
    assert port(session, "HWW_WARP_ESR") == WARP_ERROR_BY_NAME[case.name].code


def test_every_error_of_these_chips_has_a_case() -> None:
    wanted = {
        row.name
        for row in WARP_ERRORS
        if row.code and set(row.families) & {Family.MAXWELL, Family.PASCAL} and row.code < 0x18
    }
    assert wanted == {case.name for case in CASES}
    assert set(MAXWELL_PASCAL) == {Family.MAXWELL, Family.PASCAL}


def test_pascal_marks_an_address() -> None:
    session = launch("MOV R2, RZ ;\n MOV R3, RZ ;\n LDG.E R0, [R2] ;\n EXIT ;", arch="sm_61")
    session.cont()
    assert port(session, "HWW_WARP_ESR") == 0x17 | 1 << 24
    assert port(session, "HWW_GLOBAL_ESR_REPORT_MASK") == 0x17F


TWO_FAIL = """
    S2R R0, SR_VIRTID ;
    BFE.U32 R0, R0, 0x608 ;
    ISETP.GT.U32.AND P0, PT, R0, 0x1, PT ;
    @P0 EXIT ;
    LDS R0, [0x4000] ;
    EXIT ;
"""


def test_two_warps_fail() -> None:
    session = launch(TWO_FAIL, block=96)
    handle(session, RECORDER.format(mode=".TERMINATE"))
    session.execute("set trap-entry run")
    for _ in range(5):
        session.step(scope="sm")
    assert [w.in_trap for w in session.grid.warps()] == [True, True, False]
    assert word(session, "SR64") == 1 << 9 | 1 << 7
    assert port(session, "HWW_WARP_ESR") == 0x0E
    session.grid.traps.options.set("error-bits", "exclusive")
    assert word(session, "SR64") == 1 << 7


def test_second_error_is_latched_as_multiple() -> None:
    session = launch(TWO_FAIL, block=96)
    for _ in range(4):
        session.step(scope="sm")
    stop = session.step(scope="sm")
    assert stop.kind == "warp_error"
    assert [(e.name, e.warp) for e in stop.errors] == [("OOR_ADDR", 0), ("OOR_ADDR", 1)]
    assert port(session, "HWW_WARP_ESR") == 0x0E
    assert port(session, "HWW_GLOBAL_ESR") == 1 << 2
    assert word(session, "SR64") == 1 << 9 | 1 << 7


def test_imprecise_error_is_late_and_names_its_origin() -> None:
    text = "MOV R2, RZ ;\n MOV R3, RZ ;\n LDG.E R0, [R2] ;\n MOV R4, RZ ;\n MOV R5, RZ ;\n"
    session = launch(text + " MOV R6, RZ ;\n MOV R7, RZ ;\n EXIT ;")
    session.execute("trap option precision imprecise")
    session.execute("trap option skid 2")
    stop = session.cont()
    assert (stop.kind, stop.errors[0].name, stop.pc) == ("warp_error", "MMU_FAULT", 0x38)
    assert "imprecise: the access was at k+0x18" in stop.errors[0].detail
    assert port(session, "HWW_WARP_ESR_PC") == session.symbols.base + 0x38


def test_an_error_inside_the_handler() -> None:
    session = launch("BPT.TRAP 0x1 ;\n EXIT ;", arch="sm_60")
    handle(session, "LDS R0, [0x4000] ;\n RTT ;")
    session.execute("set trap-entry run")
    stop = session.cont()
    assert stop.kind == "warp_error"
    assert session.symbols.describe(session.warp().state.pc) == "trap_handler+0x8"
    assert port(session, "HWW_GLOBAL_ESR") & 1 << 8
    assert word(session, "SR66") == 0x0E | 1 << 24

    session = launch("BPT.TRAP 0x1 ;\n EXIT ;")
    session.execute("trap option error-in-trap terminate")
    handle(session, "LDS R0, [0x4000] ;\n RTT ;")
    session.execute("set trap-entry run")
    assert session.cont().kind == "exited"
