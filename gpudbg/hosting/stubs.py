"""C text of the functions of the table: what turns a call into a message and back."""

from __future__ import annotations

from functools import cache

from gpudbg.hosting.cuda_errors import ERRORS
from gpudbg.hosting.table import (
    BY_HAND,
    INTERNAL,
    ApiFunction,
    ApiParameter,
    absent,
    aliases,
    functions,
    table_lines,
)

_TYPES = {
    "i32": "int",
    "u32": "unsigned",
    "u64": "uint64_t",
    "size": "size_t",
    "ptr": "uint64_t",
    "fun": "uint64_t",
    "sym": "uint64_t",
    "f32": "float",
    "text": "const char *",
}
RUNTIME_VERSION = "libcudart.so.12"
"""The version that programs of CUDA 12 ask the runtime's functions by."""
_SIZES = {"i32": 4, "u32": 4, "f32": 4}


def source() -> str:
    """The file: every function that is not by hand, those that are absent, and the list of all."""
    parts = ['#include "host.h"', "#include <string.h>", ""]
    parts += [_declaration(f) for f in functions() if f.handler == BY_HAND]
    parts += [_definition(f) for f in functions() if f.handler != BY_HAND]
    parts += [_absent(name) for name in absent()]
    parts += [
        f'EXPORT extern __typeof__({name}) {alias} __attribute__((alias("{name}")));'
        for alias, name in aliases()
        if _here(name)
    ]
    return "\n".join([*parts, _list(), _errors()])


def header() -> str:
    """Declarations of what the C sources call by name."""
    rows = (f for f in functions() if f.handler != BY_HAND)
    return "\n".join(["#pragma once", '#include "host.h"', *(f"{_head(f)};" for f in rows), ""])


def assignments() -> str:
    """A linker's script: aliases of functions that other files have."""
    return "".join(f"{alias} = {name};\n" for alias, name in aliases() if not _here(name))


def newest_runtime() -> str:
    """Assembler text of CUDA 13's runtime: each of its functions is a jump to ours."""
    names = dict.fromkeys(
        [f.name for f in functions() if f.runtime]
        + [name for name in absent() if name.startswith("cuda")]
        + [alias for alias, name in aliases() if name.startswith(("cuda", "__cuda"))]
    )
    lines = [".text"]
    for name in names:
        target = _renamed().get(name, name)
        lines += [
            f".symver ours_{name}, {target}@{RUNTIME_VERSION}",
            f".globl {name}",
            f".type {name}, @function",
            f"{name}:",
            f"    jmp *ours_{name}@GOTPCREL(%rip)",
            f".size {name}, . - {name}",
        ]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


@cache
def _renamed() -> dict[str, str]:
    """Name in CUDA 13 -> the function here that is called so, by `renamed.tbl`."""
    rows = dict(line.split() for line in table_lines("renamed.tbl"))
    plain = {name for name, _ in rows.items()}
    suffixed = {
        f"{name}{suffix}": f"{rows[name]}{suffix}"
        for name in plain
        for suffix in ("_ptsz", "_ptds")
    }
    return rows | suffixed


def renamed_list() -> str:
    """The same for `redirect.c`."""
    rows = (line.split() for line in table_lines("renamed.tbl"))
    return "".join(f'{{"{name}", "{ours}"}},\n' for name, ours in rows)


def _here(name: str) -> bool:
    """Whether the generated file has it: an alias is made where its function is."""
    return name in _generated()


@cache
def _generated() -> frozenset[str]:
    return frozenset((*absent(), *(f.name for f in functions() if f.handler != BY_HAND)))


def _head(function: ApiFunction) -> str:
    listed = ", ".join(_declared(p) for p in function.parameters) or "void"
    linkage = "LOCAL" if function.name.startswith(INTERNAL) else "EXPORT"
    return f"{linkage} int {function.name}({listed})"


def _declared(parameter: ApiParameter) -> str:
    if parameter.kind == "bytes":
        return f"{'' if parameter.out else 'const '}void *{parameter.name}"
    if parameter.out:
        return f"void *{parameter.name}"
    return f"{_TYPES[parameter.kind]} {parameter.name}".replace("* ", "*")


def _definition(function: ApiFunction) -> str:
    lines = [f"{_head(function)}", "{", "    struct host_call message_;"]
    done = "runtime_status(status_)" if function.runtime else "status_"
    lines.append(
        "    int status_ = runtime_enter();" if function.runtime else "    int status_ = 0;"
    )
    for p in function.given:
        if p.kind in ("fun", "sym"):
            asked = "runtime_function" if p.kind == "fun" else "runtime_symbol"
            lines.append(f"    if (!status_) status_ = {asked}({p.name}, &{p.name});")
    lines.append(f"    if (status_) return {done};")
    lines.append(f"    if ((status_ = host_begin(&message_, {function.number}))) return {done};")
    for p in function.given:
        lines.append(f"    {_sent(p)}")
    lines.append("    if (!(status_ = host_send(&message_))) {")
    for p in function.answered:
        lines.append(f"        {_taken(p)}")
    lines += ["    }", "    host_end(&message_);", f"    return {done};", "}", ""]
    return "\n".join(lines)


def _sent(parameter: ApiParameter) -> str:
    name = parameter.name
    if parameter.kind == "bytes":
        return f"host_bytes(&message_, {name}, {parameter.size});"
    if parameter.kind == "text":
        return f"host_text(&message_, {name});"
    if parameter.kind == "f32":
        return f"{{ uint32_t bits; memcpy(&bits, &{name}, 4); host_word(&message_, bits); }}"
    narrow = "(uint32_t)" if parameter.kind in _SIZES else ""
    return f"host_word(&message_, {narrow}{name});"


def _taken(parameter: ApiParameter) -> str:
    if parameter.kind == "bytes":
        return f"host_answer_bytes(&message_, {parameter.name}, {parameter.size});"
    return f"host_answer_out(&message_, {parameter.name}, {_SIZES.get(parameter.kind, 8)});"


def _declaration(function: ApiFunction) -> str:
    return f"EXPORT int {function.name}();"


def _absent(name: str) -> str:
    error = "cudaErrorNotSupported" if name.startswith("cuda") else "CUDA_ERROR_NOT_SUPPORTED"
    body = f'host_missing("{name}", "{error}"); '
    given = (
        "runtime_status(STATUS_NOT_SUPPORTED)"
        if name.startswith("cuda")
        else ("STATUS_NOT_SUPPORTED")
    )
    return f"EXPORT int {name}(void) {{ {body}return {given}; }}"


def _list() -> str:
    """Exported functions by name, those of a base name by CUDA version."""
    rows = [
        f'    {{"{_base(f.name)}", {f.since}, (void *){f.name}}},'
        for f in sorted(functions(), key=lambda f: (_base(f.name), f.since))
        if not f.name.startswith(INTERNAL) and not f.runtime
    ]
    rows += [
        f'    {{"{f.name}", 0, (void *){f.name}}},'
        for f in functions()
        if not f.name.startswith(INTERNAL) and (_base(f.name) != f.name or f.runtime)
    ]
    rows += [f'    {{"{name}", 0, (void *){name}}},' for name in absent()]
    return "\n".join(
        [
            "static const struct { const char *name; int since; void *function; } list[] = {",
            *rows,
            "};",
            "void *host_function(const char *name, int version)",
            "{",
            "    void *found = NULL;",
            "    for (unsigned n = 0; n < sizeof list / sizeof *list; n++)",
            "        if (!strcmp(list[n].name, name) && list[n].since <= version)",
            "            found = list[n].function;",
            "    size_t length = strlen(name);",
            "    if (found == NULL && length > 5 && length < 100 &&",
            '        (!strcmp(name + length - 5, "_ptsz") ||',
            '         !strcmp(name + length - 5, "_ptds"))) {',
            "        /* A default stream for each thread is in order with the others, too. */",
            "        char plain[100];",
            "        memcpy(plain, name, length - 5);",
            "        plain[length - 5] = 0;",
            "        return host_function(plain, version);",
            "    }",
            "    return found;",
            "}",
        ]
    )


def _base(name: str) -> str:
    """A driver function's name without its version."""
    stem, mark, number = name.rpartition("_v")
    return stem if mark and number.isdigit() else name


def _errors() -> str:
    rows = [
        f'    {{{e.number}, "{e.driver}", "{e.runtime}", "{e.words}"}},' for e in ERRORS.values()
    ]
    return "\n".join(
        [
            "LOCAL const struct host_error { int number; const char *driver, *runtime, *words; }",
            "    host_errors[] = {",
            *rows,
            "    {-1, NULL, NULL, NULL}};",
            "",
        ]
    )
