"""`gpudbg info isa`: what is decoded, assembled and executed, per architecture, from the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpudbg.answers import COUNT, Table, column, typed_row
from gpudbg.architectures import NARROW, WIDE, is_wide
from gpudbg.errors import UsageError


@typed_row
class Coverage:
    """Forms of one architecture: decoded, assembled, executed, and mnemonics without semantics."""

    arch: str = column("Arch")
    mnemonics: int = column("Mnemonics", COUNT)
    forms: int = column("Forms", COUNT)
    decoded: int = column("Decoded", COUNT)
    assembled: int = column("Assembled", COUNT)
    executed: int = column("Executed", COUNT)
    without_semantics: dict[str, str] = column()
    by_mnemonic: dict[str, int] = column()
    variants_without_semantics: dict[str, str] = column()


SHOWN = (*NARROW, *(arch for arch, tables in WIDE.items() if arch == f"sm_{tables}"))
"""Architectures that have tables of their own."""


def coverage(arch: str) -> Coverage:
    """What the tables have of one architecture."""
    return _wide(arch) if is_wide(arch) else _narrow(arch)


def _wide(arch: str) -> Coverage:
    from gpudbg.isa.volta.decode import candidates_of
    from gpudbg.sm.semantics import registry

    per = Counter(form.op for form in candidates_of(WIDE[arch]))
    missing = {op: why for op in sorted(per) if (why := registry.why_not_wide(op, arch))}
    return _row(arch, per, missing, _variants(per))


def _variants(per: Counter[str]) -> dict[str, str]:
    """Variants that stop by name, by mnemonic."""
    from gpudbg.sm.semantics.variants import VARIANTS

    found: dict[str, list[str]] = {}
    for variant in VARIANTS:
        for op in variant.ops:
            if op in per:
                found.setdefault(op, []).append(f"{variant.what} ({variant.why})")
    return {op: "; ".join(found[op]) for op in sorted(found)}


def _row(
    arch: str, per: Counter[str], missing: dict[str, str], variants: dict[str, str]
) -> Coverage:
    return Coverage(
        arch=arch,
        mnemonics=len(per),
        forms=per.total(),
        decoded=per.total(),
        assembled=per.total(),
        executed=sum(n for op, n in per.items() if op not in missing),
        without_semantics={op: missing[op] for op in sorted(missing)},
        by_mnemonic={op: per[op] for op in sorted(per)},
        variants_without_semantics=variants,
    )


def _narrow(arch: str) -> Coverage:
    from gpudbg.isa.spa5.forms import all_forms
    from gpudbg.sm.semantics import registry

    per = Counter(f.op for f in all_forms() if arch in f.archs)
    missing = {op: registry.why_not(op) for op in per if registry.why_not(op)}
    return _row(arch, per, missing, {})


def isa_answer(arch: str | None) -> Table:
    """The coverage of one architecture or of all.

    Raises:
        UsageError: an architecture that the tables do not have.
    """
    known = (*NARROW, *WIDE)
    if arch and arch not in known:
        raise UsageError(f"no tables for {arch!r}", f"one of {', '.join(known)}")
    rows = tuple(coverage(a) for a in ([arch] if arch else SHOWN))
    return Table(Coverage, rows, foot=tuple(_without_semantics(rows)))


def _without_semantics(rows: Sequence[Coverage]) -> Iterator[str]:
    yield ""
    yield "Decoded and assembled, but stopping with their name when executed:"
    reasons: dict[str, list[str]] = {}
    for op, why in {k: v for r in rows for k, v in r.without_semantics.items()}.items():
        reasons.setdefault(why, []).append(op)
    for why, ops in reasons.items():
        yield f"  {why}: {' '.join(sorted(ops))}"
    variants = {k: v for r in rows for k, v in r.variants_without_semantics.items()}
    if variants:
        yield ""
        yield "Likewise these variants of instructions that run:"
    for op in sorted(variants):
        yield f"  {op}: {variants[op]}"
