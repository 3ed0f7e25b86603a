"""CUDA's math functions, compiled from C++, against multiprecision values.

Each function runs on ordinary and extreme arguments; a result may be off by the maximum error that
the CUDA programming guide gives (in units of the last place).  These run the long sequences that
ptxas and the math library make of double-precision and special-function instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from tests.numeric import model
from tests.ptxgen import ref
from tests.ptxgen.case import In, Out, Variant

COUNT = 128
BOTH = ("sm_50", "sm_61")
Real = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Function:
    """A C function: arguments, ulp bounds for float and double, and its mathematical meaning.

    `low`, `high` bound the arguments (`wide`: any exponent, within them).  `special` is the float
    function for zeros, infinities and NaN, where mpmath has none.
    """

    name: str
    true: Real
    ulp32: float
    ulp64: float
    low: float = -20.0
    high: float = 20.0
    special: Real | None = None
    arguments: int = 1
    wide: bool = False


def _pow(x: Any, y: Any) -> Any:
    return mpmath.power(x, y)


TABLE = (
    Function("sin", mpmath.sin, 2, 2, -1e6, 1e6, np.sin, wide=True),
    Function("cos", mpmath.cos, 2, 2, -1e6, 1e6, np.cos, wide=True),
    Function("tan", mpmath.tan, 4, 2, -1e5, 1e5, np.tan, wide=True),
    Function("sinpi", lambda x: mpmath.sinpi(x), 2, 2, -100, 100),
    Function("cospi", lambda x: mpmath.cospi(x), 2, 2, -100, 100),
    Function("asin", mpmath.asin, 4, 2, -1, 1, np.arcsin),
    Function("acos", mpmath.acos, 3, 2, -1, 1, np.arccos),
    Function("atan", mpmath.atan, 2, 2, -1e30, 1e30, np.arctan, wide=True),
    Function("atan2", mpmath.atan2, 3, 2, -50, 50, np.arctan2, arguments=2),
    Function("sinh", mpmath.sinh, 3, 2, -80, 80, np.sinh),
    Function("cosh", mpmath.cosh, 2, 1, -80, 80, np.cosh),
    Function("tanh", mpmath.tanh, 2, 2, -30, 30, np.tanh),
    Function("asinh", mpmath.asinh, 3, 3, -1e30, 1e30, np.arcsinh, wide=True),
    Function("acosh", mpmath.acosh, 4, 3, 1, 1e30, np.arccosh, wide=True),
    Function("atanh", mpmath.atanh, 3, 2, -0.999, 0.999, np.arctanh),
    Function("exp", mpmath.exp, 2, 1, -80, 80, np.exp),
    Function("exp2", lambda x: mpmath.mpf(2) ** x, 2, 1, -120, 120, np.exp2),
    Function("exp10", lambda x: mpmath.mpf(10) ** x, 2, 1, -36, 36),
    Function("expm1", mpmath.expm1, 2, 1, -80, 80, np.expm1),
    Function("log", mpmath.log, 1, 1, 1e-38, 1e38, np.log, wide=True),
    Function("log2", lambda x: mpmath.log(x, 2), 2, 2, 1e-38, 1e38, np.log2, wide=True),
    Function("log10", mpmath.log10, 3, 1, 1e-38, 1e38, np.log10, wide=True),
    Function("log1p", mpmath.log1p, 2, 1, -0.9, 1e30, np.log1p, wide=True),
    Function("pow", _pow, 8, 2, 0.01, 30, arguments=2),
    Function("cbrt", mpmath.cbrt, 1, 1, 1e-38, 1e38, np.cbrt, wide=True),
    Function("rcbrt", lambda x: 1 / mpmath.cbrt(x), 2, 1, 1e-38, 1e38, wide=True),
    Function("rsqrt", lambda x: 1 / mpmath.sqrt(x), 2, 1, 1e-38, 1e38, wide=True),
    Function("sqrt", mpmath.sqrt, 0.5, 0.5, 1e-38, 1e38, np.sqrt, wide=True),
    Function("hypot", mpmath.hypot, 3, 2, -1e15, 1e15, np.hypot, arguments=2, wide=True),
    Function("erf", mpmath.erf, 2, 2, -6, 6),
    Function("erfc", mpmath.erfc, 4, 5, -5, 9),
    Function("erfinv", mpmath.erfinv, 3, 5, -0.999, 0.999),
    Function("erfcx", lambda x: mpmath.exp(x * x) * mpmath.erfc(x), 4, 4, -2, 20),
    Function("normcdf", mpmath.ncdf, 6, 5, -5, 5),
    Function("lgamma", lambda x: mpmath.loggamma(x).real, 6, 4, 3, 100),
    Function("tgamma", mpmath.gamma, 11, 10, 0.1, 30),
    Function("j0", lambda x: mpmath.besselj(0, x), 100, 100, 0.1, 2),
    Function("cyl_bessel_i0", lambda x: mpmath.besseli(0, x), 6, 6, 0.1, 9),
    Function("fmod", lambda x, y: mpmath.sign(x) * mpmath.fmod(abs(x), abs(y)), 0.5, 0.5,
             -1e6, 1e6, np.fmod, arguments=2, wide=True),
    Function("fdim", lambda x, y: max(x - y, mpmath.mpf(0)), 0.5, 0.5, arguments=2),
    Function("rint", mpmath.nint, 0.5, 0.5, -1e9, 1e9, np.rint, wide=True),
    Function("round", lambda x: mpmath.sign(x) * mpmath.floor(abs(x) + 0.5), 0.5, 0.5, wide=True),
    Function("floor", mpmath.floor, 0.5, 0.5, -1e9, 1e9, np.floor, wide=True),
    Function("ceil", mpmath.ceil, 0.5, 0.5, -1e9, 1e9, np.ceil, wide=True),
    Function("trunc", lambda x: mpmath.sign(x) * mpmath.floor(abs(x)), 0.5, 0.5, special=np.trunc),
)  # fmt: skip

SPECIALS = (0.0, -0.0, math.inf, -math.inf, math.nan)


def arguments(function: Function, fmt: str, which: int) -> np.ndarray:
    """COUNT arguments; the first few are zeros, infinities and NaN if those are tested."""
    rng = np.random.default_rng(100 + which)
    low, high = function.low, function.high
    if function.wide and low > 0:
        values = np.exp(rng.uniform(math.log(low * 1.5), math.log(high / 1.5), COUNT))
    elif function.wide:
        values = np.exp(rng.uniform(math.log(1e-9), math.log(high / 1.5), COUNT))
        values *= rng.choice([-1.0, 1.0], COUNT)
        inside = (low <= values) & (values <= high)
        values = np.where(inside, values, rng.uniform(low, 1, COUNT))
    else:
        values = rng.uniform(low, high, COUNT)
    if function.special is not None:
        values[: len(SPECIALS)] = SPECIALS if which == 0 else values[: len(SPECIALS)]
    if fmt == "f32":
        return values.astype(np.float32).view(np.uint32)
    return values.view(np.uint64)


def limits(function: Function, fmt: str, columns: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Lowest and highest pattern allowed for each element."""
    dtype, real = (np.uint32, np.float32) if fmt == "f32" else (np.uint64, np.float64)
    bound = function.ulp32 if fmt == "f32" else function.ulp64
    rows = []
    for index in range(COUNT):
        values = [float(c[index].view(real)) for c in columns]
        special = function.special is not None and index < len(SPECIALS)
        if special or not all(map(math.isfinite, values)):
            assert function.special is not None
            with np.errstate(all="ignore"):
                bits = int(real(function.special(*map(np.float64, values))).view(dtype))
            rows.append((bits, bits))
            continue
        true = function.true(*map(mpmath.mpf, values))
        rows.append(ref.around(true, bound * _ulp(true, fmt), fmt, False))
    low, high = zip(*rows, strict=True)
    return np.array(low, dtype), np.array(high, dtype)


def _ulp(x: Any, fmt: str) -> Any:
    """The unit of the last place of a format at x."""
    precision, emax, _ = model.FORMATS[fmt]
    exponent = int(mpmath.floor(mpmath.log(abs(x), 2))) if x else -emax
    return mpmath.mpf(2) ** (max(exponent, 1 - emax) - precision + 1)


def variants() -> list[Variant]:
    """All of them."""
    with mpmath.workprec(200):
        return list(_all())


def _all() -> Iterator[Variant]:
    for function in TABLE:
        for fmt, ctype, suffix in (("f32", "float", "f"), ("f64", "double", "")):
            columns = [arguments(function, fmt, k) for k in range(function.arguments)]
            low, high = limits(function, fmt, columns)
            call = f"{function.name}{suffix}"
            names = "ab"[: function.arguments]
            parameters = "".join(f"const {ctype} *{n}, " for n in names)
            entry = "t_" + call
            source = ", ".join(f"{n}[i]" for n in names)
            text = (
                f'extern "C" __global__ void {entry}({parameters}{ctype} *d)\n'
                f"{{ int i = blockIdx.x * blockDim.x + threadIdx.x; d[i] = {call}({source}); }}\n"
            )
            yield Variant(
                "cuda_math", call, f"d = {call}({', '.join(names)})",
                {n: In(fmt, c) for n, c in zip(names, columns, strict=True)},
                {"d": Out(fmt, low, "range", fmt, high)}, BOTH, text=text, language="cuda",
            )  # fmt: skip
