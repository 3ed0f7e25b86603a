"""Dumps of waves, and what is read from them."""

from __future__ import annotations

import pytest
from gpudbg_plugins.amdgpu.dump import parse_dump
from gpudbg_plugins.amdgpu.wave import Report, read_wave
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.errors import UsageError
from tests.variants import rows


def wave(text: str, mcpu: str = "gfx1010") -> Report:
    found = read_wave(parse_dump(text, mcpu))
    assert isinstance(found, Report)
    return found


def names(report: Report) -> list[str]:
    return [cause.name for cause in report.causes]


def test_breakpoint_gfx9() -> None:
    report = wave(
        """
        # a wave at a breakpoint
        mcpu = gfx900
        STATUS = 0x00052061
        TRAPSTS: 0x80000000
        MODE 0x000002f0
        hwreg(4) = 0x00001234
        ttmp0 = 0x00001000     // pc
        ttmp1 = 0x00017f00
        ttmp6 = 0x60000123
        ttmp12 = 0x00010041
        """
    )
    assert report.headline == "s_trap 1: breakpoint"
    assert report.pc == 0x7F0000001000
    assert "halted (STATUS.HALT)" in report.state
    assert "stopped by the trap handler (ttmp6 bit 30)" in report.state
    assert "was halted before the trap (ttmp6 bit 29)" in report.state
    assert "dispatched by queue packet 0x123 (ttmp6 24:0)" in report.state
    assert any(line.startswith("STATUS at the trap: 0x00010041 (SCC, TRAP_EN, VALID)")
               for line in report.state)  # fmt: skip
    assert any("STATUS.SKIP_EXPORT" in line for line in report.state)
    assert report.place["WAVE_ID"] == 4
    assert report.place["CU_ID"] == 2
    assert report.modes[0] == "rounding: 32-bit: nearest even; 64/16-bit: nearest even"


@rows(
    ("text", "mcpu", "causes"),
    [
        ("TRAPSTS = 0x100", "gfx900", ["memory_violation"]),
        ("TRAPSTS = 0x10000100", "gfx900", ["translation_error", "memory_violation"]),
        ("TRAPSTS = 0x10000000", "gfx1100", ["translation_error"]),
        ("TRAPSTS = 0x800", "gfx1010", ["illegal_instruction"]),
        ("TRAPSTS = 0x4\nMODE = 0x4000", "gfx1010", ["exception"]),
        ("TRAPSTS = 0x4\nMODE = 0x8000", "gfx1010", []),
        ("TRAPSTS = 0x4", "gfx1010", []),
        ("TRAPSTS = 0x2080\nMODE = 0x80000", "gfx1010", ["address_watch", "address_watch"]),
        ("TRAPSTS = 0x400", "gfx1010", ["save_context"]),
        ("TRAPSTS = 0x110000", "gfx1100", ["host_trap", "single_step"]),
        ("TRAPSTS = 0x400000\nttmp1 = 0x1000000", "gfx942", ["host_trap"]),
        ("ttmp1 = 0x1000000", "gfx900", ["host_trap"]),
        ("ttmp1 = 0x20000", "gfx1010", ["assert_or_abort"]),
        ("ttmp1 = 0x30000", "gfx1010", ["debug_trap"]),
        ("ttmp1 = 0x70000", "gfx1010", ["s_trap"]),
        ("ttmp6 = 0x02000000", "gfx1010", ["breakpoint"]),
        ("ttmp1 = 0x10000000", "gfx1200", ["breakpoint"]),
        ("EXCP_FLAG_PRIV = 0x10", "gfx1200", ["memory_violation"]),
        ("EXCP_FLAG_PRIV = 0x40", "gfx1200", ["illegal_instruction"]),
        ("HW_REG_WAVE_EXCP_FLAG_PRIV = 0x880", "gfx1200", ["host_trap", "single_step"]),
        ("EXCP_FLAG_USER = 0x4\nTRAP_CTRL = 0x4", "gfx1200", ["exception"]),
        ("EXCP_FLAG_USER = 0x4\nTRAP_CTRL = 0x8", "gfx1200", []),
        ("EXCP_FLAG_PRIV = 0x3\nTRAP_CTRL = 0x80", "gfx1200", ["address_watch", "address_watch"]),
        ("STATUS = 0x820000", "gfx1010", ["ecc_error", "fatal_halt"]),
        ("STATE_PRIV = 0x8000", "gfx1200", ["poison"]),
        ("doorbell = 0x6000", "gfx900", ["queue_error", "queue_error"]),
        ("MODE = 0x2f0", "gfx1010", []),
    ],
)
def test_causes(text: str, mcpu: str, causes: list[str]) -> None:
    report = wave(text, mcpu)
    assert names(report) == causes
    if not causes:
        assert report.headline == "no reason for a stop is in these registers"


def test_raised_but_not_enabled() -> None:
    report = wave("TRAPSTS = 0x8005\nMODE = 0x1000")
    assert [(one.name, one.enabled) for one in report.raised] == [
        ("invalid", True), ("division by 0", False), ("buffer access out of bounds", False),
    ]  # fmt: skip
    assert names(report) == ["exception"]
    (unknown,) = wave("TRAPSTS = 0x1").raised
    assert unknown.enabled is None


def test_counters_are_put_together() -> None:
    gfx9 = wave("IB_STS = 0x00c00f7f", "gfx900").counters
    assert (gfx9["VM"], gfx9["LGKM"], gfx9["EXP"]) == (63, 15, 7)
    gfx10 = wave("IB_STS = 0xfdc00fff").counters
    assert (gfx10["VM"], gfx10["LGKM"], gfx10["VS"]) == (63, 63, 63)
    assert wave("IB_STS = 0x3f03ffff", "gfx1200").counters["STORE"] == 63


def test_place_on_gfx10() -> None:
    report = wave("HW_ID1 = 0x00090a03\nHW_ID2 = 0x0f0f7302")
    assert report.place["WAVE_ID"] == 3
    assert report.place["WGP_ID"] == 2
    assert report.place["VM_ID"] == 15
    assert report.place["ME_ID"] == 3
    legacy = wave("HW_ID_LEGACY = 0x8001")
    assert legacy.place["WAVE_ID"] == 17


def test_apertures_and_steps() -> None:
    report = wave("SH_MEM_BASES = 0x00020001\nMODE = 0x800\nexec = 0")
    assert "private aperture at 0x0001000000000000" in report.state
    assert "shared aperture at 0x0002000000000000" in report.state
    assert any("single-stepping is on" in line for line in report.state)
    assert "no lane is active (exec = 0)" in report.state


def test_gfx12_state() -> None:
    report = wave(
        "STATE_PRIV = 0x4000\nTRAP_CTRL = 0x207\nttmp8 = 0x80000000\nttmp12 = 0x4200", "gfx1200"
    )
    assert "halted (STATE_PRIV.HALT)" in report.state
    assert "the debug flag is set (ttmp8 bit 31)" in report.state
    assert "STATE_PRIV at the trap: 0x00004200 (SCC, HALT)" in report.state
    assert any(text.startswith("exceptions that trap: invalid, input denormal, division by 0")
               for text in report.modes)  # fmt: skip


def test_debugger_output_is_read() -> None:
    """Name, hexadecimal, and then what a debugger adds."""
    dump = parse_dump("status   0x2061   8289\nmode 0x2f0 { IEEE }\ntrapsts 0 [ ]\npc 0x1000\n",
                      "gfx1010")  # fmt: skip
    assert dump.hardware == {2: 0x2061, 1: 0x2F0, 3: 0}
    assert dump.wide == {"pc": 0x1000}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("MODE = 0x1\nnonsense", "line 2: 'nonsense' is not NAME = VALUE"),
        ("MODE = 2f0", "line 1: MODE: '2f0' is not a number"),
        ("MODE = 0x100000000", "line 1: MODE: 0x100000000 does not fit 32 bits"),
        ("MODE = -1", "line 1: MODE: -1 does not fit 32 bits"),
        ("MODE = 1\nHW_REG_MODE = 2", "line 2: HW_REG_MODE is given twice"),
        ("FOO = 1", "line 1: gfx1010 has no register 'FOO'"),
        ("TRAPSTS = 1\nmcpu = gfx1200", "line 1: gfx1200 has no register 'TRAPSTS'"),
        ("mcpu = gfx9999", "line 1: 'gfx9999' is not a recognized processor"),
        ("MODE = 1 what is this", "line 1: 'what is this' after the value"),
        ("hwreg(64) = 1", "line 1: gfx1010 has no register"),
        ("= 5", "line 1: '= 5' is not NAME = VALUE"),
        ("pc = 0x10000000000000000", "line 1: pc: .* does not fit 64 bits"),
    ],
)
def test_bad_dumps(text: str, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        parse_dump(text, "gfx1010")


LINES = st.lists(
    st.tuples(
        st.sampled_from(
            ["MODE", "STATUS", "TRAPSTS", "HW_REG_HW_ID1", "hwreg(7)", "ttmp1", "ttmp6", "ttmp0",
             "pc", "exec", "mcpu", "28", "", "foo", "doorbell", "EXCP_FLAG_PRIV", "é"]
        ),
        st.sampled_from(["=", " = ", ":", " ", ""]),
        st.one_of(st.integers(0, 0xFFFFFFFF).map(hex), st.text(max_size=6), st.just("gfx1200")),
    ).map("".join),
    max_size=6,
).map("\n".join)  # fmt: skip


@given(LINES | st.text(max_size=80), st.sampled_from(["gfx803", "gfx942", "gfx1010", "gfx1200"]))
@settings(max_examples=300)
def test_any_dump_is_told_or_refused(text: str, mcpu: str) -> None:
    try:
        report = wave(text, mcpu)
    except UsageError:
        return
    assert report.lines()
    assert report.to_json()["headline"] == report.headline
