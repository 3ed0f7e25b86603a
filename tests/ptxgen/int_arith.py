"""PTX integer arithmetic, extended precision and comparison, as the PTX ISA text defines them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.ptxgen.case import Variant
from tests.ptxgen.int_kit import clamp, elementwise, signed, typed, unsigned

TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")
BOTH = ("sm_50", "sm_61")


def _bits(type_: str) -> int:
    return int(type_[1:])


def _tag(value: int) -> str:
    return f"m{-value}" if value < 0 else str(value)


def variants() -> Iterator[Variant]:
    """All of this module."""
    for type_ in TYPES:
        yield from _basic(type_)
        yield from _multiply(type_)
    yield from _special()
    yield from _carry()
    yield from _dot()
    yield from _set()
    yield from _select()


def _basic(t: str) -> Iterator[Variant]:
    n, b = _bits(t), f"b{_bits(t)}"
    two: dict[str, Callable[[int, int], int | None]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "min": min,
        "max": max,
        "div": lambda a, b: None if _undefined(a, b, t) else _quotient(a, b),
        "rem": lambda a, b: None if _undefined(a, b, t) else a - b * _quotient(a, b),
    }
    for op, f in two.items():

        def model(a: int, b: int, f: Callable[[int, int], int | None] = f) -> int | None:
            value = f(typed(a, t), typed(b, t))
            return None if value is None else unsigned(value, n)

        yield elementwise(
            "int_arith",
            f"{op}.{t}",
            f"{op}.{t} %d,%a,%b;",
            f"a:{b} b:{b}",
            f"d:{b}",
            model,
            targets=BOTH,
        )
    if t[0] == "s":
        yield elementwise(
            "int_arith",
            f"abs.{t}",
            f"abs.{t} %d,%a;",
            f"a:{b}",
            f"d:{b}",
            lambda a: unsigned(abs(typed(a, t)), n),
        )
        yield elementwise(
            "int_arith",
            f"neg.{t}",
            f"neg.{t} %d,%a;",
            f"a:{b}",
            f"d:{b}",
            lambda a: unsigned(-a, n),
        )
    yield elementwise(
        "int_arith",
        f"sad.{t}",
        f"sad.{t} %d,%a,%b,%c;",
        f"a:{b} b:{b} c:{b}",
        f"d:{b}",
        lambda a, b, c: unsigned(c + abs(typed(a, t) - typed(b, t)), n),
    )
    for value in (1, -1, 5, 0x7F, -0x80, 0x7FFF):
        yield elementwise(
            "int_imm",
            f"add.{t}.{_tag(value)}",
            f"add.{t} %d,%a,{value & (1 << n) - 1};",
            f"a:{b}",
            f"d:{b}",
            lambda a, v=value: unsigned(a + v, n),
        )
        yield elementwise(
            "int_imm",
            f"rsub.{t}.{_tag(value)}",
            f"sub.{t} %d,{value & (1 << n) - 1},%a;",
            f"a:{b}",
            f"d:{b}",
            lambda a, v=value: unsigned(v - a, n),
        )
    for value in (3, 7, 10, 1000, 16, 0x7FFF):
        for op in ("mul.lo", "div", "rem"):

            def constant(a: int, v: int = value, op: str = op) -> int:
                x = typed(a, t)
                q = _quotient(x, v)
                return unsigned({"mul.lo": x * v, "div": q, "rem": x - v * q}[op], n)

            yield elementwise(
                "int_imm",
                f"{op}.{t}.{value}",
                f"{op}.{t} %d,%a,{value};",
                f"a:{b}",
                f"d:{b}",
                constant,
            )


def _undefined(a: int, b: int, t: str) -> bool:
    return b == 0 or (t[0] == "s" and b == -1 and a == -(1 << (_bits(t) - 1)))


def _quotient(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def _multiply(t: str) -> Iterator[Variant]:
    n, b = _bits(t), f"b{_bits(t)}"
    parts = {"lo": lambda p: unsigned(p, n), "hi": lambda p: unsigned(p >> n, n)}
    for part, f in parts.items():
        yield elementwise(
            "int_mul",
            f"mul.{part}.{t}",
            f"mul.{part}.{t} %d,%a,%b;",
            f"a:{b} b:{b}",
            f"d:{b}",
            lambda a, b, f=f: f(typed(a, t) * typed(b, t)),
            targets=BOTH,
        )
        yield elementwise(
            "int_mul",
            f"mad.{part}.{t}",
            f"mad.{part}.{t} %d,%a,%b,%c;",
            f"a:{b} b:{b} c:{b}",
            f"d:{b}",
            lambda a, b, c, f=f: unsigned(f(typed(a, t) * typed(b, t)) + c, n),
            targets=BOTH,
        )
    if n < 64:
        w = f"b{2 * n}"
        yield elementwise(
            "int_mul",
            f"mul.wide.{t}",
            f"mul.wide.{t} %d,%a,%b;",
            f"a:{b} b:{b}",
            f"d:{w}",
            lambda a, b: unsigned(typed(a, t) * typed(b, t), 2 * n),
            targets=BOTH,
        )
        yield elementwise(
            "int_mul",
            f"mad.wide.{t}",
            f"mad.wide.{t} %d,%a,%b,%c;",
            f"a:{b} b:{b} c:{w}",
            f"d:{w}",
            lambda a, b, c: unsigned(typed(a, t) * typed(b, t) + c, 2 * n),
            targets=BOTH,
        )


def _special() -> Iterator[Variant]:
    def wrapped(a: int, b: int) -> int | None:
        # The negation of MIN inside a saturating subtraction is not settled by practice.
        return None if b == 0x80000000 else clamp(signed(a, 32) - signed(b, 32), 32, True)

    yield elementwise(
        "int_arith",
        "add.sat.s32",
        "add.sat.s32 %d,%a,%b;",
        "a:b32 b:b32",
        "d:b32",
        lambda a, b: clamp(signed(a, 32) + signed(b, 32), 32, True),
    )
    yield elementwise(
        "int_arith", "sub.sat.s32", "sub.sat.s32 %d,%a,%b;", "a:b32 b:b32", "d:b32", wrapped
    )
    yield elementwise(
        "int_mul",
        "mad.hi.sat.s32",
        "mad.hi.sat.s32 %d,%a,%b,%c;",
        "a:b32 b:b32 c:b32",
        "d:b32",
        lambda a, b, c: clamp((signed(a, 32) * signed(b, 32) >> 32) + signed(c, 32), 32, True),
    )
    for t in ("u32", "s32"):

        def product(a: int, b: int, t: str = t) -> int:
            return typed(typed(a, t[0] + "24"), t[0] + "64") * typed(b, t[0] + "24")

        for part, shift in (("lo", 0), ("hi", 16)):
            yield elementwise(
                "int_mul",
                f"mul24.{part}.{t}",
                f"mul24.{part}.{t} %d,%a,%b;",
                "a:b32 b:b32",
                "d:b32",
                lambda a, b, p=product, s=shift: unsigned(p(a, b) >> s, 32),
            )
            yield elementwise(
                "int_mul",
                f"mad24.{part}.{t}",
                f"mad24.{part}.{t} %d,%a,%b,%c;",
                "a:b32 b:b32 c:b32",
                "d:b32",
                lambda a, b, c, p=product, s=shift: unsigned((p(a, b) >> s) + c, 32),
            )
        if t == "s32":
            yield elementwise(
                "int_mul",
                "mad24.hi.sat.s32",
                "mad24.hi.sat.s32 %d,%a,%b,%c;",
                "a:b32 b:b32 c:b32",
                "d:b32",
                lambda a, b, c, p=product: clamp(
                    signed(p(a, b) >> 16, 32) + signed(c, 32), 32, True
                ),
            )


def _carry() -> Iterator[Variant]:
    """Chains of add.cc/addc, sub.cc/subc, mad.cc/madc over two to four words."""
    for t in ("u32", "s32", "u64", "s64"):
        n = _bits(t)
        b = f"b{n}"
        ones = (1 << n) - 1

        def add2(a: int, b: int, c: int, e: int, n: int = n) -> tuple[int, int, int]:
            low = a + b
            high = c + e + (low >> n)
            return unsigned(low, n), unsigned(high, n), high >> n

        def sub2(a: int, b: int, c: int, e: int, n: int = n) -> tuple[int, int, int]:
            total = (a | c << n) - (b | e << n)
            return unsigned(total, n), unsigned(total >> n, n), unsigned(total >> 2 * n, n)

        four = f"a:{b} b:{b} c:{b} e:{b}"
        three = f"d:{b} f:{b} h:{b}"
        yield elementwise(
            "int_carry",
            f"add.cc.{t}",
            f"add.cc.{t} %d,%a,%b; addc.cc.{t} %f,%c,%e; addc.{t} %h,0,0;",
            four,
            three,
            add2,
            targets=BOTH,
        )
        yield elementwise(
            "int_carry",
            f"sub.cc.{t}",
            f"sub.cc.{t} %d,%a,%b; subc.cc.{t} %f,%c,%e; subc.{t} %h,0,0;",
            four,
            three,
            sub2,
            targets=BOTH,
        )
        yield elementwise(
            "int_carry",
            f"add.cc+move.{t}",
            f"add.cc.{t} %d,%a,%b; xor.{b} %f,%c,%e; min.{t} %f,%f,%c; addc.{t} %h,%f,%e;",
            four,
            three,
            lambda a, b, c, e, n=n, t=t: (
                unsigned(a + b, n),
                unsigned(x := min(typed(c ^ e, t), typed(c, t)), n),
                unsigned(x + e + (a + b >> n), n),
            ),
        )
        for op in ("lo", "hi"):

            def mad(
                a: int, b: int, c: int, e: int, n: int = n, t: str = t, op: str = op
            ) -> tuple[int, int]:
                part = typed(a, t) * typed(b, t)
                word = unsigned(part if op == "lo" else part >> n, n)
                total = word + c
                return unsigned(total, n), unsigned(e + (total >> n), n)

            yield elementwise(
                "int_carry",
                f"mad.{op}.cc.{t}",
                f"mad.{op}.cc.{t} %d,%a,%b,%c; addc.{t} %f,%e,0;",
                four,
                f"d:{b} f:{b}",
                mad,
                targets=BOTH,
            )

            def madc(
                a: int,
                b: int,
                c: int,
                e: int,
                n: int = n,
                t: str = t,
                op: str = op,
                ones: int = ones,
            ) -> tuple[int, int, int]:
                carry = (a + ones) >> n
                part = typed(b, t) * typed(c, t)
                word = unsigned(part if op == "lo" else part >> n, n)
                total = word + e + carry
                return unsigned(a + ones, n), unsigned(total, n), total >> n

            yield elementwise(
                "int_carry",
                f"madc.{op}.cc.{t}",
                f"add.cc.{t} %d,%a,-1; madc.{op}.cc.{t} %f,%b,%c,%e; addc.{t} %h,0,0;",
                four,
                three,
                madc,
            )
    yield elementwise(
        "int_carry",
        "mul128",
        "mul.lo.u64 %d,%a,%b; mul.hi.u64 %f,%a,%b; mad.lo.cc.u64 %h,%a,%c,%e;"
        " madc.hi.u64 %g,%a,%c,0;",
        "a:b64 b:b64 c:b64 e:b64",
        "d:b64 f:b64 h:b64 g:b64",
        lambda a, b, c, e: (
            unsigned(a * b, 64),
            a * b >> 64,
            unsigned(a * c + e, 64),
            unsigned(a * c + e >> 64, 64),
        ),
    )
    yield elementwise(
        "int_carry",
        "add4x32",
        "add.cc.u32 %d,%a,%b; addc.cc.u32 %f,%a,%c; addc.cc.u32 %g,%b,%c; addc.u32 %h,%a,%a;",
        "a:b32 b:b32 c:b32",
        "d:b32 f:b32 g:b32 h:b32",
        _add4,
    )


def _add4(a: int, b: int, c: int) -> tuple[int, ...]:
    left = a | a << 32 | b << 64 | a << 96
    right = b | c << 32 | c << 64 | a << 96
    total = left + right
    return tuple(unsigned(total >> 32 * k, 32) for k in range(4))


def _dot() -> Iterator[Variant]:
    def parts(value: int, bits: int, kind: str) -> list[int]:
        return [typed(value >> bits * k, kind[0] + str(bits)) for k in range(32 // bits)]

    for at in ("u32", "s32"):
        for bt in ("u32", "s32"):

            def four(a: int, b: int, c: int, at: str = at, bt: str = bt) -> int:
                pairs = zip(parts(a, 8, at), parts(b, 8, bt), strict=True)
                return unsigned(c + sum(x * y for x, y in pairs), 32)

            yield elementwise(
                "int_dot",
                f"dp4a.{at}.{bt}",
                f"dp4a.{at}.{bt} %d,%a,%b,%c;",
                "a:b32 b:b32 c:b32",
                "d:b32",
                four,
                targets=("sm_61",),
            )
            for half, start in (("lo", 0), ("hi", 2)):

                def two(a: int, b: int, c: int, at: str = at, bt: str = bt, k: int = start) -> int:
                    pairs = zip(parts(a, 16, at), parts(b, 8, bt)[k : k + 2], strict=True)
                    return unsigned(c + sum(x * y for x, y in pairs), 32)

                yield elementwise(
                    "int_dot",
                    f"dp2a.{half}.{at}.{bt}",
                    f"dp2a.{half}.{at}.{bt} %d,%a,%b,%c;",
                    "a:b32 b:b32 c:b32",
                    "d:b32",
                    two,
                    targets=("sm_61",),
                )


COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
BOOL = {"and": lambda x, y: x and y, "or": lambda x, y: x or y, "xor": lambda x, y: x != y}


def _comparisons() -> Iterator[tuple[str, str, str]]:
    """(PTX operator, type, meaning)."""
    for t in ("b16", "b32", "b64"):
        yield from ((op, t, op) for op in ("eq", "ne"))
    for t in TYPES:
        yield from ((op, t, op) for op in COMPARE)
        if t[0] == "u":
            yield from ((op, t, plain) for op, plain in UNSIGNED_NAMES.items())


def _set() -> Iterator[Variant]:
    for op, t, plain in _comparisons():
        n, kind = _bits(t), t.replace("b", "u")
        b = f"b{n}"

        def test(a: int, b: int, plain: str = plain, kind: str = kind) -> bool:
            return bool(COMPARE[plain](typed(a, kind), typed(b, kind)))

        yield elementwise(
            "int_setp",
            f"setp.{op}.{t}",
            f"setp.{op}.{t} %p,%a,%b;",
            f"a:{b} b:{b}",
            "p:pred",
            lambda a, b, f=test: int(f(a, b)),
        )
        if t[0] != "b" and op in COMPARE:
            for value in (0, 1, -1, 100):
                shown = unsigned(value, n) if t[0] == "u" else value
                yield elementwise(
                    "int_setp_imm",
                    f"setp.{op}.{t}.{_tag(value)}",
                    f"setp.{op}.{t} %p,%a,{shown};",
                    f"a:{b}",
                    "p:pred",
                    lambda a, f=test, v=value, n=n: int(f(a, unsigned(v, n))),
                )
        name = list(BOOL)[len(op + t + plain) % 3]
        yield elementwise(
            "int_setp_bool",
            f"setp.{op}.{name}.{t}",
            f"setp.{op}.{name}.{t} %p|%q,%a,%b,%c;",
            f"a:{b} b:{b} c:pred",
            "p:pred q:pred",
            lambda a, b, c, f=test, g=BOOL[name]: (
                int(g(f(a, b), bool(c))),
                int(g(not f(a, b), bool(c))),
            ),
        )
        yield elementwise(
            "int_setp_bool",
            f"setp.{op}.{name}.not.{t}",
            f"setp.{op}.{name}.{t} %p|%q,%a,%b,!%c;",
            f"a:{b} b:{b} c:pred",
            "p:pred q:pred",
            lambda a, b, c, f=test, g=BOOL[name]: (
                int(g(f(a, b), not c)),
                int(g(not f(a, b), not c)),
            ),
        )
        for k, dtype in enumerate(("u32", "s32", "f32")):
            one = 0x3F800000 if dtype == "f32" else 0xFFFFFFFF
            yield elementwise(
                "int_set",
                f"set.{op}.{dtype}.{t}",
                f"set.{op}.{dtype}.{t} %d,%a,%b;",
                f"a:{b} b:{b}",
                "d:b32",
                lambda a, b, f=test, one=one: one if f(a, b) else 0,
            )
            other = list(BOOL)[(len(op + t) + k) % 3]
            yield elementwise(
                "int_set",
                f"set.{op}.{other}.{dtype}.{t}",
                f"set.{op}.{other}.{dtype}.{t} %d,%a,%b,%c;",
                f"a:{b} b:{b} c:pred",
                "d:b32",
                lambda a, b, c, f=test, g=BOOL[other], one=one: one if g(f(a, b), bool(c)) else 0,
            )


def _select() -> Iterator[Variant]:
    for t in ("b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
        b = f"b{_bits(t)}"
        yield elementwise(
            "int_select",
            f"selp.{t}",
            f"selp.{t} %d,%a,%b,%c;",
            f"a:{b} b:{b} c:pred",
            f"d:{b}",
            lambda a, b, c: a if c else b,
        )
        yield elementwise(
            "int_select",
            f"slct.{t}.s32",
            f"slct.{t}.s32 %d,%a,%b,%c;",
            f"a:{b} b:{b} c:b32",
            f"d:{b}",
            lambda a, b, c: a if signed(c, 32) >= 0 else b,
        )
        yield elementwise(
            "int_select",
            f"slct.{t}.f32",
            f"slct.{t}.f32 %d,%a,%b,%c;",
            f"a:{b} b:{b} c:b32",
            f"d:{b}",
            _slct_float,
        )
        yield elementwise(
            "int_select",
            f"slct.ftz.{t}.f32",
            f"slct.ftz.{t}.f32 %d,%a,%b,%c;",
            f"a:{b} b:{b} c:b32",
            f"d:{b}",
            lambda a, b, c: _slct_float(a, b, c if c & 0x7F800000 else c & 0x80000000),
        )
    for op in ("and", "or", "xor"):
        yield elementwise(
            "int_select",
            f"{op}.pred",
            f"{op}.pred %p,%a,%b;",
            "a:pred b:pred",
            "p:pred",
            lambda a, b, g=BOOL[op]: int(g(bool(a), bool(b))),
        )
    yield elementwise(
        "int_select", "not.pred", "not.pred %p,%a;", "a:pred", "p:pred", lambda a: 1 - a
    )


def _slct_float(a: int, b: int, c: int) -> int:
    """c >= 0.0 as a float; -0 counts as 0, NaN selects b."""
    magnitude = c & 0x7FFFFFFF
    if magnitude > 0x7F800000:
        return b
    return a if magnitude == 0 or c < 0x80000000 else b
