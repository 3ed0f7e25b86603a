"""gpudbg info isa: what is decoded, assembled and executed, per architecture, from the tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gpudbg.architectures import NARROW
from gpudbg.debug.views.text import table
from gpudbg.errors import EXIT_CLEAN, UsageError
from gpudbg.frontends.verbs.common import emit_json


def coverage(arch: str) -> dict[str, Any]:
    """Forms of one architecture: decoded, assembled, executed, and mnemonics without semantics."""
    from gpudbg.isa.spa5.forms import all_forms
    from gpudbg.sm.semantics import registry

    semantics = registry.table()
    forms = [f for f in all_forms() if arch in f.archs]
    per = Counter(f.op for f in forms)
    missing = {op: registry.why_not(op) for op in per if registry.why_not(op)}
    executed = sum(n for op, n in per.items() if op in semantics and op not in missing)
    return {
        "arch": arch,
        "mnemonics": len(per),
        "forms": len(forms),
        "decoded": len(forms),
        "assembled": len(forms),
        "executed": executed,
        "without_semantics": {op: missing[op] for op in sorted(missing)},
        "by_mnemonic": {op: per[op] for op in sorted(per)},
    }


def show(arch: str | None, as_json: bool) -> int:
    """Print the coverage of one architecture or of all.

    Raises:
        UsageError: an architecture that the tables do not have.
    """
    if arch and arch not in NARROW:
        raise UsageError(f"no tables for {arch!r}", f"one of {', '.join(NARROW)}")
    rows = [coverage(a) for a in ([arch] if arch else NARROW)]
    if as_json:
        emit_json(rows)
        return EXIT_CLEAN
    header = ("Arch", "Mnemonics", "Forms", "Decoded", "Assembled", "Executed")
    cells = [
        (
            r["arch"],
            *(str(r[k]) for k in ("mnemonics", "forms", "decoded", "assembled", "executed")),
        )
        for r in rows
    ]
    print("\n".join(table(header, cells)))
    print("\nDecoded and assembled, but stopping with their name when executed:")
    reasons: dict[str, list[str]] = {}
    for op, why in {k: v for r in rows for k, v in r["without_semantics"].items()}.items():
        reasons.setdefault(why, []).append(op)
    for why, ops in reasons.items():
        print(f"  {why}: {' '.join(sorted(ops))}")
    return EXIT_CLEAN
