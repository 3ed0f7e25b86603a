"""Reference: instructions, special registers, error codes, policies."""

from __future__ import annotations

from collections.abc import Iterable

from gpudbg.manual.markdown import anchor, code, label, plain, section, table
from gpudbg.reference.coverage import SHOWN, coverage
from gpudbg.regs.global_errors import GLOBAL_ERRORS
from gpudbg.regs.port import ALL_WORDS
from gpudbg.regs.ptx import PTX_REGISTERS
from gpudbg.regs.special import SPECIAL_REGISTERS
from gpudbg.regs.warp_errors import WARP_ERRORS
from gpudbg.regs.words import BitRow, Family
from gpudbg.regs.xid_numbers import XID_NUMBERS
from gpudbg.sm.policy import POLICIES


def instructions() -> str:
    """The page on instruction coverage."""
    rows = [coverage(arch) for arch in SHOWN]
    parts = [
        "An instruction is decoded, printed and assembled wherever the tables have it. One without "
        "semantics is never skipped: the machine stops with its name, pc and word. `gpudbg info "
        "isa ARCH` prints the same for one architecture, `--json` as data.\n",
        table(
            ("architecture", "mnemonics", "forms", "decoded", "assembled", "executed"),
            (
                [
                    code(r.arch),
                    *map(str, (r.mnemonics, r.forms, r.decoded, r.assembled, r.executed)),
                ]
                for r in rows
            ),
        ),
        section(2, "What stops with its name"),
    ]
    reasons: dict[str, dict[str, list[str]]] = {}
    for r in rows:
        for op, why in r.without_semantics.items():
            reasons.setdefault(why, {}).setdefault(op, []).append(r.arch)
    parts += [
        table(
            ("why", "mnemonics"),
            ([plain(why), " ".join(map(code, sorted(ops)))] for why, ops in reasons.items()),
        ),
        section(2, "Variants that stop with their name", "The mnemonic runs; these do not.\n"),
    ]
    variants = {op: why for r in rows for op, why in r.variants_without_semantics.items()}
    parts += [
        table(
            ("mnemonic", "variants"), ([code(op), plain(variants[op])] for op in sorted(variants))
        ),
        section(2, "Every mnemonic", "The number of forms in each architecture's tables.\n"),
    ]
    names = sorted({op for r in rows for op in r.by_mnemonic})
    parts.append(
        table(
            ("mnemonic", *(r.arch.removeprefix("sm_") for r in rows)),
            ([code(op), *(str(r.by_mnemonic.get(op, "")) for r in rows)] for op in names),
        )
    )
    return "\n".join(parts)


def special_registers() -> str:
    """The page on special registers, of SASS and of PTX."""
    listed = [r for r in SPECIAL_REGISTERS if not r.reserved]
    parts = [
        "What `S2R` and `CS2R` read. In expressions of the debugger they have their own names "
        "(`SR_LANEID`, `%laneid`); `gpudbg decode sr NAME VALUE` takes a value apart. Numbers that "
        "are not listed are reserved and read zero.\n",
        table(
            ("number", "register", "the same over", "read by CS2R", "note"),
            (
                [
                    str(r.number),
                    f"[{code(r.name)}](#sr-{r.number})",
                    str(r.scope or ""),
                    "yes" if r.coupled else "",
                    plain(r.note),
                ]
                for r in listed
            ),
        ),
        section(2, "Registers of PTX", "What `ptxas` makes of them, `gpudbg decode ptx` says.\n"),
        table(
            ("register", "type", "meaning"),
            ([code(r.name), code(r.type), plain(r.meaning)] for r in PTX_REGISTERS),
        ),
        section(2, "Fields"),
    ]
    for r in listed:
        parts += [f"(sr-{r.number})=\n", section(3, f"`{r.name}`"), _fields(r.rows)]
        if r.rows_before_53:
            parts += ["Before SPA 5.3 (sm_50, sm_52):\n", _fields(r.rows_before_53)]
    return "\n".join(parts)


def _fields(rows: Iterable[BitRow]) -> str:
    return table(
        ("bits", "field", "meaning", "certainty", "note"),
        (
            [_bits(r), code(r.name), plain(r.meaning), str(r.certainty), plain(r.note)]
            for r in rows
            if not r.reserved
        ),
    )


def _bits(row: BitRow) -> str:
    return f"{row.bits.hi}:{row.bits.lo}" if row.bits.hi != row.bits.lo else str(row.bits.hi)


def error_codes() -> str:
    """The page on errors: warp errors, global errors, register words, Xid numbers."""
    parts = [
        "What an SM reports when code does what it must not. A stop names these; `gpudbg decode "
        "esr` and `gpudbg decode xid` read them out of register values and kernel logs. A "
        "certainty word says how a row is known.\n",
        section(
            2, "Warp errors", "`HWW_WARP_ESR.ERROR`, and by inference `SR_WarpErrorStatus[7:0]`.\n"
        ),
    ]
    parts += [
        table(
            ("code", "name", "meaning", "look at", "chips", "certainty", "in kernel logs"),
            (
                [
                    f"{r.code:#04x}",
                    code(r.name),
                    plain(r.meaning),
                    plain(r.look_at),
                    _chips(r.families),
                    str(r.certainty),
                    plain("; ".join(r.texts)),
                ]
                for r in WARP_ERRORS
            ),
        ),
        section(2, "Global errors", "Bits of `HWW_GLOBAL_ESR`.\n"),
        table(
            ("bit", "name", "meaning", "look at", "chips", "certainty"),
            (
                [
                    str(r.bit),
                    code(r.name),
                    plain(r.meaning),
                    plain(r.look_at),
                    _chips(r.families),
                    str(r.certainty),
                ]
                for r in GLOBAL_ERRORS
            ),
        ),
        label("xid"),
        section(2, "Xid numbers", "Of lines `NVRM: Xid …` in a kernel log.\n"),
        table(
            ("Xid", "what it is", "look at next"),
            ([str(n), plain(what), plain(next_)] for n, (what, next_) in XID_NUMBERS.items()),
        ),
        section(2, "Register words", "What handlers and drivers read of an SM.\n"),
        table(
            ("register", "what it is", "look at next"),
            ([code(w.name), plain(w.meaning), plain(w.look_at)] for w in ALL_WORDS),
        ),
    ]
    return "\n".join(parts)


def _chips(families: tuple[Family, ...]) -> str:
    if families == tuple(Family):
        return "all"
    return f"{families[0]} to {families[-1]}" if len(families) > 1 else str(families[0])


def policies() -> str:
    """The page on what the model assumes."""
    parts = [
        "Where public documents are silent or unclear, gpudbg follows a named policy. Each has a "
        "certainty word: *documented* (a public text says so), *inferred* (from what compilers "
        "emit or drivers do) or *modelled* (our choice), and its reason or source. `gpudbg info "
        "policy WORDS` prints those that speak of something.\n",
        table(
            ("policy", "certainty"),
            ([f"[{code(p.name)}](#{anchor('policy', p.name)})", p.certainty] for p in POLICIES),
        ),
    ]
    for p in POLICIES:
        parts += [
            label("policy", p.name),
            section(2, code(p.name)),
            f"*{p.certainty.capitalize()}.* {plain(p.rule)}\n",
            f"Reason or source: {plain(p.reason)}\n",
        ]
    return "\n".join(parts)
