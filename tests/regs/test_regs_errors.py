"""Error tables, error status words, the debugger port's words and addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.regs.esr import (
    GLOBAL_ERRORS,
    HWW_WARP_ESR,
    HWW_WARP_ESR_REPORT_MASK,
    IGNORED_FOR_LOCKDOWN,
    SR_GLOBAL_ERROR_STATUS,
    SR_WARP_ERROR_STATUS,
    WARP_ERRORS,
    GlobalErrorStatus,
    GlobalEsr,
    WarpError,
    error_of_field,
    global_bit_names,
    global_error_of_text,
    warp_error,
    warp_error_of_text,
)
from gpudbg.regs.port import (
    ALL_WORDS,
    LAYOUTS,
    REPORT_MASKS,
    DbgrControl0,
    SmRegister,
    find_word,
    layout_of_masks,
    locate,
    locate_all,
    locate_broadcast,
    other_unit,
)
from gpudbg.regs.words import Family, decode, encode, implemented_mask

WORDS = st.integers(0, 0xFFFF_FFFF)
NVGPU_CODES = {
    0x01: "STACK_ERROR", 0x02: "API_STACK_ERROR", 0x03: "RET_EMPTY_STACK_ERROR", 0x04: "PC_WRAP",
    0x05: "MISALIGNED_PC", 0x06: "PC_OVERFLOW", 0x07: "MISALIGNED_IMMC_ADDR",
    0x08: "MISALIGNED_REG", 0x09: "ILLEGAL_INSTR_ENCODING", 0x0A: "ILLEGAL_SPH_INSTR_COMBO",
    0x0B: "ILLEGAL_INSTR_PARAM", 0x0C: "INVALID_CONST_ADDR", 0x0D: "OOR_REG", 0x0E: "OOR_ADDR",
    0x0F: "MISALIGNED_ADDR", 0x10: "INVALID_ADDR_SPACE", 0x11: "ILLEGAL_INSTR_PARAM2",
    0x12: "INVALID_CONST_ADDR_LDC", 0x13: "GEOMETRY_SM_ERROR", 0x14: "DIVERGENT",
    0x15: "WARP_EXIT", 0x16: "STACK_OVERFLOW", 0x17: "MMU_FAULT", 0x18: "TEX_FORMAT",
    0x19: "TEX_LAYOUT", 0x20: "MMU_NACK",
}  # fmt: skip


def test_warp_error_codes() -> None:
    assert {row.code: row.name for row in WARP_ERRORS} == {0: "NONE", **NVGPU_CODES}
    assert all(row.meaning and row.look_at for row in WARP_ERRORS)


def test_unknown_codes_keep_their_number() -> None:
    assert WarpError(0x42) == 0x42
    assert WarpError(0x42).name == "UNKNOWN_0x42"
    with pytest.raises(ValueError, match="WarpError"):
        WarpError(-1)


def test_aliases_name_the_same_row() -> None:
    assert warp_error("mem_out_of_bounds") is warp_error("OOR_ADDR") is warp_error(0x0E)
    assert warp_error("nope") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Out Of Range Address", "OOR_ADDR"),
        ("out-of-range addr", "OOR_ADDR"),
        ("Out Of Range Register", "OOR_REG"),
        ("Misaligned Address**", "MISALIGNED_ADDR"),
        ("Misaligned Register", "MISALIGNED_REG"),
        ("Illegal Instruction Encoding", "ILLEGAL_INSTR_ENCODING"),
        ("Illegal Instruction Parameter\\n", "ILLEGAL_INSTR_PARAM"),
        ("Invalid Address Space", "INVALID_ADDR_SPACE"),
        ("Invalid Constant Address LDC", "INVALID_CONST_ADDR_LDC"),
        ("Stack Error", "STACK_ERROR"),
        ("API Stack Error", "API_STACK_ERROR"),
        ("Stack Overflow", "STACK_OVERFLOW"),
        ("PC Wrap", "PC_WRAP"),
        ("MMU Fault", "MMU_FAULT"),
        ("MMU NACK Errors", "MMU_NACK"),
        ("TEX FORMAT Errors", "TEX_FORMAT"),
        ("OOR_ADDR", "OOR_ADDR"),
    ],
)
def test_log_wordings(text: str, name: str) -> None:
    row = warp_error_of_text(text)
    assert row is not None
    assert row.name == name


def test_unknown_wordings() -> None:
    for text in ("", "???", "Outrageous Address", "Physical Multiple Warp Errors"):
        assert warp_error_of_text(text) is None


def test_global_wordings_and_bits() -> None:
    row = global_error_of_text("Physical Multiple Warp Errors")
    assert row is not None
    assert row.flag is GlobalEsr.MULTIPLE_WARP_ERRORS
    assert global_error_of_text("whatever") is None
    assert global_bit_names(0x24) == ["MULTIPLE_WARP_ERRORS", "BPT_PAUSE"]
    assert global_bit_names(1 << 7 | 1 << 31) == ["BIT_7", "TIMEOUT"]
    assert {row.bit for row in GLOBAL_ERRORS} == {0, 1, 2, 3, 4, 5, 6, 8, 12, 29, 30, 31}
    assert IGNORED_FOR_LOCKDOWN == 0x70


def test_flags_keep_unknown_bits() -> None:
    for kind in (GlobalEsr, GlobalErrorStatus, DbgrControl0):
        assert int(kind(0xFFFF_FFFF)) == 0xFFFF_FFFF


def test_status_words_have_the_documented_bits() -> None:
    assert implemented_mask(SR_GLOBAL_ERROR_STATUS.rows) == 0xEB7
    assert implemented_mask(SR_WARP_ERROR_STATUS.rows) == 0x070000FF
    flags = {row.name: row.bits.mask for row in SR_GLOBAL_ERROR_STATUS.rows if not row.reserved}
    assert sorted(flags.values()) == sorted(map(int, GlobalErrorStatus.__members__.values()))


def test_report_masks_of_drivers_enable_the_documented_errors() -> None:
    def mask(family: Family) -> int:
        return implemented_mask(HWW_WARP_ESR_REPORT_MASK.rows_for(family))

    assert mask(Family.KEPLER) == 0x001FFFFE
    assert mask(Family.MAXWELL) == mask(Family.PASCAL) == 0x00DFFFFE
    assert mask(Family.VOLTA) & 1 << 26


def test_low_byte_names_a_doubtful_error() -> None:
    whole = error_of_field(0x0E)
    doubtful = error_of_field(0x10E)
    assert whole[0] is doubtful[0] is warp_error(0x0E)
    assert (whole[1], doubtful[1]) == (True, False)
    assert error_of_field(0x1A) == error_of_field(0x100) == (None, False)


def test_warp_esr_fields_differ_by_family() -> None:
    word = 0x0104000F
    assert decode(HWW_WARP_ESR.rows_for(Family.MAXWELL), word) == {"ERROR": 0x0F, "WARP_ID": 4}
    pascal = decode(HWW_WARP_ESR.rows_for(Family.PASCAL), word)
    assert (pascal["ADDR_VALID"], pascal["ADDR_ERROR_TYPE"]) == (1, 0)
    assert decode(HWW_WARP_ESR.rows_for(Family.TURING), word)["ADDR_ERROR_TYPE"] == 1


def test_every_word_tiles_32_bits_in_every_family() -> None:
    for word in ALL_WORDS:
        for family in word.families:
            rows = word.rows_for(family)
            assert sum(row.bits.width for row in rows) == 32
            assert sum(row.bits.mask for row in rows) == 0xFFFF_FFFF
        assert len(set(word.families)) == len(word.families)


@given(st.sampled_from(ALL_WORDS), WORDS)
def test_encode_undoes_decode(word: object, value: int) -> None:
    rows = word.rows_for(word.families[0])  # type: ignore[attr-defined]
    assert encode(rows, decode(rows, value)) == value & implemented_mask(rows)


def test_encode_refuses_what_does_not_fit() -> None:
    rows = HWW_WARP_ESR.rows
    for wrong in ({"ERROR": 0x10000}, {"NOPE": 1}, {"WARP_ID": -1}):
        with pytest.raises(ValueError, match="field"):
            encode(rows, wrong)


# --- addresses -------------------------------------------------------------------------------

HEADER_ADDRESSES = [  # hw_gr_*.h: GPC 0 TPC 0 unicast addresses
    (0, 0x50460C, None, "DBGR_STATUS0"),
    (0, 0x504610, None, "DBGR_CONTROL0"),
    (0, 0x504614, None, "WARP_VALID_MASK_LO"),
    (0, 0x504624, None, "BPT_PAUSE_MASK_LO"),
    (0, 0x504634, None, "BPT_TRAP_MASK_LO"),
    (0, 0x504648, None, "HWW_WARP_ESR"),
    (0, 0x504650, None, "HWW_GLOBAL_ESR"),
    (0, 0x504654, None, "HWW_WARP_ESR_PC"),
    (1, 0x504704, 0, "DBGR_CONTROL0"),
    (1, 0x504730, 0, "HWW_WARP_ESR"),
    (1, 0x504734, 0, "HWW_GLOBAL_ESR"),
    (1, 0x5047B0, 1, "HWW_WARP_ESR"),
    (1, 0x504728, 0, "HWW_WARP_ESR_REPORT_MASK"),
]


@pytest.mark.parametrize(("layout", "address", "sm", "register"), HEADER_ADDRESSES)
def test_header_addresses(layout: int, address: int, sm: int | None, register: str) -> None:
    place = SmRegister(LAYOUTS[layout], 0, 0, sm, register)
    assert locate(LAYOUTS[layout], address) == place
    assert place.address() == address


@pytest.mark.parametrize(
    ("address", "register"),
    [
        (0x419E10, "DBGR_CONTROL0"),
        (0x419E24, "BPT_PAUSE_MASK_LO"),
        (0x419E44, "HWW_WARP_ESR_REPORT_MASK"),
        (0x419E50, "HWW_GLOBAL_ESR"),
        (0x419E90, "BPT_PAUSE_MASK_LO"),
        (0x419EA8, "HWW_WARP_ESR_REPORT_MASK"),
    ],
)
def test_broadcast_addresses(address: int, register: str) -> None:
    assert locate_broadcast(address) == register


@given(
    st.sampled_from(LAYOUTS),
    st.integers(0, 15),
    st.integers(0, 10),
    st.integers(0, 1),
    st.sampled_from(["HWW_WARP_ESR", "HWW_GLOBAL_ESR", "DBGR_STATUS0"]),
)
def test_locate_undoes_address(layout, gpc, tpc, sm, register) -> None:  # type: ignore[no-untyped-def]
    place = SmRegister(layout, gpc, tpc, sm if layout.two_sms else None, register)
    if gpc >= layout.gpcs or tpc >= layout.tpcs:
        with pytest.raises(ValueError, match="has no"):
            place.address()
        return
    assert locate(layout, place.address()) == place
    assert place in locate_all(place.address())


@given(WORDS)
def test_locate_never_raises(address: int) -> None:
    for place in locate_all(address):
        assert place.address() == address
    other_unit(address)
    locate_broadcast(address)


def test_masks_name_a_layout_only_when_every_known_chip_agrees() -> None:
    assert layout_of_masks(0x4C1EB72, 0x174) is LAYOUTS[1]
    assert layout_of_masks(0x1F81FB60, 0x1174) is LAYOUTS[2]
    assert layout_of_masks(0x00D3EFF2, None) is LAYOUTS[0]
    assert layout_of_masks(0x12345678, 0x174) is None
    assert layout_of_masks(None, 0x1174) is None
    for row in REPORT_MASKS:
        assert layout_of_masks(row.warp, row.globals) is not None


def test_word_look_up() -> None:
    for name in ("HWW_WARP_ESR", "warp_esr", "Warp-ESR", " warp "):
        assert find_word(name) is HWW_WARP_ESR
    assert find_word("bpt_trap_mask_hi") is not None
    assert find_word("nope") is None
