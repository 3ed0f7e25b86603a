"""Every form of the sample programs, and random relatives, on both engines: bit for bit.

A run has some shares of both architectures, and the table's forms once for both;
`make test-all` has everything for each.
"""

from __future__ import annotations

import random
import zlib

import pytest

from gpudbg.isa.spa5.decode import decode
from gpudbg.isa.spa5.forms import all_forms
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.semantics import registry
from tests.engine import forms
from tests.variants import full, number

ARCHS = ("sm_50", "sm_61")
SHARES = [(arch, n) for n in range(8) for arch in (ARCHS if full() else (ARCHS[n % 2],))]
BATCH = 64
STATES = 2


def _batch(arch: str, number: int) -> tuple[random.Random, list[int]]:
    """A share of the forms, half of them with changed bits."""
    rng = random.Random(number)
    share = [word for word in forms.words(arch) if forms._form(word, arch)][number::8]
    changed = (forms.mutated(word, rng, arch) for word in share)
    return rng, (share + [word for word in changed if word is not None])[: 3 * BATCH]


@pytest.mark.full(instead="test_every_form_of_the_table")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("arch", "number"), SHARES)
def test_forms_agree(arch: str, number: int) -> None:
    rng, words = _batch(arch, number)
    compared = 0
    for start in range(0, len(words), BATCH):
        tuned = bool((number + start // BATCH) % 2)
        pair = forms.Pair(words[start : start + BATCH], arch, tuned=tuned)
        for n, word in enumerate(pair.words):
            if word not in pair.slow:
                compared += sum(_agree(pair, n, word, rng) for _ in range(STATES))
    assert compared > len(words) // 2


def _agree(pair: forms.Pair, n: int, word: int, rng: random.Random) -> bool:
    """Compare one run; false where compiled code left it to the step engine."""
    insn = decode(word, pair.arch)
    state = forms.random_state(rng, insn, pair.memory.base)
    seed = rng.getrandbits(30)
    outcome, want = pair.step(n, state, seed)
    before = pair.untouched(n, state, seed)
    why, got = pair.run(n, state, seed)
    text = f"{insn.text(pair.pc(n))}, word 0x{word:016x}, active 0x{state.active:08x}"
    if why in (Left.STEP, Left.BARRIER):
        assert got == before, f"{text}: left half done"
        return False
    assert outcome == "done", f"{text}: the step engine says {outcome}"
    assert got == want, text
    return True


@pytest.mark.full(instead="test_every_form_of_the_table")
def test_common_forms_do_not_leave() -> None:
    """Of the forms that compilers emit, those without a compiled version are known."""
    words = [word for word in forms.words("sm_50") if forms._form(word, "sm_50")]
    allowed = {
        "B2R", "BAR", "BPT", "CS2R", "S2R", "SULD", "SUST", "SURED", "TLDS", "TLD4S", "TEXS", "TXD",
        "TXQ", "TEX", "TLD", "SAM", "RAM",
    }  # fmt: skip
    known = ("a register the warp does not have", "a constant outside its bank")
    for start in range(0, len(words), BATCH):
        pair = forms.Pair(words[start : start + BATCH], "sm_50")
        for word, why in pair.slow.items():
            rare = why.startswith("f64_to_f16.")
            assert decode(word, "sm_50").op in allowed or why in known or rare, (hex(word), why)


NOT_COMPILED = {
    "BAR", "BPT", "CAL", "GETCRSPTR", "GETLMEMBASE", "IDE", "JCAL", "PBK", "PCNT",
    "PLONGJMP", "PRET", "RAM", "RTT", "SAM", "SETCRSPTR", "SETLMEMBASE", "SSY", "SUATOM", "SULD",
    "SURED", "SUST", "TEX", "TEXS", "TLD", "TLD4", "TLD4S", "TLDS", "TMML", "TXD", "TXQ",
}  # fmt: skip
"""Mnemonics with a form that is not compiled: special registers, partial barriers, computed calls
and tokens, the trap handler's own, textures and surfaces."""
NO_MEANING = {"ATOMS", "B2R", "VABSDIFF4"}
"""With a form without semantics: ATOMS.CAST, B2R.BAR, VABSDIFF4 with an immediate."""
ELSEWHERE = {"BRX", "JMX", "BRA", "JMP", "CS2R", "S2R"}
"""Targets in a constant or a register, which a single instruction cannot reach, and special
registers: kernels have those."""


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", ARCHS)
def test_every_form_of_the_table(arch: str) -> None:
    """Each form that has semantics agrees, or is named above; `make test` takes a quarter."""
    rng, whole = random.Random(arch), full()
    todo = {
        (f.line, f.value, f.mask): f
        for f in all_forms()
        if arch in f.archs and not registry.why_not(f.op)
        if whole
        or (
            zlib.crc32(f.line.encode()) % 4 == 0 and (arch == ARCHS[-1] or ARCHS[-1] not in f.archs)
        )
    }
    why: dict[tuple[str, int, int], str] = {}
    for turn in range(number(8, 16)):
        drawn = {key: forms.small_word(form, rng, arch) for key, form in todo.items()}
        words = [(key, word) for key, word in drawn.items() if word is not None]
        for start in range(0, len(words), BATCH):
            part = words[start : start + BATCH]
            tuned = bool((turn + start // BATCH) % 2)
            pair = forms.Pair([word for _, word in part], arch, tuned=tuned)
            for n, (key, word) in enumerate(part):
                if word in pair.slow:
                    why[key] = pair.slow[word]
                elif any([_agree(pair, n, word, rng) for _ in range(4)]):
                    del todo[key]
    left = {form.op for form in todo.values()}
    known = NOT_COMPILED | NO_MEANING | ELSEWHERE
    assert left <= known, [(k[0], why.get(k)) for k, f in todo.items() if f.op not in known]
    assert not whole or NOT_COMPILED <= left, "compiled by now: take it out of the list"
