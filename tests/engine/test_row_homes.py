"""Stores of rows where values are made, and values loaded again from their rows."""

from __future__ import annotations

from gpudbg.sm.engines.llvm.kernel.row_homes import early_stores, from_rows
from gpudbg.sm.record import HEADER_BYTES, ROW_BYTES

ROW = "<32 x i32>"


def _place(name: str, row: int) -> str:
    return f"  {name} = getelementptr i8, ptr %rec, i64 {HEADER_BYTES + ROW_BYTES * row}"


def _load(name: str, place: str) -> str:
    return f"  {name} = load {ROW}, ptr {place}, align 64, !held !2"


def _store(value: str, place: str) -> str:
    return f"  store {ROW} {value}, ptr {place}, align 64"


def _add(name: str, a: str, b: str) -> str:
    return f"  {name} = add {ROW} {a}, {b}"


def _order(lines: list[str], *wanted: str) -> list[int]:
    """Where the first statement is that contains each text."""
    return [next(n for n, line in enumerate(lines) if text in line) for text in wanted]


def _between(*more: str) -> list[str]:
    """A block that makes a value, does something else, and stores the value in row 3."""
    return [
        "b8:",
        _place("%v1", 2),
        _load("%v2", "%v1"),
        _add("%v3", "%v2", "%v2"),
        *more,
        _add("%v8", "%v2", "%v3"),
        _place("%v9", 3),
        _store("%v3", "%v9"),
        "  br label %b16",
    ]


def test_a_row_is_stored_where_its_value_is_made() -> None:
    lines = early_stores(_between())
    made, stored, used = _order(lines, "%v3 =", "store", "%v8 =")
    assert made < stored < used
    assert sum("store" in line for line in lines) == 1
    assert lines[-1] == "  br label %b16"


def test_not_before_the_row_has_been_loaded() -> None:
    old = [_place("%v4", 3), _load("%v5", "%v4")]
    loaded, stored = _order(early_stores(_between(*old)), "%v5 =", "store")
    assert loaded < stored


def test_not_before_another_value_of_the_row_has_been_stored() -> None:
    other = [_place("%v4", 3), _store("%v2", "%v4")]
    first, second = _order(early_stores(_between(*other)), f"store {ROW} %v2", f"store {ROW} %v3")
    assert first < second


def test_not_past_what_may_touch_the_record() -> None:
    for other in (
        "  call void @gpudbg_load(ptr %env, ptr %rec)",
        "  %v4 = call i1 %v5(ptr %env, ptr %v6)",
        "  call void @llvm.memset.p0.i64(ptr %v4, i8 0, i64 8, i1 false)",
    ):
        called, stored = _order(early_stores(_between(other)), " call ", "store")
        assert called < stored
    at = "  %v4 = getelementptr i8, ptr %rec, i64 %v5"
    loaded, stored = _order(early_stores(_between(at, "  %v6 = load i32, ptr %v4")), "%v6", "store")
    assert loaded < stored


def test_of_other_blocks_stay_behind_phis() -> None:
    lines = early_stores(
        [
            "l8:",
            f"  %v1 = phi {ROW} [ %v9, %b8 ]",
            f"  %v2 = phi {ROW} [ %v8, %b8 ]",
            _add("%v3", "%v1", "%v2"),
            _add("%v4", "%v3", "%v2"),
            _place("%v5", 0),
            _store("%v1", "%v5"),
            "  ret i32 0",
        ]
    )
    assert [" = phi " in line for line in lines[:4]] == [False, True, True, False]
    stored, used = _order(lines, "store", "%v4 =")
    assert stored < used


def _long(*end: str) -> list[str]:
    """A block that uses a value of a row at its beginning and at its end."""
    many = [_add(f"%v{n}", f"%v{n - 1}", f"%v{n - 1}") for n in range(20, 70)]
    return ["b8:", _place("%v1", 2), _load("%v2", "%v1"), _add("%v19", "%v2", "%v2"), *many, *end]


def test_what_was_used_long_ago_is_loaded_again() -> None:
    lines = from_rows(_long(_add("%v80", "%v2", "%v69"), _add("%v81", "%v2", "%v80")), {})
    assert sum(" load " in line for line in lines) == 2
    last = next(line for line in lines if "%v80 =" in line)
    assert "%v2," not in last
    assert "%v2.again" in last
    # What it was loaded for has made the value one that was used just now.
    assert any("%v81 = add" in line and ".again" in line for line in lines)


def test_not_when_its_row_has_another_value() -> None:
    end = [_place("%v75", 2), _store("%v69", "%v75"), _add("%v80", "%v2", "%v69")]
    lines = from_rows(_long(*end), {})
    assert sum(" load " in line for line in lines) == 1
    inside = HEADER_BYTES + 2 * ROW_BYTES + 4
    place = f"  %v75 = getelementptr i8, ptr %rec, i64 {inside}"
    scalar = [place, "  store i64 %v3, ptr %v75"]
    lines = from_rows(_long(*scalar, _add("%v80", "%v2", "%v69")), {})
    assert sum(" load " in line for line in lines) == 1
    lines = from_rows(_long("  call void @f(ptr %env)", _add("%v80", "%v2", "%v69")), {})
    assert sum(" load " in line for line in lines) == 1


def test_floats_are_loaded_from_the_row_of_their_value() -> None:
    many = [_add(f"%v{n}", f"%v{n - 1}", f"%v{n - 1}") for n in range(20, 70)]
    lines = [
        "b8:",
        "  %v1 = fadd <32 x float> %v0, %v0",
        f"  %v2 = bitcast <32 x float> %v1 to {ROW}",
        f"  %v19 = select <32 x i1> %v3, {ROW} splat (i32 2147483647), {ROW} %v2",
        _place("%v4", 1),
        _store("%v19", "%v4"),
        *many,
        "  %v80 = fmul <32 x float> %v1, %v1",
        "  ret i32 0",
    ]
    again = from_rows(lines, {"%v19": "%v1"})
    product = next(line for line in again if "%v80 =" in line)
    assert product.count("%v1.again") == 2
    assert from_rows(lines, {}) == lines
