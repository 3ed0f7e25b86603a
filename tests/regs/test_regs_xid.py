"""Kernel log lines: collected real ones, what settles an ambiguous place, hostile input."""

from __future__ import annotations

import json
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.regs.decoders import decode_xid
from gpudbg.regs.port import LAYOUTS, SmRegister
from gpudbg.regs.xid import LineKind, decode_line
from gpudbg.regs.xid_log import decode_lines, split_log
from gpudbg.regs.xid_text import record_lines
from tests.variants import rows

DATA = Path(__file__).parent / "data"
CASES = [json.loads(line) for line in (DATA / "log_lines.jsonl").read_text().splitlines()]
FIELDS = (
    "line gpc tpc sm warp_esr warp_error global_esr global_bits warp_report_mask"
    " global_report_mask layout certain uncertain kind xid gpu pid process channel engine client"
    " address fault_type access message details hints"
).split()


@rows("case", CASES, ids=lambda case: case["line"][:60])
def test_collected_line(case: dict) -> None:  # type: ignore[type-arg]
    got = decode_line(case["line"]).to_json()
    assert list(got) == FIELDS
    assert got["line"] == case["line"]
    assert {key: got[key] for key in case["expect"]} == case["expect"]
    filled = {k for k in FIELDS[1:11] if got[k] not in (None, [])}
    assert set(got["certain"]) <= filled | {"global_bits"}
    assert filled <= {*got["certain"], *got["uncertain"]}
    assert not set(got["certain"]) & set(got["uncertain"])


PREFIXES = [
    "",
    "[Fri Aug 30 11:43:09 2024] ",
    "Feb 15 17:37:45 host kernel: [82659.7] ",
    "> ",
    "\t",
]


@rows("prefix", PREFIXES)
@rows("suffix", ["", "\r", "  ", " ...", "**", "\\n"])
def test_prefix_and_suffix_do_not_matter(prefix: str, suffix: str) -> None:
    for case in CASES:
        bare = case["line"]
        if bare.endswith(("...", "3f000", "0x9000d")):
            continue  # cut lines: a suffix would change the last word
        want, got = decode_line(bare).to_json(), decode_line(prefix + bare + suffix).to_json()
        # The message is all that the line says.
        assert (got.pop("message") or "").startswith(want.pop("message") or "")
        del want["line"], got["line"]
        assert got == want


def test_spelling_of_numbers_does_not_matter() -> None:
    want = decode_line("Graphics Exception: ESR 0x504e48=0x1000e 0x504e50=0x4")
    for line in (
        "GRAPHICS EXCEPTION: ESR 0X504E48=0X1000E 0X504E50=0X4",
        "Graphics Exception: ESR 0x00504e48=0x0001000e 0x00504e50=0x00000004",
        "Graphics Exception: ESR 0x504e50=0x4 0x504e48=0x1000e",
    ):
        got = decode_line(line)
        assert (got.gpc, got.tpc, got.warp_esr, got.global_bits) == (
            want.gpc,
            want.tpc,
            want.warp_esr,
            want.global_bits,
        )


# --- the place of a register address ---------------------------------------------------------

# (GPC, TPC, SM) printed in the text line before, address printed after it: one log of a GPU
# with masks 0x1f81fb60 0x1174, two other public logs beside it.
PAIRS = [
    ((0, 0, 0), 0x505730), ((0, 0, 1), 0x5057B0), ((0, 1, 0), 0x506730), ((0, 1, 1), 0x5067B0),
    ((0, 3, 0), 0x508730), ((0, 5, 1), 0x50A7B0), ((0, 7, 0), 0x50C730), ((1, 0, 0), 0x515730),
    ((1, 2, 1), 0x5177B0), ((1, 6, 0), 0x51B730), ((2, 0, 1), 0x5257B0), ((2, 7, 0), 0x52C730),
    ((3, 2, 0), 0x537730), ((3, 5, 1), 0x53A7B0), ((7, 8, 0), 0x57D730), ((7, 7, 0), 0x57C730),
]  # fmt: skip


@pytest.mark.parametrize(("place", "address"), PAIRS)
def test_third_layout_reproduces_printed_places(place: tuple[int, int, int], address: int) -> None:
    assert SmRegister(LAYOUTS[2], *place, "HWW_WARP_ESR").address() == address


def _text(place: tuple[int, int, int], pci: str = "0000:01:00") -> str:
    where = "(GPC {}, TPC {}, SM {})".format(*place)
    return f"NVRM: Xid (PCI:{pci}): 13, Graphics SM Warp Exception on {where}: Misaligned Address"


def _esr(address: int, pci: str = "0000:01:00", masks: str = "") -> str:
    words = f"{address:#x}=0x2000f {address + 4:#x}=0x4"
    return f"NVRM: Xid (PCI:{pci}): 13, Graphics Exception: ESR {words}{masks}"


def test_an_address_that_fits_two_layouts_says_so() -> None:
    got = decode_line(_esr(0x506730)).to_json()
    assert (got["gpc"], got["tpc"], got["sm"]) == (0, None, 0)
    assert got["layout"].startswith("ambiguous: ")
    assert "TPC 4" in got["layout"]
    assert "TPC 1" in got["layout"]
    assert got["uncertain"] == ["tpc", "layout"]
    assert got["warp_error"] == "MISALIGNED_ADDR"
    assert any("ambiguous" in line for line in record_lines(decode_line(_esr(0x506730))))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("place", "layout"), [((0, 4, 0), "Volta-Ampere"), ((0, 1, 0), "Hopper-Blackwell")]
)
def test_the_text_line_beside_it_settles_the_layout(
    order: int, place: tuple[int, int, int], layout: str
) -> None:
    lines = [_text(place), _esr(0x506730)][::order]
    got = decode_lines(lines)[1 if order == 1 else 0].to_json()
    assert (got["gpc"], got["tpc"], got["sm"], got["layout"]) == (*place, layout)
    assert got["uncertain"] == []


def test_text_of_another_device_settles_nothing() -> None:
    got = decode_lines([_text((0, 1, 0), "0000:02:00"), _esr(0x506730)])[1]
    assert got.layout is None


def test_a_device_s_other_lines_choose_its_layout_but_leave_it_uncertain() -> None:
    lines = [_text((0, 1, 0)), _esr(0x506730), _esr(0x5067B0)]
    got = decode_lines(lines)[2].to_json()
    assert (got["gpc"], got["tpc"], got["sm"]) == (0, 1, 1)
    assert "tpc" in got["uncertain"]
    apart = [*lines[:2], _text((3, 3, 0), "0000:99:00"), lines[2]]
    assert decode_lines(apart)[3].layout is None


def test_text_beats_masks() -> None:
    masks = " 0x506728=0x4c1eb72 0x50672c=0x174"
    alone = decode_line(_esr(0x506730, masks=masks))
    assert alone.layout is LAYOUTS[1]
    settled = decode_lines([_text((0, 1, 0)), _esr(0x506730, masks=masks)])[1]
    assert settled.layout is LAYOUTS[2]
    assert settled.uncertain == ()


def test_text_and_address_that_disagree_are_both_reported() -> None:
    record = decode_lines([_text((5, 5, 1)), _esr(0x504730)])[1]
    assert (record.gpc, record.tpc, record.sm) == (0, 0, 0)
    assert record.to_json()["uncertain"] == ["gpc", "tpc", "sm"]
    assert any("GPC 5, TPC 5, SM 1" in note for note in record.notes)
    one_line = decode_line(_text((5, 5, 1)) + " ESR 0x504730=0xf")
    assert (one_line.gpc, one_line.tpc, one_line.sm) == (5, 5, 1)
    assert {"gpc", "tpc", "sm"} <= set(one_line.uncertain)
    assert any("GPC 0, TPC 0, SM 0" in note for note in one_line.notes)


def test_low_byte_of_a_wide_code_is_named_with_doubt() -> None:
    got = decode_line("Graphics Exception: ESR 0x504648=0x10e 0x504650=0x20").to_json()
    assert (got["warp_esr"], got["warp_error"]) == (0x10E, "OOR_ADDR")
    assert got["uncertain"] == ["warp_error"]


def test_codes_without_a_name_are_doubtful() -> None:
    got = decode_line("Graphics Exception: ESR 0x504648=0x42 0x504650=0x80").to_json()
    assert (got["warp_error"], got["global_bits"]) == ("UNKNOWN_0x42", ["BIT_7"])
    assert got["uncertain"] == ["warp_error", "global_bits"]


@pytest.mark.parametrize(
    "line",
    [
        "nouveau E[  PGRAPH][0000:01:00.0] GPC0/TPC2/MP trap: MULTIPLE_WARP_ERRORS OOR_ADDR",
        "[ 12.3] nouveau 0000:01:00.0: gr: GPC0/TPC2/MP trap: global 00000004 "
        "[MULTIPLE_WARP_ERRORS] warp 000e [OOR_ADDR]",
        "GPC0/TPC2/SM0 trap: global 00000004 [MULTIPLE_WARP_ERRORS] warp 000e [OOR_ADDR]",
    ],
)
def test_nouveau_forms_of_all_ages(line: str) -> None:
    record = decode_line(line)
    assert record.kind is LineKind.NOUVEAU_SM
    assert (record.gpc, record.tpc, record.warp_error) == (0, 2, "OOR_ADDR")
    assert record.global_bits == ("MULTIPLE_WARP_ERRORS",)
    assert record.sm == (0 if "SM0" in line else None)


def test_old_nouveau_prints_unknown_codes_by_number() -> None:
    record = decode_line("GPC0/TPC0/MP trap: (unknown enum 0x00000017)")
    assert record.warp_error == "MMU_FAULT"
    assert record.uncertain == ("warp_error",)


# --- what a terminal, a mail or a pager did to a line ------------------------------------------


def test_colour_codes_do_not_matter() -> None:
    line = "NVRM: Xid (PCI:0000:03:00): 13, Graphics Exception: ESR 0x504648=0x104000f 0x504650=0x4"
    for plain in ("Xid", "0x504648", "0x4"):
        coloured = line.replace(plain, f"\x1b[01;31m\x1b[K{plain}\x1b[m\x1b[K")
        record = decode_line(coloured)
        assert (record.line, record.xid) == (coloured, 13)
        assert record.to_json() == decode_line(line).to_json() | {"line": coloured}


LOGGED = [
    "[82659.755847] NVRM: Xid (PCI:0000:41:00): 13, Graphics Exception: "
    "ESR 0x5067b0=0x9 0x5067b4=0x24 0x5067a8=0x4c1eb72 0x5067ac=0x174",
    "[11039.499526] NVRM: Xid (PCI:0000:05:00): 13, pid='<unknown>', name=<unknown>, "
    "Graphics SM Warp Exception on (GPC 15, TPC 4, SM 0): Illegal Instruction Encoding",
    "Oct  7 23:13:23 desktop kernel: [ 2726.080146] nouveau 0000:06:00.0: "
    "gr: GPC0/TPC0/MP trap: global 00000004 [MULTIPLE_WARP_ERRORS] warp 3f0009 "
    "[ILLEGAL_INSTR_ENCODING]",
]


@rows("line", LOGGED, ids=lambda line: line[-24:])
@rows("width", range(60, 140, 3))
@rows("words", [False, True], ids=["cut", "words"])
def test_a_wrapped_entry_reads_as_one(line: str, width: int, words: bool) -> None:
    cut = [line[i : i + width] for i in range(0, len(line), width)]
    lines = textwrap.wrap(line, width, break_on_hyphens=False) if words else cut
    after = "[82660.0] nvme nvme0: something else"
    records = decode_lines([*lines, after])
    assert [record.line for record in records] == [*lines, after]
    want = decode_line(line).to_json()
    told = [record.to_json() | {"line": line} for record in records]
    for row in (want, *told):
        # Whether a blank stood where a word was cut is not always to be told.
        row["message"] = words and row["message"]
    assert told.count(want) == 1
    assert sum(record.warp_error is not None for record in records) == 1


def test_lines_of_their_own_are_not_joined() -> None:
    lines = [LOGGED[1], "Multiple Warp Errors", LOGGED[0], "", "0x5067b0=0x7", "Misaligned Address"]
    alone = [decode_line(line).to_json() for line in lines]
    got = [record.to_json() for record in decode_lines(lines)]
    assert got[0] == alone[0]
    assert [r["warp_esr"] for r in got] == [None, None, 9, None, None, None]


def test_a_place_that_the_line_cuts_off_is_doubtful() -> None:
    record = decode_line("Graphics SM Warp Exception on (GPC 0, TPC 1")
    assert (record.gpc, record.tpc, record.sm) == (0, 1, None)
    assert (record.certain, record.uncertain) == (("gpc",), ("tpc",))
    assert decode_line("Graphics SM Warp Exception on (GPC 3").gpc == 3


def test_other_units_of_a_tpc_have_a_place_too() -> None:
    record = decode_line("Xid 13, NVRM: Graphics TEX Exception on (GPC 2, TPC 1):     TEX NACK")
    assert (record.kind, record.gpc, record.tpc) == (LineKind.UNIT_TEXT, 2, 1)


# --- files -----------------------------------------------------------------------------------


def test_split_log_keeps_one_record_per_line() -> None:
    data = "a\r\n\r\nb\x0b\u2028c\nd".encode() + b"\xff\xfe\n"
    assert split_log(data) == ["a", "", "b\x0b\u2028c", "d\ufffd\ufffd"]
    assert split_log(b"") == []
    assert split_log(b"\xef\xbb\xbfx\n") == ["x"]
    assert split_log("x\r\ny\n".encode("utf-16")) == ["x", "y"]
    assert split_log(b"\xff\xfe\x00") == ["\ufffd"]


LOGLIKE = st.text(
    alphabet=st.sampled_from("GPCTMSNVRXidEuroaltp0123456789abcdefx=:/()[],. \t\x00é"), max_size=120
)
PIECES = st.lists(
    st.sampled_from(
        ["GPC", "TPC", "SM", "0", "9" * 30, "SM Warp Exception on", "(", ")", ":", " ", "ESR", "0x",
         "504648", "=", "trap", "/", "MP", "global", "warp", "[", "]", "Xid", "PCI:0000:01:00", ",",
         "hww_warp_esr", "Out Of Range Address", "MMU Fault:", "\ud800", "٣"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.one_of(LOGLIKE, PIECES), max_size=6))
def test_any_lines_decode(lines: list[str]) -> None:
    records = decode_lines(lines)
    assert [record.line for record in records] == lines
    for record in records:
        assert json.dumps(record.to_json())
        assert record_lines(record)


@given(st.binary(max_size=300))
def test_any_bytes_split_and_decode(data: bytes) -> None:
    records = decode_lines(split_log(data))
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        assert len(records) == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


@given(
    st.sampled_from(LAYOUTS),
    st.integers(0, 15),
    st.integers(0, 10),
    st.integers(0, 1),
    st.integers(0, 0xFFFF_FFFF),
)
def test_printed_registers_come_back(layout, gpc, tpc, sm, word) -> None:  # type: ignore[no-untyped-def]
    if gpc >= layout.gpcs or tpc >= layout.tpcs:
        return
    place = SmRegister(layout, gpc, tpc, sm if layout.two_sms else None, "HWW_WARP_ESR")
    record = decode_line(f"Xid 13: ESR {place.address():#x}={word:#x}")
    assert record.warp_esr == word
    assert place in record.candidates
    if record.layout is not None:
        assert len(record.candidates) == 1
        assert (record.gpc, record.tpc, record.sm) == (gpc, tpc, place.sm)


HOSTILE = [
    "SM Warp Exception on GPC 0" + " " * 50_000,
    "SM Warp Exception on" + "(" * 50_000,
    "global 0 [" * 5_000,
    "Xid (" * 10_000,
    "GPC0/TPC0/" + "A" * 50_000,
    "0x500648 =" * 5_000 + "ESR",
    "hww_warp_esr " * 5_000,
    "0000:00:" * 10_000,
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:20])
def test_matching_stays_linear(line: str) -> None:
    start = time.process_time()
    decode_line(line)
    assert time.process_time() - start < 1.0


FIELD_CASES = [json.loads(line) for line in (DATA / "log_fields.jsonl").read_text().splitlines()]
TIMES = [
    "",
    "[31543.449443] ",
    "[Mon Apr  6 03:22:07 2026] ",
    "[ 130.456250] [ T1946] ",
    "Nov 29 11:28:11 zeus kernel: ",
    "2026-05-28T21:00:01.123456+00:00 node-7 kernel: [12345.678] ",
    "<4>[  365.969680] ",
    "kern  :err   : [Tue Sep 30 07:50:00 2025] ",
]


@rows("case", FIELD_CASES, ids=lambda case: case["line"][:60])
def test_fields_in_the_logs_words(case: dict) -> None:  # type: ignore[type-arg]
    """Number, GPU, process, channel, MMU fault and details, whatever stands before the line."""
    for time_ in TIMES:
        got = decode_line(time_ + case["line"]).to_json()
        assert {key: got[key] for key in case["expect"]} == case["expect"]
        details = case.get("details", {})
        assert {key: got["details"].get(key) for key in details} == details


def test_an_mmu_fault_is_told_in_words() -> None:
    text = "\n".join(record_lines(decode_line(FIELD_CASES[0]["line"])))
    for piece in (
        "ACCESS_TYPE_VIRT_READ at 0x7fcf5b400000 by engine GRAPHICS, client GPCCLIENT_T1_0",
        "FAULT_PDE: no page directory entry",
        "process 1942 (llama-bench), channel 0x2",
    ):
        assert piece in text


@pytest.mark.parametrize("width", range(70, 200, 7))
def test_a_wrapped_mmu_fault_reads_as_one(width: int) -> None:
    line = FIELD_CASES[0]["line"]
    lines = textwrap.wrap(line, width, break_on_hyphens=False)
    got = decode_lines([*lines, "[82660.0] nvme nvme0: something else"])[0].to_json()
    assert {**got, "line": line} == decode_line(line).to_json()


def test_what_the_log_does_not_say_is_null() -> None:
    got = decode_line("NVRM: Xid (PCI:0000:01:00): 31, pid='<unknown>', name=<unknown>").to_json()
    assert (got["xid"], got["gpu"], got["pid"], got["process"]) == (31, "0000:01:00", None, None)
    assert got["address"] is got["engine"] is got["client"] is got["access"] is None
    assert got["hints"]


def test_a_line_of_the_log_may_be_given_itself() -> None:
    line = (
        "NVRM: Xid (PCI:0000:65:00): 31, pid=12, name=python, Ch 00000008, intr 00000000. "
        "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f12_34567000. "
        "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    )
    (found,) = decode_xid([line]).data
    assert (found["xid"], found["address"], found["pid"]) == (31, "0x7f1234567000", 12)
