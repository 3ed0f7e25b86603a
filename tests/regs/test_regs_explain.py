"""Words explained field by field, their construct view, and the decode commands."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.errors import LoadError, UsageError
from gpudbg.regs.decoders import (
    decode_esr,
    decode_log,
    decode_sr,
    decode_xid,
    info_ptx,
    parse_number,
)
from gpudbg.regs.explain import explain_esr, explain_ptx, explain_sr, special_register
from gpudbg.regs.port import ALL_WORDS
from gpudbg.regs.ptx import PTX_REGISTERS
from gpudbg.regs.schema import all_row_sets, build_word, field_key, parse_word
from gpudbg.regs.special import SPECIAL_REGISTERS
from gpudbg.regs.words import Family, decode
from tests.variants import rows

WORDS = st.integers(0, 0xFFFF_FFFF)
ROW_SETS = all_row_sets()


# --- explain ---------------------------------------------------------------------------------


@given(st.integers(0, 255), WORDS, st.sampled_from(["5.0", "5.3", "sm_61"]))
def test_every_special_register_explains_every_value(number: int, value: int, spa: str) -> None:
    found = explain_sr(number, value, spa)
    assert found.lines()
    data = json.loads(json.dumps(found.to_json()))
    assert (data["number"], data["value"]) == (number, value)
    rebuilt = 0
    for field in found.fields:
        rebuilt |= field.row.bits.put(0, field.row.bits.get(value))
    assert rebuilt == value
    assert found.stray == value & ~SPECIAL_REGISTERS[number].mask(spa)


@given(st.sampled_from(ALL_WORDS), WORDS)
def test_every_error_word_explains_every_value(word, value: int) -> None:  # type: ignore[no-untyped-def]
    for family in word.families:
        found = explain_esr(word.name, value, family)
        assert found.lines()
        assert json.dumps(found.to_json())


def test_virt_id_field_by_field() -> None:
    fields = {f.row.name: f.value for f in explain_sr("virtid", 0x4030_7F45, "5.3").fields}
    assert fields["LaneId"] == 5
    assert fields["WarpId"] == 0x7F
    assert fields["SMId"] == 3
    assert fields["ArrayIdUpper"] == 2
    before = {f.row.name: f.value for f in explain_sr(3, 0x4030_7F45, "5.0").fields}
    assert before["WarpId"] == 0x3F


def test_in_place_float_and_mask_fields_read_as_amounts() -> None:
    assert "4096" in explain_sr("SR_SMemSz", 0x1000).fields[1].text
    assert explain_sr("SR_SWinLo", 0x0300_0000).to_json()["fields"][1]["value"] == 0x0300_0000
    assert explain_sr("SR_Y_DIRECTION", 0xBF80_0000).fields[0].text.startswith("-1 ")
    assert "4-7, 9" in explain_sr("SR_LtMask", 0x2F0).fields[0].text
    assert "(none)" in explain_sr("SR_LtMask", 0).fields[0].text


def test_impossible_values_are_remarked() -> None:
    assert any("unused" in n for n in explain_sr("SR_LaneId", 0x20).notes)
    assert any("always reads" in n for n in explain_sr("SR_LWINSZ", 0).notes)
    assert any("CS2R" in n for n in explain_sr("SR_LaneId", 1).notes)
    assert not any("CS2R" in n for n in explain_sr("SR_ClockLo", 1).notes)
    assert any("SR_CTXADDR" in n for n in explain_sr(62, 0).notes)


def test_warp_error_status_names_error_and_immediate() -> None:
    fields = {f.row.name: f.text for f in explain_sr("SR66", 0x0300_000F).fields}
    assert fields["WarpErrors"] == "0xf MISALIGNED_ADDR"
    assert fields["TrapImmediate"] == "3"


def test_error_word_by_name_alias_and_address() -> None:
    for reg in ("HWW_WARP_ESR", "warp-esr", "0x504648", "0x5067b0"):
        found = explain_esr(reg, 0x2000E, "Pascal")
        assert found.name == "HWW_WARP_ESR"
        assert found.fields[0].text == "0xe OOR_ADDR"
        assert "window" in found.look_at
    assert explain_esr("0x419e10", 1).name == "DBGR_CONTROL0"


def test_families_by_name_architecture_and_layout() -> None:
    for family in ("Pascal", "sm_61", "fermi-pascal", Family.PASCAL):
        names = [f.row.name for f in explain_esr("HWW_WARP_ESR", 0, family).fields]
        assert "ADDR_VALID" in names
    assert dict(explain_esr("GLOBAL_ESR", 0, "sm_75").facts)["family"] == "Turing"


def test_doubtful_codes_say_so() -> None:
    assert any("uncertain" in n for n in explain_esr("HWW_WARP_ESR", 0x10E).notes)
    assert any("no public table" in n for n in explain_esr("HWW_WARP_ESR", 0x1A).notes)
    assert any("without a public name" in n for n in explain_esr("HWW_GLOBAL_ESR", 0x80).notes)


@rows("row", PTX_REGISTERS, ids=lambda row: row.name)
def test_every_ptx_register_explains(row) -> None:  # type: ignore[no-untyped-def]
    (found,) = explain_ptx(row.name)
    assert found.lines()[0].startswith(row.name)
    data = json.loads(json.dumps(found.to_json()))
    assert data["name"] == row.name
    assert (row.target if row.target in ("sm_80", "sm_90") else "sm_50") in data["lowering"]


def test_ptx_vector_and_later_targets() -> None:
    assert [one.row.name for one in explain_ptx("tid")] == ["%tid.x", "%tid.y", "%tid.z", "%tid.w"]
    with pytest.raises(UsageError, match="needs sm_90: ptxas refuses it for sm_80"):
        explain_ptx("%clusterid.x", "sm_80")
    (one,) = explain_ptx("%clusterid.y", "sm_90a")
    assert one.lines()[-1] == (
        "  sm_90a: S2R SR_CTAID.Y times the float in c[0x0][0x154], cut to an integer"
    )
    with pytest.raises(UsageError, match="%warpid"):
        explain_ptx("%warpidd")


# --- construct -------------------------------------------------------------------------------


@given(st.sampled_from(sorted(ROW_SETS)), WORDS)
def test_construct_and_masks_agree(name: str, value: int) -> None:
    rows = ROW_SETS[name]
    parsed = parse_word(rows, value)
    assert {k: v for k, v in parsed.items() if not k.startswith("reserved_")} == decode(rows, value)
    assert parsed == {field_key(row): row.bits.get(value) for row in rows}
    assert build_word(rows, parsed) == value


def test_field_names_are_unique_in_every_word() -> None:
    for name, found in ROW_SETS.items():
        keys = [field_key(row) for row in found]
        assert len(set(keys)) == len(keys), name


# --- commands --------------------------------------------------------------------------------


def _fails(call, argv: list[str], text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=text):
        call(argv)


def test_decode_sr_command() -> None:
    one = decode_sr(["SR_VirtId", "0x45"])
    assert one.data["register"] == "SR_VirtId"
    assert json.loads(one.render(as_json=True)) == one.data
    two = decode_sr(["virtid", "0x45", "1_000", "--spa=5.3"])
    assert [item["value"] for item in two.data] == [0x45, 1000]
    assert decode_sr(["44"]).data["reserved"] is True
    assert len(decode_sr([]).data) == 256


def test_decode_sr_refusals() -> None:
    _fails(decode_sr, ["SR_VirtIdd", "1"], "SR_VirtId")
    _fails(decode_sr, ["999", "1"], r"0 \.\. 255")
    _fails(decode_sr, ["33", "ff"], "0xff")
    _fails(decode_sr, ["33", "-1"], "32 bits")
    _fails(decode_sr, ["33", "0x100000000"], "32 bits")
    _fails(decode_sr, ["33", "1", "--nope", "2"], "--nope")
    _fails(decode_sr, ["33", "1", "--spa"], "needs a value")
    _fails(decode_sr, ["33", "1", "--spa", "hopper"], "SPA")


def test_decode_esr_command() -> None:
    for argv in (["--reg", "WARP_ESR", "0xe"], ["WARP_ESR", "0xe"], ["0xe", "--reg=0x504648"]):
        assert decode_esr(argv).data["register"] == "HWW_WARP_ESR"
    assert decode_esr(["WARP_ESR", "0x1000000", "--chip", "Pascal"]).data["family"] == "Pascal"


def test_decode_esr_refusals() -> None:
    _fails(decode_esr, ["0xe"], "register and a value")
    _fails(decode_esr, ["--reg", "HWW_WRP_ESR", "1"], "HWW_WARP_ESR")
    _fails(decode_esr, ["--reg", "0x123", "1"], "0x123")
    _fails(decode_esr, ["--reg", "0xzz", "1"], "0xzz")
    _fails(decode_esr, ["WARP_ESR", "1", "--family", "Tesla"], "Maxwell")
    _fails(decode_esr, ["SM_ARCH", "1", "--family", "Volta"], "known on Maxwell, Pascal")


def test_info_ptx_command() -> None:
    assert info_ptx(["%laneid"]).data["type"] == "u32"
    assert len(info_ptx(["tid", "%clock64"]).data) == 5
    _fails(info_ptx, [], "needs a register")


LOG = b"garbage \xff\r\nXid 13: ESR 0x504648=0x1000e 0x504650=0x4\r\n\r\n"


def test_decode_xid_reads_files_and_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "dmesg.txt"
    path.write_bytes(LOG)
    from_file = decode_xid([str(path)])
    from_stdin = decode_xid(["-"], io.BytesIO(LOG))
    assert from_file == from_stdin == decode_log(LOG) == decode_xid([], io.BytesIO(LOG))
    objects = [json.loads(line) for line in from_file.render(as_json=True).split("\n")]
    assert [item["warp_error"] for item in objects] == [None, "OOR_ADDR", None]
    assert objects[0]["line"] == "garbage \ufffd"
    assert "OOR_ADDR" in from_file.render(as_json=False)


def test_decode_xid_refusals(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="nowhere"):
        decode_xid([str(tmp_path / "nowhere")])
    with pytest.raises(LoadError, match=tmp_path.name):
        decode_xid([str(tmp_path)])
    _fails(decode_xid, ["a", "b"], "one file")
    empty = decode_xid([], io.BytesIO(b""))
    assert (empty.data, empty.lines) == ([], ())


@pytest.mark.parametrize(("text", "value"), [("0x1F", 31), ("17", 17), ("0b101", 5), ("1_0", 10)])
def test_numbers(text: str, value: int) -> None:
    assert parse_number(text) == value


@given(st.text(max_size=20))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        value = parse_number(text)
    except UsageError:
        return
    assert 0 <= value <= 0xFFFF_FFFF


def test_a_number_of_any_length_is_refused() -> None:
    with pytest.raises(UsageError):
        parse_number("9" * 10_000)


def test_an_address_names_the_place_and_the_generation() -> None:
    one = dict(explain_esr("0x50de48", 0xE).facts)
    assert one["family"] == "Maxwell"
    assert "GPC 1, TPC 3 (Fermi-Pascal, documented)" in str(one["place"])
    two = dict(explain_esr("0x506730", 0x9).facts)
    assert two["family"] != "Maxwell"  # no one-SM chip has a register there
    assert "GPC 0, TPC 4, SM 0 (Volta-Ampere" in str(two["place"])
    assert "GPC 0, TPC 1, SM 0 (Hopper-Blackwell" in str(two["place"])
    chosen = dict(explain_esr("0x506730", 0x9, "sm_90").facts)
    assert str(chosen["place"]).startswith("GPC 0, TPC 1, SM 0 (Hopper-Blackwell")
    assert "Maxwell has no SM register at 0x506730" in explain_esr("0x506730", 9, "Maxwell").notes
    assert "place" not in dict(explain_esr("HWW_WARP_ESR", 0xE).facts)


def test_a_ptx_name_is_sent_to_its_decoder() -> None:
    for name in ("%tid.x", "%tid"):
        with pytest.raises(UsageError, match=f"decode ptx {name}"):
            explain_sr(special_register(name).number, 0)
