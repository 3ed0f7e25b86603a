"""Text with symbols and instructions against recorded answers of llvm-mc 19."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gpudbg_plugins.amdgpu.errors import AsmError
from gpudbg_plugins.amdgpu.expression import MAX_DEPTH
from gpudbg_plugins.amdgpu.instruction import decode_words
from gpudbg_plugins.amdgpu.registers import processor, processor_names
from gpudbg_plugins.amdgpu.source import looks_like_source, read_instructions, read_operand
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.variants import rows

HERE = Path(__file__).parent
CASES = json.loads((HERE / "hwreg-cases.json").read_text())["cases"]
RECORDED = json.loads((HERE / "llvm_mc_cases.json").read_text())
LINES, *PROCESSORS = json.loads((HERE / "llvm_mc_processors.json").read_text())


def answer(text: str, mcpu: str) -> list[Any]:
    """Encoding and text of the last instruction, or error, line and column."""
    chosen = processor(mcpu)
    try:
        found = read_instructions(text, chosen)
    except AsmError as error:
        return [error.error, error.line, error.column]
    return [found[-1].encoding(chosen).hex(), found[-1].text(chosen)] if found else []


@rows("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    chosen = processor(case["mcpu"])
    if not case["ok"]:
        with pytest.raises(AsmError) as caught:
            read_instructions(case["asm"], chosen)
        assert (caught.value.error, caught.value.column) == (case["error"], case["column"])
        return
    (found,) = read_instructions(case["asm"], chosen)
    words = found.words(chosen)
    assert found.encoding(chosen).hex() == case["bytes"]
    assert [f"0x{word:08x}" for word in words] == case["words"]
    assert f"0x{found.simm16:04x}" == case["simm16"]
    assert found.hwreg.to_json() == case["hwreg"]
    assert found.scalar == case["sgpr_field"]
    assert found.text(chosen) == case["disasm"]
    assert decode_words(words, chosen).text(chosen) == case["disasm"]


@rows("case", CASES, ids=lambda case: case["id"])
def test_case_by_decoder(case: dict[str, Any], decode: Any) -> None:
    code, data = decode("hwreg", "--mcpu", case["mcpu"], "--", case["asm"])
    assert code == (0 if case["ok"] else 2)
    assert {key: data[key] for key in case if key != "id"} == {
        key: value for key, value in case.items() if key != "id"
    }


def test_recorded_answers() -> None:
    assert len(RECORDED) >= 450
    wrong = [row for row in RECORDED if answer(row[1], row[0]) != row[2:]]
    assert wrong == []


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("group", PROCESSORS, ids=lambda group: group[0][0])
def test_processors(group: list[Any]) -> None:
    """Every processor: opcodes, all ids, all names, scalar registers."""
    names, expected = group
    for mcpu in names:
        found = [answer(line, mcpu) for line in LINES]
        found = [[row[0], row[2]] if len(row) == 3 else row for row in found]
        wrong = [x for x in zip(LINES, found, expected, strict=True) if x[1] != x[2]]
        assert wrong == [], mcpu


def test_every_processor_is_recorded() -> None:
    recorded = [name for names, _ in PROCESSORS for name in names]
    assert sorted(recorded) == sorted(processor_names())


def test_seed_examples_are_one_encoding() -> None:
    """The operand page's own examples: four ways to write one operand."""
    symbols = "reg = 1\noffset = 2\nsize = 4\n"
    encoded = "hwreg_enc = reg | (offset << 6) | ((size - 1) << 11)\n"
    for text in (
        "s_getreg_b32 s2, 0x1881",
        symbols + encoded + "s_getreg_b32 s2, hwreg_enc",
        "s_getreg_b32 s2, hwreg(1, 2, 4)",
        symbols + "s_getreg_b32 s2, hwreg(reg, offset, size)",
    ):
        assert answer(text, "gfx1010")[0] == "811802b9", text


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("hwreg(1)", False), ("0x1881", False), ("{id: 1}", False), ("HW_REG_MODE", False),
        ("hwreg (1)", False), ("foo + 1", False), ("(1)", False), ("", False),
        ("s_getreg_b32", True), ("s_getreg_b32 s2, 1", True), ("S_SETREG_B32 1, s0", True),
        ("a = 1", True), ("a: ", True), ("foo bar", True), (".set a, 1", True),
        ("a=1\nhwreg(a)", True), ("hwreg(1)\n// only a comment\n", False),
    ],
)  # fmt: skip
def test_operand_or_source(text: str, source: bool) -> None:
    assert looks_like_source(text) is source


def test_operand_columns_count_from_its_start() -> None:
    for text, column in (("hwreg(64)", 7), ("  hwreg(1, 32, 1)", 12), ("0x10000", 1), ("", 1)):
        with pytest.raises(AsmError) as caught:
            read_operand(text, processor("gfx1010"))
        assert caught.value.column == column


def test_columns_count_bytes() -> None:
    with pytest.raises(AsmError) as caught:
        read_instructions("s_getreg_b32 /* \u00e9 */ s2, hwreg(64)", processor("gfx1010"))
    assert caught.value.column == 33


@pytest.mark.parametrize(
    "text",
    ["(" * 5000 + "1", "-" * 5000 + "1"],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(AsmError, match=f"deeper than {MAX_DEPTH} levels"):
        read_operand(text, processor("gfx1010"))


def test_long_constant_expression_is_read() -> None:
    assert read_operand("1+" * 5000 + "1", processor("gfx1010")) == 5001


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: s_getreg_b32 s0, 1", "labels are not read here"),
        (".text", "directive '.text' is not read here"),
        ("s_endpgm", "invalid instruction"),
        ("a = b", "expected absolute expression"),
        ("s_getreg_b32 s0, 1.5", "unknown token in expression"),
    ],
)
def test_what_only_an_assembler_needs_is_refused(text: str, error: str) -> None:
    assert answer(text, "gfx1010")[0] == error


def test_long_text_is_refused() -> None:
    with pytest.raises(AsmError, match="longer than"):
        read_instructions("a" * 100_000, processor("gfx1010"))


FRAGMENTS = st.sampled_from(
    """s_getreg_b32 s_setreg_b32 s_setreg_imm32_b32 hwreg( hwreg HW_REG_MODE HW_REG_HW_ID ( ) [ ] {
    } , : id: size: offset: + - * / % << >> | & ^ ~ ! == <> && || @ $ # ? . = 1 0x 0x1881 64 -1 1.5
    1e s0 s[ s[0:1] [s0 v0 ttmp0 vcc null foo foo@lo max( or( lit( abs( .set .equiv // ; /* */ ' "
    'a' "x" 1b 0b 09 \\ ` é \x00 \r""".split()
) | st.sampled_from([" ", "\n", "\t"])


@pytest.mark.parametrize(
    ("text", "place"), [("\r0", (1, 1)), ("size = 4\r\n 0", (2, 2)), ("\r\n\r0", (2, 1))]
)
def test_lines_are_counted_by_line_feeds(text: str, place: tuple[int, int]) -> None:
    """As llvm-mc 19 counts them."""
    with pytest.raises(AsmError) as told:
        read_instructions(text, processor("gfx900"))
    assert (told.value.line, told.value.column) == place


@given(
    st.lists(FRAGMENTS, max_size=25).map("".join)
    | st.lists(FRAGMENTS, max_size=25).map(" ".join)
    | st.text(max_size=60),
    st.sampled_from(["gfx700", "gfx803", "gfx900", "gfx1010", "gfx1200"]),
)
@settings(max_examples=600)
def test_any_text_is_read_or_refused(text: str, mcpu: str) -> None:
    """Any text gives instructions or an error with a place inside the text."""
    chosen = processor(mcpu)
    errors = []
    for read in (read_instructions, read_operand):
        try:
            found = read(text, chosen)
        except AsmError as error:
            errors.append(error)
        else:
            assert isinstance(found, list) or 0 <= found <= 0xFFFF
    for told in errors:
        assert told.error
        assert 1 <= told.line <= text.count("\n") + 1
        assert 1 <= told.column <= len(text.encode("utf-8", "surrogatepass")) + 1
        assert told.exit_code == 2
    assert looks_like_source(text) in (True, False)
