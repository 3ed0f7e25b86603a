"""CUDA C++ and PTX to cubins: NVRTC and ptxas, from the PyPI wheels of `gpudbg[cuda]`.

    gpudbg.load("kernel.cu", arch="sm_52", options=["-DN=4"])
    gpudbg.compile(source_text)
    compile_file("kernel.ptx", CompileOptions(arch="sm_61")).cubin

Neither tool needs a GPU, a driver or a CUDA installation.  GPUDBG_NVRTC and GPUDBG_PTXAS name
others to use.  What the compilers say goes to the logger "gpudbg.compile" (standard error unless
the program configures it), or into the `CompileError` when there is no result.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpudbg.dataclass import dataclass
from gpudbg.errors import CompileError, LoadError, UsageError
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.lines import PTX_LINE, read_lines
from gpudbg.formats.names import plain_name
from gpudbg.formats.program import Program
from gpudbg.formats.reading import read_bytes
from gpudbg.toolchain import ptx
from gpudbg.toolchain.hostcode import HostCode, split, template_kernels
from gpudbg.toolchain.hostfiles import (
    DEVICE_DEFAULT,
    SEARCHES,
    Files,
    fewer_instances,
    folders_of,
    with_deduced,
)
from gpudbg.toolchain.hostproject import advice, kernel_files
from gpudbg.toolchain.installed import INSTALL, find_nvrtc, runtime_headers
from gpudbg.toolchain.nvrtc import Nvrtc
from gpudbg.toolchain.options import CompileOptions, looks_like_ptx
from gpudbg.toolchain.ptx import DEFAULT_ARCH

LOG = logging.getLogger("gpudbg.compile")

NEWER_ARCH = "sm_61"
_ARCH_FUNCTION = re.compile(
    r"\b(?:__half2?|half2?|__h[a-z]\w*|h(?:exp|log|sin|cos|sqrt)\w*|atomic\w+|__dp[24]a\w*)\b"
)
"""What the default architecture lacks, or may lack."""
BYTE_ORDER_MARK = "\ufeff"

_EMPTY_HEADERS = """
cuda_runtime.h cuda_runtime_api.h device_launch_parameters.h device_functions.h
assert.h cassert cstdio cstdlib cstring ctime errno.h memory.h stdio.h stdlib.h
string.h strings.h stdarg.h cstdarg fcntl.h sys/stat.h sys/time.h time.h unistd.h
stdbool.h inttypes.h sys/resource.h pthread.h sched.h omp.h malloc.h getopt.h
algorithm any array atomic bitset cctype cerrno charconv chrono cinttypes condition_variable
csignal cwchar deque exception execution filesystem forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator list locale map memory mutex
new numeric optional ostream queue random ratio regex set sstream stack stdexcept streambuf
string string_view system_error thread tuple typeindex typeinfo unordered_map unordered_set
valarray variant vector
""".split()

_HOST_LIBRARIES = """
cudaProfiler.h cuda_gl_interop.h cuda_profiler_api.h cufft.h curand.h cusolverDn.h cusolverSp.h
cusparse.h nccl.h npp.h nvToolsExt.h nvml.h nvrtc.h
""".split()
"""Of NVIDIA's libraries that the host alone calls."""

_INTEGERS = "".join(
    f"typedef {sign}{words} {'u' if sign else ''}int{bits}_t;\n"
    for bits, words in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
    for sign in ("", "unsigned ")
).replace("typedef char", "typedef signed char")

_INTEGER_LIMITS = (
    "".join(
        f"#define INT{n}_MAX {(1 << n - 1) - 1}{ending}\n#define INT{n}_MIN (-INT{n}_MAX - 1)\n"
        f"#define UINT{n}_MAX {(1 << n) - 1}{'u' if n > 16 else ''}{ending}\n"
        f"#define INT{n}_C(x) x{glued}\n#define UINT{n}_C(x) x{unsigned}\n"
        for n, ending, glued, unsigned in (
            (8, "", "", ""),
            (16, "", "", ""),
            (32, "", "", " ## u"),
            (64, "ll", " ## ll", " ## ull"),
        )
    )
    + "#define SIZE_MAX UINT64_MAX\n"
)

_INTEGER_NAMES = (*re.findall(r"\w+_t(?=;)", _INTEGERS), "uintptr_t", "intptr_t")

_CONSTANTS = (
    ("M_E", "2.7182818284590452354"),
    ("M_LOG2E", "1.4426950408889634074"),
    ("M_LOG10E", "0.43429448190325182765"),
    ("M_LN2", "0.69314718055994530942"),
    ("M_LN10", "2.30258509299404568402"),
    ("M_PI", "3.14159265358979323846"),
    ("M_PI_2", "1.57079632679489661923"),
    ("M_PI_4", "0.78539816339744830962"),
    ("M_1_PI", "0.31830988618379067154"),
    ("M_2_PI", "0.63661977236758134308"),
    ("M_2_SQRTPI", "1.12837916709551257390"),
    ("M_SQRT2", "1.41421356237309504880"),
    ("M_SQRT1_2", "0.70710678118654752440"),
    ("INFINITY", "__int_as_float(0x7f800000)"),
    ("NAN", "__int_as_float(0x7fffffff)"),
    ("HUGE_VAL", "__longlong_as_double(0x7ff0000000000000LL)"),
)
"""Of math.h."""

_FUNCTIONS = (
    "abs acos asin atan atan2 ceil cos cosh exp fabs floor fmax fmin fmod isfinite isinf isnan "
    "ldexp log log10 max min pow round sin sinh sqrt tan tanh trunc"
).split()
"""Of math.h, by their names in std."""

_STD_TYPES = (
    "namespace std { typedef decltype(sizeof 0) size_t; typedef long ptrdiff_t; "
    "typedef decltype(nullptr) nullptr_t; }\n"
)
"""Of the C++ library; each of its headers brings them along."""

_TENSOR_MAP_ENUMS = (
    "DataType: DATA_TYPE_UINT8 DATA_TYPE_UINT16 DATA_TYPE_UINT32 DATA_TYPE_INT32 DATA_TYPE_UINT64"
    " DATA_TYPE_INT64 DATA_TYPE_FLOAT16 DATA_TYPE_FLOAT32 DATA_TYPE_FLOAT64 DATA_TYPE_BFLOAT16"
    " DATA_TYPE_FLOAT32_FTZ DATA_TYPE_TFLOAT32 DATA_TYPE_TFLOAT32_FTZ",
    "Interleave: INTERLEAVE_NONE INTERLEAVE_16B INTERLEAVE_32B",
    "Swizzle: SWIZZLE_NONE SWIZZLE_32B SWIZZLE_64B SWIZZLE_128B",
    "L2promotion: L2_PROMOTION_NONE L2_PROMOTION_L2_64B L2_PROMOTION_L2_128B L2_PROMOTION_L2_256B",
    "FloatOOBfill: FLOAT_OOB_FILL_NONE FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA",
)
"""Of cuda.h: host structures beside kernels have them."""


def _tensor_maps() -> str:
    """What kernels, and structures that host and device share, have of cuda.h."""
    lines = [
        "struct __attribute__((aligned(64))) CUtensorMap_st { unsigned long long opaque[16]; };",
        "typedef CUtensorMap_st CUtensorMap;",
        "typedef unsigned long long CUdeviceptr;",
    ]
    for row in _TENSOR_MAP_ENUMS:
        name, _, words = row.partition(": ")
        listed = ", ".join(f"CU_TENSOR_MAP_{word}" for word in words.split())
        lines.append(f"enum CUtensorMap{name} {{ {listed} }};")
    return "\n".join([*lines, ""])


_TENSOR_MAPS = _tensor_maps()

HEADERS: Mapping[str, str] = {
    **dict.fromkeys(_EMPTY_HEADERS, _STD_TYPES),
    **dict.fromkeys(
        ("stdint.h", "cstdint"),
        "#pragma once\n"
        + _INTEGERS
        + _INTEGER_LIMITS
        + "typedef unsigned long long uintptr_t;\ntypedef long long intptr_t;\n"
        + f"namespace std {{ {' '.join(f'using ::{name};' for name in _INTEGER_NAMES)} }}\n",
    ),
    **dict.fromkeys(
        ("math.h", "cmath"),
        "#pragma once\n"
        + "".join(f"#define {name} {value}\n" for name, value in _CONSTANTS)
        + f"namespace std {{ {' '.join(f'using ::{name};' for name in _FUNCTIONS)} }}\n",
    ),
    "sys/types.h": "#pragma once\ntypedef unsigned char u_char;\n"
    + "".join(f"typedef unsigned {t} u{t};\n" for t in ("int", "short", "long")),
    **dict.fromkeys(
        ("cublas_v2.h", "cublasLt.h", "cublas.h", "cudnn.h"),
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n",
    ),
    **dict.fromkeys(_HOST_LIBRARIES, ""),
    **dict.fromkeys(
        ("cuda.h", "cudaTypedefs.h"),
        "#pragma once\n" + _STD_TYPES + _TENSOR_MAPS,
    ),
    **dict.fromkeys(
        ("stdio.h", "cstdio"),
        "#pragma once\ntypedef struct _IO_FILE FILE;\nnamespace std { using ::FILE; }\n",
    ),
    "unistd.h": "#define _POSIX_VERSION 200809L\n",
    **dict.fromkeys(("stddef.h", "cstddef"), "#define NULL 0\n" + _STD_TYPES),
    **dict.fromkeys(
        ("limits.h", "climits"),
        "#define CHAR_BIT 8\n#define INT_MAX 0x7fffffff\n#define INT_MIN (-INT_MAX - 1)\n"
        "#define UINT_MAX 0xffffffffU\n#define LLONG_MAX 0x7fffffffffffffffLL\n"
        "#define LLONG_MIN (-LLONG_MAX - 1)\n#define ULLONG_MAX 0xffffffffffffffffULL\n",
    ),
    **dict.fromkeys(
        ("float.h", "cfloat"),
        "#define FLT_MAX 3.402823466e+38F\n#define FLT_MIN 1.175494351e-38F\n"
        "#define FLT_EPSILON 1.192092896e-07F\n#define DBL_MAX 1.7976931348623158e+308\n"
        "#define DBL_MIN 2.2250738585072014e-308\n#define DBL_EPSILON 2.2204460492503131e-016\n",
    ),
}
"""Stand-ins for host headers: device code has what it needs of them built in."""

_DEVICE_STD = ("array", "limits", "tuple", "type_traits", "utility")
_CUDA_STD = "#pragma once\n#include <cuda/std/{}>\nnamespace std {{ using namespace cuda::std; }}\n"
"""Headers of the C++ library that device code uses as they are, in NVIDIA's version for devices."""

_COMMON_HEADERS = ("stdint.h", "stddef.h", "limits.h", "float.h", "math.h", "sys/types.h")
_PRE_INCLUDED = [f"--pre-include={name}" for name in _COMMON_HEADERS]
"""What other host headers bring along."""

_HOST_MACROS = ["-D__linux__=1", "-D__unix__=1", "-D__x86_64__=1", "-D__extension__="]
"""What nvcc's host compiler defines or knows, and headers of programs ask for."""

_QUIET = ["-diag-suppress=47,177,20042,20044"]
"""NVRTC's warnings about host declarations taken for the device's, and constants defined twice."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiler's result.

    Attributes:
        cubin: the file's bytes.
        log: what the compiler said, word for word.
        host: the host code that was left out, where there was any.
        source: the text that was compiled.
        left_out: what of its headers and declarations was left out, in words.
    """

    cubin: bytes
    log: str = ""
    host: HostCode | None = None
    source: str = ""
    left_out: str = ""


# ---- compiling -------------------------------------------------------------------------
def compile_file(path: str | os.PathLike[str], options: CompileOptions) -> Compiled:
    """Compile a .cu or .ptx file.

    Raises:
        LoadError: the file cannot be read.
        UsageError: the compiler is not installed, or an option does not fit.
        CompileError: the compiler's own words.
    """
    name = os.fspath(path)
    data = read_bytes(name)
    if Path(name).suffix.lower() == ".ptx":
        return compile_ptx(data, name, options)
    here = str(Path(name).parent)
    options = replace(options, include_dirs=(here, *options.include_dirs))
    return compile_cuda(data, name, options)


def program_of(name: str, made: Compiled) -> Program:
    """The program a compiler made, with its source; what it said, and what was left out, goes to
    the log.
    """
    try:
        program = read_cubin(made.cubin, name)
    except LoadError:
        if looks_like_ptx(made.source):
            hint = "no .entry in it: its functions are for other programs to call"
        elif names := template_kernels(made.source):
            hint = _instance_words(names)
        elif made.source and "__global__" not in made.source:
            others = ", ".join(kernel_files(name)[:4])
            hint = "no __global__ function in it" + (f"; there are in {others}" if others else "")
        else:
            raise
        raise LoadError("contains no kernels", path=name, hint=hint) from None
    if made.source:
        program = replace(program, sources={name: made.source})
        if looks_like_ptx(made.source) and not read_lines(program).rows:
            program = replace(program, marks=_ptx_marks(program))
    if made.log:
        LOG.warning("%s", made.log)
    if made.left_out:
        LOG.warning("%s: %s", name, made.left_out)
    if absent := _not_instantiated(made.source, program):
        LOG.warning("%s: %s", name, _instance_words(absent))
    if made.host is not None and made.host.functions:
        LOG.warning("%s", host_words(name, made.host, list(program.kernels)))
    return program


def _ptx_marks(program: Program) -> dict[str, tuple[tuple[int, int], ...]]:
    """Lines of a PTX source without `.loc` of its own, as ptxas counts them."""
    marks: dict[str, dict[int, int]] = {}
    for row in read_lines(program, PTX_LINE).rows:
        if row.end > row.start:
            marks.setdefault(row.section, {})[row.start] = row.line
    return {section: tuple(sorted(found.items())) for section, found in marks.items()}


def _not_instantiated(source: str, program: Program) -> list[str]:
    """Template kernels of a source that the program has no instance of."""
    if "template" not in source or looks_like_ptx(source):
        return []
    # Both mangled, where a name stands behind its length, and as a source writes it.
    there = " ".join((*program.kernels, *map(plain_name, program.kernels)))
    return [
        n
        for n in template_kernels(source)
        if f"{len(n)}{n}" not in there and not re.search(rf"\b{re.escape(n)}\b", there)
    ]


def _instance_words(kernels: Sequence[str]) -> str:
    """What to do where a source has template kernels and nothing says their arguments."""
    return (
        f"no line names an instance of the template kernels {', '.join(kernels[:4])}; "
        f"`template __global__ void {kernels[0]}<float>(float *);` with its own types, at the end "
        f"of the file, makes one, or `--instance '{kernels[0]}<float>'`"
    )


def host_words(name: str, host: HostCode, kernels: Sequence[str]) -> str:
    """One line about host code that does not run, and the kernels that can be launched."""
    functions = ", ".join(f"{n} (line {line})" for n, line in host.functions[:4])
    more = " …" if len(host.functions) > 4 else ""
    launches = ""
    if host.launches:
        lines = ", ".join(map(str, host.launches[:6]))
        launches = f"; <<<>>> on line{'s' if len(host.launches) > 1 else ''} {lines}"
    return (
        f"{name}: host code is not run: {functions}{more}{launches}; a launch table, flags or "
        f"Python say what to launch; kernels: {', '.join(kernels) or 'none'}"
    )


def compile_cuda(source: bytes | str, name: str, options: CompileOptions) -> Compiled:
    """CUDA C++ to a cubin.

    The text is compiled as it is; where that fails and it holds host functions, without them.

    Args:
        source: the text.
        name: what messages and the line table call it.
        options: how.

    Raises:
        UsageError: NVRTC is not installed.
        CompileError: NVRTC's own words.
    """
    library = find_nvrtc()
    if library is None:
        raise UsageError(f"{name}: compiling CUDA C++ needs NVRTC", INSTALL)
    text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
    text = text.removeprefix(BYTE_ORDER_MARK)
    if "\0" in text:
        raise CompileError(f"{name}: a NUL character at offset 0x{text.index(chr(0)):x}")
    with Nvrtc(str(library), options.instances) as nvrtc:
        cubin, log, host, left_out, refused = _compiled(nvrtc, text, name, options)
    if cubin is None:
        notes = [left_out, advice(name, log), _newer_arch(text, name, options)]
        note = "".join(f"\n{name}: {words}" for words in notes if words)
        raise CompileError(f"{name} does not compile\n{log.rstrip()}{note}")
    if _CODE not in cubin and host is not None and (refused or host.deduced.instances):
        # Instances that do not compile are left out: where that is all of them, this may be why.
        if why := _newer_arch(text, name, options) or refused:
            raise CompileError(f"{name}: no instance of its template kernels compiles\n{why}")
    return Compiled(cubin, _TWICE.sub("", log).rstrip(), host, text, left_out)


_NO_MEMBER = re.compile(r'error: namespace "std" has no member "')
"""Of a header of the C++ library that others of the host's bring along."""
_TWICE = re.compile(
    r'[^\n]*warning #47-D: [^\n]*macro "(?:U?INT\d+_\w+|SIZE_MAX)"[^\n]*\n(?:[^\n]+(?:\n|$))*\n?'
    r"(?:Remark: [^\n]*\n\n?)?"
)
"""A warning about limits that the stand-in for stdint.h and NVIDIA's headers both define."""


def _compiled(
    nvrtc: Nvrtc, text: str, name: str, options: CompileOptions
) -> tuple[bytes | None, str, HostCode | None, str, str]:
    """The cubin or None, the log, the host code, what was left out beside it, in words, and why
    instances were refused."""
    words, headers = _nvrtc_words(options), _stand_ins(options)
    cubin, log = nvrtc.compile(text, name, words, headers)
    host = split(text) if cubin is None or "<<<" in text or _CODE not in cubin else None
    refused = ""
    if cubin is None and host is not None and host.functions:
        instances = host.instances
        compile_ = _Compiler(nvrtc, name, words)
        cubin, log = compile_(host.device, headers, instances)
        while cubin is None and instances:
            instances = fewer_instances(instances, log)
            cubin, log = compile_(host.device, headers, instances)
        if cubin is not None:
            deduced = with_deduced(
                host, host.device, instances, lambda main, of: compile_(main, headers, of)
            )
            cubin, log = deduced or (cubin, log)
            refused = compile_.refused
    left_out = ""
    if cubin is None:
        cubin, log, left_out, refused = _without_host(nvrtc, text, name, options)
    elif _CODE not in cubin and template_kernels(text):
        # What launches them may be in its headers.
        again, words_of_it, more, refused = _without_host(nvrtc, text, name, options)
        if again is not None and _CODE in again:
            cubin, log, left_out = again, words_of_it, more
    return cubin, log, host, left_out, refused


class _Compiler:
    """Compiles with the same words; once something of the C++ library is missed, which headers of
    the host bring along, with that.

    Attributes:
        refused: what the compiler said last of a text that it did not take.
    """

    def __init__(self, nvrtc: Nvrtc, name: str, words: Sequence[str]) -> None:
        self.refused = ""
        self._nvrtc, self._name, self._words = nvrtc, name, [*words]

    def __call__(
        self, main: str, headers: Mapping[str, str], instances: Sequence[str]
    ) -> tuple[bytes | None, str]:
        """As `hostfiles.Compile`."""
        cubin, log = self._nvrtc.compile(main, self._name, self._words, headers, instances)
        more = [f"--pre-include={header}" for header in _DEVICE_STD]
        missed = cubin is None and _NO_MEMBER.search(log) and _DEVICE_STD[0] in headers
        if missed and more[0] not in self._words:
            self._words += more
            return self(main, headers, instances)
        if cubin is None:
            self.refused = log.rstrip()
        return cubin, log


_CODE = b".text."
"""In the name of every section of code."""


def _newer_arch(text: str, name: str, options: CompileOptions) -> str:
    """Advice where nobody named an architecture and a newer one compiles."""
    if options.arch is not None or not _ARCH_FUNCTION.search(text):
        return ""
    newer = replace(options, arch=NEWER_ARCH)
    try:
        made = compile_cuda(text, name, newer)
    except CompileError:
        return ""
    if _CODE not in made.cubin:
        return ""
    lacks = "arithmetic of half precision, atomics on double, __dp4a"
    return f"--arch {NEWER_ARCH} compiles it; {DEFAULT_ARCH} lacks {lacks}"


def _without_host(
    nvrtc: Nvrtc, text: str, name: str, options: CompileOptions
) -> tuple[bytes | None, str, str, str]:
    """The cubin or None, the log, what was left out of headers and declarations, and why instances
    were refused."""
    words = [*_nvrtc_words(options), DEVICE_DEFAULT, *_HOST_MACROS, *_PRE_INCLUDED, *_QUIET]
    given = _stand_ins(options)

    compiled = _Compiler(nvrtc, name, words)

    def compile_(
        main: str, headers: Mapping[str, str], instances: Sequence[str]
    ) -> tuple[bytes | None, str]:
        return compiled(main, {**given, **headers}, instances)

    def installed(header: str) -> bool:
        return header in given or any((Path(d) / header).is_file() for d in runtime_headers())

    first: tuple[bytes | None, str, str, str] | None = None
    for search in SEARCHES:
        files = Files(name, folders_of(options.include_dirs), search, installed)
        files.read(text)
        cubin, log = files.compile(compile_)
        if cubin is not None:
            return cubin, log, files.words(), compiled.refused
        first = first or (None, log, files.words(), "")
        if not files.near:
            break
    assert first is not None
    return first


def _nvrtc_words(options: CompileOptions) -> list[str]:
    words = [f"--gpu-architecture={options.arch or DEFAULT_ARCH}"]
    words += [f"-I{d}" for d in (*options.include_dirs, *runtime_headers())]
    words += [f"-D{d}" for d in options.defines]
    words += ["-G"] if options.debug else ["-lineinfo"] if options.lineinfo else []
    words += [f"--std={options.std}"] if options.std else []
    # nvcc has the type __int128 wherever its host compiler has it.
    words += [_INT128] if sys.platform == "linux" and _INT128 not in options.extra else []
    return [*words, *options.extra]


_INT128 = "--device-int128"


def _stand_ins(options: CompileOptions) -> dict[str, str]:
    """Stand-in headers, but for those that an include folder has itself."""
    folders = [Path(d) for d in options.include_dirs]
    headers = dict(HEADERS)
    if any((Path(d) / "cuda/std/limits").is_file() for d in runtime_headers()):
        headers |= {n: _CUDA_STD.format(n) for n in _DEVICE_STD}
    return {n: t for n, t in headers.items() if not any((d / n).is_file() for d in folders)}


# ---- PTX -------------------------------------------------------------------------------
def compile_ptx(source: bytes | str, name: str, options: CompileOptions) -> Compiled:
    """PTX to a cubin.

    Args:
        source: the text.
        name: what messages call it.
        options: how; without an architecture the file's own `.target` counts.

    Raises:
        UsageError: ptxas is not installed, or options that only CUDA C++ has.
        CompileError: ptxas's own words.
    """
    if options.defines or options.include_dirs or options.std:
        raise UsageError(f"{name}: -D, -I and --std are for CUDA C++; PTX has no preprocessor")
    data = source.encode() if isinstance(source, str) else source
    cubin, log = ptx.assemble(data, name, options)
    return Compiled(cubin, log, source=data.decode("utf-8", "replace"))


def compile_text(text: str, options: CompileOptions, name: str | None = None) -> Compiled:
    """CUDA C++ or PTX text to a cubin; errors as `compile_file`."""
    if looks_like_ptx(text):
        return compile_ptx(text, name or "source.ptx", options)
    return compile_cuda(text, name or "source.cu", options)
