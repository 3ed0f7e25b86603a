"""Code for hosts with fewer features than this one, and for another architecture."""

from __future__ import annotations

import functools
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpudbg
from gpudbg.sm.engines.llvm import build, job, layout, program, workers
from gpudbg.sm.engines.llvm.ir.values import AccessHost, MaskHost
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions
from gpudbg.sm.engines.llvm.runtime.library import CONTROL, library_text, module_with, tensor_text
from tests import kernel_cases as kc
from tests.engine import machines, test_addresses
from tests.variants import number

PRODUCTS = (
    "hmma.f16.f32.4.24", "hmma.f16.f16.2.25", "hmma.bf16.f32.4.25", "hmma.tf32.f32.2.24",
    "imma.s8.u8.2.sat", "bmma.xor.1", "dmma.884",
)  # fmt: skip
"""Functions whose code differs in kind."""
CUBINS = Path(__file__).parents[1] / "data" / "bench" / "cubin"
HOSTS = {"x86-64-v3": "+avx2,+fma", "znver1": "+avx2,+fma,-sse4a", "x86-64": ""}


def _forget() -> None:
    """Code for the host as it was."""
    for cached in (build._machine, build._library, workers._functions, workers._loop):
        cached.cache_clear()
    program._programs.clear()


@pytest.fixture(
    params=[
        pytest.param("x86-64-v3", marks=pytest.mark.full(instead="x86-64, which has less")),
        pytest.param("znver1", marks=pytest.mark.full(instead="test_what_hosts_load_lanes_with")),
        "x86-64",
    ]
)
def host(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Pretend that the host is an older x86-64."""
    real = build.host()
    wanted = HOSTS[request.param]
    asked = {name for name in wanted.split(",") if name.startswith("+")}
    if not real.triple.startswith("x86_64") or not asked <= set(real.features.split(",")):
        pytest.skip("the host cannot run it")
    older = build.BuildHost(real.triple, request.param, wanted)
    monkeypatch.setattr(build, "host", lambda: older)
    made = build.object_of
    # With the least effort: it is the selection of instructions that hosts differ in.
    monkeypatch.setattr(build, "object_of", lambda text, _, passes="none": made(text, 0, passes))
    _forget()
    yield request.param
    _forget()


@pytest.mark.in_turn(1)
def test_older_hosts(host: str) -> None:
    for kernel in ("warp_ops", "matmul_tiled", "mufu_math")[: number(1, 3)]:
        case = next(iter(kc.load(kernel, "sm_50")))
        outcome = kc.run(case, functools.partial(gpudbg.load, engine="run"))
        assert not kc.check(case, outcome)
    for seed in range(number(1, 3)):
        source, offsets, width = test_addresses.probe(random.Random(seed))
        one, two = (
            test_addresses.outcome(source, engine, offsets, width) for engine in ("step", "run")
        )
        assert machines.difference(one[1], two[1]) == ""


def test_what_hosts_load_lanes_with() -> None:
    """AMD's processors one by one, others with AVX2 by gathering; stores and wide loads are the
    same."""
    for cpu, by_lane in (("znver3", True), ("haswell", False)):
        accesses = build.BuildHost("x86_64-linux-gnu", cpu, "+avx2,+fma").accesses
        assert accesses == (MaskHost.PACKED, by_lane)
        for name in ("load.shared.4", "load.shared.1s", "load.local.2", "load.const.4"):
            function = module_with(layout.symbol(name), accesses, True, True).text
            assert ("avx2.gather" in function) != by_lane
        both = [
            module_with(layout.symbol(name), accesses, True, True).text
            for name in ("store.shared.4", "load.shared.16", "atomic.shared.ADD.U32")
        ]
        assert not any("avx2.gather" in function for function in both)
    wide = build.BuildHost("x86_64-linux-gnu", "znver5", "+avx2,+avx512f,+avx512dq").accesses
    assert wide == AccessHost(MaskHost.REGISTERS)


WIDE = "+avx,+avx2,+fma,+f16c,+avx512f,+avx512dq,+avx512bw,+avx512vl"
PLAIN = "+avx,+avx2,+fma,+f16c"
TARGETS = [("skylake-avx512", WIDE), ("haswell", PLAIN), ("znver3", PLAIN), ("x86-64", "")]
"""Kinds of x86-64 hosts that code is made for in ways of their own."""


@pytest.mark.parametrize(("cpu", "features"), TARGETS)
def test_code_for_every_kind_of_host_is_valid(
    cpu: str, features: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What kernels with barriers, loops, rows and sums become elsewhere is IR that the compiler
    library takes, also of hosts that this one is none of."""
    monkeypatch.setattr(build, "host", lambda: build.BuildHost("x86_64-linux-gnu", cpu, features))
    for kernel in ("histogram", "sgemm", "reduce", "stencil"):
        program = gpudbg.load(str(CUBINS / f"{kernel}.sm_50.cubin"), engine="step")
        image = program.module.image
        entry = image.entries[kernel]
        listing = KernelListing.of(image, entry, (entry,))
        for full, rows in ((True, 32), (True, 16), (False, 32)):
            banks = dict.fromkeys(range(4), 0x1000)
            options = EmitterOptions(full, 64, banks, run=rows, rows=rows)
            text = job.emit(job.CompileJob(listing, options, 2, rows)).text
            context = build.llvm().create_context()
            module = build.llvm().parse_assembly(text, context=context)
            module.verify()
            module.close()


AARCH64 = ("mufu_math", "warp_ops", "matmul_tiled", "reduce_sum")
"""Kernels whose code goes to another architecture: functions, shuffles, tiles, barriers."""


def _kernel_texts(variant: str) -> Iterator[str]:
    """What kernels are compiled from, as a whole and without what only the run engine has."""
    for case in kc.cases(variant, names=AARCH64):
        session = machines.launch(case, "run")
        session.run(max_instructions=1)
        made = session.grid.fast.engine.program
        for full in (True, False):
            options = EmitterOptions(full, made.registers, made.banks, made.sregs)
            yield Emitter(made.listing, options).text("warp")


@pytest.mark.full(instead="test_older_hosts")
def test_aarch64_assembles() -> None:
    """Every module becomes an object for a host without x86 instructions, which asks for no
    function of another library."""
    binding = build.llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        target = binding.Target.from_triple("aarch64-linux-gnu")
    except RuntimeError:
        pytest.skip("the compiler library has no such target")
    machine = target.create_target_machine(cpu="generic", opt=0, reloc="pic")
    products = [tensor_text(name, True, False, False) for name in PRODUCTS]
    assert set(PRODUCTS) <= set(layout.TENSOR)
    control = [text() for text in CONTROL.values()]
    kernels = [*_kernel_texts("sm_50"), *_kernel_texts("sm_80")]
    assert len(kernels) >= 2 * len(AARCH64)
    for text in (library_text(AccessHost()), *control, *products, *kernels):
        assert "llvm.x86" not in text
        context = binding.create_context()
        module = binding.parse_assembly(text, context=context)
        defined = {f.name for f in module.functions if not f.is_declaration}
        asked = _undefined(machine.emit_object(module))
        assert defined
        assert not asked
        module.close()


def _undefined(code: bytes) -> set[str]:
    """Names that a 64-bit ELF object leaves to others."""
    sections, entry, count = struct.unpack_from("<Q10xHH", code, 0x28)
    heads = [struct.unpack_from("<IIQQQQIIQQ", code, sections + entry * n) for n in range(count)]
    names: set[str] = set()
    for _, kind, _, _, place, size, link, *_ in heads:
        if kind != 2:
            continue
        text = heads[link][4]
        for at in range(place, place + size, 24):
            name, _, _, section = struct.unpack_from("<IBBH", code, at)
            if name and not section:
                names.add(code[text + name : code.index(b"\0", text + name)].decode())
    return names
