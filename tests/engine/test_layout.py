"""Memory that compiled code and the engine share: each field has a place of its own."""

from __future__ import annotations

from collections import Counter

from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.residency.compiled import _FIRST, _SECOND, _SELDOM_SET, _ZERO


def test_fields_of_the_environment_do_not_overlap() -> None:
    """Those before the library's functions are 8 bytes each, or 16 of a constant bank."""
    single = {
        name: at
        for name, at in vars(layout).items()
        if name.isupper() and isinstance(at, int) and layout.BANKS < at < layout.FUNCTIONS
    }
    counts = Counter([*single.values(), *layout.FIELD.values()])
    assert [hex(at) for at, count in counts.items() if count > 1] == []
    assert all(at % 8 == 0 for at in counts)


def test_fields_of_a_record_do_not_overlap() -> None:
    taken: dict[int, str] = {}
    for name, slot in rec.FIELDS.items():
        for at in range(slot.offset, slot.offset + slot.width * slot.length):
            assert at not in taken, (name, taken[at])
            taken[at] = name
        assert slot.offset % slot.width == 0
    assert max(taken) < rec.HEADER_BYTES


def test_fields_that_are_written_together_follow_one_another() -> None:
    ends = {_FIRST: 32, _SECOND: 32, _ZERO: 12} | dict.fromkeys(_SELDOM_SET, 16)
    for names, size in ends.items():
        at = rec.FIELDS[names[0]].offset
        for name in names:
            slot = rec.FIELDS[name]
            assert slot.offset == at
            at += slot.width * slot.length
        assert at == rec.FIELDS[names[0]].offset + size
    flags, words = rec.FIELDS["cc"], [rec.FIELDS[n].offset // 4 for n in ("pc", "active", "valid")]
    assert rec.FIELDS["status"].offset == flags.offset + flags.width * flags.length
    assert words == [0, 2, 4]
    assert rec.FIELDS["exited"].offset == 12
