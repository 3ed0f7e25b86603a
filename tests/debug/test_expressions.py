"""Expressions: C arithmetic in 32 lanes, names, memory, places, and refusal of bad text."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpudbg.errors import CommandError
from gpudbg.expr import assign, evaluate, parse
from gpudbg.expr.evaluation import Place, Result, per_lane, uniform
from gpudbg.expr.types import TYPES, U32, CType, Struct, StructField
from gpudbg.symbols.declared import vector_type

LANE = np.arange(32, dtype=np.uint32)


PAIR = Struct("Pair", (StructField("a", TYPES["int"], 0), StructField("b", U32, 4)), 8)


class FakeContext:
    """A warp whose R<n> is 100*n + lane, with 1 KiB of shared memory counting words."""

    def __init__(self) -> None:
        self.registers = {n: (LANE + np.uint32(100 * n)).copy() for n in range(16)}
        self.shared = np.arange(256, dtype=np.uint32).view(np.uint8).copy()
        self.variables: dict[str, Result] = {}
        self.written: list[tuple[Place, Any]] = []

    def register(self, index: int) -> Any:
        if index not in self.registers:
            raise CommandError(f"no register R{index}")
        return self.registers[index]

    def predicate(self, index: int) -> Any:
        return LANE % 2 == 0 if index == 0 else np.ones(32, bool)

    def flag(self, name: str) -> Any:
        return LANE == 3 if name == "Z" else np.zeros(32, bool)

    def variable(self, text: str) -> Result | None:
        return None

    def name(self, text: str) -> Result | None:
        if text in self.variables:
            return self.variables[text]
        if text in ("threadIdx.x", "%tid.x"):
            return per_lane(LANE.copy(), U32)
        return None

    def is_function(self, name: str) -> bool:
        return False

    def no_variables(self) -> str:
        return ""

    def function_scope(self, name: str) -> FakeContext:
        return self

    def check_file(self, name: str) -> None:
        pass

    def type(self, name: str) -> CType | None:
        return {"Pair": PAIR, "ns::Box<int>": PAIR}.get(name) or vector_type(name)

    def suggestions(self, text: str) -> list[str]:
        return ["threadIdx.x"] if text.startswith("thread") else []

    def read(self, space: str, addresses: Any, size: int) -> Any:
        if space not in ("shared", "local"):
            # As `generic` makes them.
            window = addresses >= np.uint64(0x1000000)
            addresses = np.where(window, addresses - np.uint64(0x1000000), addresses)
        # No sum: the last addresses of all would wrap to small ones.
        ok = addresses <= np.uint64(max(len(self.shared) - size, 0))
        out = np.zeros((32, size), np.uint8)
        for i in range(32):
            if ok[i]:
                at = int(addresses[i])
                out[i] = self.shared[at : at + size]
        return out, ok, "" if ok.all() else "outside shared memory"

    def generic(self, space: str, addresses: Any) -> Any:
        return addresses + np.uint64({"shared": 0x1000000, "local": 0x3000000}.get(space, 0))

    def read_const(self, bank: int, offset: int, size: int) -> bytes:
        return (0x1234).to_bytes(size, "little")

    def write_place(self, place: Place, raw: Any) -> None:
        self.written.append((place, raw))

    def set_variable(self, name: str, value: Result) -> None:
        self.variables[name] = Result(
            value.type, value.values, value.valid, Place("variable", name=name)
        )


def value(text: str, lane: int = 5) -> Any:
    return evaluate(parse(text), FakeContext()).values[lane].item()


@pytest.mark.in_turn(20)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("-7/2", -3),
        ("-7%3", -1),
        ("7u/2", 3),
        ("0xffffffff", 0xFFFFFFFF),
        ("0xffffffff + 1", 0),
        ("2147483647 + 1", -2147483648),
        ("1 << 31", -2147483648),
        ("-1 >> 4", -1),
        ("0x80000000 >> 4", 0x8000000),
        ("1 ? 2 : 3", 2),
        ("1.5f*2", 3.0),
        ("!5", False),
        ("~0", -1),
        ("5 == 5 && 3 < 2 || 1", True),
        ("$R4", 405),
        ("R4 - 400", 5),
        ("$L2", 205 | 305 << 32),
        ("$P0", False),
        ("$CC.Z", False),
        ("$CC", 0),
        ("threadIdx.x*2", 10),
        ("%tid.x %2", 1),
        ("7 %4", 3),
        ("c[0x0][0x140]", 0x1234),
        ("shared[3]", 3),
        ("*(@shared int*)0x20", 8),
        ("((@shared u8*)0x20)[4]", 9),
        ("*((@shared int*)0x20 + 1)", 9),
        ("(char)255", -1),
        ("(u8)300", 44),
        ("(float)3", 3.0),
        ("(int)-2.7", -2),
        ("'A'", 65),
        ("RZ", 0),
        ("(unsigned long long)1 << 40", 1 << 40),
        ("010 + 1", 9),
        ("((1, 2), 3)", 3),
        ("((Pair*)(@shared int*)0x20)->b", 9),
        ("(*(@shared Pair*)0x20).b", 9),
        ("(*(@shared struct Pair*)0x20).a", 8),
        ("((@shared Pair*)0)[2].b", 5),
        ("(*(@shared ns::Box<int> *)0x20).b", 9),
        ("((@shared uint4*)0)[1].w", 7),
        ("sizeof(struct Pair)", 8),
        ("sizeof(Pair[3])", 24),
        ("sizeof(Pair*)", 8),
        ("sizeof(unsigned[2][3])", 24),
        ("sizeof(float4)", 16),
        ("sizeof(R4)", 4),
        ("sizeof(1, 2)", 4),
        ("({@shared Pair[2]}0x20)[1].a", 10),
        ("{@shared u16}0x22", 0),
        ("(R4)-400", 5),
        ("(R4 < 3 > 0)", False),
    ],
)
def test_value_in_a_lane(text: str, expected: Any) -> None:
    assert value(text) == expected


def test_float_view_of_a_register() -> None:
    context = FakeContext()
    context.registers[4] = np.full(32, 0x3FC00000, np.uint32)
    assert evaluate(parse("$F4"), context).values[0] == 1.5
    context.registers[5] = np.full(32, 0x3FF80000, np.uint32)
    context.registers[4] = np.zeros(32, np.uint32)
    assert evaluate(parse("$D4"), context).values[0] == 1.5


def test_lanes_that_cannot_be_read_have_no_value() -> None:
    result = evaluate(parse("*(@shared int*)(threadIdx.x*64)"), FakeContext())
    assert result.valid.tolist() == [i * 64 + 4 <= 1024 for i in range(32)]
    assert "outside" in result.why


def test_what_cannot_be_read_has_an_address() -> None:
    """As the end of an array has, in the lanes in which it can be computed."""
    beyond = evaluate(parse("&((@shared int*)0)[256]"), FakeContext())
    assert beyond.valid.all()
    assert beyond.values.tolist() == [1024] * 32
    index = "&((@shared int*)0)[threadIdx.x ? 300 / (threadIdx.x - 5) : 0]"
    assert (~evaluate(parse(index), FakeContext()).valid).nonzero()[0].tolist() == [5]


def test_division_by_zero_is_no_value() -> None:
    result = evaluate(parse("12/(threadIdx.x-3)"), FakeContext())
    assert not result.valid[3]
    assert result.values[5] == 6


def test_assignment_names_the_place() -> None:
    context = FakeContext()
    tree = parse("$R4 = 7")
    evaluate(tree, context)
    place, raw = context.written[0]
    assert (place.kind, place.index) == ("register", 4)
    assert raw.view(np.uint32).reshape(32)[0] == 7
    assign(evaluate(parse("shared[2]"), context), uniform(9, TYPES["int"]), context)
    assert context.written[1][0].space == "shared"


def test_convenience_variable() -> None:
    context = FakeContext()
    evaluate(parse("$limit = 12"), context)
    assert evaluate(parse("$limit * 2"), context).values[0] == 24


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing"),
        ("1 +", "ends too early"),
        ("1 2", "column 3"),
        ("threadIdx.q", "did you mean threadIdx.x"),
        ("$R99", "no register R99"),
        ("(@nowhere int*)4", "unknown address space"),
        ("&5", "no address|address"),
        ("1.5 & 2", "floats"),
        ("#", "unexpected"),
        ("5 = 6", "left side"),
        ("(" * 500 + "1" + ")" * 500, "deeply"),
        ("(Nope*)0", "No type named Nope"),
        ("sizeof(struct Nope)", "No type named Nope"),
        ("(Pair)1", "cannot convert int to Pair"),
        ("sizeof(Pair[0])", "1 to"),
        ("sizeof(Pair[99999999])", "1 to"),
        ("{1}0", "a type is expected"),
        ("019", "octal"),
    ],
)
def test_bad_text_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        evaluate(parse(text), FakeContext())


@settings(max_examples=300)
@example("*-1")
@given(
    st.text(alphabet="()[]{}$RPcLD0123456789xX+-*/%&|^~!<>=?:.,@ \"'shared_int*tid", max_size=40)
)
def test_any_text_gives_a_value_or_a_command_error(text: str) -> None:
    with contextlib.suppress(CommandError):
        assert evaluate(parse(text), FakeContext()).values.shape == (32,)


@settings(max_examples=200)
@given(
    st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1), st.sampled_from("+-*&|^")
)
def test_int_arithmetic_wraps_like_c(a: int, b: int, op: str) -> None:
    exact = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op]
    wrapped = (exact + 2**31) % 2**32 - 2**31
    assert value(f"(int)({a}) {op} (int)({b})") == wrapped
