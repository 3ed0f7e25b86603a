"""Kernels that ask what a card does where programs may not rely on it: pack part `probes`.

Order of lanes, lanes that are away, atomics, special registers and constants, first contents of
registers and memory.  What came back is data (`tests/silicon/data`); where the model makes a choice
of its own the two may differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpudbg.assembler import assemble_file
from tests.ptxgen.nvrtc import compile_cuda
from tests.silicon.pack import Pack, Row, one_launch

SOURCE = Path(__file__).resolve().parent / "src" / "probes.cu"


def _number(value: int, size: int = 4) -> Row:
    return {"bytes": value.to_bytes(size, "little").hex()}


def _cuda(pack: Pack, arch: str) -> None:
    image = compile_cuda(SOURCE.read_text(), arch)
    assert isinstance(image, bytes), image

    def case(
        name: str,
        entry: str,
        args: list[Any],
        grid: int = 1,
        block: int = 32,
        shared: int = 0,
        **sizes: Any,
    ) -> None:
        rows = [{"buffer": a} if isinstance(a, str) else _number(a) for a in args]
        buffers = {
            n: {"fill": 0, "size": s} if isinstance(s, int) else pack.buffer(s)
            for n, s in sizes.items()
        }
        pack.add(
            f"probe {name}",
            image,
            one_launch(entry, (grid, 1, 1), (block, 1, 1), rows, shared=shared),
            buffers=buffers,
        )

    for kind in range(5):
        for number in (1, 4, 16, 31):
            case(f"order_if {kind} {number}", "order_if", ["out", kind, number], out=1024)
    for number in (1, 16, 31):
        case(f"order_loops {number}", "order_loops", ["out", number, "seen"], out=1024, seen=1024)
    for mod in (2, 3, 4, 5, 6):
        case(f"order_switch {mod}", "order_switch", ["out", mod, "seen"], out=1024, seen=1024)
    trips = np.zeros(128, np.uint32)
    trips[:32] = [(n * 7) % 11 for n in range(32)]
    case("order_trips", "order_trips", ["out", "trips"], out=1024, trips=trips)
    case("order_lock", "order_lock", ["out", "lock"], out=1024, lock=64)
    for waits in (0, 5, 31):
        case(f"order_handoff {waits}", "order_handoff", ["out", "flag", waits], out=1024, flag=64)
    for n in range(3):
        case(f"atomics {n}", "atomics", ["out", "mem"], out=4096, mem=4096)
        case(f"atomics_wide {n}", "atomics_wide", ["out", "mem"], out=4096, mem=4096)
        case(f"same_place {n}", "same_place", ["out", "b"], out=1024, b=64)
    for mask in (0xF0F0F0F0, 0x80000001, 0x00FF0000, 0xFFFFFFFE):
        case(f"atomics_some {mask:x}", "atomics_some", ["out", "mem", mask], out=1024, mem=64)
    case("banks", "banks", ["out"], shared=16384, out=1024)
    case("banks128", "banks128", ["out"], shared=16384, out=1024)
    case("fresh_shared", "fresh_shared", ["out"], grid=4, block=128, shared=4096, out=16384)
    case("dirty_shared", "dirty_shared", [0x5A5A0000], grid=400, block=128, shared=32768)
    case("fresh_shared after", "fresh_shared", ["out"], grid=4, block=128, shared=4096, out=16384)
    case("fresh_local", "fresh_local", ["out", 1], block=64, out=16384)
    case("windows", "windows", ["out", 0x77], grid=3, block=64, shared=256, out=32768)
    pack.cases[-1]["launches"][0]["args"][1] = _number(0x77, 8)
    case("reserved", "reserved", ["out"], out=64)
    case("sleeps", "sleeps", ["out"], block=1, out=1024)
    for gone, away in ((0, 0), (0xFF, 0), (0x80000001, 0xF0), (0, 0xFFFF0000), (0x55555555, 0)):
        case(f"votes {gone:x} {away:x}", "votes", ["out", gone, away], out=2048)
    case("places", "places", ["out"], grid=600, block=128, out=2 * 4 * 600 * 4)
    case("places small", "places", ["out"], grid=2000, block=32, out=2 * 4 * 2000)


_HEAD = """.kernel probe
.registers 64
.shared 1024
.param 8
S2R R40, SR_TID.X
ULDC.64 UR40, c[0x0][0x208]
MOV R42, c[0x0][0x210]
MOV R43, c[0x0][0x214]
IMAD.WIDE.U32 R44, R40, 0x80, R42
"""
_WAIT = "[B012345:R-:W-:Y:S15] NOP\n[B------:R-:W-:Y:S15] NOP\n[B------:R-:W-:Y:S15] NOP\n"


def _store(registers: range) -> str:
    return "".join(
        f"STG.E desc[UR40][R44.64+0x{4 * (n - registers.start):x}], R{n}\n" for n in registers
    )


def _sass(pack: Pack, arch: str) -> None:
    def case(name: str, body: str, block: int = 32, grid: int = 1, **more: Any) -> None:
        text = f".arch {arch}\n{_HEAD}{_WAIT}{body}{_WAIT}"
        image = assemble_file(text, path="probe.sass").cubin()
        args = [{"buffer": "out"}]
        launches = one_launch("probe", (grid, 1, 1), (block, 1, 1), args, **more)
        pack.add(
            f"probe {name}", image, launches, buffers={"out": {"fill": 0xCD, "size": 128 * block}}
        )

    base = "[B------:R-:W0:Y:S15] S2R R0, SR_LANEID\n" + _WAIT + _store(range(1)) + "EXIT\n"
    text = f".arch {arch}\n{_HEAD}{_WAIT}{base}"
    frame = assemble_file(text, path="probe.sass").cubin()
    from gpudbg.formats.cubin import read_cubin
    from gpudbg.isa.volta import decode

    section = read_cubin(frame, "probe", bare=True, archs=(arch,)).sections[".text.probe"].data
    words = [int.from_bytes(section[n : n + 16], "little") for n in range(0, len(section), 16)]
    reading = next(w for w in words if decode(w, arch).text() == "S2R R0, SR_LANEID")
    raw = reading.to_bytes(16, "little")
    assert frame.count(raw) == 1
    for number in range(256):
        word = reading & ~(0xFF << 72) | number << 72
        image = frame.replace(raw, word.to_bytes(16, "little"))
        launches = one_launch("probe", (3, 2, 1), (16, 2, 2), [{"buffer": "out"}])
        pack.add(
            f"probe sr {number}", image, launches, buffers={"out": {"fill": 0xCD, "size": 128 * 64}}
        )
    # Registers as they are at the beginning; the first forty.
    case("registers", _store(range(32)) + "EXIT\n", block=64)
    case(
        "predicates",
        "P2R R0, PR, RZ, 0x7f\nUP2UR UR30, UPR, URZ, 0x7f\nMOV R1, UR30\n"
        + "".join(f"MOV R{n + 2}, UR{n}\n" for n in range(28))
        + _store(range(30))
        + "EXIT\n",
    )
    for bank in range(8):
        load = "".join(
            f"[B------:R-:W0:Y:S15] LDC R{n}, c[0x{bank:x}][R46+0x{4 * n:x}]\n" for n in range(32)
        )
        for part in range(5 if bank == 0 else 1):
            lanes = f"IMAD R46, R40, 0x0, RZ\nIADD3 R46, R46, 0x{part * 128:x}, RZ\n"
            case(
                f"constants {bank} {part}",
                lanes + _WAIT + load + _WAIT + _store(range(32)) + "EXIT\n",
                block=32,
                grid=3,
            )
    gone = "[B------:R-:W-:Y:S15] ISETP.GT.U32.AND P0, PT, R40, 0x13, PT\n" + _WAIT
    some = "[B------:R-:W-:Y:S15] IMAD R20, R40, 0xa, RZ\n" + _WAIT
    for name, line in (("exited", "@P0 EXIT\n"), ("inactive", "")):
        guard = "" if line else "@!P0 "
        body = (
            gone
            + some
            + line
            + _WAIT
            + "".join(
                f"[B------:R-:W0:Y:S15] {guard}SHFL.{kind} PT, R{n}, R20, 0x{k:x}, 0x1f\n" + _WAIT
                for n, (kind, k) in enumerate(
                    (("DOWN", 1), ("UP", 1), ("BFLY", 16), ("IDX", 25), ("IDX", 3))
                )
            )
            + f"{guard}VOTE.ANY R6, PT, PT\n{guard}VOTE.ALL R7, P1, !P0\n"
            + f"[B------:R-:W0:Y:S15] {guard}MATCH.ANY R8, R20\n"
            + _WAIT
            + f"[B------:R-:W0:Y:S15] {guard}REDUX.SUM UR8, R20\n"
            + _WAIT
            + "MOV R9, UR8\nSEL R10, R40, RZ, P1\n"
            + _WAIT
            + _store(range(11))
            + "EXIT\n"
        )
        case(f"lanes {name}", body)


def fill(pack: Pack, arch: str) -> None:
    """All probes."""
    _cuda(pack, arch)
    _sass(pack, arch)
